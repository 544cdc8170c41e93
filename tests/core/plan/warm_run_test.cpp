// A warm run allocates no memory and takes no lock. Both are counted, with calls of libraries told apart by the caller.
// Sanitizers replace the counted functions by their own; there is no test then.
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
// GCC does not see that both operators are replaced if it inlines one of them.
#pragma GCC diagnostic ignored "-Wmismatched-new-delete"

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <pthread.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <new>

#include "core/plan/plan.h"
#include "kernels/kernel_list.h"
#include "tests/core/plan/random_plan.h"

namespace {

struct Counts {
  std::atomic<long> ours{0}, libraries{0};
};
Counts allocations, locks;
std::atomic<bool> counting{false};
thread_local bool inside = false;  // dladdr may lock

void count(Counts& counts, const void* caller) {
  if (!counting || inside) return;
  inside = true;
  Dl_info info;
  const bool known = dladdr(caller, &info) != 0 && info.dli_fname != nullptr;
  const bool library =
      known && (std::strstr(info.dli_fname, "libdnnl") != nullptr || std::strstr(info.dli_fname, "libgomp") != nullptr);
  ++(library ? counts.libraries : counts.ours);
  inside = false;
}

}  // namespace

extern "C" {
void* __libc_malloc(std::size_t bytes);
void* __libc_calloc(std::size_t count, std::size_t bytes);
void* __libc_realloc(void* memory, std::size_t bytes);
void* __libc_memalign(std::size_t alignment, std::size_t bytes);

void* malloc(std::size_t bytes) {
  count(allocations, __builtin_return_address(0));
  return __libc_malloc(bytes);
}
void* calloc(std::size_t number, std::size_t bytes) {
  count(allocations, __builtin_return_address(0));
  return __libc_calloc(number, bytes);
}
void* realloc(void* memory, std::size_t bytes) {
  count(allocations, __builtin_return_address(0));
  return __libc_realloc(memory, bytes);
}
void* aligned_alloc(std::size_t alignment, std::size_t bytes) {
  count(allocations, __builtin_return_address(0));
  return __libc_memalign(alignment, bytes);
}
int posix_memalign(void** memory, std::size_t alignment, std::size_t bytes) {
  count(allocations, __builtin_return_address(0));
  *memory = __libc_memalign(alignment, bytes);
  return *memory == nullptr ? 12 : 0;
}
int pthread_mutex_lock(pthread_mutex_t* mutex) {
  using Lock = int (*)(pthread_mutex_t*);
  static const auto real = reinterpret_cast<Lock>(dlsym(RTLD_NEXT, "pthread_mutex_lock"));
  count(locks, __builtin_return_address(0));
  return real(mutex);
}
}

void* operator new(std::size_t bytes) {
  count(allocations, __builtin_return_address(0));
  if (void* memory = __libc_malloc(bytes == 0 ? 1 : bytes)) return memory;
  throw std::bad_alloc();
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

namespace ipex_studio {
namespace {

using testing::RandomPlan;

long total(const Counts& counts) { return counts.ours + counts.libraries; }

// Counts ten warm runs of a random plan. False if it needs a reference kernel, since those copy their operands.
bool runCounted(std::uint64_t seed, const KernelList& kernels, int threads) {
  const RandomPlan random = testing::makeRandomPlan(seed, 14);
  PlanRequest request;
  for (const testing::Tensor& input : random.inputs) request.tensor_inputs.push_back(input.desc);
  request.int_inputs = random.ints;
  for (const testing::Tensor& constant : random.constants) request.constants.push_back(constant.data());
  request.target.threads = threads;
  WeightCache weights;
  const auto plan = Plan::compile(random.spec, request, kernels, weights);
  for (const StepRecord& step : plan->steps()) {
    if (step.kernel.find("_ref") != std::string::npos) return false;
  }
  Plan::Instance instance(*plan);
  std::vector<const void*> from;
  for (const testing::Tensor& input : random.inputs) from.push_back(input.data());
  std::vector<Buffer> results;
  std::vector<void*> to;
  for (const TensorDesc& desc : plan->outputs()) {
    results.emplace_back(desc.bytes());
    to.push_back(results.back().data());
  }
  instance.run(from.data(), to.data());
  counting = true;
  for (int run = 0; run < 10; ++run) instance.run(from.data(), to.data());
  counting = false;
  return true;
}

TEST(WarmRun, CountersCount) {
  const long allocated = total(allocations), locked = total(locks);
  counting = true;
  std::free(std::malloc(8));
  delete new int;
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  pthread_mutex_lock(&mutex);
  counting = false;
  pthread_mutex_unlock(&mutex);
  EXPECT_GE(total(allocations), allocated + 1);  // compilers may remove a pair
  EXPECT_EQ(total(locks), locked + 1);
}

TEST(WarmRun, OurCodeAllocatesNothingAndTakesNoLock) {
  const auto kernels = makeKernelList();
  int counted = 0;
  for (const int threads : {1, 2}) {
    for (std::uint64_t seed = 100; seed < 125; ++seed) {
      const long allocated = allocations.ours, locked = locks.ours;
      counted += runCounted(seed, *kernels, threads) ? 1 : 0;
      ASSERT_EQ(allocations.ours, allocated) << "seed " << seed << ", threads " << threads;
      ASSERT_EQ(locks.ours, locked) << "seed " << seed << ", threads " << threads;
    }
  }
  EXPECT_GE(counted, 35);
  RecordProperty("library_allocations", std::to_string(allocations.libraries));
  RecordProperty("library_locks", std::to_string(locks.libraries));
}

}  // namespace
}  // namespace ipex_studio

#endif
