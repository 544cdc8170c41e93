// Plans that refuse NaN where a kernel would give numbers for it, and what they look at.
#include "core/plan/finite_checks.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "core/base/error.h"
#include "core/plan/plan.h"
#include "kernels/common/any_above.h"
#include "tests/core/plan/all_kernels.h"
#include "tests/core/plan/plan_interpreter.h"
#include "tests/core/plan/random_plan.h"

namespace ipex_studio {
namespace {

using testing::kernels;
using testing::RandomPlan;
using testing::Tensor;

constexpr float kNan = std::numeric_limits<float>::quiet_NaN(), kInfinite = std::numeric_limits<float>::infinity();

// True if 0 · NaN decides about results, which orders of computing leave out or not (nan_cases_test.cpp).
bool isOpen(const PlanSpec& spec) {
  for (const PlanNode& node : spec.nodes) {
    const OpKind kind = node.op.kind;
    const bool open = kind == OpKind::kFourier || kind == OpKind::kComplexFourier || kind == OpKind::kUpsample ||
                      kind == OpKind::kInteractionBackward;
    if (!node.is_int && (open || node.op.intOr("causal", 0) != 0)) return true;
  }
  return false;
}

// The numbers of a result as text in which only NaN counts.
std::string placesOfNan(const std::vector<std::vector<float>>& results) {
  std::string text;
  for (const auto& result : results) {
    for (const float value : result) text += std::isnan(value) ? 'N' : '.';
    text += '\n';
  }
  return text;
}

std::string stepsOf(const Plan& plan) {
  std::string text;
  for (const StepRecord& step : plan.steps())
    text += step.spec + " by " + step.kernel + " " + step.implementation + '\n';
  return text;
}

TEST(FiniteChecks, RandomPlansKeepNanOrRefuseIt) {
  int refused = 0, kept = 0;
  for (int seed = 0; seed < 400 && !HasFailure(); ++seed) {
    const RandomPlan random = testing::makeRandomPlan(seed, 3 + seed % 14);
    if (isOpen(random.spec)) continue;
    PlanRequest request = testing::requestFor(random, random.inputs, false, 1);
    request.any_above = anyAboveFor(request.target.isa);
    WeightCache weights;
    const auto plan = Plan::compile(random.spec, request, kernels(), weights);
    Plan::Instance instance(*plan);
    for (std::size_t i = 0; i < random.inputs.size(); ++i) {
      std::vector<Tensor> inputs = random.inputs;
      if (inputs[i].values.empty()) continue;
      inputs[i].values[inputs[i].values.size() / 3] = kNan;
      const auto expected = testing::interpret(random.spec, inputs, random.ints, random.constants, kernels());
      try {
        std::vector<std::vector<float>> wanted;
        for (const Tensor& result : *expected) wanted.push_back(result.values);
        auto results = testing::runOnce(instance, *plan, inputs);
        for (std::size_t o = 0; o < results.size(); ++o) results[o].resize(wanted[o].size());
        ASSERT_EQ(placesOfNan(results), placesOfNan(wanted)) << seed << "\n"
                                                             << planSpecToText(random.spec) << "\n"
                                                             << stepsOf(*plan);
        ++kept;
      } catch (const Error& problem) {
        ASSERT_NE(std::string(problem.what()).find("NaN"), std::string::npos) << problem.what();
        ++refused;
      }
    }
  }
  EXPECT_GT(refused, 10);
  EXPECT_GT(kept, 100);
}

std::string node(const std::string& name, const std::string& op, const std::string& src, int dst) {
  return R"({"name":")" + name + R"(","op":")" + op + R"(","src":)" + src + R"(,"dst":[)" + std::to_string(dst) +
         R"(],"origins":[]})";
}

// A plan of "x", "mask" (4x4 each) and a constant of 4x4, run with these values in front of each input.
std::string runWith(const std::string& nodes, std::int32_t output, float x, float mask, bool refuses = true) {
  RandomPlan random;
  random.spec = planSpecFromText(
      R"({"plan":1,"inputs":[["f32",2],["f32",2]],"constants":[{"dtype":"f32","sizes":[4,4]}],"nodes":[)" + nodes +
      R"(],"outputs":[)" + std::to_string(output) + "]}");
  const TensorDesc desc = contiguousDesc(DType::kF32, {4, 4});
  for (int input = 0; input < 2; ++input) random.inputs.push_back({desc, std::vector<float>(16, 0.5f), {}});
  random.ints = {0, 0};
  random.constants = {{desc, std::vector<float>(16, 0.25f), {}}};
  random.inputs[0].values[5] = x;
  random.inputs[1].values[5] = mask;
  PlanRequest request = testing::requestFor(random, random.inputs, false, 1);
  if (refuses) request.any_above = anyAboveFor(request.target.isa);
  PlanChoices choices;
  for (std::int32_t node = 0; node < static_cast<std::int32_t>(random.spec.nodes.size()); ++node) {
    const PlanNode& made = random.spec.nodes[static_cast<std::size_t>(node)];
    if (made.op.kind == OpKind::kLinear)
      choices[node] = {"linear_onednn", static_cast<std::int32_t>(made.op.post_ops.size()), {"ab", "ab"}, {}};
  }
  request.choices = std::make_shared<const PlanChoices>(choices);
  WeightCache weights;
  const auto plan = Plan::compile(random.spec, request, kernels(), weights);
  Plan::Instance instance(*plan);
  try {
    testing::runOnce(instance, *plan, random.inputs);
  } catch (const Error& problem) {
    return problem.what();
  }
  return "";
}

// The last node of each plan.
std::string clampedProduct(int src) {
  return node("linear", "linear{}|relu", "[" + std::to_string(src) + ",2,-1]", src == 0 ? 3 : src + 1);
}

TEST(FiniteChecks, LookAtInputsOfClampedProducts) {
  EXPECT_EQ(runWith(clampedProduct(0), 3, 1, kNan), "");  // not read
  for (const float value : {kNan, kInfinite, -kInfinite}) {
    EXPECT_NE(runWith(clampedProduct(0), 3, value, 0).find("input 1 holds NaN"), std::string::npos);
    EXPECT_EQ(runWith(clampedProduct(0), 3, value, 0, false), "") << "nobody asked";
  }
}

TEST(FiniteChecks, LetMasksOfAttentionBeInfinite) {
  const std::string nodes = node("sum", "pointwise{}|add(0)", "[0,1]", 3) + "," +
                            node("softmax", "softmax{axis=1}", "[3,-1]", 4) + "," + clampedProduct(4);
  EXPECT_EQ(runWith(nodes, 5, 1, -kInfinite), "");
  EXPECT_NE(runWith(nodes, 5, 1, kNan), "");
  EXPECT_NE(runWith(nodes, 5, kNan, 0), "");
}

TEST(FiniteChecks, LookAtResultsThatMayBeNan) {
  const std::string nodes = node("log", "pointwise{}|log", "[0]", 3) + "," + clampedProduct(3);
  EXPECT_EQ(runWith(nodes, 4, 2, 0), "");
  for (const float value : {-1.0f, 0.0f, kNan})
    EXPECT_NE(runWith(nodes, 4, value, 0).find("the result of 'log'"), std::string::npos) << value;
}

TEST(FiniteChecks, SeeThatNanIsReplaced) {
  const std::string nodes = node("fill", "pointwise{}|fill(0,7)", "[0,1]", 3) + "," + clampedProduct(3);
  // The mask is 0.5, which is not zero, so that 7 stands everywhere.
  EXPECT_EQ(runWith(nodes, 4, kNan, 1), "");
}

// Steps of a clamped product of many rows, and what it says of NaN in the first of them.
std::pair<std::string, std::string> stepsOfProduct(std::int64_t inputs, std::int64_t outputs, bool measured) {
  RandomPlan random;
  const std::string sizes = "[" + std::to_string(outputs) + "," + std::to_string(inputs) + "]";
  random.spec =
      planSpecFromText(R"({"plan":1,"inputs":[["f32",2]],"constants":[{"dtype":"f32","sizes":)" + sizes +
                       R"(}],"nodes":[)" + node("linear", "linear{}|relu", "[0,1,-1]", 2) + R"(],"outputs":[2]})");
  const TensorDesc x = contiguousDesc(DType::kF32, {64, inputs}), w = contiguousDesc(DType::kF32, {outputs, inputs});
  random.inputs = {{x, std::vector<float>(static_cast<std::size_t>(x.dims.count()), 0.5f), {}}};
  random.constants = {{w, std::vector<float>(static_cast<std::size_t>(w.dims.count()), 0.25f), {}}};
  random.ints = {0};
  PlanRequest request = testing::requestFor(random, random.inputs, false, 1);
  request.any_above = anyAboveFor(request.target.isa);
  if (measured) {
    PlanChoices choices;
    choices[0] = {"linear_onednn", 1, {"ab", "ab", ""}, {}};
    request.choices = std::make_shared<const PlanChoices>(choices);
  }
  WeightCache weights;
  const auto plan = Plan::compile(random.spec, request, kernels(), weights);
  std::string steps;
  for (const StepRecord& step : plan->steps()) steps += step.spec + ";";
  Plan::Instance instance(*plan);
  EXPECT_EQ(testing::runOnce(instance, *plan, random.inputs)[0][0], 0.125f * static_cast<float>(inputs));
  random.inputs[0].values[3] = kNan;
  try {
    return {steps, std::isnan(testing::runOnce(instance, *plan, random.inputs)[0][0]) ? "NaN" : "a number"};
  } catch (const Error& problem) {
    return {steps, problem.what()};
  }
}

TEST(FiniteChecks, LargeInputsOfSmallResultsAreNotRead) {
  for (const bool measured : {false, true}) {
    const auto small = stepsOfProduct(256, 8, measured);
    EXPECT_EQ(small.first, "linear{};pointwise{}|relu;");
    EXPECT_EQ(small.second, "NaN");
    const auto large = stepsOfProduct(256, 256, measured);
    EXPECT_TRUE(large.first == "linear{}|relu;") << large.first;
    EXPECT_NE(large.second, "a number");
  }
}

void expectFound(const TensorDesc& desc) {
  const std::size_t size = elementBytes(desc.dtype);
  std::vector<char> bytes(desc.bytes() + 64, 0);
  FiniteCheck check{0, 0, false, desc};
  FiniteCheck nan_only{0, 0, true, desc};
  const std::uint32_t infinite = desc.dtype == DType::kF32    ? 0x7F800000u
                                 : desc.dtype == DType::kBf16 ? 0x7F80u
                                                              : 0x7C00u;
  const auto with = [&](std::size_t at, std::uint32_t bits, const FiniteCheck& one) {
    std::memcpy(bytes.data() + at * size, &bits, size);
    bool passed = true;
    for (const char* isa : {"avx512_core", "avx2", "sse41"}) {
      const bool here = passes(one, anyAboveFor(isa), bytes.data());
      EXPECT_TRUE(here == passed || isa == std::string("avx512_core"));
      passed = here;
    }
    std::memset(bytes.data() + at * size, 0, size);
    return passed;
  };
  const std::size_t last = desc.bytes() / size - 1;
  for (const std::size_t at : {std::size_t{0}, last}) {
    EXPECT_TRUE(with(at, infinite - 1, check)) << desc.str();
    EXPECT_FALSE(with(at, infinite, check)) << desc.str();
    EXPECT_TRUE(with(at, infinite, nan_only)) << desc.str();
    EXPECT_FALSE(with(at, infinite + 1, nan_only)) << desc.str();
    EXPECT_FALSE(with(at, (infinite + 1) | (1u << (8 * size - 1)), nan_only)) << desc.str();
  }
  EXPECT_TRUE(with(last + 1, infinite + 1, check)) << "behind " << desc.str();
}

TEST(FiniteChecks, ReadEveryLayout) {
  for (const DType dtype : {DType::kF32, DType::kBf16, DType::kF16}) {
    expectFound(contiguousDesc(dtype, {3, 5, 7}));
    expectFound(contiguousDesc(dtype, {1, 20001}));
    expectFound(channelsLastDesc(dtype, {2, 3, 5, 5}));
    expectFound(blockedDesc(dtype, {2, 16, 3, 3}, 16));
    TensorDesc gaps = contiguousDesc(dtype, {3, 4, 5});
    gaps.strides = {40, 10, 2};
    expectFound(gaps);
    gaps.strides = {64, 8, 1};
    expectFound(gaps);
    TensorDesc part = blockedDesc(dtype, {2, 16, 3, 3}, 8);
    part.strides[0] *= 2;
    expectFound(part);
    TensorDesc repeated = contiguousDesc(dtype, {3, 4});
    repeated.strides = {0, 1};
    expectFound(repeated);
  }
  EXPECT_TRUE(passes({0, 0, false, contiguousDesc(DType::kF32, {0, 4})}, nullptr, nullptr));
}

}  // namespace
}  // namespace ipex_studio
