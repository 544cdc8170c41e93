// Specs that keep the samples of a batch apart are proven so, and the proof holds for random plans whose added rows are
// NaN.
#include "core/plan/batch_independence.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/core/plan/all_kernels.h"
#include "tests/core/plan/plan_interpreter.h"
#include "tests/core/plan/random_plan.h"

namespace ipex_studio {
namespace {

using testing::RandomPlan;
using testing::Tensor;

// Runs the proof for `nodes` (the spec's text between the brackets) over f32 inputs x and y of these sizes, from 3
// samples to 8.
BatchIndependence prove(const std::string& nodes, std::vector<Dims> inputs, const std::string& constants, int last) {
  std::string text = R"({"plan":1,"inputs":[)";
  PlanRequest request;
  std::vector<bool> is_batch;
  for (const Dims& dims : inputs) {
    text += (is_batch.empty() ? R"(["f32",)" : R"(,["f32",)") + std::to_string(dims.rank) + "]";
    request.tensor_inputs.push_back(contiguousDesc(DType::kF32, dims));
    request.int_inputs.push_back(0);
    is_batch.push_back(dims[0] == 3);
  }
  text +=
      R"(],"constants":[)" + constants + R"(],"nodes":[)" + nodes + R"(],"outputs":[)" + std::to_string(last) + "]}";
  const PlanSpec spec = planSpecFromText(text);
  static const float kZeros[4096] = {};
  request.constants.assign(spec.constants.size(), kZeros);
  request.target.threads = 1;
  return proveBatchIndependence(spec, request, is_batch, 3, 8);
}

// The same over the positions of x[2,3,…], from a length of 3 to one of 8.
BatchIndependence provePositions(const std::string& nodes, Dims input, const std::string& constants, int last) {
  const std::string text = R"({"plan":1,"inputs":[["f32",)" + std::to_string(input.rank) + R"(]],"constants":[)" +
                           constants + R"(],"nodes":[)" + nodes + R"(],"outputs":[)" + std::to_string(last) + "]}";
  const PlanSpec spec = planSpecFromText(text);
  PlanRequest request;
  request.tensor_inputs.push_back(contiguousDesc(DType::kF32, input));
  request.int_inputs.push_back(0);
  static const float kZeros[4096] = {};
  request.constants.assign(spec.constants.size(), kZeros);
  request.target.threads = 1;
  return provePositionIndependence(spec, request, {true}, 3, 8);
}

TEST(PositionIndependence, FollowsLayersOnEachPosition) {
  // Places of a table, as many as there are positions, a norm of each position, heads, a running sum.
  const BatchIndependence proven = provePositions(
      R"spec({"int":"size","literal":1,"src":[0],"dst":[3]},
         {"op":"slice{axis=0,begin=0,end=0,step=1}","src":[1],"dst":[4],"refs":[["end",-1,3]],"name":"p","origins":[]},
         {"op":"pointwise{}|add(0)","src":[0,4],"dst":[5],"name":"a","origins":[]},
         {"op":"layer_norm{axes=1,eps=0.1}","src":[5,-1,-1,-1],"dst":[6],"name":"n","origins":[]},
         {"op":"linear{}|relu","src":[6,2,-1],"dst":[7],"name":"l","origins":[]},
         {"op":"reshape{shape=[2,0,2,4]}","src":[7],"dst":[8],"refs":[["shape",1,3]],"name":"h","origins":[]},
         {"op":"softmax{axis=3}","src":[8,-1],"dst":[9],"name":"s","origins":[]},
         {"op":"cumulative_sum{axis=1}","src":[9],"dst":[10],"name":"c","origins":[]})spec",
      Dims{2, 3, 16}, R"({"dtype":"f32","sizes":[20,16]},{"dtype":"f32","sizes":[8,16]})", 10);
  EXPECT_EQ(proven.why_not, "");
  EXPECT_EQ(proven.outputs, std::vector<std::int64_t>{1});
}

TEST(PositionIndependence, TakesCausalAttentionAlone) {
  const auto attention = [](const std::string& attributes) {
    return provePositions(R"({"op":"permute{order=[0,2,1,3]}","src":[0],"dst":[1],"name":"p","origins":[]},
         {"op":"attention{)" + attributes +
                              R"(scale=0.5}","src":[1,1,1,-1],"dst":[2],"name":"a","origins":[]},
         {"op":"permute{order=[0,2,1,3]}","src":[2],"dst":[3],"name":"q","origins":[]})",
                          Dims{2, 3, 2, 4}, "", 3)
        .why_not;
  };
  EXPECT_EQ(attention("causal=1,"), "");
  EXPECT_EQ(attention(""), "attention may mix positions");
}

