// See slow_causes.h.
#include "profiler/causes/slow_causes.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <unordered_map>
#include <unordered_set>

#include "profiler/summary.h"

namespace ipex_studio {
namespace {

constexpr double kMinCauseShare = 0.06;
// Shares that differ by less are ranked by what they tell.
constexpr double kAlikeShare = 0.15;

// The times of a run's operations, by the nodes that they come from.
class NodeTimes {
 public:
  NodeTimes(const RunRecord& run, const GraphFacts& facts) : digest_(digestOf(run)), facts_(facts) {
    for (std::size_t s = 0; s < digest_.steps.size(); ++s) {
      total_ns_ += static_cast<double>(digest_.steps[s].p50_ns);
      for (const OriginId origin : digest_.steps[s].origins) of_origin_[origin].push_back(s);
      if (digest_.steps[s].origins.empty())
        unplaced_[digest_.steps[s].kind].time_ns += static_cast<double>(digest_.steps[s].p50_ns);
    }
    nodes_of_step_.assign(digest_.steps.size(), 0);
    for (const GraphNode& node : facts.nodes()) {
      const std::vector<std::size_t> steps = stepsOf(node);
      for (const std::size_t s : steps) ++nodes_of_step_[s];
      if (steps.empty() && node.parent < 0) ++unplaced_[node.kind].nodes;
    }
    for (const auto& [kind, each] : unplaced_) total_ns_ += each.time_ns * std::max(0, each.nodes - 1);
  }

  double total_ns() const { return total_ns_; }

  // The baseline's time of a node. One inside of a loop or branch has a part of that one's time.
  double of(const GraphNode& node) const {
    if (const GraphNode* whole = facts_.enclosing(node))
      return facts_.inside(*whole) == 0 ? 0 : own(*whole) / static_cast<double>(facts_.inside(*whole));
    return own(node);
  }

  // The time of the steps that do nothing but these nodes.
  double ofAll(const std::unordered_set<OriginId>& origins) const {
    double sum_ns = 0;
    for (const StepSummary& step : digest_.steps) {
      const bool whole = !step.origins.empty() && step.kind != "reorder" &&
                         std::all_of(step.origins.begin(), step.origins.end(),
                                     [&](OriginId origin) { return origins.count(origin) > 0; });
      if (whole) sum_ns += static_cast<double>(step.p50_ns);
    }
    return sum_ns;
  }

 private:
  std::vector<std::size_t> stepsOf(const GraphNode& node) const {
    std::vector<std::size_t> steps;
    for (const OriginId origin : node.origins) {
      const auto at = of_origin_.find(origin);
      if (at == of_origin_.end()) continue;
      for (const std::size_t s : at->second) {
        if (digest_.steps[s].kind == node.kind) steps.push_back(s);
      }
    }
    std::sort(steps.begin(), steps.end());
    steps.erase(std::unique(steps.begin(), steps.end()), steps.end());
    return steps;
  }

  double own(const GraphNode& node) const {
    const std::vector<std::size_t> steps = stepsOf(node);
    if (steps.empty() && node.parent < 0) {
      const auto same = unplaced_.find(node.kind);
      return same == unplaced_.end() ? 0 : same->second.time_ns;
    }
    double sum_ns = 0;
    for (const std::size_t s : steps)
      sum_ns += static_cast<double>(digest_.steps[s].p50_ns) / std::max(1, nodes_of_step_[s]);
    return sum_ns;
  }

  RunDigest digest_;
  const GraphFacts& facts_;
  double total_ns_ = 0;
  std::unordered_map<OriginId, std::vector<std::size_t>> of_origin_;
  std::vector<std::int32_t> nodes_of_step_;
  // The median time of the steps of a kind that nothing tells apart, and the nodes that it stands for.
  struct Unplaced {
    double time_ns = 0;
    std::int32_t nodes = 0;
  };
  std::unordered_map<std::string, Unplaced> unplaced_;
};

SlowCause causeOf(const CauseRule& rule, const GraphFacts& facts, const NodeTimes& before) {
  SlowCause cause;
  cause.rule = &rule;
  for (const GraphNode& node : facts.nodes()) {
    if (!rule.fits(facts, node)) continue;
    ++cause.count;
    cause.origins.insert(cause.origins.end(), node.origins.begin(), node.origins.end());
    cause.before_ns += before.of(node);
  }
  std::sort(cause.origins.begin(), cause.origins.end());
  cause.origins.erase(std::unique(cause.origins.begin(), cause.origins.end()), cause.origins.end());
  cause.share = before.total_ns() > 0 ? std::min(1.0, cause.before_ns / before.total_ns()) : 0;
  return cause;
}

const RunRecord* lastRun(const JobRecord& job, std::string_view variant) {
  const RunRecord* found = nullptr;
  for (const RunRecord& run : job.runs) {
    if (run.variant == variant) found = &run;
  }
  return found;
}

}  // namespace

std::vector<SlowCause> slowCauses(const JobRecord& job) {
  const RunRecord* baseline = lastRun(job, "baseline");
  const RunRecord* optimized = lastRun(job, "optimized");
  if (job.frozen == nullptr || baseline == nullptr || baseline->step_times.empty()) return {};
  const GraphFacts facts(*job.frozen);
  const NodeTimes before(*baseline, facts);
  std::vector<SlowCause> causes;
  for (const CauseRule& rule : causeRules()) {
    SlowCause cause = causeOf(rule, facts, before);
    if (cause.count >= rule.least && cause.share >= kMinCauseShare) causes.push_back(std::move(cause));
  }
  if (optimized != nullptr) {
    const NodeTimes after(*optimized, facts);
    for (SlowCause& cause : causes) cause.after_ns = after.ofAll({cause.origins.begin(), cause.origins.end()});
  }
  std::stable_sort(causes.begin(), causes.end(), [](const SlowCause& a, const SlowCause& b) {
    return std::floor(a.share / kAlikeShare) > std::floor(b.share / kAlikeShare);
  });
  return causes;
}

std::string causeSentence(const SlowCause& cause) {
  return fmt::format("{} {}", cause.count, cause.count == 1 ? cause.rule->one : cause.rule->several);
}

}  // namespace ipex_studio
