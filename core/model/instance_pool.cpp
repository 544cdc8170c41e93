// The instances' threads and the queue in front of them.
#include "core/model/instance_pool.h"

#include <algorithm>
#include <memory>

#include "core/base/clock.h"
#include "core/base/error.h"
#include "core/model/measure.h"
#include "core/model/run_mode.h"
#include "core/runtime/cpu_sets.h"
#include "core/torch/torch_error.h"

namespace ipex_studio {
InstancePool::InstancePool(torch::jit::Module module, int instances, int threads) : module_(std::move(module)) {
  IPEX_CHECK(instances >= 1 && threads >= 1, "a pool has instances with threads");
  const std::vector<std::vector<int>> sets = splitCpus(usableCpus(), instances, threads);
  pinned_ = !sets.empty();
  for (int i = 0; i < instances; ++i) {
    const std::vector<int> cpus = pinned_ ? sets[static_cast<std::size_t>(i)] : std::vector<int>();
    threads_.emplace_back([this, i, cpus, threads] { work(i, cpus, threads); });
  }
}

InstancePool::~InstancePool() {
  {
    const std::lock_guard lock(mutex_);
    closing_ = true;
  }
  changed_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

std::future<torch::jit::IValue> InstancePool::submit(Inputs inputs) {
  const auto promise = std::make_shared<std::promise<torch::jit::IValue>>();
  submit(std::move(inputs), [promise](Answer answer) {
    answer.failure ? promise->set_exception(answer.failure) : promise->set_value(std::move(answer.value));
  });
  return promise->get_future();
}

void InstancePool::submit(Inputs inputs, std::function<void(Answer)> done) {
  {
    const std::lock_guard lock(mutex_);
    queue_.push_back({std::move(inputs), std::move(done), nowNs()});
  }
  changed_.notify_one();
}

void InstancePool::work(std::int32_t instance, const std::vector<int>& cpus, int omp_threads) {
  // The set must be pinned before the first parallel region, because the threads of the team inherit it.
  if (!cpus.empty()) pinThisThread(cpus);
  setThreads(omp_threads);
  const RunMode mode(module_);
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return closing_ || !queue_.empty(); });
    if (queue_.empty()) return;
    Request request = std::move(queue_.front());
    queue_.pop_front();
    lock.unlock();
    Answer answer;
    answer.instance = instance;
    answer.submitted_ns = request.submitted_ns;
    answer.begin_ns = nowNs();
    try {
      answer.value = module_.forward(std::move(request.inputs));
    } catch (...) {
      answer.failure = std::current_exception();
    }
    answer.end_ns = nowNs();
    request.done(std::move(answer));
    request = {};
    lock.lock();
  }
}

std::vector<std::int64_t> timeInstances(InstancePool& pool, const Inputs& inputs, double seconds,
                                        std::int64_t iterations) {
  struct Turn {
    std::mutex mutex;
    std::condition_variable ended;
    std::vector<std::int64_t> samples;
    std::exception_ptr failure;
    std::int64_t submitted = 0, answered = 0;
  } turn;
  const std::int64_t end = nowNs() + static_cast<std::int64_t>(seconds * 1e9);
  std::function<void()> next;  // called with the lock held
  const auto answered = [&](InstancePool::Answer answer) {
    const std::lock_guard lock(turn.mutex);
    if (answer.failure) turn.failure = answer.failure;
    turn.samples.push_back(answer.end_ns - answer.submitted_ns);
    ++turn.answered;
    const bool more = iterations > 0 ? turn.submitted < iterations : nowNs() < end;
    if (more && !turn.failure) next();
    turn.ended.notify_one();
  };
  next = [&] {
    ++turn.submitted;
    pool.submit(inputs, answered);
  };
  std::unique_lock lock(turn.mutex);
  const std::int64_t first = iterations > 0 ? std::min<std::int64_t>(iterations, pool.instances()) : pool.instances();
  for (std::int64_t i = 0; i < first; ++i) next();
  turn.ended.wait(lock, [&] { return turn.answered == turn.submitted; });
  try {
    if (turn.failure) std::rethrow_exception(turn.failure);
  } catch (const std::runtime_error& problem) {
    throw runError(problem);
  } catch (const c10::Error& problem) {
    throw runError(problem);
  }
  return std::move(turn.samples);
}

}  // namespace ipex_studio
