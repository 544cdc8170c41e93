// Drawing must not change the numbers: while something is timed the window draws on input alone, and samples taken
// while it drew do not count.
#include <algorithm>
#include <chrono>

#include "studio/session/session.h"

namespace ipex_studio {
namespace {

constexpr std::size_t kMaxFrames = 4096;
// A frame that was asked for may take so long before timing begins all the same.
constexpr auto kLongestFrame = std::chrono::milliseconds(120);

}  // namespace

bool Session::timed() {
  const std::lock_guard lock(mutex_);
  return timed_;
}

void Session::drew(std::int64_t begin_ns, std::int64_t end_ns, bool more) {
  {
    const std::lock_guard lock(mutex_);
    // Work that went on since the frame before is part of this one.
    if (drawing_ && !frames_.empty()) begin_ns = std::min(begin_ns, frames_.back().second);
    if (frames_.size() >= kMaxFrames) frames_.pop_front();
    frames_.emplace_back(begin_ns, end_ns);
    drawing_ = more;
  }
  drawn_.notify_all();
}

void Session::onTimed(bool timed) {
  std::unique_lock lock(mutex_);
  if (timed == timed_) return;
  if (timed) {
    drawn_.wait_for(lock, kLongestFrame, [this] { return !drawing_ || !wake_ || stopping_; });
    drawing_ = false;  // nobody draws, or not in time
  }
  timed_ = timed;
  if (timed || !news_ || !wake_) return;
  news_ = false;
  drawing_ = true;
  wake_();
}

bool Session::disturbed(double begin_ns, double end_ns) {
  const std::lock_guard lock(mutex_);
  return std::any_of(frames_.rbegin(), frames_.rend(), [&](const auto& frame) {
    return static_cast<double>(frame.first)<end_ns&& static_cast<double>(frame.second)> begin_ns;
  });
}

}  // namespace ipex_studio
