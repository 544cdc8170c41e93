// Layers, times and remarks of a made-up ResNet-50 job.
#include "tests/profiler/synthetic_job.h"

#include <fmt/format.h>

#include <cmath>

namespace ipex_studio::testing {
namespace {

class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed * 0x9E3779B97F4A7C15u + 1) {}
  double uniform() {
    state_ = state_ * 6364136223846793005u + 1442695040888963407u;
    return static_cast<double>(state_ >> 11) / 9007199254740992.0;
  }
  // Draws a latency: mostly close to `center`, with a tail to the right.
  std::int64_t latency(double center) {
    const double noise = (uniform() + uniform() + uniform() - 1.5) * 0.012;
    const double tail = uniform() > 0.97 ? 0.15 * uniform() : 0.0;
    return static_cast<std::int64_t>(center * (1.0 + noise + tail));
  }

 private:
  std::uint64_t state_;
};

struct Layer {
  std::string path;
  std::string shape;
  std::int64_t flops;
  bool residual;
};

std::vector<Layer> layers(std::int32_t blocks) {
  std::vector<Layer> result;
  for (std::int32_t b = 0; b < blocks; ++b) {
    const std::int32_t stage = std::min(4, 1 + b / 4);
    const std::int32_t side = 112 >> stage;
    for (std::int32_t c = 1; c <= 3; ++c) {
      const std::int32_t channels = (c == 3 ? 256 : 64) << (stage - 1);
      result.push_back({fmt::format("layer{}.{}.conv{}", stage, b % 4, c),
                        fmt::format("1x{}x{}x{}", channels, side, side),
                        (c == 2 ? 231'211'008 : 102'760'448) + b * 1'000'000, c == 3});
    }
  }
  return result;
}

void addOrigins(const std::vector<Layer>& all, ModelRecord& model) {
  for (const Layer& layer : all) {
    for (const char* kind : {"aten::conv2d", "aten::batch_norm", "aten::relu_"}) {
      model.origins.push_back({static_cast<OriginId>(model.origins.size()), layer.path, kind, 0, "resnet.py:154"});
    }
  }
  model.nodes = static_cast<std::int32_t>(model.origins.size());
}

// Makes one chain of nodes, with enough structure for ids, types and attributes to matter.
std::shared_ptr<GraphSnapshot> snapshot(std::int32_t pass_index, const std::string& after,
                                        const std::vector<Layer>& all, bool fused) {
  auto graph = std::make_shared<GraphSnapshot>();
  graph->pass_index = pass_index;
  graph->after_pass = after;
  graph->values.push_back({0, "x", "Float(1, 3, 224, 224)", -1, ""});
  graph->inputs = {0};
  const auto add = [&](const std::string& kind, const Layer& layer, std::vector<OriginId> origins) {
    const auto id = static_cast<std::int32_t>(graph->nodes.size());
    const auto value = static_cast<std::int32_t>(graph->values.size());
    graph->nodes.push_back({id,
                            -1,
                            kind,
                            layer.path,
                            layer.path,
                            std::move(origins),
                            {value - 1},
                            {value},
                            {{"stride", "1, 1"}, {"padding", "0, 0"}}});
    graph->values.push_back({value, fmt::format("v.{}", value), "Float(1, 64, 56, 56)", id, ""});
    graph->text += fmt::format("%v.{} : Tensor = {}(%v.{})\n", value, kind, value - 1);
  };
  for (std::size_t i = 0; i < all.size(); ++i) {
    const auto first = static_cast<OriginId>(3 * i);
    if (fused) {
      add("ipex_studio::convolution", all[i], {first, first + 1, first + 2});
    } else {
      add("aten::conv2d", all[i], {first});
      add("aten::batch_norm", all[i], {first + 1});
      add("aten::relu_", all[i], {first + 2});
    }
  }
  graph->outputs = {static_cast<std::int32_t>(graph->values.size()) - 1};
  return graph;
}

StepRecord convolutionStep(std::int32_t index, const Layer& layer) {
  StepRecord step;
  step.index = index;
  step.name = layer.path + (layer.residual ? " + add + relu" : " + relu");
  step.kind = "convolution";
  step.spec = layer.residual ? "convolution(1x1) add relu" : "convolution(3x3) relu";
  step.kernel = "convolution_onednn";
  step.implementation = "brgconv:avx512_core";
  step.src_layout = step.dst_layout = "nChw16c";
  step.dst_shape = layer.shape;
  step.origins = {3 * index, 3 * index + 1, 3 * index + 2};
  step.flops = layer.flops;
  step.bytes = layer.flops / 90;
  step.arena_begin = index % 2 * 4'194'304;
  step.arena_size = 3'211'264;
  step.last_use = index + 1;
  return step;
}

