// Several instances of one model behind one queue.
#include "core/model/instance_pool.h"

#include <ATen/Parallel.h>
#include <gtest/gtest.h>

#include <atomic>

#include "core/base/error.h"
#include "core/model/measure.h"
#include "core/runtime/cpu_sets.h"
#include "tests/core/graph/script_models.h"

namespace ipex_studio {
namespace {

using namespace testing;  // NOLINT: the fixture's names

Module smallNetwork() {
  return scriptModule(R"(
def forward(self, x):
    y = torch.relu(torch.conv2d(x, self.w, None, [1, 1], [1, 1], [1, 1], 1))
    return torch.softmax(torch.linear(y.mean([2, 3]), self.l), -1)
)",
                      {{"w", weight({16, 3, 3, 3})}, {"l", weight({10, 16})}});
}

TEST(InstancePool, AnswersEveryRequestWithItsOwnResult) {
  OptimizedModel model = optimized(smallNetwork(), {at::randn({1, 3, 16, 16})});
  std::vector<at::Tensor> inputs;
  std::vector<IValue> expected;
  for (int i = 0; i < 40; ++i) {
    inputs.push_back(at::randn({1 + i % 2, 3, 16, 16}));
    expected.push_back(call(model.module, {inputs.back()}));
  }
  for (const int instances : {1, 2, 5}) {
    InstancePool pool(model.module, instances, 1);
    EXPECT_EQ(pool.instances(), instances);
    EXPECT_EQ(pool.pinned(), static_cast<int>(usableCpus().size()) >= instances);
    std::vector<std::future<IValue>> results;
    for (const at::Tensor& input : inputs) results.push_back(pool.submit({input}));
    for (std::size_t i = 0; i < results.size(); ++i) {
      EXPECT_EQ(difference(results[i].get(), expected[i]), "") << instances << " instances, request " << i;
    }
  }
}

TEST(InstancePool, AnswersWhatWasSubmittedBeforeItEnds) {
  std::vector<std::future<IValue>> results;
  {
    InstancePool pool(smallNetwork(), 2, 1);
    for (int i = 0; i < 20; ++i) results.push_back(pool.submit({at::randn({1, 3, 8, 8})}));
  }
  for (auto& result : results) EXPECT_EQ(result.get().toTensor().size(1), 10);
}

TEST(InstancePool, FailuresBelongToTheirRequest) {
  InstancePool pool(smallNetwork(), 2, 1);
  auto bad = pool.submit({at::randn({1, 4, 8, 8})});
  auto good = pool.submit({at::randn({1, 3, 8, 8})});
  EXPECT_THROW(bad.get(), std::exception);
  EXPECT_EQ(good.get().toTensor().size(1), 10);
  EXPECT_THROW(timeInstances(pool, {at::randn({1, 4, 8, 8})}, 0, 4), Error);
}

TEST(InstancePool, TimesRequestsFromSubmissionToAnswer) {
  InstancePool pool(smallNetwork(), 2, 1);
  std::atomic<std::int64_t> waited{0};
  std::atomic<int> answered{0};
  for (int i = 0; i < 10; ++i) {
    pool.submit({at::randn({1, 3, 8, 8})}, [&](InstancePool::Answer answer) {
      EXPECT_LE(answer.submitted_ns, answer.begin_ns);
      EXPECT_LT(answer.begin_ns, answer.end_ns);
      EXPECT_LT(answer.instance, 2);
      waited += answer.begin_ns - answer.submitted_ns;
      ++answered;
    });
  }
  while (answered < 10) std::this_thread::yield();
  EXPECT_GT(waited, 0);
  EXPECT_EQ(timeInstances(pool, {at::randn({1, 3, 8, 8})}, 0, 7).size(), 7u);
  EXPECT_GE(timeInstances(pool, {at::randn({1, 3, 8, 8})}, 0.05, 0).size(), 2u);
}

// The pool's threads keep their processors and thread counts to themselves.
TEST(InstancePool, LeavesTheCallersThreadAsItWas) {
  setThreads(1);
  const std::size_t cpus = usableCpus().size();
  {
    InstancePool pool(smallNetwork(), 1, 1);
    pool.submit({at::randn({1, 3, 8, 8})}).get();
  }
  EXPECT_EQ(usableCpus().size(), cpus);
  EXPECT_EQ(at::get_num_threads(), 1);
}

}  // namespace
}  // namespace ipex_studio
