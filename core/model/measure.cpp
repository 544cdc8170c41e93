// Timing of whole forwards, and of the steps of regions and the nodes between them.
#include "core/model/measure.h"

#include <ATen/Parallel.h>
#include <omp.h>
#include <sys/resource.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/base/clock.h"
#include "core/graph/origins.h"
#include "core/lower/data_choices.h"
#include "core/lower/region_object.h"
#include "core/model/node_runner.h"
#include "core/model/place_origins.h"
#include "core/model/run_mode.h"
#include "core/record/original_code_step.h"
#include "core/record/records_json.h"
#include "core/runtime/machine_facts.h"
#include "core/torch/torch_error.h"

namespace ipex_studio {
namespace {

using torch::jit::Node;

struct NodeSamples {
  std::string kind;
  std::string name;
  std::vector<OriginId> origins;
  std::vector<std::int64_t> begin_ns, elapsed_ns;
};

void shift(std::vector<std::int64_t>& begins, std::int64_t start) {
  for (std::int64_t& begin : begins) begin -= start;
}

// Share of plans in the time of each run of the model.
class PlanShares {
 public:
  // When each run began, and the end of the last.
  explicit PlanShares(std::vector<std::int64_t> bounds) : bounds_(std::move(bounds)), inside_(bounds_.size(), 0) {}

  void add(const StepTime& time) {
    for (std::size_t i = 0; i < time.begin_ns.size(); ++i) {
      const auto run = std::upper_bound(bounds_.begin(), bounds_.end(), time.begin_ns[i]) - bounds_.begin();
      if (run > 0) inside_[static_cast<std::size_t>(run - 1)] += time.elapsed_ns[i];
    }
  }
  // That of the run in the middle: what other programs interrupt says little, and lasts longest.
  double median() const {
    std::vector<double> shares;
    for (std::size_t run = 0; run + 1 < bounds_.size(); ++run) {
      const std::int64_t whole = bounds_[run + 1] - bounds_[run];
      if (whole > 0) shares.push_back(static_cast<double>(inside_[run]) / static_cast<double>(whole));
    }
    if (shares.empty()) return 0;
    const auto middle = shares.begin() + static_cast<std::ptrdiff_t>(shares.size() / 2);
    std::nth_element(shares.begin(), middle, shares.end());
    return *middle;
  }

 private:
  std::vector<std::int64_t> bounds_, inside_;
};

// The steps of regions, in order of time, to find those that ran inside of a node.
class StepSpans {
 public:
  explicit StepSpans(const RunRecord& run) {
    std::vector<std::pair<std::int64_t, std::int64_t>> spans;
    for (const StepTime& time : run.step_times) {
      for (std::size_t i = 0; i < time.begin_ns.size(); ++i) spans.emplace_back(time.begin_ns[i], time.elapsed_ns[i]);
    }
    std::sort(spans.begin(), spans.end());
    before_.push_back(0);
    for (const auto& [begin, elapsed] : spans) {
      begin_.push_back(begin);
      before_.push_back(before_.back() + elapsed);
    }
  }
  // The time of all steps that began in this span.
  std::int64_t inside(std::int64_t begin, std::int64_t elapsed) const {
    const auto at = [&](std::int64_t when) {
      return before_[static_cast<std::size_t>(std::lower_bound(begin_.begin(), begin_.end(), when) - begin_.begin())];
    };
    return at(begin + elapsed) - at(begin);
  }

