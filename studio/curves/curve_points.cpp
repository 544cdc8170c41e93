// See curve_points.h.
#include "studio/curves/curve_points.h"

#include <fmt/format.h>

#include <algorithm>

namespace ipex_studio {
namespace {

constexpr int kMaxCurveRounds = 7, kMinCurveRounds = 3;
// A turn is long enough for a few requests, and short enough that points see the same state of the machine.
constexpr double kShortestTurn_s = 0.1, kLongestTurn_s = 1;

template <class T>
void sortUnique(std::vector<T>* values) {
  std::sort(values->begin(), values->end());
  values->erase(std::unique(values->begin(), values->end()), values->end());
}

std::vector<std::int64_t> threadsToTry(const CurvesRequest& request, std::int32_t cores) {
  std::vector<std::int64_t> threads = request.threads;
  if (threads.empty()) {
    for (std::int64_t power = 1; power < cores; power *= 2) threads.push_back(power);
    threads.push_back(cores);
  }
  sortUnique(&threads);
  return threads;
}

std::string plural(std::int64_t count, const char* what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

}  // namespace

std::vector<CoreSplit> coreSplits(const CurvesRequest& request, std::int32_t cores, bool one_instance,
                                  std::vector<std::string>* notes) {
  std::vector<CoreSplit> splits;
  bool lone = false;
  for (const std::int64_t threads : threadsToTry(request, cores)) {
    std::vector<std::int64_t> instances = request.instances;
    if (instances.empty()) instances = {1, std::max<std::int64_t>(1, cores / threads)};
    sortUnique(&instances);
    for (const std::int64_t count : instances) {
      if (one_instance && count > 1) {
        lone = true;
      } else if (threads * count > cores) {
        notes->push_back(fmt::format("{} of {} need {} cores; there {}.", plural(count, "instance"),
                                     plural(threads, "thread"), threads * count,
                                     cores == 1 ? "is 1" : fmt::format("are {}", cores)));
      } else {
        splits.push_back({static_cast<std::int32_t>(threads), static_cast<std::int32_t>(count)});
      }
    }
  }
  if (lone) notes->emplace_back("The model keeps state between calls, so one instance alone is measured.");
  std::sort(splits.begin(), splits.end(), [](const CoreSplit& a, const CoreSplit& b) {
    return a.instances != b.instances ? a.instances < b.instances : a.threads < b.threads;
  });
  return splits;
}

CurveRounds curveRounds(double time_s, std::size_t points) {
  const double each_s = time_s / static_cast<double>(std::max<std::size_t>(1, points));
  CurveRounds plan;
  plan.rounds = std::clamp(static_cast<int>(each_s / kShortestTurn_s), kMinCurveRounds, kMaxCurveRounds);
  plan.turn_s = std::min(kLongestTurn_s, each_s / plan.rounds);
  return plan;
}

}  // namespace ipex_studio
