// Made-up passes over ResNet-50, each leaving a snapshot, and made-up measurements of the result.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>

#include "tests/studio/synthetic_job.h"
#include "tests/studio/synthetic_network.h"

namespace ipex_studio::testing {
namespace {

std::shared_ptr<const GraphSnapshot> snapshotOf(const Network& net, int index, const std::string& name) {
  auto graph = std::make_shared<GraphSnapshot>();
  graph->pass_index = index;
  graph->after_pass = name;
  const auto value = [&](std::string text, std::string type, int producer, std::string constant) {
    const auto id = static_cast<std::int32_t>(graph->values.size());
    graph->values.push_back({id, std::move(text), std::move(type), producer, std::move(constant)});
    return id;
  };
  const std::int32_t x = value("x", "Float(1, 3, 224, 224)", -1, "");
  graph->inputs = {x};
  graph->text = "graph(%x : Float(1, 3, 224, 224)):\n";
  std::map<int, std::int32_t> result;
  for (const int i : ordered(net)) {
    const Op& op = net.ops[i];
    GraphNode node;
    node.id = static_cast<std::int32_t>(graph->nodes.size());
    node.kind = op.kind;
    node.name = op.name;
    for (const std::string& post : op.post) node.name += " + " + post;
    node.scope = op.scope;
    node.origins = op.origins;
    for (const int in : op.inputs) node.inputs.push_back(in < 0 ? x : result[in]);
    if (op.flops() > 0) {
      const std::string type =
          op.kernel > 0 ? fmt::format("Float({}, {}, {}, {})", op.shape.channels, op.in_channels, op.kernel, op.kernel)
                        : fmt::format("Float({}, {})", op.shape.channels, op.in_channels);
      node.inputs.insert(node.inputs.begin() + 1, value(op.scope + ".weight", type, -1, "<" + type + ">"));
      node.inputs.insert(node.inputs.begin() + 2, value("none", "NoneType", -1, "None"));
    }
    if (op.kernel > 0) node.attributes.push_back({"kernel", fmt::format("{}, {}", op.kernel, op.kernel)});
    if (op.kernel > 0) node.attributes.push_back({"stride", fmt::format("{}, {}", op.stride, op.stride)});
    result[i] = value(std::to_string(100 + i), "Float(" + op.shape.text() + ")", node.id, "");
    node.outputs = {result[i]};
    graph->text += fmt::format("  %{} : Float({}) = {}(…) # {}\n", 100 + i, op.shape.text(), op.kind, op.name);
    graph->nodes.push_back(std::move(node));
  }
  graph->outputs = {graph->nodes.back().outputs.front()};
  graph->text += fmt::format("  return (%{})\n", graph->values[graph->outputs[0]].name);
  return graph;
}

class Story {
 public:
  explicit Story(JobRecord* job) : job_(*job) {
    job_.model.path = "/home/me/models/resnet50.pt";
    job_.model.sha256 = "9c1f8a3d5be07d0b71fd2f0e0e6f2c54d3c5a7e1b2f64d90a1b7c2f3e4d5a6b7";
    job_.model.file_bytes = 102517000;
    job_.model.inputs = {{"x", "1x3x224x224:float32", true}};
    job_.model.origins = net_.origins();
    job_.model.nodes = static_cast<std::int32_t>(net_.ops.size());
    job_.machine.cpu = "Intel Xeon @ 2.50GHz";
    job_.machine.isa = "avx512_core";
    job_.machine.cores = 2;
    job_.machine.libtorch = "1.13.1";
    job_.machine.onednn = "2.6.3";
    job_.machine.os = "Linux 6.1 Debian 12";
    job_.frozen = snapshotOf(net_, 0, "frozen");
  }

