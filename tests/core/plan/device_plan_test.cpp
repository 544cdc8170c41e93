// Plans over two devices: every copy between them is placed, once, and the numbers are those of the host alone.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "core/base/error.h"
#include "core/op/device_copy.h"
#include "core/plan/batch_independence.h"
#include "core/plan/plan.h"
#include "tests/core/plan/all_kernels.h"
#include "tests/core/plan/made_up_device.h"
#include "tests/core/plan/plan_interpreter.h"
#include "tests/core/plan/random_plan.h"
#include "tests/core/plan/scrambled_kernels.h"

namespace ipex_studio {
namespace {

using testing::kernels;
using testing::MadeUpDevice;
using testing::MadeUpKernels;
using testing::Random;
using testing::RandomPlan;
using testing::runOnce;
using testing::Tensor;

using Numbers = std::vector<std::vector<float>>;

PlanRequest deviceRequest(const RandomPlan& plan, const std::vector<Tensor>& inputs) {
  PlanRequest request = testing::requestFor(plan, inputs, false, 1);
  request.target.device = &MadeUpDevice::get();
  return request;
}

std::vector<StepRecord> stepsBy(const Plan& plan, const std::string& kernel) {
  std::vector<StepRecord> found;
  for (const StepRecord& step : plan.steps()) {
    if (step.kernel == kernel) found.push_back(step);
  }
  return found;
}

std::vector<std::string> copiesOf(const Plan& plan) {
  std::vector<std::string> texts;
  for (const StepRecord& step : stepsBy(plan, kDeviceCopyName)) texts.push_back(step.implementation);
  return texts;
}

// Plans of random operations, a random part of which the device has kernels for, in random layouts.
void runRandomPlans(std::size_t least_copies) {
  const int count = 300 * testing::campaignFactor();
  std::size_t on_device = 0, copies = 0, on_host = 0;
  for (int seed = 0; seed < count && !::testing::Test::HasFailure(); ++seed) {
    const RandomPlan random = testing::makeRandomPlan(static_cast<std::uint64_t>(seed), 3 + seed % 14);
    Random choice(static_cast<std::uint64_t>(seed));
    const int supported = static_cast<int>(choice.between(20, 100));
    std::set<OpKind> kinds;
    for (int kind = 0; kind <= static_cast<int>(OpKind::kCast); ++kind) {
      if (choice.chance(supported)) kinds.insert(static_cast<OpKind>(kind));
    }
    const testing::ScrambledKernels scrambled(kernels(), static_cast<std::uint64_t>(seed));
    const MadeUpKernels list(scrambled, kinds);
    WeightCache weights;
    const auto plan = Plan::compile(random.spec, deviceRequest(random, random.inputs), list, weights);
    on_device += stepsBy(*plan, "made_up").size();
    copies += stepsBy(*plan, kDeviceCopyName).size();
    on_host += stepsBy(*plan, "scrambled").size();
    Plan::Instance instance(*plan);
    for (const int run : {0, 1, 2}) {
      const auto inputs =
          run == 1 ? testing::otherInputs(random, static_cast<std::uint64_t>(seed) + 2, 0) : random.inputs;
      const auto expected = testing::interpret(random.spec, inputs, random.ints, random.constants, kernels());
      const Numbers results = runOnce(instance, *plan, inputs);
      const std::string problem = testing::difference(results, *expected);
      const bool right = problem.empty() || testing::withinRounding(random, inputs, kernels(), results, *expected);
      ASSERT_TRUE(right) << problem << ", seed " << seed << ", run " << run << "\n" << planSpecToText(random.spec);
    }
  }
  std::printf("%zu steps on the device, %zu on the host, %zu copies\n", on_device, on_host, copies);
  EXPECT_GT(on_device, 500u);
  EXPECT_GT(on_host, 200u);
  EXPECT_GT(copies, least_copies);
  EXPECT_EQ(MadeUpDevice::get().allocated(), 0u) << "plans leave memory on the device";
}

TEST(DevicePlan, RandomPlansOverTwoDevices) { runRandomPlans(500); }

// While it lives, the made-up device reaches the host's memory.
struct ReachesHost {
  ReachesHost() { MadeUpDevice::get().setReachesHost(true); }
  ~ReachesHost() { MadeUpDevice::get().setReachesHost(false); }
};

TEST(DevicePlan, RandomPlansOverADeviceThatReachesTheHost) {
  const ReachesHost reaches;
  runRandomPlans(200);
}

// Two inputs and a constant of 4x4.
RandomPlan smallPlan(const std::string& nodes, const std::string& outputs) {
  RandomPlan plan;
  plan.spec = planSpecFromText(
      R"({"plan":1,"inputs":[["f32",2],["f32",2]],"constants":[{"dtype":"f32","sizes":[4,4]}],"nodes":[)" + nodes +
      R"(],"outputs":)" + outputs + "}");
  for (int i = 0; i < 3; ++i) {
    Tensor tensor{contiguousDesc(DType::kF32, Dims{4, 4}), {}, {}};
    for (int e = 0; e < 16; ++e) tensor.values.push_back(static_cast<float>(std::sin(e * (i + 1) + i)));
    (i < 2 ? plan.inputs : plan.constants).push_back(tensor);
  }
  plan.ints = {0, 0};
  return plan;
}

std::string nodeOf(const std::string& op, const std::string& src, int dst) {
  return R"({"op":")" + op + R"(","src":)" + src + R"(,"dst":[)" + std::to_string(dst) +
         R"(],"name":"n","origins":[]})";
}

struct DeviceRun {
  RandomPlan random;
  std::unique_ptr<MadeUpKernels> list;
  WeightCache weights;
  std::unique_ptr<Plan> plan;

