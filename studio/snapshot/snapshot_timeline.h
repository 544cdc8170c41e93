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
  std::int32_t row = 0;  // row of the operation, an index into RunIndex::rows
};

// The executions of one instance, in order of begin.
struct TimelineTrack {
  std::int32_t thread = 0;
  std::vector<TimeSlice> slices;
  // Sums of durations: busy_ns[i] is that of the first i slices; one longer than `slices`.
  std::vector<std::int64_t> busy_ns;

  std::int64_t begin_ns() const { return slices.empty() ? 0 : slices.front().begin_ns; }
  std::int64_t end_ns() const { return slices.empty() ? 0 : slices.back().end_ns; }
  // Index of the first slice that ends after `at_ns`; slices.size() if there is none.
  std::size_t firstEndingAfter(std::int64_t at_ns) const;
  // Time (ns) between two times that belongs to no slice; only from the first slice to the last.
  std::int64_t unattributed_ns(std::int64_t from_ns, std::int64_t to_ns) const;
};

// Tracks of a run. `row_of_time`: the row of each of run.step_times; -1: none. Impossible slices are left out, and a
// slice is cut where it overlaps the one before.
std::vector<TimelineTrack> timelineTracks(const RunRecord& run, const std::vector<std::int32_t>& row_of_time);

// The slices of the track whose row `rows` marks; rows beyond its end are not marked.
TimelineTrack partOf(const TimelineTrack& track, const std::vector<bool>& rows);

}  // namespace ipex_studio
