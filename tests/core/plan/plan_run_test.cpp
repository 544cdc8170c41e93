// Plans against an interpreter that runs node by node: same numbers with any layouts, in-place sums, views and arenas.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <thread>

#include "core/base/error.h"
#include "core/plan/earlier_choices.h"
#include "core/plan/plan.h"
#include "tests/core/plan/all_kernels.h"
#include "tests/core/plan/plan_interpreter.h"
#include "tests/core/plan/random_plan.h"
#include "tests/core/plan/scrambled_kernels.h"

namespace ipex_studio {
namespace {

using testing::difference;
using testing::interpret;
using testing::kernels;
using testing::RandomPlan;
using testing::requestFor;
using testing::Tensor;

// Copies a source to memory of exactly its size, in the layout of `desc`.
std::vector<char> laidOut(const Tensor& tensor, const TensorDesc& desc) {
  std::vector<char> bytes(desc.bytes());
  for (std::int64_t i = 0; i < desc.dims.count(); ++i) {
    std::int64_t rest = i, at = 0;
    for (int axis = desc.dims.rank - 1; axis >= 0; --axis) {
      at += rest % desc.dims[axis] * desc.strides[axis];
      rest /= desc.dims[axis];
    }
    const std::size_t size = elementBytes(desc.dtype);
    std::memcpy(bytes.data() + static_cast<std::size_t>(at) * size,
                static_cast<const char*>(tensor.data()) + static_cast<std::size_t>(i) * size, size);
  }
  return bytes;
}

using Results = std::vector<std::vector<float>>;

Results run(Plan::Instance& instance, const Plan& plan, const PlanRequest& request, const std::vector<Tensor>& inputs) {
  std::vector<std::vector<char>> bytes;
  std::vector<const void*> from;
  for (std::size_t i = 0; i < inputs.size(); ++i) bytes.push_back(laidOut(inputs[i], request.tensor_inputs[i]));
  for (const auto& input : bytes) from.push_back(input.data());
  const std::vector<std::vector<char>> before = bytes;
  Results results;
  std::vector<void*> to;
  for (const TensorDesc& desc : plan.outputs())
    results.emplace_back(static_cast<std::size_t>(desc.dims.count()), std::nanf(""));
  for (auto& result : results) to.push_back(result.data());
  instance.run(from.data(), to.data());
  EXPECT_TRUE(before == bytes) << "the plan wrote into its inputs";
  return results;
}

std::string placedSteps(const Plan& plan) {
  std::string text;
  for (const StepRecord& step : plan.steps()) {
    text += step.spec + " by " + step.kernel + " " + step.src_layout + " -> " + step.dst_layout + " " + step.dst_shape +
            " at " + std::to_string(step.arena_begin) + "\n";
  }
  return text;
}

void expectSameNumbers(const RandomPlan& random, const KernelList& list, std::uint64_t seed, const std::string& which) {
  const bool channels_last = seed % 3 == 0;
  WeightCache weights;
  EarlierChoices earlier;
  for (const std::int64_t batch : {0, 3}) {  // the second time recompiled for another size
    std::vector<Tensor> inputs = batch == 0 ? random.inputs : testing::otherInputs(random, seed + 1, batch);
    const auto expected = interpret(random.spec, inputs, random.ints, random.constants, kernels());
    PlanRequest request = requestFor(random, inputs, channels_last, 1 + static_cast<int>(seed % 2));
    request.earlier = &earlier;
    if (!expected) {
      ASSERT_NE(batch, 0);
      // Refused, unless the plan computes an operand that now broadcasts the other way in a step of its own.
      try {
        Plan::compile(random.spec, request, list, weights);
      } catch (const Error&) {
      }
      return;
    }
    const auto plan = Plan::compile(random.spec, request, list, weights);
    Plan::Instance instance(*plan);
    const auto wrongWith = [&](const std::vector<Tensor>& given, const std::vector<Tensor>& wanted) {
      const Results results = run(instance, *plan, request, given);
      const std::string problem = difference(results, wanted);
      return problem.empty() || testing::withinRounding(random, given, kernels(), results, wanted) ? std::string()
                                                                                                   : problem;
    };
    std::string wrong;
    try {
      wrong = wrongWith(inputs, *expected);
    } catch (const Error& problem) {
      // A dimension that is indexed may be shorter at the other size; the interpreter goes on with NaN.
      ASSERT_NE(batch, 0) << problem.what();
      ASSERT_NE(std::string(problem.what()).find("outside of the table"), std::string::npos) << problem.what();
      return;
    }
    ASSERT_EQ(wrong, "") << which << ", seed " << seed << ", batch " << batch << "\n"
                         << planSpecToText(random.spec) << "\n"
                         << placedSteps(*plan);
    // The warm instance keeps nothing of the run before.
    const std::vector<Tensor> others = testing::otherInputs(random, seed + 2, batch);
    const auto again = interpret(random.spec, others, random.ints, random.constants, kernels());
    ASSERT_EQ(wrongWith(others, *again), "") << which << ", seed " << seed << ", second run";
    ASSERT_EQ(wrongWith(inputs, *expected), "") << which << ", seed " << seed << ", third run";
  }
}

TEST(PlanRun, RandomPlansOnRealKernels) {
  const int count = 250 * testing::campaignFactor();
  for (int seed = 0; seed < count && !::testing::Test::HasFailure(); ++seed) {
    expectSameNumbers(testing::makeRandomPlan(seed, 3 + seed % 14), kernels(), seed, "real kernels");
  }
}

TEST(PlanRun, RandomPlansOnScrambledKernels) {
  const int count = 250 * testing::campaignFactor();
  for (int seed = 0; seed < count && !::testing::Test::HasFailure(); ++seed) {
    const testing::ScrambledKernels scrambled(kernels(), seed);
    expectSameNumbers(testing::makeRandomPlan(seed, 3 + seed % 14), scrambled, seed, "scrambled kernels");
  }
}

TEST(PlanRun, TextFormComputesTheSame) {
  for (int seed = 1000; seed < 1030; ++seed) {
    RandomPlan random = testing::makeRandomPlan(seed, 8);
    const std::string text = planSpecToText(random.spec);
    random.spec = planSpecFromText(text);
    ASSERT_EQ(planSpecToText(random.spec), text);
    expectSameNumbers(random, kernels(), seed, "read back");
  }
}

// The plan of `nodes` (as in the text form) on 4x4 inputs, and its results.
struct Small {
  PlanSpec spec;
  std::unique_ptr<Plan> plan;
  std::string wrong;
};
Small runSmall(const std::string& nodes, const std::string& outputs) {
  RandomPlan random;
  random.spec = planSpecFromText(
      R"({"plan":1,"inputs":[["f32",2],["f32",2]],"constants":[{"dtype":"f32","sizes":[4,4]}],"nodes":[)" + nodes +
      R"(],"outputs":)" + outputs + "}");
  for (int i = 0; i < 3; ++i) {
    Tensor tensor{contiguousDesc(DType::kF32, Dims{4, 4}), {}, {}};
    for (int e = 0; e < 16; ++e) tensor.values.push_back(static_cast<float>(std::sin(e * (i + 1) + i)));
    (i < 2 ? random.inputs : random.constants).push_back(tensor);
  }
  random.ints = {0, 0};
  const PlanRequest request = requestFor(random, random.inputs, false, 1);
  WeightCache weights;
  Small small;
  small.spec = random.spec;
  small.plan = Plan::compile(random.spec, request, kernels(), weights);
  Plan::Instance instance(*small.plan);
  const Results results = run(instance, *small.plan, request, random.inputs);
  small.wrong = difference(results, *interpret(random.spec, random.inputs, random.ints, random.constants, kernels()));
  return small;
}
std::string node(const std::string& op, const std::string& src, int dst) {
  return R"({"op":")" + op + R"(","src":)" + src + R"(,"dst":[)" + std::to_string(dst) +
         R"(],"name":"n","origins":[]})";
}

TEST(PlanRun, OutputsThatAreInputsConstantsViewsOrTwice) {
  EXPECT_EQ(runSmall("", "[0,1,0,2]").wrong, "");
  EXPECT_EQ(runSmall(node("permute{order=[1,0]}", "[0]", 3), "[3,0,3]").wrong, "");
  EXPECT_EQ(runSmall(node("permute{order=[1,0]}", "[2]", 3), "[3,2]").wrong, "");
  EXPECT_EQ(
      runSmall(node("pointwise{}|relu", "[0]", 3) + "," + node("slice{axis=0,begin=1,end=3}", "[3]", 4), "[4,3,4,3]")
          .wrong,
      "");
  EXPECT_EQ(runSmall(node("pointwise{}|relu", "[0]", 3) + "," + node("reshape{shape=[16]}", "[3]", 4), "[4,3]").wrong,
            "");
}

TEST(PlanRun, OneValueTwiceInOneOperation) {
  EXPECT_EQ(runSmall(node("pointwise{}|add(0)", "[0,0]", 3), "[3]").wrong, "");
  EXPECT_EQ(runSmall(node("pointwise{}|tanh", "[0]", 3) + "," + node("permute{order=[1,0]}", "[3]", 4) + "," +
                         node("pointwise{}|add(0)", "[3,4]", 5),
                     "[5]")
                .wrong,
            "");
  EXPECT_EQ(runSmall(node("pointwise{}|tanh", "[0]", 3) + "," + node("matmul{}|add(0)", "[3,3,3]", 4), "[4]").wrong,
            "");
  EXPECT_EQ(runSmall(node("pointwise{}|tanh", "[0]", 3) + "," + node("linear{}|add(0)", "[3,2,-1,3]", 4), "[4]").wrong,
            "");
  EXPECT_EQ(runSmall(node("pointwise{}|tanh", "[0]", 3) + "," + node("concat{axis=0}", "[3,3]", 4) + "," +
                         node("pointwise{}|relu", "[3]", 5),
                     "[4,5]")
                .wrong,
            "");
}

// Values that depend on constants alone are computed once; the plan keeps only steps that read the inputs.
TEST(PlanRun, WhatDependsOnConstantsOnlyIsNoStep) {
  const std::string chain = node("pointwise{}|tanh", "[2]", 3) + "," + node("permute{order=[1,0]}", "[3]", 4) + "," +
                            node("matmul{}", "[4,2]", 5);
  const Small small = runSmall(chain + "," + node("pointwise{}|add(0)", "[0,5]", 6), "[6]");
  EXPECT_EQ(small.wrong, "");
  EXPECT_EQ(small.plan->steps().size(), 1u);
  EXPECT_GT(small.plan->computedBytes(), 0u);
  EXPECT_EQ(runSmall(chain, "[5,3,4,5]").wrong, "");
  const std::string joined = node("concat{axis=0}", "[3,2]", 4) + "," + node("slice{axis=0,begin=2,end=6}", "[4]", 5);
  EXPECT_EQ(runSmall(node("pointwise{}|relu", "[2]", 3) + "," + joined + "," + node("linear{}|add(0)", "[0,2,-1,5]", 6),
                     "[6,5]")
                .wrong,
            "");
}

TEST(PlanRun, PaddingByNothingIsNoStep) {
  const std::string pad = "pad{begin=[0,0],end=[0,0],mode=constant,value=1.0}";
  const Small small = runSmall(
      node("pointwise{}|tanh", "[0]", 3) + "," + node(pad, "[3]", 4) + "," + node("pointwise{}|relu", "[4]", 5), "[5]");
  EXPECT_EQ(small.wrong, "");
  EXPECT_EQ(small.plan->steps().size(), 2u);
  // A view names the same memory: neither may be overwritten while the other is still read.
  EXPECT_EQ(runSmall(node("pointwise{}|tanh", "[0]", 3) + "," + node(pad, "[3]", 4) + "," +
                         node("pointwise{}|relu", "[3]", 5) + "," + node("linear{}|add(0)", "[0,2,-1,4]", 6),
                     "[5,6,4]")
                .wrong,
            "");
  EXPECT_EQ(runSmall(node("pointwise{}|tanh", "[0]", 3) + "," + node("concat{axis=0}", "[3,1]", 4) + "," +
                         node(pad, "[3]", 5) + "," + node("pointwise{}|exp", "[4]", 6) + "," +
                         node("pointwise{}|add(0)", "[5,0]", 7),
                     "[6,7]")
                .wrong,
            "");
  EXPECT_EQ(runSmall(node(pad, "[0]", 3) + "," + node(pad, "[2]", 4) + "," + node("pointwise{}|add(0)", "[3,4]", 5),
                     "[5,3,4]")
                .wrong,
            "");
}

// Two views of one constant with equal descriptions must not be packed as one.
TEST(PlanRun, TwoViewsOfOneConstant) {
  const std::string turned = node("permute{order=[1,0]}", "[2]", 3);
  EXPECT_EQ(
      runSmall(turned + "," + node("linear{}", "[0,2,-1]", 4) + "," + node("linear{}", "[0,3,-1]", 5), "[4,5]").wrong,
      "");
  const std::string cut = node("slice{axis=1,begin=0,end=2}", "[2]", 3) + "," +
                          node("slice{axis=0,begin=0,end=2}", "[2]", 4) + "," + node("permute{order=[1,0]}", "[4]", 5);
  EXPECT_EQ(runSmall(cut + "," + node("matmul{}", "[0,3]", 6) + "," + node("matmul{}", "[0,5]", 7), "[6,7]").wrong, "");
}

TEST(PlanRun, ResidualSumAccumulatesInPlace) {
  const Small small =
      runSmall(node("pointwise{}|tanh", "[0]", 3) + "," + node("linear{}|add(0)|relu", "[1,2,-1,3]", 4), "[4]");
  EXPECT_EQ(small.wrong, "");
  EXPECT_EQ(small.plan->steps().size(), 2u);
  EXPECT_EQ(small.plan->steps()[0].arena_begin, -1);  // written into the result, which accumulates the sum
}

TEST(PlanRun, ConcatWithActivationIsSplit) {
  EXPECT_EQ(runSmall(node("concat{axis=1}|relu", "[0,1]", 3), "[3]").wrong, "");
}

// A library may confuse the numbers of two activations of one kind behind one product.
TEST(PlanRun, TwoActivationsOfOneKind) {
  for (const char* product : {"linear{}", "matmul{}", "matmul{scale=0.5}"}) {
    for (const char* chain :
         {"linear(2,1)|linear(0.5,-1)", "linear(2,1)|neg", "linear(2,1)|tanh|linear(3,1)", "leaky_relu(0.3)|relu",
          "leaky_relu(0.3)|leaky_relu(0.1)", "clip(-1,1)|clip(0,0.5)", "elu(1)|elu(0.5)", "hardsigmoid|linear(2,1)",
          "linear(2,1)|hardswish", "abs|neg", "relu|relu"}) {
      const bool linear = product[0] == 'l';
      EXPECT_EQ(runSmall(node(std::string(product) + "|" + chain, linear ? "[0,2,-1]" : "[0,1]", 3), "[3]").wrong, "")
          << product << "|" << chain;
    }
  }
}

TEST(PlanRun, TwoInstancesInTwoThreads) {
  for (int seed = 2000; seed < 2010; ++seed) {
    const RandomPlan random = testing::makeRandomPlan(seed, 10);
    const PlanRequest request = requestFor(random, random.inputs, false, 1 + seed % 2);
    WeightCache weights;
    const auto plan = Plan::compile(random.spec, request, kernels(), weights);
    std::vector<std::string> wrong(2);
    std::vector<std::vector<Tensor>> inputs{random.inputs, testing::otherInputs(random, seed, 0)};
    std::vector<std::vector<Tensor>> expected;
    for (const auto& given : inputs)
      expected.push_back(*interpret(random.spec, given, random.ints, random.constants, kernels()));
    std::vector<std::thread> threads;
    for (std::size_t t = 0; t < 2; ++t) {
      threads.emplace_back([&, t] {
        Plan::Instance instance(*plan);
        for (int i = 0; i < 20 && wrong[t].empty(); ++i)
          wrong[t] = difference(run(instance, *plan, request, inputs[t]), expected[t]);
      });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(wrong[0], "") << seed;
    EXPECT_EQ(wrong[1], "") << seed;
  }
}

// The run fails with a sentence, as eager does, instead of reading elsewhere, and the instance stays usable.
TEST(PlanRun, AnIndexOutsideOfItsTableFailsTheRun) {
  const std::string three = R"({"dtype":"f32","sizes":[3,2]})", scaled = R"({"dtype":"u8","sizes":[3,10]})";
  const std::vector<float> table{0, 1, 10, 11, 20, 21};
  // The same table as bytes, each row with a scale of 1 and an offset of 0 behind it.
  std::vector<std::uint8_t> rows;
  for (int row = 0; row < 3; ++row) {
    for (const int value : {10 * row, 10 * row + 1, 0, 0, 0x80, 0x3F, 0, 0, 0, 0})
      rows.push_back(static_cast<std::uint8_t>(value));
  }
  struct Lookup {
    std::string op, src, constants;
    const void* data;
  };
  const auto node = [](const std::string& op, const std::string& src) {
    return R"({"op":")" + op + R"(","src":)" + src + R"(,"dst":[2],"name":"table","origins":[]})";
  };
  for (const auto& [op, src, constants, data] :
       std::vector<Lookup>{{"embedding{}", "[0,1]", three, table.data()},
                           {"embedding{scaled_rows=1}", "[0,1]", scaled, rows.data()},
                           {"gather{axis=0}", "[1,0]", three, table.data()}}) {
    for (int threads : {1, 2}) {
      const std::string nodes = node(op, src);
      const PlanSpec spec = planSpecFromText(R"({"plan":1,"inputs":[["s64",1]],"constants":[)" + constants +
                                             R"(],"nodes":[)" + nodes + R"(],"outputs":[2]})");
      PlanRequest request;
      request.tensor_inputs = {contiguousDesc(DType::kS64, Dims{4})};
      request.int_inputs = {0};
      request.constants = {data};
      request.target.threads = threads;
      WeightCache weights;
      const auto plan = Plan::compile(spec, request, kernels(), weights);
      Plan::Instance instance(*plan);
      std::vector<float> result(8);
      void* to = result.data();
      for (const std::int64_t bad : {3, -1, 2000000000}) {
        const std::vector<std::int64_t> ids{0, bad, 2, 1}, good{0, 2, 2, 1};
        const void* from = ids.data();
        try {
          instance.run(&from, &to);
          ADD_FAILURE() << op << " took index " << bad;
        } catch (const Error& problem) {
          EXPECT_NE(std::string(problem.what()).find("outside of the table"), std::string::npos) << problem.what();
          EXPECT_NE(std::string(problem.what()).find("'table'"), std::string::npos) << problem.what();
        }
        from = good.data();
        instance.run(&from, &to);
        EXPECT_EQ(result, (std::vector<float>{0, 1, 20, 21, 20, 21, 10, 11})) << op;
      }
    }
  }
}

TEST(PlanRun, RefusesOtherSignatures) {
  const RandomPlan random = testing::makeRandomPlan(1, 6);
  WeightCache weights;
  PlanRequest request = requestFor(random, random.inputs, false, 1);
  request.tensor_inputs[0] = contiguousDesc(DType::kF64, random.inputs[0].desc.dims);
  EXPECT_THROW(Plan::compile(random.spec, request, kernels(), weights), Error);
  request.tensor_inputs[0] = contiguousDesc(DType::kF32, Dims{1, 2, 3});
  EXPECT_THROW(Plan::compile(random.spec, request, kernels(), weights), Error);
}

}  // namespace
}  // namespace ipex_studio
