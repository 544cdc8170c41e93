// NewSizes: whether a plan is prepared for a size that has none yet, or the original code computes it once more.
//
// Preparing costs about the same for each size, and gains a share of each later run. As long as a size may be one that
// never comes again, preparing for it is worth what this one run gains. A size that came k times is expected to come k
// times more, so a plan is prepared as soon as k runs gain what it costs: whatever comes, that takes at most twice the
// time of who knew the future. All three times are measured in the runs themselves.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>

#include "core/record/options.h"

namespace ipex_studio {

// Measured times by the amount of work, of which few are kept.
class TimesByWork {
 public:
  void add(double work, double time_ns);
  // The median of what the nearest amounts of work say, in proportion. Nothing without a measurement.
  std::optional<double> expected_ns(double work) const;

 private:
  struct Time {
    double work = 0, time_ns = 0;
  };
  std::deque<Time> times_;
};

// Thread-safe. `size`: a number that stands for all that a plan is prepared for; `target`: for threads and memory node,
// whose times differ; `work`: elements of the inputs.
class NewSizes {
 public:
  using Target = std::pair<std::int32_t, int>;
  enum class Answer { kPrepare, kPrepareBeside, kOriginalCode };  // kPrepareBeside: while the original code runs

  explicit NewSizes(NewSizesMode mode) : mode_(mode) {}

  // To be asked once for each run at a size without a plan.
  Answer ask(const Target& target, std::uint64_t size, double work);
  // True if more than one run asked about this size.
  bool cameBack(std::uint64_t size) const;

  void ranOriginalCode(const Target& target, double work, std::int64_t elapsed_ns);
  void ranPlan(const Target& target, double work, std::int64_t elapsed_ns);
  void prepared(const Target& target, std::int64_t elapsed_ns);
  // After kPrepareBeside: the work is done, or was not begun.
  void preparedBeside(std::uint64_t size);
  std::size_t preparingBeside() const;

 private:
  struct Times {
    TimesByWork original_code, plan;
    std::deque<double> preparing_ns;
    bool any_prepared = false;
    std::int32_t asked = 0;
  };
  bool isWorthIt(Times& times, std::int32_t runs, double work) const;

  const NewSizesMode mode_;
  mutable std::mutex mutex_;
  std::map<Target, Times> times_;
  std::unordered_map<std::uint64_t, std::int32_t> runs_;  // by size
  std::set<std::uint64_t> beside_;
};

}  // namespace ipex_studio
