// The timeline: one track per instance, made of the recorded begin and duration of every execution.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/record/records.h"

namespace ipex_studio {

// One execution of one operation. Times in ns since the run's first timed iteration began.
struct TimeSlice {
  std::int64_t begin_ns = 0;
  std::int64_t end_ns = 0;
  std::int32_t row = 0;  // into RunIndex::rows
};

// The executions of one instance, in order of begin.
struct TimelineTrack {
  std::int32_t thread = 0;
  std::vector<TimeSlice> slices;
  std::vector<std::int64_t> busy_ns;  // busy_ns[i]: sum of the first i slices; one longer than `slices`

  std::int64_t begin_ns() const { return slices.empty() ? 0 : slices.front().begin_ns; }
  std::int64_t end_ns() const { return slices.empty() ? 0 : slices.back().end_ns; }
  // The first slice that ends after `at_ns`; slices.size() when there is none.
  std::size_t firstEndingAfter(std::int64_t at_ns) const;
  // Between two times: what belongs to no slice, in ns. Counts from the first slice to the last alone.
  std::int64_t unattributed_ns(std::int64_t from_ns, std::int64_t to_ns) const;
};

// `row_of_time`: for each of run.step_times the row it belongs to; -1: none. Slices that make no sense are left out, and
// what overlaps the slice before is cut to its end.
std::vector<TimelineTrack> timelineTracks(const RunRecord& run, const std::vector<std::int32_t>& row_of_time);

}  // namespace ipex_studio