  void runPasses() {
    pass("canonicalize-inplace", "In-place operations become out-of-place where nothing else sees the memory.", [this] {
      eachOp([this](int i) {
        Op& op = net_.ops[i];
        if (op.kind.back() != '_') return;
        op.kind.pop_back();
        applied(op.origins, "no other alias of the tensor");
      });
    });
    pass("canonicalize-batch-norm", "One form of batch-norm.", [this] {
      eachOp([this](int i) {
        if (net_.ops[i].kind == "aten::batch_norm") applied(net_.ops[i].origins, "statistics are constants");
      });
    });
    pass("eliminate-dropout", "Removes dropout, which does nothing at inference.", [] {});
    pass("fold-constants", "Computes what depends on constants only.", [this] {
      for (int i = 0; i < 12; ++i) applied({}, "size is known");
    });
    pass("fold-batch-norm", "Folds batch-norm into the weights of the convolution before it.", [this] {
      eachOp([this](int i) {
        if (net_.ops[i].kind != "aten::batch_norm") return;
        const int conv = net_.ops[i].inputs[0];
        net_.merge(i, conv);
        applied(net_.ops[conv].origins, "folded into weight and bias");
      });
    });
    pass("eliminate-common-subexpressions", "Computes equal expressions once.", [] {});
    pass("fuse-activation", "Fuses an activation onto the operation before it.", [this] { fuseActivations(); });
    pass("fuse-residual-add", "Fuses the residual sum, and what follows it, onto a convolution.",
         [this] { fuseAdds(); });
    pass("propagate-layout", "Chooses layouts so that few reorders are paid.", [this] { layouts(); });
    pass("lower-to-plan", "Turns each static region into one plan.", [this] { lowered_ = true; });
  }

  void measure();

 private:
  void eachOp(const std::function<void(int)>& visit) {
    for (std::size_t i = 0; i < net_.ops.size(); ++i) {
      if (!net_.ops[i].gone) visit(static_cast<int>(i));
    }
  }
  void applied(std::vector<OriginId> origins, const std::string& text) {
    job_.remarks.push_back({current_, RemarkKind::kApplied, "applied", text, std::move(origins)});
  }
  void missed(std::vector<OriginId> origins, const std::string& reason, const std::string& text) {
    job_.remarks.push_back({current_, RemarkKind::kMissed, reason, text, std::move(origins)});
  }

  void fuseActivations() {
    eachOp([this](int i) {
      if (net_.ops[i].kind != "aten::relu") return;
      const int before = net_.ops[i].inputs[0];
      if (net_.ops[before].kind.find("conv") == std::string::npos) return;
      if (net_.ops[i].scope == "layer2.0.relu" && !declined_) {
        declined_ = true;
        missed(net_.ops[i].origins, "many-users", "The value before the activation has two users.");
        return;
      }
      net_.merge(i, before);
      net_.ops[before].kind = "ipex_studio::convolution";
      net_.ops[before].post.push_back("relu");
      applied(net_.ops[before].origins, "only user of the convolution");
    });
    eachOp([this](int i) {
      if (net_.ops[i].kind == "aten::conv2d") net_.ops[i].kind = "ipex_studio::convolution";
    });
  }

  void fuseAdds() {
    eachOp([this](int i) {
      if (net_.ops[i].kind != "aten::add") return;
      const int conv = net_.ops[i].inputs[0];
      const int skip = net_.ops[i].inputs[1];
      net_.merge(i, conv);
      net_.ops[conv].inputs.push_back(skip);
      net_.ops[conv].post.push_back("add");
      for (std::size_t r = 0; r < net_.ops.size(); ++r) {
        Op& relu = net_.ops[r];
        if (relu.gone || relu.kind != "aten::relu" || relu.inputs[0] != conv) continue;
        net_.merge(static_cast<int>(r), conv);
        net_.ops[conv].post.push_back("relu");
        break;
      }
      applied(net_.ops[conv].origins, "sum written in place, operand dies here");
    });
  }

  void layouts() {
    int n = 0;
    eachOp([this, &n](int i) {
      if (net_.ops[i].flops() <= 0) return;
      if (++n % 14 == 0)
        missed(net_.ops[i].origins, "reorder-kept", "The next step prefers nhwc, so the reorder stays.");
      applied(net_.ops[i].origins, "keeps nChw16c of its producer");
    });
  }