TEST(PositionIndependence, RefusesWhatReadsOtherPositions) {
  const auto refusal = [](const std::string& op, const std::string& sources) {
    return provePositions(R"({"op":")" + op + R"(","src":[)" + sources + R"(],"dst":[2],"name":"o","origins":[]})",
                          Dims{2, 3, 8}, R"({"dtype":"f32","sizes":[3,3,3]})", 2)
        .why_not;
  };
  EXPECT_EQ(refusal("softmax{axis=1}", "0,-1"), "softmax may mix positions");
  EXPECT_EQ(refusal("layer_norm{axes=2,eps=0.1}", "0,-1,-1,-1"), "layer_norm may mix positions");
  EXPECT_EQ(refusal("reduce{axes=[1],keepdim=1,mode=mean}", "0"), "reduce may mix positions");
  EXPECT_EQ(refusal("pad{begin=[0,1,0],end=[0,0,0],mode=constant,value=0.0}", "0"), "pad may mix positions");
  EXPECT_NE(refusal("convolution{padding=[1],stride=[1]}", "0,1,-1"), "");
  EXPECT_NE(refusal("slice{axis=1,begin=1,end=9,step=1}", "0"), "");
}

TEST(BatchIndependence, FollowSamplesThroughNetworks) {
  // Convolution, pooling, rows, a linear layer, softmax over classes.
  const BatchIndependence classifier = prove(
      R"({"op":"convolution{dilation=[1,1],groups=1,padding=[1,1],stride=[1,1]}|relu","src":[0,1,-1],"dst":[3],"name":"c","origins":[]},
         {"op":"adaptive_pool{mode=avg,output=[2,2]}","src":[3],"dst":[4],"name":"p","origins":[]},
         {"op":"reshape{flatten_begin=1,flatten_end=3}","src":[4],"dst":[5],"name":"f","origins":[]},
         {"op":"linear{}","src":[5,2,-1],"dst":[6],"name":"l","origins":[]},
         {"op":"softmax{axis=-1}","src":[6,-1],"dst":[7],"name":"s","origins":[]})",
      {Dims{3, 4, 6, 6}}, R"({"dtype":"f32","sizes":[8,4,3,3]},{"dtype":"f32","sizes":[10,32]})", 7);
  EXPECT_EQ(classifier.why_not, "");
  EXPECT_EQ(classifier.outputs, std::vector<std::int64_t>{1});

  // A constant row before each sample's tokens; the batch size comes from the input.
  const BatchIndependence tokens = prove(
      R"({"int":"size","literal":0,"src":[0],"dst":[2]},
         {"op":"expand{shape=[0,-1,-1]}","src":[1],"dst":[3],"refs":[["shape",0,2]],"name":"e","origins":[]},
         {"op":"concat{axis=1}","src":[3,0],"dst":[4],"name":"c","origins":[]})",
      {Dims{3, 4, 16}}, R"({"dtype":"f32","sizes":[1,1,16]})", 4);
  EXPECT_EQ(tokens.why_not, "");
  EXPECT_EQ(tokens.outputs, std::vector<std::int64_t>{1});
}

