// Plans of random operations over the host and an OpenCL device: the numbers are those of the host alone.
#include <gtest/gtest.h>

#include <cmath>

#include "core/plan/device_copy.h"
#include "core/plan/plan.h"
#include "kernels/kernel_list.h"
#include "tests/core/plan/plan_interpreter.h"
#include "tests/core/plan/random_plan.h"
#include "tests/goal.h"
#include "tests/kernels/xpu/opencl_machine.h"

namespace ipex_studio {
namespace {

using testing::RandomPlan;

std::vector<std::vector<float>> runOnce(Plan::Instance& instance, const Plan& plan,
                                        const std::vector<testing::Tensor>& inputs) {
  std::vector<const void*> from;
  for (const testing::Tensor& input : inputs) from.push_back(input.data());
  std::vector<std::vector<float>> results;
  std::vector<void*> to;
  for (const TensorDesc& desc : plan.outputs())
    results.emplace_back(static_cast<std::size_t>(desc.dims.count()), std::nanf(""));
  for (auto& result : results) to.push_back(result.data());
  instance.run(from.data(), to.data());
  return results;
}

TEST(XpuPlan, RandomPlansGiveTheNumbersOfTheHost) {
  const testing::TemporaryFolder programs;
  const auto device = testing::openTestDevice(programs.path());
  IPEX_NEEDS_OPENCL(device);
  const auto kernels = makeKernelList();
  const int count = 500 * testing::campaignFactor();
  std::size_t on_device = 0, copies = 0, steps = 0;
  for (int seed = 0; seed < count && !::testing::Test::HasFailure(); ++seed) {
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

}  // namespace
}  // namespace ipex_studio
