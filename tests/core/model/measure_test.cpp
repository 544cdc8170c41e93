// The cost of recording is small, and every sample finds its step.
#include "core/model/measure.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>

#include "core/lower/region_object.h"
#include "tests/core/graph/script_models.h"
#include "tests/goal.h"

namespace ipex_studio {
namespace {

using testing::optimized;
using testing::scriptModule;
using testing::weight;
using torch::jit::Module;

// A module of many small steps: a chain of convolutions and additions.
Module chain() {
  return scriptModule(R"(
def forward(self, x):
    for i in range(8):
        y = torch.relu(torch.conv2d(x, self.a, None, [1, 1], [1, 1]))
        x = torch.sigmoid(torch.conv2d(y, self.b, None, [1, 1], [1, 1])) + x
    return x
)",
                      {{"a", weight({16, 16, 3, 3})}, {"b", weight({16, 16, 3, 3})}});
}

double secondsOf(Module& module, const Inputs& inputs) {
  const auto begin = std::chrono::steady_clock::now();
  testing::call(module, inputs);
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

TEST(Recording, AddsLittleToARun) {
  const Inputs inputs{at::randn({1, 16, 28, 28})};
  Module module = optimized(chain(), inputs).module;
  const auto regions = regionObjects(module);
  ASSERT_EQ(regions.size(), 1U);
  setThreads(1);
  double off = 1e9, on = 1e9;
  // Interleaves both and takes the least of many times, to exclude other work on the machine.
  for (int round = 0; round < 300; ++round) {
    off = std::min(off, secondsOf(module, inputs));
    callRegion(regions[0], "start_profile");
    on = std::min(on, secondsOf(module, inputs));
    callRegion(regions[0], "stop_profile");
  }
  setThreads(0);
  expectWithin("run that is recorded, against one that is not", on / off, 1.05, "times");
}

TEST(Recording, SamplesBelongToStepsAndFitIntoTheRun) {
  const Inputs inputs{at::randn({1, 16, 28, 28})};
  auto result = optimized(chain(), inputs);
  RunRecord run;
  const auto begin = std::chrono::steady_clock::now();
  profileSteps(result.module, inputs, 5, result.origins, run);
  const auto whole_ns =
      std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now() - begin).count();
  ASSERT_GE(run.steps.size(), 16U);
  std::int64_t inside_ns = 0;
  for (const StepTime& time : run.step_times) {
    EXPECT_EQ(time.elapsed_ns.size(), 5U);
    for (const std::int64_t elapsed : time.elapsed_ns) inside_ns += elapsed;
    if (time.step >= 0) {
      EXPECT_LT(time.step, static_cast<std::int32_t>(run.steps.size()));
    }
  }
  EXPECT_LE(inside_ns, whole_ns);
  for (const StepRecord& step : run.steps) EXPECT_TRUE(!step.origins.empty() || step.kind == "reorder") << step.kind;
  EXPECT_LE(run.coverage.time, 1.0);
  double most = run.coverage.time;  // of several, to exclude other work on the machine
  for (int again = 0; again < 20 && most <= 0.5; ++again) {
    RunRecord other;
    profileSteps(result.module, inputs, 5, result.origins, other);
    most = std::max(most, other.coverage.time);
  }
  EXPECT_GT(most, 0.5);
}

// They stand between regions, in loops as at the top.
TEST(Recording, ChoicesByDataInLoopsAreTimeOfPlans) {
  const Inputs inputs{at::randn({4, 300, 300})};
  auto result = optimized(scriptModule(R"(
def forward(self, x):
    y = torch.zeros([1], dtype=4)
    for t in range(x.size(0)):
        y = y + torch.nonzero(x[t] > 0.0).sum()
    return y
)",
                                       {}),
                          inputs);
  double most = 0;  // of several, to exclude other work on the machine
  for (int again = 0; again < 20 && most <= 0.8; ++again) {
    RunRecord run;
    profileSteps(result.module, inputs, 3, result.origins, run);
    EXPECT_LE(run.coverage.time, 1.0);
    most = std::max(most, run.coverage.time);
  }
  EXPECT_GT(most, 0.8) << result.module.get_method("forward").graph()->toString(false);
}

// Nodes outside of modules have their own origins, too, as those of functions do.
TEST(Recording, NodesOfNoModuleHaveOriginsOfTheirOwn) {
  const Inputs inputs{at::randn({8, 8}, at::kDouble)};  // which no plan computes
  auto result = optimized(scriptModule(R"(
def forward(self, x):
    y = torch.relu(torch.tanh(x))
    return torch.relu(y + torch.tanh(y))
)",
                                       {}),
                          inputs);
  RunRecord run;
  profileSteps(result.module, inputs, 2, result.origins, run);
  std::vector<OriginId> seen;
  for (const StepTime& time : run.step_times) seen.insert(seen.end(), time.origins.begin(), time.origins.end());
  EXPECT_EQ(seen, (std::vector<OriginId>{0, 1, 2, 3, 4}));
}

// A node whose blocks or calls hold regions has only the time that these leave.
TEST(Recording, BranchesAreNotCountedWithWhatRanInside) {
  const Inputs inputs{at::randn({1, 16, 28, 28}), true};
  auto result = optimized(scriptModule(R"(
def forward(self, x, deep: bool):
    if deep:
        y = torch.relu(torch.conv2d(x, self.a, None, [1, 1], [1, 1]))
        x = torch.sigmoid(torch.conv2d(y, self.a, None, [1, 1], [1, 1])) + x
    else:
        x = torch.tanh(torch.conv2d(x, self.a, None, [1, 1], [1, 1]))
    return torch.conv2d(x, self.a)
)",
                                       {{"a", weight({16, 16, 3, 3})}}),
                          inputs);
  RunRecord run;
  const auto begin = std::chrono::steady_clock::now();
  profileSteps(result.module, inputs, 5, result.origins, run);
  const auto whole_ns =
      std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now() - begin).count();
  std::int64_t inside_ns = 0;
  const StepTime* branch = nullptr;
  for (const StepTime& time : run.step_times) {
    for (const std::int64_t elapsed : time.elapsed_ns) inside_ns += elapsed;
    if (time.kind == "prim::If") branch = &time;
  }
  EXPECT_LE(inside_ns, whole_ns);
  ASSERT_NE(branch, nullptr);
  ASSERT_EQ(branch->whole_ns.size(), 5U);
  for (std::size_t i = 0; i < 5; ++i) EXPECT_LT(2 * branch->elapsed_ns[i], branch->whole_ns[i]);
}

// A step in a loop counts for all rounds of it: its time, its work, and what is shown.
TEST(Recording, StepsInLoopsCountForEveryRound) {
  const Inputs inputs{at::randn({8, 64}), std::int64_t{7}};
  auto result = optimized(scriptModule(R"(
def forward(self, x, rounds: int):
    for i in range(rounds):
        x = torch.tanh(torch.linear(x, self.a))
    return x
)",
                                       {{"a", weight({64, 64})}}),
                          inputs);
  RunRecord run;
  profileSteps(result.module, inputs, 3, result.origins, run);
  bool seen = false;
  for (const StepRecord& step : run.steps) {
    if (step.kind != "linear") continue;
    seen = true;
    EXPECT_EQ(step.runs, 7);
    EXPECT_GE(step.flops, 7 * 2 * 8 * 64 * 64);
  }
  EXPECT_TRUE(seen);
}

}  // namespace
}  // namespace ipex_studio
