#include "studio/engine/precision_costs.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/plan/pbqp.h"

namespace ipex_studio {
namespace {

constexpr double kCall_ns = 1500;  // of a cast, however small
constexpr double kCastBytes = 5;   // per element: a float on one side, a byte on the other

double medianOf(std::vector<std::int64_t> samples) {
  if (samples.empty()) return 0;
  const auto middle = samples.begin() + static_cast<std::ptrdiff_t>(samples.size() / 2);
  std::nth_element(samples.begin(), middle, samples.end());
  return static_cast<double>(*middle);
}

}  // namespace

std::map<std::string, OriginId> originsByKey(const std::vector<Origin>& origins) {
  std::map<std::string, OriginId> ids;
  for (const Origin& origin : origins) ids[fmt::format("{}:{}#{}", origin.module_path, origin.kind, origin.ordinal)] = origin.id;
  return ids;
}

std::vector<double> timesOf(const std::vector<PrecisionChoice>& choices, const RunRecord& profiled) {
  std::map<OriginId, std::size_t> owner;
  for (std::size_t c = 0; c < choices.size(); ++c) {
    for (const OriginId id : choices[c].origins) owner.emplace(id, c);
  }
  std::map<std::int32_t, double> medians;
  for (const StepTime& time : profiled.step_times) {
    if (time.step >= 0) medians[time.step] = medianOf(time.elapsed_ns);
  }
  std::vector<double> times(choices.size(), 0);
  for (const StepRecord& step : profiled.steps) {
    std::vector<std::size_t> owners;
    for (const OriginId id : step.origins) {
      const auto found = owner.find(id);
      if (found != owner.end() && std::find(owners.begin(), owners.end(), found->second) == owners.end()) owners.push_back(found->second);
    }
    const auto time = medians.find(step.index);
    if (time == medians.end()) continue;
    for (const std::size_t c : owners) times[c] += time->second / static_cast<double>(owners.size());
  }
  return times;
}

std::vector<PrecisionEdge> edgesOf(const CalibrationPlan& plan, const Recipe& recipe, double bytes_per_ns) {
  std::map<int, int> writer;  // point to candidate
  for (std::size_t c = 0; c < plan.writes.size(); ++c) {
    if (plan.writes[c] >= 0) writer[plan.writes[c]] = static_cast<int>(c);
  }
  std::vector<PrecisionEdge> edges;
  for (std::size_t c = 0; c < plan.reads.size(); ++c) {
    for (const int point : plan.reads[c]) {
      const auto found = writer.find(point);
      if (point < 0 || found == writer.end() || found->second == static_cast<int>(c)) continue;
      const RecipeValue* value = recipe.value(plan.points[static_cast<std::size_t>(point)].key);
      const double elements = value == nullptr ? 0 : static_cast<double>(value->count) / static_cast<double>(std::max<std::int64_t>(1, recipe.samples));
      edges.push_back({found->second, static_cast<int>(c), kCall_ns + kCastBytes * elements / bytes_per_ns});
    }
  }
  return edges;
}

std::vector<bool> cheapest(const std::vector<PrecisionChoice>& choices, const std::vector<PrecisionEdge>& edges, double price) {
  Pbqp problem;
  for (const PrecisionChoice& choice : choices) problem.addNode({choice.fp32_ns, choice.low_ns + price * choice.noise});
  for (const PrecisionEdge& edge : edges) problem.addEdge(edge.writer, edge.reader, {0, edge.cast_ns, edge.cast_ns, 0});
  std::vector<bool> lowered;
  if (choices.empty()) return lowered;
  const Pbqp::Solution solution = problem.solve();
  for (const int alternative : solution.choice) lowered.push_back(alternative == 1);
  return lowered;
}

}  // namespace ipex_studio
