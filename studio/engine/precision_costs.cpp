// Times of operations, costs of casts, and the choice between precisions as a graph of costs.
#include "studio/engine/precision_costs.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/base/pbqp.h"
#include "core/op/op_spec.h"

namespace ipex_studio {
namespace {

constexpr double kCall_ns = 1500;  // least time of a cast
constexpr double kCastBytes = 5;   // per element: a float on one side, a byte on the other

double medianOf(std::vector<std::int64_t> samples) {
  if (samples.empty()) return 0;
  const auto middle = samples.begin() + static_cast<std::ptrdiff_t>(samples.size() / 2);
  std::nth_element(samples.begin(), middle, samples.end());
  return static_cast<double>(*middle);
}

}  // namespace

std::int32_t countOf(const Assignment& assignment, char precision) {
  return static_cast<std::int32_t>(std::count(assignment.begin(), assignment.end(), precision));
}

std::string assignmentName(const Assignment& assignment) {
  const auto all = static_cast<std::int32_t>(assignment.size());
  const std::int32_t fp32 = countOf(assignment, kInFp32), bf16 = countOf(assignment, kInBf16);
  if (fp32 == all) return "fp32";
  if (bf16 == all) return "bf16";
  std::string name = "int8";
  if (fp32 > 0) name += fmt::format(", {} operation{} in fp32", fp32, fp32 == 1 ? "" : "s");
  if (bf16 > 0) name += fmt::format(", {} operation{} in bf16", bf16, bf16 == 1 ? "" : "s");
  return name;
}

const char* reasonOf(const PrecisionChoice& choice, char precision) {
  if (precision != kInFp32) return "fastest within the budget";
  return choice.low_ns >= choice.fp32_ns ? "slower in INT8 when measured"
                                         : "too sensitive for what it gains, casts included";
}

SensitivityRecord sensitivityOf(const PrecisionChoice& choice, char precision, bool has_bf16) {
  SensitivityRecord record;
  record.key = choice.node.key;
  record.name = fmt::format("{} {}", choice.node.module_path, choice.node.kind);
  record.origins = choice.origins;
  record.precision = "int8";
  record.sqnr_db = choice.sqnr_db;
  record.cumulative_db = choice.cumulative_db;
  record.fp32_ns = static_cast<std::int64_t>(choice.fp32_ns);
  record.low_ns = static_cast<std::int64_t>(choice.low_ns);
  // Attention writes integers, but never computes in them.
  const bool attends = choice.node.kind == opKindName(OpKind::kAttention);
  record.chosen = precision == kInInt8 && !attends                             ? "int8"
                  : precision == kInBf16 || (precision == kInInt8 && has_bf16) ? "bf16"
                                                                               : "fp32";
  record.reason = reasonOf(choice, precision);
  return record;
}

double highestPrice(const std::vector<PrecisionChoice>& choices) {
  double price = 1;
  for (const PrecisionChoice& choice : choices) {
    if (choice.noise > 0) price = std::max(price, 2 * std::max(0.0, choice.fp32_ns - choice.low_ns) / choice.noise);
  }
  return price;
}

void markFront(const std::vector<TradeoffRecord*>& records, bool higher_is_better) {
  const auto value = [&](const TradeoffRecord& record) { return higher_is_better ? record.metric : -record.metric; };
  for (TradeoffRecord* own : records) {
    own->on_front = std::none_of(records.begin(), records.end(), [&](const TradeoffRecord* other) {
      const bool no_worse = other->elapsed_ns <= own->elapsed_ns && value(*other) >= value(*own);
      return no_worse && (other->elapsed_ns < own->elapsed_ns || value(*other) > value(*own));
    });
  }
}

std::map<std::string, OriginId> originsByKey(const std::vector<Origin>& origins) {
  std::map<std::string, OriginId> ids;
  for (const Origin& origin : origins)
    ids[fmt::format("{}:{}#{}", origin.module_path, origin.kind, origin.ordinal)] = origin.id;
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
      if (found != owner.end() && std::find(owners.begin(), owners.end(), found->second) == owners.end())
        owners.push_back(found->second);
    }
    const auto time = medians.find(step.index);
    if (time == medians.end()) continue;
    for (const std::size_t c : owners) times[c] += step.runs * time->second / static_cast<double>(owners.size());
  }
  return times;
}

std::vector<PrecisionEdge> edgesOf(const CalibrationPlan& plan, const Recipe& recipe, double bytes_per_ns) {
  std::map<int, int> writer;  // point → candidate
  for (std::size_t c = 0; c < plan.writes.size(); ++c) {
    if (plan.writes[c] >= 0) writer[plan.writes[c]] = static_cast<int>(c);
  }
  std::vector<PrecisionEdge> edges;
  for (std::size_t c = 0; c < plan.reads.size(); ++c) {
    for (const int point : plan.reads[c]) {
      const auto found = writer.find(point);
      if (point < 0 || found == writer.end() || found->second == static_cast<int>(c)) continue;
      const RecipeValue* value = recipe.value(plan.points[static_cast<std::size_t>(point)].key);
      const double elements = value == nullptr ? 0
                                               : static_cast<double>(value->count) /
                                                     static_cast<double>(std::max<std::int64_t>(1, recipe.samples));
      edges.push_back({found->second, static_cast<int>(c), kCall_ns + kCastBytes * elements / bytes_per_ns});
    }
  }
  return edges;
}

Assignment cheapest(const std::vector<PrecisionChoice>& choices, const std::vector<PrecisionEdge>& edges,
                    double price) {
  Assignment assignment;
  if (choices.empty()) return assignment;
  constexpr double kNever_ns = 1e15;
  constexpr char kOrder[] = {kInFp32, kInInt8, kInBf16};
  Pbqp problem;
  for (const PrecisionChoice& choice : choices) {
    const double bf16 = choice.bf16_ns > 0 ? choice.bf16_ns + price * choice.bf16_noise : kNever_ns;
    problem.addNode({choice.fp32_ns, choice.low_ns + price * choice.noise, bf16});
  }
  for (const PrecisionEdge& edge : edges) {
    const double cast = edge.cast_ns;
    problem.addEdge(edge.writer, edge.reader, {0, cast, cast, cast, 0, cast, cast, cast, 0});
  }
  const Pbqp::Solution solution = problem.solve();
  for (const int alternative : solution.choice) assignment += kOrder[alternative];
  return assignment;
}

}  // namespace ipex_studio
