// BackgroundWorker: one thread of the process that prepares plans beside the runs.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

namespace ipex_studio {

// Thread-safe. In a process that was forked since the first work, it takes none.
class BackgroundWorker {
 public:
  // False: the work is not taken. `work` must not throw.
  bool add(const void* owner, std::function<void()> work);
  // Returns when no work of this owner runs or will run.
  void forget(const void* owner);

 private:
  friend BackgroundWorker& backgroundWorker();
  void run();
  void stop();

  struct Work {
    const void* owner = nullptr;
    std::function<void()> run;
  };
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Work> waiting_;
  const void* running_ = nullptr;  // its owner
  bool stopped_ = false;
  std::atomic<pid_t> process_{0};  // that the thread belongs to; 0: none yet
  std::thread thread_;
};

// Ends with the process, after the work that runs then.
BackgroundWorker& backgroundWorker();

}  // namespace ipex_studio