  void pass(const std::string& name, const std::string& summary, const std::function<void()>& run) {
    current_ = name;
    const std::size_t first = job_.remarks.size();
    run();
    PassRecord record;
    record.index = static_cast<std::int32_t>(job_.passes.size()) + 1;
    record.name = name;
    record.summary = summary;
    for (std::size_t r = first; r < job_.remarks.size(); ++r) {
      ++(job_.remarks[r].kind == RemarkKind::kApplied ? record.rewrites : record.missed);
    }
    record.changed = record.rewrites > 0 || lowered_;
    record.elapsed_ns = 400000 + 170000 * record.index;
    if (record.changed) record.snapshot = lowered_ ? regionGraph(record.index) : snapshotOf(net_, record.index, name);
    record.nodes_after = static_cast<std::int32_t>(ordered(net_).size());
    job_.passes.push_back(std::move(record));
  }

  static std::shared_ptr<const GraphSnapshot> regionGraph(int index) {
    auto graph = std::make_shared<GraphSnapshot>();
    graph->pass_index = index;
    graph->after_pass = "lower-to-plan";
    graph->values = {{0, "x", "Float(1, 3, 224, 224)", -1, ""}, {1, "y", "Float(1, 1000)", 0, ""}};
    GraphNode node;
    node.kind = "ipex_studio::region";
    node.name = "region 0 (58 steps)";
    for (OriginId o = 0; o < 175; ++o) node.origins.push_back(o);
    node.inputs = {0};
    node.outputs = {1};
    graph->nodes = {node};
    graph->inputs = {0};
    graph->outputs = {1};
    graph->text = "graph(%x):\n  %y = ipex_studio::region(%x)\n  return (%y)\n";
    return graph;
  }

  std::vector<std::int64_t> samples(double ns) {
    std::vector<std::int64_t> result;
    for (int i = 0; i < 40; ++i) {
      seed_ = seed_ * 6364136223846793005ULL + 1442695040888963407ULL;
      const double noise = static_cast<double>(seed_ >> 40) / static_cast<double>(1 << 24);
      result.push_back(static_cast<std::int64_t>(ns * (0.985 + 0.04 * noise * noise)));
    }
    return result;
  }