void addSamples(Random& random, double center_ns, std::int32_t samples, double period_ns, double offset_ns,
                StepTime& time) {
  for (std::int32_t i = 0; i < samples; ++i) {
    time.begin_ns.push_back(static_cast<std::int64_t>(i * period_ns + offset_ns));
    time.elapsed_ns.push_back(random.latency(center_ns));
  }
}

RunRecord commonRun(Random& random, double center_ns, std::int32_t samples) {
  RunRecord run;
  run.threads = 2;
  run.warmup_iterations = 5;
  run.load_ns = 210'000'000;
  run.first_run_ns = 180'000'000;
  for (std::int32_t i = 0; i < samples; ++i) {
    run.latency_ns.push_back(random.latency(center_ns));
    run.turn.push_back(i / 10);
  }
  run.cpu_per_wall = 1.97;
  run.noise = {3'000'000'000, 2, 0.04, 0.001, 3.5, 0.0005, 30'000, 30'600};
  return run;
}

RunRecord baselineRun(Random& random, const std::vector<Layer>& all, std::int32_t samples) {
  RunRecord run = commonRun(random, 124.1e6, samples);
  run.variant = "baseline";
  run.peak_rss_bytes = 412'000'000;
  run.accuracy = {{}, -1, "fp64", 3.1e-6, 4.2e-7, 118.4, 1.0, true, "within 1e-5 of the fp64 reference"};
  double offset = 0;
  for (std::size_t i = 0; i < all.size(); ++i) {
    static constexpr struct {
      const char* kind;
      double share;
    } kParts[] = {{"aten::conv2d", 0.75}, {"aten::batch_norm", 0.15}, {"aten::relu_", 0.10}};
    for (std::int32_t part = 0; part < 3; ++part) {
      StepTime time;
      time.step = -1;
      time.name = all[i].path;
      time.kind = kParts[part].kind;
      time.origins = {static_cast<OriginId>(3 * i) + part};
      const double center = 122.0e6 / static_cast<double>(all.size()) * kParts[part].share;
      addSamples(random, center, samples, 126e6, offset, time);
      offset += center;
      run.step_times.push_back(std::move(time));
    }
  }
  return run;
}

void addDispatches(const StepRecord& step, std::int64_t chosen_ns, RunRecord& run) {
  run.dispatches.push_back({step.index, "convolution_onednn", "nChw16c", true, "chosen", chosen_ns, 1.2e-7});
  run.dispatches.push_back(
      {step.index, "convolution_onednn", "nhwc", false, "slower", chosen_ns + chosen_ns / 9, 1.2e-7});
  run.dispatches.push_back({step.index, "convolution_winograd", "nChw16c", false, "kernel-size-not-3x3", 0, 0});
}

RunRecord optimizedRun(Random& random, const std::vector<Layer>& all, std::int32_t samples) {
  RunRecord run = commonRun(random, 64.7e6, samples);
  run.variant = "optimized";
  run.compile_ns = 1'240'000'000;
  run.tune_ns = 310'000'000;
  run.peak_rss_bytes = 447'000'000;
  run.accuracy = {{}, -1, "fp64", 3.4e-6, 4.6e-7, 117.9, 0.99999997, true, "within 1e-5 of the fp64 reference"};
  run.coverage = {0.98, 0.987};
  run.metrics = {{"top-1", 0.9312, true, 10000}, {"sqnr", 41.5, true, 10000}};
  run.export_bytes = 94'000'000;
  double offset = 0;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const StepRecord step = convolutionStep(static_cast<std::int32_t>(i), all[i]);
    StepTime time;
    time.step = step.index;
    const double center = 63.4e6 / static_cast<double>(all.size()) * (0.4 + 1.2 * random.uniform());
    addSamples(random, center, samples, 65e6, offset, time);
    offset += center;
    addDispatches(step, static_cast<std::int64_t>(center), run);
    run.node_accuracy.push_back({step.origins, 0, "fp64", 1e-6, 2e-7, 121.0, 1.0, true, ""});
    run.steps.push_back(step);
    run.step_times.push_back(std::move(time));
  }
  StepTime interpreted;
  interpreted.step = -1;
  interpreted.name = "flatten";
  interpreted.kind = "aten::flatten";
  interpreted.origins = {0};
  addSamples(random, 60e3, samples, 65e6, offset, interpreted);
  for (const std::int64_t own_ns : interpreted.elapsed_ns) interpreted.whole_ns.push_back(own_ns + 1000);
  run.step_times.push_back(std::move(interpreted));
  return run;
}

