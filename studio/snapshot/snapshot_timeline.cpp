// See snapshot_timeline.h.
#include "studio/snapshot/snapshot_timeline.h"

#include <algorithm>
#include <map>

namespace ipex_studio {
namespace {

// Latest begin that is taken for true: a day.
constexpr std::int64_t kLongest_ns = 86'400'000'000'000;

// Slices, sorted by begin, of which none covers another: one that runs inside of another stands in its place, with the
// other before and after it; one that only overlaps with the end of the one before begins there.
std::vector<TimeSlice> withoutOverlap(const std::vector<TimeSlice>& slices) {
  std::vector<TimeSlice> parts, open;  // open: those that the next one may run inside of, the innermost last
  std::int64_t at = 0;                 // all before it is in `parts`
  const auto fill = [&](std::int64_t until, std::int32_t row) {
    if (until <= at) return;
    parts.push_back({at, until, row});
    at = until;
  };
  const auto finish = [&](std::int64_t until) {
    for (; !open.empty() && open.back().end_ns <= until; open.pop_back()) fill(open.back().end_ns, open.back().row);
  };
  for (TimeSlice slice : slices) {
    finish(slice.begin_ns);
    while (!open.empty() && slice.end_ns > open.back().end_ns) {
      slice.begin_ns = open.back().end_ns;
      finish(slice.begin_ns);
    }
    if (slice.end_ns <= slice.begin_ns) continue;
    if (!open.empty()) fill(slice.begin_ns, open.back().row);
    at = std::max(at, slice.begin_ns);
    open.push_back(slice);
  }
  finish(INT64_MAX);
  return parts;
}

void sumDurations(TimelineTrack* track) {
  track->busy_ns.reserve(track->slices.size() + 1);
  track->busy_ns.push_back(0);
  for (const TimeSlice& slice : track->slices)
    track->busy_ns.push_back(track->busy_ns.back() + slice.end_ns - slice.begin_ns);
}

void finishTrack(TimelineTrack* track) {
  std::vector<TimeSlice>& slices = track->slices;
  std::sort(slices.begin(), slices.end(), [](const TimeSlice& a, const TimeSlice& b) {
    if (a.begin_ns != b.begin_ns) return a.begin_ns < b.begin_ns;
    return a.end_ns != b.end_ns ? a.end_ns > b.end_ns : a.row < b.row;
  });
  slices = withoutOverlap(slices);
  sumDurations(track);
}

}  // namespace

std::size_t TimelineTrack::firstEndingAfter(std::int64_t at_ns) const {
  const auto found = std::upper_bound(slices.begin(), slices.end(), at_ns,
                                      [](std::int64_t at, const TimeSlice& slice) { return at < slice.end_ns; });
  return static_cast<std::size_t>(found - slices.begin());
}

std::int64_t TimelineTrack::unattributed_ns(std::int64_t from_ns, std::int64_t to_ns) const {
  const std::int64_t low = std::max(from_ns, begin_ns());
  const std::int64_t high = std::min(to_ns, end_ns());
  if (high <= low) return 0;
  const auto busyUntil = [&](std::int64_t at) {
    const std::size_t i = firstEndingAfter(at);
    const std::int64_t part = i < slices.size() ? std::max<std::int64_t>(0, at - slices[i].begin_ns) : 0;
    return busy_ns[i] + part;
  };
  return high - low - (busyUntil(high) - busyUntil(low));
}

std::vector<TimelineTrack> timelineTracks(const RunRecord& run, const std::vector<std::int32_t>& row_of_time) {
  std::map<std::int32_t, TimelineTrack> tracks;
  for (std::size_t t = 0; t < run.step_times.size() && t < row_of_time.size(); ++t) {
    const StepTime& time = run.step_times[t];
    if (row_of_time[t] < 0 || time.begin_ns.size() != time.elapsed_ns.size() || time.begin_ns.empty()) continue;
    TimelineTrack& track = tracks[time.thread];
    const std::vector<std::int64_t>& whole = time.whole_ns.empty() ? time.elapsed_ns : time.whole_ns;
    if (whole.size() != time.begin_ns.size()) continue;
    for (std::size_t i = 0; i < time.begin_ns.size(); ++i) {
      const std::int64_t begin = time.begin_ns[i];
      const std::int64_t elapsed = whole[i];
      if (begin < 0 || begin > kLongest_ns || elapsed <= 0 || elapsed > kLongest_ns) continue;
      track.slices.push_back({begin, begin + elapsed, row_of_time[t]});
    }
  }
  std::vector<TimelineTrack> result;
  for (auto& [thread, track] : tracks) {
    track.thread = thread;
    finishTrack(&track);
    if (!track.slices.empty()) result.push_back(std::move(track));
  }
  return result;
}

TimelineTrack partOf(const TimelineTrack& track, const std::vector<bool>& rows) {
  TimelineTrack part;
  part.thread = track.thread;
  for (const TimeSlice& slice : track.slices) {
    const auto row = static_cast<std::size_t>(slice.row);
    if (row < rows.size() && rows[row]) part.slices.push_back(slice);
  }
  sumDurations(&part);
  return part;
}

}  // namespace ipex_studio