// Queries, keys and values in one product: [N,S,3,H,D] becomes [3,N,H,S,D], of which one of three is taken.
TEST(BatchIndependence, FollowSamplesToOtherAxes) {
  const BatchIndependence queries =
      prove(R"({"op":"permute{order=[2,0,3,1,4]}","src":[0],"dst":[1],"name":"p","origins":[]},
                                     {"op":"softmax{axis=-1}","src":[1,-1],"dst":[2],"name":"s","origins":[]},
                                     {"op":"select{axis=0,index=1}","src":[2],"dst":[3],"name":"q","origins":[]})",
            {Dims{3, 4, 3, 2, 5}}, "", 3);
  EXPECT_EQ(queries.why_not, "");
  EXPECT_EQ(queries.outputs, std::vector<std::int64_t>{1});
  const BatchIndependence mixed = prove(R"({"op":"permute{order=[1,0,2]}","src":[0],"dst":[1],"name":"p","origins":[]},
                                   {"op":"reshape{shape=[-1,16]}","src":[1],"dst":[2],"name":"r","origins":[]})",
                                        {Dims{3, 4, 16}}, "", 2);
  EXPECT_EQ(mixed.why_not, "reshape may mix samples");
}

// Top-k of each sample's rows with their indices, the maximum of them, cumulative sums along them, and an image sampled
// at points.
TEST(BatchIndependence, FollowSamplesThroughOrders) {
  const BatchIndependence ordered =
      prove(R"({"op":"cumulative_sum{axis=2}","src":[0],"dst":[1],"name":"c","origins":[]},
                                     {"op":"sort{axis=-1,descending=1,k=5}","src":[1],"dst":[2,3],"name":"s","origins":[]},
                                     {"op":"max_min{axis=1,mode=max}","src":[2],"dst":[4,5],"name":"e","origins":[]})",
            {Dims{3, 4, 16}}, "", 5);
  EXPECT_EQ(ordered.why_not, "");
  EXPECT_EQ(ordered.outputs, std::vector<std::int64_t>{1});
  const std::vector<Dims> sampled{Dims{3, 2, 5, 5}, Dims{3, 4, 4, 2}};
  EXPECT_EQ(
      prove(
          R"({"op":"grid_sample{align_corners=0,mode=bilinear,padding=zeros}","src":[0,1],"dst":[2],"name":"g","origins":[]})",
          sampled, "", 2)
          .why_not,
      "");
}

TEST(BatchIndependence, AreCountedPerSample) {
  const BatchIndependence merged =
      prove(R"({"op":"reshape{shape=[-1,16]}","src":[0],"dst":[1],"name":"r","origins":[]})", {Dims{3, 4, 16}}, "", 1);
  EXPECT_EQ(merged.why_not, "");
  EXPECT_EQ(merged.outputs, std::vector<std::int64_t>{4});
  // Rows across samples: 5 rows of 24 for 3 samples of 40.
  EXPECT_NE(
      prove(R"({"op":"reshape{shape=[-1,24]}","src":[0],"dst":[1],"name":"r","origins":[]})", {Dims{3, 5, 8}}, "", 1)
          .why_not,
      "");
}

TEST(BatchIndependence, SayWhereSamplesMeet) {
  const std::vector<Dims> x{Dims{3, 4, 16}};
  EXPECT_EQ(prove(R"({"op":"softmax{axis=0}","src":[0,-1],"dst":[1],"name":"s","origins":[]})", x, "", 1).why_not,
            "softmax may mix samples");
  EXPECT_EQ(
      prove(R"({"op":"reduce{axes=[0],keepdim=1,mode=mean}","src":[0],"dst":[1],"name":"m","origins":[]})", x, "", 1)
          .why_not,
      "reduce may mix samples");
  EXPECT_EQ(prove(R"({"op":"sort{axis=0,k=2}","src":[0],"dst":[1,2],"name":"s","origins":[]})", x, "", 1).why_not,
            "sort may mix samples");
  EXPECT_EQ(
      prove(R"({"op":"max_min{axis=-3,mode=min}","src":[0],"dst":[1,2],"name":"e","origins":[]})", x, "", 1).why_not,
      "max_min may mix samples");
  EXPECT_EQ(prove(R"({"op":"cumulative_sum{axis=0}","src":[0],"dst":[1],"name":"c","origins":[]})", x, "", 1).why_not,
            "cumulative_sum may mix samples");
  EXPECT_EQ(prove(R"({"op":"permute{order=[1,0,2]}","src":[0],"dst":[1],"name":"p","origins":[]})", x, "", 1).why_not,
            "a result holds the samples on another axis than the first");
  EXPECT_EQ(
      prove(R"({"op":"matmul{transpose_a=1}","src":[0,0],"dst":[1],"name":"m","origins":[]})", {Dims{3, 3}}, "", 1)
          .why_not,
      "matmul may mix samples");
  EXPECT_EQ(prove(R"({"op":"matmul{transpose_b=1}","src":[0,0],"dst":[1],"name":"m","origins":[]})", x, "", 1).why_not,
            "");
  // [3,4] + [3,1,4]: every sample meets every other.
  const std::vector<Dims> pair{Dims{3, 4}, Dims{3, 1, 4}};
  EXPECT_EQ(
      prove(R"~({"op":"pointwise{}|add(0)","src":[0,1],"dst":[2],"name":"a","origins":[]})~", pair, "", 2).why_not,
      "pointwise may mix samples");
}