  DeviceRun(const std::string& nodes, const std::string& outputs, const std::set<OpKind>& kinds)
      : random(smallPlan(nodes, outputs)), list(std::make_unique<MadeUpKernels>(kernels(), kinds)) {
    plan = Plan::compile(random.spec, deviceRequest(random, random.inputs), *list, weights);
  }
  // Empty, or what is wrong.
  std::string wrong() const {
    Plan::Instance instance(*plan);
    const auto expected = testing::interpret(random.spec, random.inputs, random.ints, random.constants, kernels());
    return testing::difference(runOnce(instance, *plan, random.inputs), *expected);
  }
};

TEST(DevicePlan, HostMemoryOfTheDeviceFaults) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const Buffer memory(64, MadeUpDevice::get());
  EXPECT_FALSE(memory.isOnHost());
  EXPECT_DEATH(*static_cast<volatile char*>(memory.data()) = 1, "");
}

TEST(DevicePlan, InputsGoOnceAndResultsComeBack) {
  const DeviceRun run(nodeOf("pointwise{}|tanh", "[0]", 3) + "," + nodeOf("pointwise{}|add(0)", "[0,3]", 4) + "," +
                          nodeOf("pointwise{}|relu", "[3]", 5),
                      "[4,5,3]", {OpKind::kPointwise});
  EXPECT_EQ(run.wrong(), "");
  const std::vector<std::string> copies = copiesOf(*run.plan);
  EXPECT_EQ(std::count(copies.begin(), copies.end(), "cpu to xpu:0"), 1) << "an input with two readers goes once";
  EXPECT_EQ(std::count(copies.begin(), copies.end(), "xpu:0 to cpu"), 3);
  EXPECT_EQ(stepsBy(*run.plan, "made_up").size(), 3u);
  EXPECT_DOUBLE_EQ(run.plan->copyNs(), 4 * MadeUpDevice::get().copyNs(64));
}

TEST(DevicePlan, InputsAndResultsStayWhereTheDeviceReachesThem) {
  const ReachesHost reaches;
  const std::string nodes = nodeOf("permute{order=[1,0]}", "[0]", 3) + "," + nodeOf("pointwise{}|tanh", "[3]", 4) +
                            "," + nodeOf("pointwise{}|add(0)", "[0,4]", 5);
  const DeviceRun run(nodes, "[5,4]", {OpKind::kPointwise, OpKind::kReorder});
  EXPECT_EQ(run.wrong(), "");
  EXPECT_TRUE(copiesOf(*run.plan).empty());
  // Values that the host computes are copied: their memory may be used again before the device has read it.
  const DeviceRun between(nodeOf("softmax{axis=1}", "[0,-1]", 3) + "," + nodeOf("pointwise{}|add(0)", "[3,0]", 4),
                          "[4]", {OpKind::kPointwise});
  EXPECT_EQ(between.wrong(), "");
  EXPECT_EQ(copiesOf(*between.plan), (std::vector<std::string>{"cpu to xpu:0"}));
}

// The embedding fails on the host when the device has not yet begun.
TEST(DevicePlan, AFailureWaitsForWorkThatWritesResults) {
  const ReachesHost reaches;
  RandomPlan random =
      smallPlan(nodeOf("pointwise{}|tanh", "[0]", 3) + "," + nodeOf("embedding{}", "[1,2]", 4), "[3,4]");
  random.spec.inputs[1] = {false, DType::kS64, 1};
  random.inputs[1] = {contiguousDesc(DType::kS64, Dims{1}), {}, {1 << 20}};
  const MadeUpKernels list(kernels(), {OpKind::kPointwise});
  WeightCache weights;
  const auto plan = Plan::compile(random.spec, deviceRequest(random, random.inputs), list, weights);
  Plan::Instance instance(*plan);
  std::vector<float> tanh(16, 7), row(4);
  const void* from[] = {random.inputs[0].data(), random.inputs[1].data()};
  void* to[] = {tanh.data(), row.data()};
  EXPECT_THROW(instance.run(from, to), Error);
  EXPECT_NEAR(tanh[1], std::tanh(random.inputs[0].values[1]), 1e-6) << "work is left that writes into freed memory";
}

TEST(DevicePlan, ConstantsAreCopiedWhenThePlanIsMade) {
  const std::string product = nodeOf("linear{}", "[0,2,-1]", 3) + "," + nodeOf("linear{}", "[3,2,-1]", 4);
  DeviceRun run(product, "[4]", {OpKind::kLinear});
  EXPECT_EQ(run.wrong(), "");
  EXPECT_EQ(copiesOf(*run.plan), (std::vector<std::string>{"cpu to xpu:0", "xpu:0 to cpu"}));
  // A second plan of the same model shares the weights on the device.
  const std::size_t before = run.weights.bytes();
  EXPECT_GE(before, 64u);
  const auto again =
      Plan::compile(run.random.spec, deviceRequest(run.random, run.random.inputs), *run.list, run.weights);
  EXPECT_EQ(run.weights.bytes(), before);
  run.weights.forEach([](const Buffer& buffer) { EXPECT_TRUE(buffer.isOnHost()); });
}

TEST(DevicePlan, ConstantsThatThePlanComputesGoToo) {
  const DeviceRun run(nodeOf("pointwise{}|tanh", "[2]", 3) + "," + nodeOf("permute{order=[1,0]}", "[3]", 4) + "," +
                          nodeOf("pointwise{}|add(0)", "[0,4]", 5),
                      "[5,3]", {OpKind::kPointwise});
  EXPECT_EQ(run.wrong(), "");
}

TEST(DevicePlan, StepsWithoutAKernelRunOnTheHostBetweenCopies) {
  const DeviceRun run(nodeOf("pointwise{}|tanh", "[0]", 3) + "," + nodeOf("softmax{axis=1}", "[3,-1]", 4) + "," +
                          nodeOf("pointwise{}|add(0)", "[4,3]", 5),
                      "[5]", {OpKind::kPointwise});
  EXPECT_EQ(run.wrong(), "");
  EXPECT_EQ(copiesOf(*run.plan),
            (std::vector<std::string>{"cpu to xpu:0", "xpu:0 to cpu", "cpu to xpu:0", "xpu:0 to cpu"}));
  const auto& dispatches = run.plan->dispatches();
  const auto said = std::find_if(dispatches.begin(), dispatches.end(), [](const DispatchRecord& dispatch) {
    return dispatch.kernel == "xpu:0" && dispatch.reason == "device" && !dispatch.chosen;
  });
  ASSERT_NE(said, dispatches.end()) << "the plan does not say why the step runs on the host";
  EXPECT_EQ(run.plan->steps()[static_cast<std::size_t>(said->step)].kind, "softmax");
}

TEST(DevicePlan, NothingIsCopiedWhereTheDeviceHasNoKernels) {
  const DeviceRun run(nodeOf("pointwise{}|tanh", "[0]", 3), "[3]", {});
  EXPECT_EQ(run.wrong(), "");
  EXPECT_TRUE(copiesOf(*run.plan).empty());
  EXPECT_EQ(run.plan->copyNs(), 0);
}

void expectRightOutputs() {
  const std::set<OpKind> kinds{OpKind::kPointwise, OpKind::kReorder, OpKind::kConcat};
  EXPECT_EQ(DeviceRun("", "[0,1,0,2]", kinds).wrong(), "");
  EXPECT_EQ(DeviceRun(nodeOf("permute{order=[1,0]}", "[0]", 3), "[3,0,3]", kinds).wrong(), "");
  EXPECT_EQ(DeviceRun(nodeOf("pointwise{}|relu", "[0]", 3) + "," + nodeOf("slice{axis=0,begin=1,end=3}", "[3]", 4),
                      "[4,3,4,3]", kinds)
                .wrong(),
            "");
  EXPECT_EQ(DeviceRun(nodeOf("pointwise{}|relu", "[0]", 3) + "," + nodeOf("concat{axis=1}", "[3,1]", 4) + "," +
                          nodeOf("pointwise{}|tanh", "[4]", 5),
                      "[5,4,3]", kinds)
                .wrong(),
            "");
}

TEST(DevicePlan, OutputsThatAreInputsConstantsViewsOrTwice) {
  expectRightOutputs();
  const ReachesHost reaches;
  expectRightOutputs();
}

// tanh stands between two steps of the host: two copies, or none.
TEST(DevicePlan, AStepStaysOnTheHostWhereCopiesTakeLonger) {
  const std::string nodes = nodeOf("softmax{axis=1}", "[0,-1]", 3) + "," + nodeOf("pointwise{}|tanh", "[3]", 4) + "," +
                            nodeOf("softmax{axis=1}", "[4,-1]", 5) + "," + nodeOf("pointwise{}|relu", "[1]", 6) + "," +
                            nodeOf("pointwise{}|exp", "[6]", 7) + "," + nodeOf("pointwise{}|sqrt", "[7]", 8);
  MadeUpDevice& device = MadeUpDevice::get();
  for (const bool is_slow : {false, true}) {
    device.setCopyNs(is_slow ? 800 : 10);
    const DeviceRun run(nodes, "[5,8]", {OpKind::kPointwise});
    EXPECT_EQ(run.wrong(), "");
    const std::size_t expected = is_slow ? 3 : 4;
    EXPECT_EQ(stepsBy(*run.plan, "made_up").size(), expected) << "the three that share two copies stay";
    const auto& dispatches = run.plan->dispatches();
    const auto why = std::find_if(dispatches.begin(), dispatches.end(), [](const DispatchRecord& each) {
      return each.reason == "copies to and from the device would take 2 us, the host needs about 1";
    });
    EXPECT_EQ(why != dispatches.end(), is_slow);
  }
  device.setCopyNs(1);
}

TEST(DevicePlan, TimedAndObservedRunsSeeTheDevice) {
  const DeviceRun run(nodeOf("pointwise{}|tanh", "[0]", 3) + "," + nodeOf("softmax{axis=1}", "[3,-1]", 4), "[4]",
                      {OpKind::kPointwise});
  Plan::Instance instance(*run.plan);
  std::vector<float> result(16);
  const void* from[] = {run.random.inputs[0].data(), run.random.inputs[1].data()};
  void* to[] = {result.data()};
  std::map<std::int32_t, std::vector<float>> seen;
  instance.runObserved(from, to, [&](std::int32_t value, const TensorDesc& desc, const void* data) {
    EXPECT_TRUE(desc.device.isHost());
    seen[value].resize(16);
    std::memcpy(seen[value].data(), data, 64);
  });
  ASSERT_EQ(seen.count(3), 1u);
  for (int e = 0; e < 16; ++e)
    EXPECT_NEAR(seen[3][static_cast<std::size_t>(e)],
                std::tanh(run.random.inputs[0].values[static_cast<std::size_t>(e)]), 1e-6);
  EXPECT_EQ(seen[4], result);
  std::vector<std::int64_t> begin(run.plan->steps().size()), elapsed(begin.size(), -1);
  instance.runTimed(from, to, begin.data(), elapsed.data());
  for (const std::int64_t ns : elapsed) EXPECT_GE(ns, 0);
}

TEST(DevicePlan, StepsOfADeviceWithAClockAreTimedByIt) {
  const DeviceRun run(nodeOf("pointwise{}|tanh", "[0]", 3) + "," + nodeOf("softmax{axis=1}", "[3,-1]", 4), "[4]",
                      {OpKind::kPointwise});
  MadeUpDevice& device = MadeUpDevice::get();
  device.has_clock = true;
  Plan::Instance instance(*run.plan);
  std::vector<float> result(16);
  const void* from[] = {run.random.inputs[0].data(), run.random.inputs[1].data()};
  void* to[] = {result.data()};
  std::vector<std::int64_t> begin(run.plan->steps().size()), elapsed(begin.size(), -1);
  instance.runTimed(from, to, begin.data(), elapsed.data());
  device.has_clock = false;
  // Copy in, tanh and copy back belong to the device, the softmax to the host.
  ASSERT_EQ(begin.size(), 4u);
  for (std::size_t s = 0; s < 3; ++s) {
    EXPECT_EQ(begin[s], static_cast<std::int64_t>(1000 * (s + 1)));
    EXPECT_EQ(elapsed[s], static_cast<std::int64_t>(100 + s));
  }
  EXPECT_GT(begin[3], 4000);
}

void expectMicroBatches() {
  const DeviceRun whole(nodeOf("pointwise{}|tanh", "[0]", 3), "[3]", {OpKind::kPointwise});
  PlanRequest request = deviceRequest(whole.random, whole.random.inputs);
  request.micro_batches = proveMicroBatches(whole.random.spec, request, 2);
  ASSERT_NE(request.micro_batches, nullptr);
  WeightCache weights;
  const auto plan = Plan::compile(whole.random.spec, request, *whole.list, weights);
  EXPECT_EQ(plan->steps()[0].micro_batches, 2);
  Plan::Instance instance(*plan);
  const Numbers results = runOnce(instance, *plan, whole.random.inputs);
  for (std::size_t e = 0; e < 16; ++e) EXPECT_NEAR(results[0][e], std::tanh(whole.random.inputs[0].values[e]), 1e-6);
}

TEST(DevicePlan, MicroBatchesRunOnTheDevice) {
  expectMicroBatches();
  const ReachesHost reaches;
  expectMicroBatches();
}

}  // namespace
}  // namespace ipex_studio