void addPasses(const std::vector<Layer>& all, JobRecord& job) {
  static constexpr struct {
    const char* name;
    const char* summary;
    std::int32_t done;
    std::int32_t missed;
  } kPasses[] = {
      {"canonicalize-in-place", "write in-place operators as out-of-place ones where nothing aliases", 49, 0},
      {"canonicalize-batch-norm", "give every batch norm one form", 53, 0},
      {"eliminate-dropout", "remove dropout, which does nothing in inference", 0, 0},
      {"fold-constants", "compute what depends on constants alone", 12, 0},
      {"fold-batch-norm", "multiply batch norm into the weights of the convolution before it", 53, 0},
      {"fuse-activation", "let the convolution apply the activation", 33, 1},
      {"fuse-residual-add", "let the convolution add the other branch, in place when it dies", 16, 0},
      {"propagate-layout", "keep one layout as long as possible", 58, 4},
      {"lower-to-plan", "turn static regions into plans", 58, 0}};
  std::int32_t index = 0;
  for (const auto& entry : kPasses) {
    PassRecord pass;
    pass.index = ++index;
    pass.name = entry.name;
    pass.summary = entry.summary;
    pass.changed = entry.done > 0;
    pass.rewrites = entry.done;
    pass.missed = entry.missed;
    pass.elapsed_ns = 900'000 * index;
    pass.hash_before = 0xF000'0000'0000'0000u + static_cast<std::uint64_t>(index);
    pass.hash_after = pass.hash_before + (pass.changed ? 1 : 0);
    pass.nodes_after = static_cast<std::int32_t>(all.size()) * (index < 6 ? 3 : 1);
    if (pass.changed) pass.snapshot = snapshot(index, pass.name, all, index >= 6);
    job.passes.push_back(std::move(pass));
    for (std::int32_t i = 0; i < std::min(entry.done, 3); ++i) {
      job.remarks.push_back(
          {entry.name, RemarkKind::kApplied, "applied", "folded into weight and bias", {3 * i, 3 * i + 1}});
    }
    for (std::int32_t i = 0; i < entry.missed; ++i) {
      const bool layout = std::string(entry.name) == "propagate-layout";
      job.remarks.push_back({entry.name,
                             RemarkKind::kMissed,
                             layout ? "other-layout-wanted" : "several-users",
                             layout ? "the next step prefers nhwc: the reorder is kept" : "the sum has two users",
                             {3 * i}});
    }
  }
}

}  // namespace

JobRecord syntheticJob(std::uint64_t seed, SyntheticSize size) {
  Random random(seed);
  const std::vector<Layer> all = layers(size.blocks);
  JobRecord job;
  job.command = "run";
  job.options = R"({"precision":"fp32","threads":2})";
  job.started_unix_ns = 1'790'000'000'000'000'000 + static_cast<std::int64_t>(seed) * 1'000'000'000;
  job.model.path = "models/resnet50.pt";
  job.model.sha256 = "3b1f0c6c5d2d2a9e4c8b7a695847362514039281706f5e4d3c2b1a0918273645";
  job.model.file_bytes = 102'501'224;
  job.model.inputs = {{"x", "1x3x224x224:float32", true}};
  addOrigins(all, job.model);
  job.machine = {"AMD EPYC 9654",
                 "avx512_core_bf16",
                 {"avx2", "avx512f", "avx512_vnni"},
                 2,
                 "1.13.1",
                 "2.6.3",
                 "Linux 6.1 Debian 12",
                 "performance",
                 8'589'934'592};
  job.frozen = snapshot(0, "frozen", all, false);
  addPasses(all, job);
  job.runs.push_back(baselineRun(random, all, size.samples));
  job.runs.push_back(optimizedRun(random, all, size.samples));
  return job;
}

}  // namespace ipex_studio::testing
