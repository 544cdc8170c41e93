#include "kernels/torch/plans/background_worker.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <utility>

namespace ipex_studio {

bool BackgroundWorker::add(const void* owner, std::function<void()> work) {
  if (process_ != 0 && process_ != ::getpid()) return false;
  const std::lock_guard<std::mutex> lock(mutex_);
  if (stopped_) return false;
  if (process_ == 0) {
    process_ = ::getpid();
    thread_ = std::thread([this] { run(); });
  }
  waiting_.push_back({owner, std::move(work)});
  changed_.notify_all();
  return true;
}

void BackgroundWorker::forget(const void* owner) {
  if (process_ != ::getpid()) return;
  std::unique_lock<std::mutex> lock(mutex_);
  waiting_.erase(
      std::remove_if(waiting_.begin(), waiting_.end(), [&](const Work& work) { return work.owner == owner; }),
      waiting_.end());
  changed_.wait(lock, [&] { return running_ != owner; });
}

void BackgroundWorker::run() {
  std::unique_lock<std::mutex> lock(mutex_);
  for (;;) {
    changed_.wait(lock, [&] { return stopped_ || !waiting_.empty(); });
    if (stopped_) return;
    const Work work = std::move(waiting_.front());
    waiting_.pop_front();
    running_ = work.owner;
    lock.unlock();
    work.run();
    lock.lock();
    running_ = nullptr;
    changed_.notify_all();
  }
}

void BackgroundWorker::stop() {
  if (process_ != ::getpid()) return;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    stopped_ = true;
    waiting_.clear();
    changed_.notify_all();
  }
  thread_.join();
}

BackgroundWorker& backgroundWorker() {
  static auto& worker = *[] {
    auto* made = new BackgroundWorker;  // regions may be freed after it has ended
    std::atexit([] { backgroundWorker().stop(); });
    return made;
  }();
  return worker;
}

}  // namespace ipex_studio