  JobRecord& job_;
  Network net_;
  std::string current_;
  bool declined_ = false;
  bool lowered_ = false;
  std::uint64_t seed_ = 7;
};

// Places results in four slots by turns; the first result of a block lives longer.
void placeInArena(StepRecord* step) {
  const std::int32_t n = step->index;
  step->arena_begin = n % 4 * 3'211'264;
  step->arena_size = std::max<std::int64_t>(step->bytes / 9 * 4, 4096);
  step->last_use = n % 4 == 0 ? n + 4 : n + 1;
}

// Spreads the profiled iterations over instances, with some time between the steps.
void spreadOverTime(RunRecord* run, int instances) {
  std::vector<StepTime> others;
  for (std::int32_t thread = 0; thread < instances; ++thread) {
    std::int64_t at = 40000 * thread;
    std::vector<StepTime> times = run->step_times;
    for (StepTime& time : times) {
      time.thread = thread;
      time.begin_ns.resize(time.elapsed_ns.size());
    }
    for (std::size_t i = 0; i < 40; ++i) {
      for (StepTime& time : times) {
        time.begin_ns[i] = at;
        at += time.elapsed_ns[i] + 1500;
      }
      at += 90000;
    }
    if (thread + 1 == instances) {
      run->step_times = std::move(times);
    } else {
      others.insert(others.end(), times.begin(), times.end());
    }
  }
  run->step_times.insert(run->step_times.end(), others.begin(), others.end());
}

void Story::measure() {
  Network plain;
  RunRecord before;
  before.variant = "baseline";
  double total = 0;
  for (const Op& op : plain.ops) {
    StepTime time;
    time.step = -1;
    time.name = op.name;
    time.kind = op.kind;
    time.origins = op.origins;
    if (op.kind == "aten::batch_norm") continue;  // stock freezing folds it
    const double elements =
        static_cast<double>(op.shape.channels) * std::max(op.shape.side, 1) * std::max(op.shape.side, 1);
    const double ns = op.flops() > 0 ? op.flops() / 74 + 60000 : elements * 0.55 + 9000;
    time.elapsed_ns = samples(ns);
    total += ns;
    before.step_times.push_back(std::move(time));
  }
  before.latency_ns = samples(total * 1.012);
  before.first_run_ns = 391000000;
  before.peak_rss_bytes = 412000000;
  RunRecord after;
  after.variant = "optimized";
  total = 0;
  int n = 0;
  for (const int i : ordered(net_)) {
    const Op& op = net_.ops[i];
    StepRecord step;
    step.index = static_cast<std::int32_t>(after.steps.size());
    step.name = op.name;
    for (const std::string& post : op.post) step.name += " + " + post;
    step.kind = op.flops() > 0                   ? (op.kernel > 0 ? "convolution" : "linear")
                : op.kind.substr(6) == "flatten" ? "reshape"
                                                 : "pool";
    step.kernel = op.flops() > 0 ? step.kind + "_onednn" : step.kind + "_avx512";
    step.implementation = op.kernel == 3 && op.stride == 1 ? "jit_wino:avx512_core"
                          : op.kernel == 1                 ? "brgconv_1x1:avx512_core"
                          : op.kernel == 7                 ? "jit:avx512_core"
                                                           : "";
    step.src_layout = n == 0 ? "nchw" : "nChw16c";
    step.dst_layout = step.kind == "linear" ? "ab" : "nChw16c";
    if (step.kind == "linear") step.src_layout = "ab";
    step.dst_shape = op.shape.dims();
    step.origins = op.origins;
    step.flops = static_cast<std::int64_t>(op.flops());
    step.bytes =
        static_cast<std::int64_t>(op.shape.channels) * std::max(op.shape.side, 1) * std::max(op.shape.side, 1) * 9;
    placeInArena(&step);
    const double elements =
        static_cast<double>(op.shape.channels) * std::max(op.shape.side, 1) * std::max(op.shape.side, 1);
    const double ns = op.flops() > 0 ? op.flops() / (96 + 5 * (i % 9)) + 4000 : elements * 0.3 + 2000;
    after.step_times.push_back({step.index, "", "", {}, 0, {}, samples(ns), {}});
    total += ns;
    if (op.flops() > 0) {
      after.dispatches.push_back(
          {step.index, step.kernel, "nChw16c", true, "chosen", static_cast<std::int64_t>(ns), 1e-6});
      after.dispatches.push_back(
          {step.index, step.kernel, "nhwc", false, "slower", static_cast<std::int64_t>(ns * 1.07), 1e-6});
      if (op.kernel == 1)
        after.dispatches.push_back({step.index, "convolution_winograd", "nChw16c", false, "not 3×3", 0, 0});
    }
    after.steps.push_back(std::move(step));
    if (op.flops() > 0 && ++n % 14 == 0) {
      StepRecord reorder = after.steps.back();
      reorder.index = static_cast<std::int32_t>(after.steps.size());
      reorder.name = op.name + " → nhwc";
      reorder.kind = "reorder";
      reorder.kernel = "reorder_onednn";
      reorder.implementation = "jit:blk";
      reorder.dst_layout = "nhwc";
      reorder.flops = 0;
      after.step_times.push_back({reorder.index, "", "", {}, 0, {}, samples(210000), {}});
      total += 210000;
      after.steps.push_back(std::move(reorder));
    }
  }
  after.latency_ns = samples(total * 1.011);
  after.compile_ns = 640000000;
  after.first_run_ns = 98000000;
  after.peak_rss_bytes = 371000000;
  after.coverage = {1, 0.998};
  after.accuracy = {{}, -1, "fp64", 1.1e-6, 8.6e-7, 118.4, 1, true, "Error at most twice that of eager."};
  for (int i = 0; i < 40; ++i) {
    before.turn.push_back(i / 5);
    after.turn.push_back(i / 5);
  }
  spreadOverTime(&before, 1);
  spreadOverTime(&after, 2);
  after.instances = 2;
  job_.runs = {std::move(before), std::move(after)};
}

}  // namespace

std::shared_ptr<const JobRecord> resnetJob(const SyntheticOptions& options) {
  auto job = std::make_shared<JobRecord>();
  job->command = "studio";
  Story story(job.get());
  if (options.passes) story.runPasses();
  if (options.runs) story.measure();
  return job;
}

}  // namespace ipex_studio::testing
