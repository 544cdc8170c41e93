// See snapshot_feed.h.
#include "studio/session/snapshot_feed.h"

#include <algorithm>
#include <chrono>

namespace ipex_studio {
namespace {

constexpr std::size_t kMaxFrames = 4096;
// Longest wait for a requested frame before timing begins.
constexpr auto kLongestFrame = std::chrono::milliseconds(120);

}  // namespace

SnapshotPtr SnapshotFeed::latest() {
  const std::lock_guard lock(mutex_);
  return latest_;
}

void SnapshotFeed::wake() {
  const std::lock_guard lock(mutex_);
  if (wake_) wake_();
}

void SnapshotFeed::setWakeup(std::function<void()> wake) {
  const std::lock_guard lock(mutex_);
  wake_ = std::move(wake);
}

bool SnapshotFeed::timed() {
  const std::lock_guard lock(mutex_);
  return timed_;
}

void SnapshotFeed::drew(std::int64_t begin_ns, std::int64_t end_ns, bool more) {
  {
    const std::lock_guard lock(mutex_);
    // Work that continued from the frame before counts as part of this frame.
    if (drawing_ && !frames_.empty()) begin_ns = std::min(begin_ns, frames_.back().second);
    if (frames_.size() >= kMaxFrames) frames_.pop_front();
    frames_.emplace_back(begin_ns, end_ns);
    drawing_ = more;
  }
  drawn_.notify_all();
}

void SnapshotFeed::publish(SnapshotPtr snapshot) {
  const std::lock_guard lock(mutex_);
  latest_ = std::move(snapshot);
  news_ = timed_;
  if (timed_ || !wake_) return;
  drawing_ = true;
  wake_();
}

void SnapshotFeed::setTimed(bool timed) {
  std::unique_lock lock(mutex_);
  if (timed == timed_) return;
  if (timed) {
    drawn_.wait_for(lock, kLongestFrame, [this] { return !drawing_ || !wake_; });
    drawing_ = false;  // nobody draws, or not in time
  }
  timed_ = timed;
  if (timed || !news_ || !wake_) return;
  news_ = false;
  drawing_ = true;
  wake_();
}

bool SnapshotFeed::disturbed(double begin_ns, double end_ns) {
  const std::lock_guard lock(mutex_);
  return std::any_of(frames_.rbegin(), frames_.rend(), [&](const auto& frame) {
    return static_cast<double>(frame.first)<end_ns&& static_cast<double>(frame.second)> begin_ns;
  });
}

}  // namespace ipex_studio
