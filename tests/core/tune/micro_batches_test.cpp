// A batch computed a few samples at a time gives the results of the whole batch.
#include <gtest/gtest.h>

#include <cmath>

#include "core/plan/batch_independence.h"
#include "core/plan/plan.h"
#include "tests/core/plan/all_kernels.h"
#include "tests/core/plan/plan_interpreter.h"
#include "tests/core/plan/random_plan.h"

namespace ipex_studio {
namespace {

using testing::kernels;
using testing::RandomPlan;
using testing::Tensor;

using SliceResults = std::vector<std::vector<float>>;

// Runs the plan by `run(instance, inputs, outputs)`.
template <class Run>
SliceResults runMicroBatches(const Plan& plan, const std::vector<Tensor>& inputs, const Run& run) {
  Plan::Instance instance(plan);
  std::vector<const void*> from;
  for (const Tensor& input : inputs) from.push_back(input.data());
  SliceResults results;
  std::vector<void*> to;
  for (const TensorDesc& desc : plan.outputs())
    results.emplace_back(static_cast<std::size_t>(desc.dims.count()), std::nanf(""));
  for (auto& result : results) to.push_back(result.data());
  run(instance, from.data(), to.data());
  return results;
}

SliceResults runMicroBatches(const Plan& plan, const std::vector<Tensor>& inputs) {
  return runMicroBatches(
      plan, inputs, [](Plan::Instance& instance, const void* const* from, void* const* to) { instance.run(from, to); });
}

TEST(PlanMicroBatches, GiveWhatTheWholeBatchGives) {
  int sliced = 0;
  for (std::uint64_t seed = 1; seed <= 500; ++seed) {
    const RandomPlan random = testing::makeRandomPlan(seed, 1 + static_cast<int>(seed % 5));
    const std::vector<Tensor> inputs = testing::otherInputs(random, seed + 1, 5);
    const auto expected = testing::interpret(random.spec, inputs, random.ints, random.constants, kernels());
    if (!expected) continue;
    PlanRequest request = testing::requestFor(random, inputs, false, 1 + static_cast<int>(seed % 2));
    for (const std::int64_t samples : {1, 2, 3}) {
      request.micro_batches = proveMicroBatches(random.spec, request, samples);
      if (!request.micro_batches) break;
      ++sliced;
      WeightCache weights;
      const auto plan = Plan::compile(random.spec, request, kernels(), weights);
      const SliceResults results = runMicroBatches(*plan, inputs);
      ASSERT_TRUE(testing::difference(results, *expected).empty() ||
                  testing::withinRounding(random, inputs, kernels(), results, *expected))
          << "seed " << seed << ", " << samples << " samples\n"
          << planSpecToText(random.spec);
    }
  }
  std::printf("%d plans in micro_batches\n", sliced);
  EXPECT_GT(sliced, 100);
}

// conv -> flatten -> linear over 7 images of 3x5x5, each with 3 results.
struct SlicedNetwork {
  SlicedNetwork() : filter(4 * 3 * 9), matrix(3 * 100), image(7 * 3 * 25) {
    for (auto* values : {&filter, &matrix, &image}) {
      for (std::size_t i = 0; i < values->size(); ++i) (*values)[i] = std::sin(static_cast<float>(i * i % 97));
    }
    spec = planSpecFromText(
        R"({"plan":1,"inputs":[["f32",4]],"constants":[{"dtype":"f32","sizes":[4,3,3,3]},{"dtype":"f32","sizes":[3,100]}],"nodes":[
           {"op":"convolution{dilation=[1,1],groups=1,padding=[1,1],stride=[1,1]}|relu","src":[0,1,-1],"dst":[3],"name":"c","origins":[]},
           {"op":"reshape{flatten_begin=1,flatten_end=3}","src":[3],"dst":[4],"name":"f","origins":[]},
           {"op":"linear{}","src":[4,2,-1],"dst":[5],"name":"l","origins":[]}],"outputs":[5]})");
    request.tensor_inputs = {contiguousDesc(DType::kF32, Dims{7, 3, 5, 5})};
    request.int_inputs = {0};
    request.constants = {filter.data(), matrix.data()};
    input.desc = request.tensor_inputs[0];
    input.values = image;
  }
  std::unique_ptr<Plan> compile(std::int64_t samples) {
    request.micro_batches = samples == 7 ? nullptr : proveMicroBatches(spec, request, samples);
    EXPECT_EQ(request.micro_batches != nullptr, samples != 7);
    return Plan::compile(spec, request, kernels(), weights);
  }
  std::vector<float> filter, matrix, image;
  PlanSpec spec;
  PlanRequest request;
  WeightCache weights;
  Tensor input;
};

