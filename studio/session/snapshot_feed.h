// Snapshots on their way from a session's thread to the window. Drawing must not change the numbers: while something is
// timed the window is not woken, and samples taken while it drew do not count.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <utility>

#include "studio/snapshot/snapshot.h"

namespace ipex_studio {

// Every function locks; the wakeup is called under the lock and must not call back.
class SnapshotFeed {
 public:
  // From any thread:

  // The last published snapshot; null before the first.
  SnapshotPtr latest();
  // Calls the wakeup, if there is one.
  void wake();

  // From the drawing thread, as SnapshotSource describes them:

  void setWakeup(std::function<void()> wake);
  bool timed();
  void drew(std::int64_t begin_ns, std::int64_t end_ns, bool more);

  // From the working thread:

  // Replaces the latest snapshot, and wakes the window unless something is timed.
  void publish(SnapshotPtr snapshot);
  // Before timing begins, waits a moment for the frame that was asked for; afterwards wakes for snapshots held back.
  void setTimed(bool timed);
  // True if a frame was drawn between two times (ns) of the steady clock.
  bool disturbed(double begin_ns, double end_ns);

 private:
  std::mutex mutex_;  // guards the members below
  SnapshotPtr latest_;
  std::function<void()> wake_;
  bool timed_ = false;
  bool news_ = false;     // true: the window was not woken for the latest snapshot, as something is timed
  bool drawing_ = false;  // true: a frame was requested, or more frames follow
  std::condition_variable drawn_;
  std::deque<std::pair<std::int64_t, std::int64_t>> frames_;  // begin and end (ns) of the last frames
};

}  // namespace ipex_studio
