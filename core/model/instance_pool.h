// InstancePool: one model run by several instances at a time, behind one queue of requests.
//
//   InstancePool pool(module, /*instances=*/4, /*threads=*/2);
//   std::future<torch::jit::IValue> result = pool.submit(inputs);
//
// The instances share the module, so its packed weights exist once; each adds the arenas of its plans. Each has a
// thread and an OpenMP team of its own, pinned to processors of its own if there are enough (core/runtime/cpu_sets.h).
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <future>
#include <mutex>
#include <thread>
#include <vector>

#include "core/model/model.h"

namespace ipex_studio {

class InstancePool {
 public:
  struct Answer {
    torch::jit::IValue value;
    std::exception_ptr failure;  // when set there is no value
    std::int32_t instance = 0;
    std::int64_t submitted_ns = 0;  // steady clock
    std::int64_t begin_ns = 0;      // taken from the queue
    std::int64_t end_ns = 0;
  };

  // instances >= 1, threads >= 1 per instance.
  InstancePool(torch::jit::Module module, int instances, int threads);
  ~InstancePool();  // answers all submitted requests
  InstancePool(const InstancePool&) = delete;
  InstancePool& operator=(const InstancePool&) = delete;

  // Thread-safe; requests begin in the order of their submission. Inputs are not copied.
  std::future<torch::jit::IValue> submit(Inputs inputs);
  // Calls `done` on the instance's thread; it must not throw, and may submit.
  void submit(Inputs inputs, std::function<void(Answer)> done);

  int instances() const { return static_cast<int>(threads_.size()); }
  bool pinned() const { return pinned_; }

 private:
  struct Request {
    Inputs inputs;
    std::function<void(Answer)> done;
    std::int64_t submitted_ns = 0;
  };
  void work(std::int32_t instance, const std::vector<int>& cpus, int omp_threads);

  torch::jit::Module module_;
  bool pinned_ = false;
  std::mutex mutex_;  // guards the members below
  std::condition_variable changed_;
  std::deque<Request> queue_;
  bool closing_ = false;
  std::vector<std::thread> threads_;
};

// Times as timeForward does, with one request per instance in flight at any time; a sample is a request's time from
// submission to answer.
std::vector<std::int64_t> timeInstances(InstancePool& pool, const Inputs& inputs, double seconds,
                                        std::int64_t iterations);

}  // namespace ipex_studio