TEST(PlanMicroBatches, CountTimeAndWorkOfAllSlices) {
  SlicedNetwork net;
  const auto whole = net.compile(7), sliced = net.compile(3);
  const SliceResults expected = runMicroBatches(*whole, {net.input});
  std::vector<std::int64_t> begin(sliced->steps().size()), elapsed(begin.size());
  std::int64_t now = 0;
  const SliceResults timed =
      runMicroBatches(*sliced, {net.input}, [&](Plan::Instance& instance, const void* const* from, void* const* to) {
        instance.runTimed(from, to, begin.data(), elapsed.data(), [&] { return now += 10; });
      });
  ASSERT_EQ(timed[0].size(), 21u);
  for (std::size_t i = 0; i < 21; ++i) EXPECT_NEAR(timed[0][i], expected[0][i], 1e-4);
  for (std::size_t s = 0; s < begin.size(); ++s) {
    EXPECT_EQ(elapsed[s], 30) << s;
    EXPECT_EQ(begin[s], begin[0] + 30 * static_cast<std::int64_t>(s));
    EXPECT_EQ(sliced->steps()[s].micro_batches, 3);
    EXPECT_EQ(sliced->steps()[s].flops % 3, 0);
  }
  EXPECT_EQ(sliced->steps().back().dst_shape, "3x3");
  EXPECT_LT(sliced->arenaBytes(), whole->arenaBytes());
}

TEST(PlanMicroBatches, ShowInputsOnly) {
  SlicedNetwork net;
  const auto sliced = net.compile(2);
  std::vector<std::int32_t> seen;
  const SliceResults results =
      runMicroBatches(*sliced, {net.input}, [&](Plan::Instance& instance, const void* const* from, void* const* to) {
        instance.runObserved(from, to, [&](std::int32_t value, const TensorDesc& desc, const void*) {
          seen.push_back(value);
          EXPECT_EQ(desc.dims[0], 7);
        });
      });
  EXPECT_EQ(seen, std::vector<std::int32_t>{0});
  EXPECT_EQ(results, runMicroBatches(*sliced, {net.input}));
}

TEST(PlanMicroBatches, TakeImagesInChannelsLast) {
  SlicedNetwork net;
  const SliceResults expected = runMicroBatches(*net.compile(7), {net.input});
  net.request.tensor_inputs[0] = channelsLastDesc(DType::kF32, Dims{7, 3, 5, 5});
  Tensor turned = net.input;
  for (std::size_t n = 0; n < 7; ++n) {
    for (std::size_t c = 0; c < 3; ++c) {
      for (std::size_t p = 0; p < 25; ++p) turned.values[(n * 25 + p) * 3 + c] = net.image[(n * 3 + c) * 25 + p];
    }
  }
  for (const std::int64_t samples : {1, 4}) {
    const SliceResults results = runMicroBatches(*net.compile(samples), {turned});
    for (std::size_t i = 0; i < 21; ++i) EXPECT_NEAR(results[0][i], expected[0][i], 1e-4) << samples;
  }
}

// Samples that are not contiguous, and results that belong to no sample.
TEST(PlanMicroBatches, AreRefusedWhereSamplesAreNotApart) {
  SlicedNetwork net;
  TensorDesc& input = net.request.tensor_inputs[0];
  input.strides = Dims{1, 7, 21, 105};  // the samples are innermost
  EXPECT_EQ(proveMicroBatches(net.spec, net.request, 2), nullptr);
  input = contiguousDesc(DType::kF32, Dims{7, 3, 5, 5});
  EXPECT_NE(proveMicroBatches(net.spec, net.request, 2), nullptr);
  for (const std::int64_t samples : {-1, 0, 7, 8})
    EXPECT_EQ(proveMicroBatches(net.spec, net.request, samples), nullptr) << samples;
  net.spec.outputs = {5, 1};
  EXPECT_EQ(proveMicroBatches(net.spec, net.request, 2), nullptr);
}

}  // namespace
}  // namespace ipex_studio