// Pads each batch input with rows of NaN behind its `samples` rows.
std::vector<Tensor> withNaN(const std::vector<Tensor>& inputs, const std::vector<bool>& is_batch,
                            std::int64_t samples) {
  std::vector<Tensor> padded = inputs;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (!is_batch[i]) continue;
    Dims dims = inputs[i].desc.dims;
    dims[0] = samples;
    padded[i].desc = contiguousDesc(DType::kF32, dims);
    padded[i].values.resize(static_cast<std::size_t>(dims.count()), std::numeric_limits<float>::quiet_NaN());
  }
  return padded;
}

TEST(BatchIndependence, WhatIsProvenHoldsForRandomPlans) {
  int proven = 0, with_rows = 0;
  for (std::uint64_t seed = 1; seed <= 1500; ++seed) {
    const RandomPlan plan = testing::makeRandomPlan(seed, 1 + static_cast<int>(seed % 4));
    PlanRequest request;
    request.int_inputs = plan.ints;
    request.target.threads = 1;
    for (const Tensor& input : plan.inputs) request.tensor_inputs.push_back(input.desc);
    for (const Tensor& constant : plan.constants) request.constants.push_back(constant.data());
    const std::int64_t samples = plan.inputs[0].desc.dims[0];
    std::vector<bool> is_batch;
    for (const Tensor& input : plan.inputs)
      is_batch.push_back(input.desc.dims.rank > 0 && input.desc.dims[0] == samples);
    const BatchIndependence rows = proveBatchIndependence(plan.spec, request, is_batch, samples, samples + 3);
    if (!rows.why_not.empty()) continue;
    ++proven;
    const auto expected = testing::interpret(plan.spec, plan.inputs, plan.ints, plan.constants, testing::kernels());
    const auto padded = testing::interpret(plan.spec, withNaN(plan.inputs, is_batch, samples + 3), plan.ints,
                                           plan.constants, testing::kernels());
    ASSERT_TRUE(expected && padded) << seed;
    for (std::size_t o = 0; o < expected->size(); ++o) {
      const Tensor& exact = (*expected)[o];
      with_rows += rows.outputs[o] > 0 ? 1 : 0;
      const std::int64_t factor = rows.outputs[o] > 0 ? samples + 3 : 1;
      ASSERT_EQ((*padded)[o].values.size() * static_cast<std::size_t>(rows.outputs[o] > 0 ? samples : 1),
                exact.values.size() * static_cast<std::size_t>(factor))
          << seed;
      for (std::size_t v = 0; v < exact.values.size(); ++v) {
        const float more = (*padded)[o].values[v];
        ASSERT_TRUE(std::abs(more - exact.values[v]) <= 1e-5f * (1 + std::abs(exact.values[v])) ||
                    (std::isnan(more) && std::isnan(exact.values[v])))
            << "seed " << seed << ", output " << o << ": " << exact.values[v] << " became " << more << "\n"
            << planSpecToText(plan.spec);
      }
    }
  }
  std::printf("%d of 1500 plans proven, %d results with rows\n", proven, with_rows);
  EXPECT_GT(with_rows, 100);
}

}  // namespace
}  // namespace ipex_studio