 private:
  std::vector<std::int64_t> begin_, before_;  // before_[i]: time of the first i steps
};

// Leaves to a node that runs regions inside (a branch, a loop, a call) the time that none of their steps took, so that
// all times together are the time of the run. Forked calls may overlap.
void takeOutInside(const StepSpans& spans, StepTime* time) {
  std::vector<std::int64_t> own;
  for (std::size_t i = 0; i < time->begin_ns.size(); ++i)
    own.push_back(
        std::max<std::int64_t>(0, time->elapsed_ns[i] - spans.inside(time->begin_ns[i], time->elapsed_ns[i])));
  if (own == time->elapsed_ns) return;
  time->whole_ns = std::exchange(time->elapsed_ns, std::move(own));
}

// Appends the samples of one region, of so many runs of the model, to those of earlier ones.
void addRegionSteps(const nlohmann::json& profile, std::int32_t region, std::int64_t start, int iterations,
                    PlanShares& shares, RunRecord& run) {
  if (!profile.contains("steps")) return;
  const auto offset = static_cast<std::int32_t>(run.steps.size());
  for (std::size_t s = 0; s < profile["steps"].size(); ++s) {
    auto step = recordFromJson<StepRecord>(profile["steps"][s]);
    step.index += offset;
    step.last_use += offset;
    step.region = region;
    StepTime time;
    time.step = step.index;
    time.begin_ns = profile["begin_ns"][s].get<std::vector<std::int64_t>>();
    time.elapsed_ns = profile["elapsed_ns"][s].get<std::vector<std::int64_t>>();
    shift(time.begin_ns, start);
    if (step.kernel != kOriginalCodeKernel) shares.add(time);
    step.runs = static_cast<double>(time.elapsed_ns.size()) / iterations;
    step.flops = std::llround(step.runs * static_cast<double>(step.flops));
    step.bytes = std::llround(step.runs * static_cast<double>(step.bytes));
    run.steps.push_back(std::move(step));
    run.step_times.push_back(std::move(time));
  }
  for (const nlohmann::json& entry : profile["dispatches"]) {
    auto dispatch = recordFromJson<DispatchRecord>(entry);
    dispatch.step += offset;
    run.dispatches.push_back(std::move(dispatch));
  }
}

}  // namespace

std::vector<Origin> frozenOrigins(const torch::jit::Module& module, const std::vector<std::string>& preserved) {
  OriginTable table;
  table.assign(*freezeForPasses(module, preserved).get_method("forward").graph());
  return table.origins();
}

void setThreads(int threads) {
  const int count = threads > 0 ? threads : usableCores();
  at::set_num_threads(count);
  omp_set_num_threads(count);
}

std::vector<std::int64_t> timeForward(torch::jit::Module& module, const Inputs& inputs, double seconds,
                                      std::int64_t iterations, const std::function<bool()>& cancelled) {
  const RunMode mode(module);
  std::vector<std::int64_t> samples;
  const std::int64_t end = nowNs() + static_cast<std::int64_t>(seconds * 1e9);
  try {
    while (iterations > 0 ? static_cast<std::int64_t>(samples.size()) < iterations : samples.empty() || nowNs() < end) {
      if (cancelled && cancelled()) break;
      Inputs arguments = inputs;
      const std::int64_t begin = nowNs();
      module.forward(std::move(arguments));
      samples.push_back(nowNs() - begin);
    }
  } catch (const std::runtime_error& problem) {
    throw runError(problem);
  } catch (const c10::Error& problem) {
    throw runError(problem);
  }
  return samples;
}

void profileSteps(torch::jit::Module& module, const Inputs& inputs, int iterations, const std::vector<Origin>& origins,
                  RunRecord& run) {
  const RunMode mode(module);
  const auto graph = module.get_method("forward").graph();
  const std::vector<torch::jit::IValue> arguments = graphArguments(module, inputs);
  std::vector<std::pair<Node*, NodeSamples>> nodes;
  std::unordered_map<Node*, StepTime> inner;  // nodes of ours in branches and loops
  std::unordered_map<Node*, std::size_t> index;
  std::size_t next = 0;  // place in `nodes` of the one that comes next, if all run as before
  const PlaceOrigins places(*graph, origins);
  const auto region_kind = c10::Symbol::fromQualString("ipex_studio::region");
  const auto loop_kind = c10::Symbol::fromQualString("ipex_studio::region_loop");
  // True for nodes that are no regions and whose time is that of plans all the same.
  const auto is_ours = [&](const Node* node) { return node->kind() == loop_kind || isDataChoice(node); };
  // Its own time counts for the run: what can be said before is not said here.
  NodeRunner runner(*graph, [&](Node* node, std::int64_t begin, std::int64_t elapsed) {
    if (node->kind() == region_kind) return;
    const auto addTo = [&](auto& samples) {
      samples.begin_ns.push_back(begin);
      samples.elapsed_ns.push_back(elapsed);
    };
    if (node->owningBlock() != graph->block()) {
      if (is_ours(node)) addTo(inner[node]);
      return;
    }
    if (next == nodes.size()) next = 0;
    if (next < nodes.size() && nodes[next].first == node) return addTo(nodes[next++].second);  // as in the run before
    auto at = index.find(node);
    if (at == index.end()) {
      at = index.emplace(node, nodes.size()).first;
      nodes.push_back({node, {node->kind().toQualString(), modulePath(node), places.of(node), {}, {}}});
      nodes.back().second.begin_ns.reserve(static_cast<std::size_t>(iterations));
      nodes.back().second.elapsed_ns.reserve(static_cast<std::size_t>(iterations));
    }
    addTo(nodes[at->second].second);
    next = at->second + 1;
  });
  runner.run(arguments);  // plans are compiled here, and nodes become known
  for (auto& [node, samples] : nodes) {
    samples.begin_ns.clear();
    samples.elapsed_ns.clear();
  }
  inner.clear();
  const std::vector<torch::jit::IValue> regions = regionObjects(module);
  for (const auto& region : regions) callRegion(region, "start_profile");
  const std::int64_t start = nowNs();
  std::vector<std::int64_t> bounds{0};
  for (int iteration = 0; iteration < iterations; ++iteration) {
    runner.run(arguments);
    bounds.push_back(nowNs() - start);
  }
  PlanShares shares(std::move(bounds));
  for (std::size_t region = 0; region < regions.size(); ++region) {
    const auto profile = nlohmann::json::parse(callRegion(regions[region], "stop_profile").toStringRef());
    addRegionSteps(profile, static_cast<std::int32_t>(region), start, iterations, shares, run);
  }
  const StepSpans spans(run);
  for (auto& [node, samples] : nodes) {
    StepTime time;
    time.step = -1;
    time.kind = samples.kind;
    time.name = samples.name.empty() ? samples.kind : samples.name;
    time.origins = samples.origins;
    time.begin_ns = samples.begin_ns;
    time.elapsed_ns = samples.elapsed_ns;
    shift(time.begin_ns, start);
    takeOutInside(spans, &time);
    if (is_ours(node)) shares.add(time);
    run.step_times.push_back(std::move(time));
  }
  for (auto& [node, time] : inner) {
    shift(time.begin_ns, start);
    takeOutInside(spans, &time);
    shares.add(time);
  }
  run.coverage.time = shares.median();
}

std::int64_t peakRssBytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<std::int64_t>(usage.ru_maxrss) * 1024;
}

}  // namespace ipex_studio
