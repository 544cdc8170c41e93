// Plans of random operations over the host and an OpenCL device: the numbers are those of the host alone.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/base/error.h"
#include "core/op/device_copy.h"
#include "core/plan/plan.h"
#include "kernels/kernel_list.h"
#include "tests/core/plan/plan_interpreter.h"
#include "tests/core/plan/random_plan.h"
#include "tests/kernels/xpu/opencl_machine.h"
#include "tests/resident_memory.h"

namespace ipex_studio {
namespace {

using testing::RandomPlan;
using testing::runOnce;

// The second half of the plans takes it for a device with memory of its own.
TEST(XpuPlan, RandomPlansGiveTheNumbersOfTheHost) {
  const testing::TemporaryFolder programs;
  const auto device = testing::openTestDevice(programs.path());
  IPEX_NEEDS_OPENCL(device);
  device->assumeCopies(0, 0);  // so that no step stays on the host for them
  const auto kernels = makeKernelList();
  const int count = 500 * testing::campaignFactor();
  std::size_t on_device = 0, copies = 0, steps = 0;
  for (int seed = 0; seed < count && !::testing::Test::HasFailure(); ++seed) {
    if (seed == count / 2) device->assumeOwnMemory();
    const RandomPlan random = testing::makeRandomPlan(static_cast<std::uint64_t>(seed), 3 + seed % 14);
    PlanRequest request = testing::requestFor(random, random.inputs, false, 1);
    request.target.device = device.get();
    WeightCache weights;
    const auto plan = Plan::compile(random.spec, request, *kernels, weights);
    for (const StepRecord& step : plan->steps()) {
      ++steps;
      on_device += step.kernel.find("_xpu") != std::string::npos;
      copies += step.kernel == kDeviceCopyName;
    }
    Plan::Instance instance(*plan);
    for (const int run : {0, 1}) {
      const auto inputs =
          run == 1 ? testing::otherInputs(random, static_cast<std::uint64_t>(seed) + 2, 0) : random.inputs;
      const auto expected = testing::interpret(random.spec, inputs, random.ints, random.constants, *kernels);
      const auto results = runOnce(instance, *plan, inputs);
      const std::string problem = testing::difference(results, *expected);
      const bool right = problem.empty() || testing::withinRounding(random, inputs, *kernels, results, *expected);
      ASSERT_TRUE(right) << problem << ", seed " << seed << ", run " << run << "\n" << planSpecToText(random.spec);
    }
  }
  std::printf("%zu of %zu steps on the device, %zu copies\n", on_device, steps, copies);
  EXPECT_GT(on_device, 500u);
  EXPECT_GT(copies, 300u);
}

// A product, a softmax and a chain over `rows` rows of 64.
RandomPlan planOfRows(std::int64_t rows) {
  RandomPlan plan;
  plan.spec = planSpecFromText(
      R"spec({"plan":1,"inputs":[["f32",2]],"constants":[{"dtype":"f32","sizes":[64,64]}],"nodes":[)spec"
      R"spec({"op":"linear{}|relu","src":[0,1,-1],"dst":[2],"name":"a","origins":[]},)spec"
      R"spec({"op":"softmax{axis=1}","src":[2,-1],"dst":[3],"name":"b","origins":[]},)spec"
      R"spec({"op":"pointwise{}|add(0)","src":[3,2],"dst":[4],"name":"c","origins":[]}],"outputs":[4]})spec");
  plan.ints = {0};
  const auto floats = static_cast<std::size_t>(64 * rows);
  plan.inputs.push_back({contiguousDesc(DType::kF32, Dims{rows, 64}), std::vector<float>(floats, 0.5f), {}});
  plan.constants.push_back({contiguousDesc(DType::kF32, Dims{64, 64}), std::vector<float>(4096, 0.01f), {}});
  return plan;
}

TEST(XpuPlan, AnIndexOutOfRangeIsASentenceAndTheNextRunIsRight) {
  const testing::TemporaryFolder programs;
  const auto device = testing::openTestDevice(programs.path());
  IPEX_NEEDS_OPENCL(device);
  const auto kernels = makeKernelList();
  RandomPlan plan;
  plan.spec =
      planSpecFromText(R"spec({"plan":1,"inputs":[["s64",1]],"constants":[{"dtype":"f32","sizes":[4,3]}],"nodes":[)spec"
                       R"spec({"op":"embedding{}","src":[0,1],"dst":[2],"name":"a","origins":[]}],"outputs":[2]})spec");
  plan.ints = {0};
  plan.inputs.push_back({contiguousDesc(DType::kS64, Dims{2}), {}, {0, 0}});
  plan.constants.push_back({contiguousDesc(DType::kF32, Dims{4, 3}), {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}, {}});
  PlanRequest request = testing::requestFor(plan, plan.inputs, false, 1);
  request.target.device = device.get();
  WeightCache weights;
  const auto compiled = Plan::compile(plan.spec, request, *kernels, weights);
  const auto embeds = [](const StepRecord& step) { return step.kernel == "embedding_xpu"; };
  EXPECT_TRUE(std::any_of(compiled->steps().begin(), compiled->steps().end(), embeds));
  Plan::Instance instance(*compiled);
  for (const std::int64_t wrong : {std::int64_t{4}, std::int64_t{-1}, std::int64_t{1} << 40}) {
    plan.inputs[0].ids = {1, wrong};
    try {
      runOnce(instance, *compiled, plan.inputs);
      ADD_FAILURE() << wrong << " is no row";
    } catch (const Error& error) {
      EXPECT_STREQ(error.what(),
                   "The model cannot run on these inputs: an index is outside of the table that it picks from; give it "
                   "other inputs.");
    }
    plan.inputs[0].ids = {3, 1};
    EXPECT_EQ(runOnce(instance, *compiled, plan.inputs)[0], (std::vector<float>{9, 10, 11, 3, 4, 5}));
  }
}

// The least of many rounds: the host shares its processors with the device's work, and with other programs.
TEST(XpuPlan, PuttingAStepIntoTheQueueTakesLessThan10Microseconds) {
  const testing::TemporaryFolder programs;
  const auto device = testing::openTestDevice(programs.path());
  IPEX_NEEDS_OPENCL(device);
  const auto kernels = makeKernelList();
  TensorDesc desc = contiguousDesc(DType::kF32, Dims{64});
  desc.device = device->id();
  PrepareArgs args;
  args.spec = parseOpSpec("pointwise{}|relu|add(0)|mul(1)");
  args.src = {desc, desc, desc};
  args.constant.assign(3, nullptr);
  args.src_dies.assign(3, false);
  args.dst = {desc};
  args.target.device = device.get();
  std::string reason;
  const auto op = kernels->candidates(OpKind::kPointwise, DeviceKind::kXpu)[0]->prepare(args, &reason);
  ASSERT_NE(op, nullptr) << reason;
  const auto queue = device->newQueue();
  const Buffer from(desc.bytes(), *device), to(desc.bytes(), *device);
  const auto state = op->newState();
  state->queue = queue.get();
  const void* src[] = {from.data(), from.data(), from.data()};
  void* dst[] = {to.data()};
  constexpr int kSteps = 50;
  std::int64_t least = std::numeric_limits<std::int64_t>::max();
  for (int round = 0; round < 200; ++round) {
    const std::int64_t begin = device->nowNs();
    for (int step = 0; step < kSteps; ++step) op->execute(state.get(), src, dst, nullptr);
    least = std::min(least, (device->nowNs() - begin) / kSteps);
    queue->finish();
  }
  std::printf("a step is put into the queue in %.1f us\n", 1e-3 * static_cast<double>(least));
  EXPECT_LE(least, 10000);
}

TEST(XpuPlan, MemoryStaysFlat) {
  const testing::TemporaryFolder programs;
  const auto device = testing::openTestDevice(programs.path());
  IPEX_NEEDS_OPENCL(device);
  const auto kernels = makeKernelList();
  std::size_t before = 0;
  for (int size = 0; size < 300; ++size) {
    const RandomPlan random = planOfRows(1 + 37 * size % 500);
    PlanRequest request = testing::requestFor(random, random.inputs, false, 1);
    request.target.device = device.get();
    WeightCache weights;
    const auto plan = Plan::compile(random.spec, request, *kernels, weights);
    Plan::Instance instance(*plan);
    for (int run = 0; run < 10; ++run) runOnce(instance, *plan, random.inputs);
    if (size == 100) before = residentBytes();
  }
  const std::size_t after = residentBytes();
  std::printf("resident %.1f to %.1f MB over 200 sizes and 2,000 runs\n", 1e-6 * static_cast<double>(before),
              1e-6 * static_cast<double>(after));
  EXPECT_LT(after, before + (std::size_t{8} << 20));
}

}  // namespace
}  // namespace ipex_studio
