#include "kernels/torch/plans/new_sizes.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace ipex_studio {
namespace {

constexpr std::size_t kKeptTimes = 8, kNearest = 3;
constexpr std::size_t kKeptPreparing = 4, kTriedPreparing = 2;
constexpr std::size_t kMaxSizes = 4096;
// A size that came so often has a plan, whatever times say: they may have been measured while the machine was busy.
constexpr std::int32_t kManyRuns = 16;
// For the same reason the original code runs again after so many sizes that seemed better with a plan.
constexpr std::int32_t kLookAgain = 32;

}  // namespace

void TimesByWork::add(double work, double time_ns) {
  if (times_.size() == kKeptTimes) times_.pop_front();
  times_.push_back({std::max(work, 1.0), time_ns});
}

std::optional<double> TimesByWork::expected_ns(double work) const {
  if (times_.empty()) return std::nullopt;
  const double asked = std::max(work, 1.0);
  std::vector<Time> near(times_.begin(), times_.end());
  const auto distance = [&](const Time& time) { return std::abs(std::log(time.work / asked)); };
  std::stable_sort(near.begin(), near.end(), [&](const Time& a, const Time& b) { return distance(a) < distance(b); });
  near.resize(std::min(near.size(), kNearest));
  std::vector<double> said;
  for (const Time& time : near) said.push_back(time.time_ns * asked / time.work);
  std::sort(said.begin(), said.end());
  return said[(said.size() - 1) / 2];
}

NewSizes::Answer NewSizes::ask(const Target& target, std::uint64_t size, double work) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (runs_.size() == kMaxSizes && runs_.count(size) == 0) runs_.clear();
  const std::int32_t runs = ++runs_[size];
  Times& times = times_[target];
  if (!times.any_prepared) return Answer::kPrepare;
  if (beside_.count(size) != 0 || !isWorthIt(times, runs, work)) return Answer::kOriginalCode;
  if (mode_ != NewSizesMode::kBackground) return Answer::kPrepare;
  beside_.insert(size);
  return Answer::kPrepareBeside;
}

bool NewSizes::isWorthIt(Times& times, std::int32_t runs, double work) const {
  const auto original_ns = times.original_code.expected_ns(work), plan_ns = times.plan.expected_ns(work);
  if (!original_ns || !plan_ns) return false;
  if (times.preparing_ns.size() < kTriedPreparing || runs >= kManyRuns) return true;
  if (++times.asked % kLookAgain == 0) return false;
  const double preparing_ns = *std::min_element(times.preparing_ns.begin(), times.preparing_ns.end());
  return runs * (*original_ns - *plan_ns) >= preparing_ns;
}

bool NewSizes::cameBack(std::uint64_t size) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto found = runs_.find(size);
  return found != runs_.end() && found->second > 1;
}

void NewSizes::ranOriginalCode(const Target& target, double work, std::int64_t elapsed_ns) {
  const std::lock_guard<std::mutex> lock(mutex_);
  times_[target].original_code.add(work, static_cast<double>(elapsed_ns));
}

void NewSizes::ranPlan(const Target& target, double work, std::int64_t elapsed_ns) {
  const std::lock_guard<std::mutex> lock(mutex_);
  times_[target].plan.add(work, static_cast<double>(elapsed_ns));
}

// The first plan packs the weights for all of them, so its time says nothing.
void NewSizes::prepared(const Target& target, std::int64_t elapsed_ns) {
  const std::lock_guard<std::mutex> lock(mutex_);
  Times& times = times_[target];
  if (times.any_prepared) times.preparing_ns.push_back(static_cast<double>(elapsed_ns));
  if (times.preparing_ns.size() > kKeptPreparing) times.preparing_ns.pop_front();
  times.any_prepared = true;
}

std::size_t NewSizes::preparingBeside() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return beside_.size();
}

void NewSizes::preparedBeside(std::uint64_t size) {
  const std::lock_guard<std::mutex> lock(mutex_);
  beside_.erase(size);
}

}  // namespace ipex_studio
