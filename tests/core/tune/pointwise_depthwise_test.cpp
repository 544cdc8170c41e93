// A 1x1 convolution and the depthwise convolution behind it become one step where that was measured to be faster, with
// the same numbers, and only if nothing else reads the value between them.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <tuple>

#include "core/plan/plan_pointwise_depthwise.h"
#include "core/plan/plan_trace.h"
#include "core/tune/tuner.h"
#include "tests/core/plan/plan_interpreter.h"
#include "tests/core/tune/timed_kernels.h"

namespace ipex_studio {
namespace {

using testing::fake_now_ns;
using testing::FakeKernel;
using testing::FakeKernels;
using testing::Tensor;

constexpr std::int32_t kExpanded = 7, kSlid = 8, kResult = 9;

// x -> 1x1 convolution, hard swish -> depthwise convolution, relu -> 1x1 convolution.
struct InvertedBottleneck {
  explicit InvertedBottleneck(std::int64_t channels = 24, std::int64_t size = 9, std::int64_t stride = 2) {
    const std::int64_t inner = 3 * channels + 5;
    spec.inputs.push_back({false, DType::kF32, 4});
    inputs.push_back(random(Dims{2, channels, size, size + 2}));
    for (const Dims& dims : {Dims{inner, channels, 1, 1}, Dims{inner}, Dims{inner, 1, 3, 3}, Dims{inner},
                             Dims{channels, inner, 1, 1}, Dims{channels}}) {
      constants.push_back(random(dims));
      spec.constants.push_back(constants.back().desc);
    }
    const auto at = std::to_string(stride);
    add("convolution{dilation=[1,1],groups=1,padding=[0,0],stride=[1,1]}|hardswish", {0, 1, 2}, kExpanded, "expand");
    add("convolution{dilation=[1,1],groups=" + std::to_string(inner) + ",padding=[1,1],stride=[" + at + "," + at +
            "]}|relu",
        {kExpanded, 3, 4}, kSlid, "depthwise");
    add("convolution{dilation=[1,1],groups=1,padding=[0,0],stride=[1,1]}", {kSlid, 5, 6}, kResult, "project");
    spec.outputs = {kResult};
    for (std::size_t n = 0; n < spec.nodes.size(); ++n) spec.nodes[n].origins = {static_cast<OriginId>(n + 1)};
    request.tensor_inputs = {inputs[0].desc};
    request.int_inputs = {0};
    for (const Tensor& constant : constants) request.constants.push_back(constant.data());
  }

  void add(const std::string& op, std::vector<std::int32_t> src, std::int32_t dst, const std::string& name) {
    PlanNode node;
    node.op = parseOpSpec(op);
    node.src = std::move(src);
    node.dst = {dst};
    node.name = name;
    spec.nodes.push_back(node);
  }

  Tensor random(const Dims& dims) {
    Tensor tensor;
    tensor.desc = contiguousDesc(DType::kF32, dims);
    for (std::int64_t i = 0; i < dims.count(); ++i)
      tensor.values.push_back(std::sin(static_cast<float>(++drawn) * 12.9898f));
    return tensor;
  }

  StepChoice joined() const {
    StepChoice choice;
    choice.kernel = "pointwise_depthwise_simd";
    choice.kept = static_cast<std::int32_t>(spec.nodes[1].op.post_ops.size());
    choice.src_layouts = {"channels-last", "", "", "", ""};
    return choice;
  }

  std::unique_ptr<Plan> compile(const KernelList& list, PlanChoices choices) {
    request.choices = std::make_shared<const PlanChoices>(std::move(choices));
    return Plan::compile(spec, request, list, cache);
  }

  void expectRight(const Plan& plan) const {
    const auto expected = testing::interpret(spec, inputs, {0}, constants, testing::kernels());
    ASSERT_TRUE(expected);
    Plan::Instance instance(plan);
    std::vector<std::vector<float>> results;
    std::vector<void*> to;
    for (const TensorDesc& desc : plan.outputs())
      results.emplace_back(static_cast<std::size_t>(desc.dims.count()), std::nanf(""));
    for (auto& result : results) to.push_back(result.data());
    const void* from = inputs[0].data();
    instance.run(&from, to.data());
    for (std::size_t o = 0; o < results.size(); ++o) {
      float largest = 0;
      for (const float value : (*expected)[o].values) largest = std::max(largest, std::abs(value));
      for (std::size_t i = 0; i < results[o].size(); ++i)
        ASSERT_NEAR(results[o][i], (*expected)[o].values[i], 1e-5f * largest) << o << " " << i;
    }
  }

  // Returns the kernels of the steps of the tuned plan.
  std::vector<std::string> tuned(const KernelList& list, TuningStore& store, TuneMode mode = TuneMode::kQuick) {
    TuneOptions options;
    options.mode = mode;
    options.libraries = "test";
    options.budget_s = 1000;
    options.clock_ns = [] { return fake_now_ns; };
    TunedPlan tuned = tunePlan(spec, request, list, store, cache, options);
    request.choices = std::move(tuned.choices);
    request.micro_batches = std::move(tuned.micro_batches);
    plan = Plan::compile(spec, request, list, cache);
    std::vector<std::string> names;
    for (const StepRecord& step : plan->steps()) names.push_back(step.kernel);
    return names;
  }

  int drawn = 0;
  PlanSpec spec;
  std::vector<Tensor> inputs, constants;
  PlanRequest request;
  WeightCache cache;
  std::unique_ptr<Plan> plan;
};

// Makes convolutions in channels-last that take 1000 each, and both as one in `joined_ns`.
FakeKernels withJoined(std::int64_t joined_ns, float error = 0) {
  FakeKernels list;
  const auto reference = [](OpKind kind) { return FakeKernels::reference(kind); };
  list.add(OpKind::kConvolution,
           std::make_unique<FakeKernel>("plain", reference(OpKind::kConvolution), 1000, "", false));
  list.add(OpKind::kPointwiseDepthwise,
           std::make_unique<FakeKernel>("both", reference(OpKind::kPointwiseDepthwise), joined_ns, "", false, error));
  return list;
}

TEST(JoinedSteps, GiveTheSameNumbersAndStandForBothNodes) {
  for (const std::int64_t size : {1, 8, 13}) {
    for (const int threads : {1, 3}) {
      InvertedBottleneck net(20, size, size % 2 + 1);
      net.request.target.threads = threads;
      const auto plan = net.compile(testing::kernels(), {{0, net.joined()}});
      net.expectRight(*plan);
      const auto step = std::find_if(plan->steps().begin(), plan->steps().end(),
                                     [](const StepRecord& s) { return s.kind == "pointwise_depthwise"; });
      ASSERT_NE(step, plan->steps().end());
      EXPECT_EQ(step->kernel, "pointwise_depthwise_simd");
      EXPECT_EQ(step->name, "expand + depthwise");
      EXPECT_EQ(step->origins, (std::vector<OriginId>{1, 2}));
    }
  }
}

TEST(JoinedSteps, AreNoneWhereTheChoiceDoesNotFit) {
  InvertedBottleneck net;
  const auto apart = [&](PlanChoices choices) {
    const auto plan = net.compile(testing::kernels(), std::move(choices));
    net.expectRight(*plan);
    return std::none_of(plan->steps().begin(), plan->steps().end(),
                        [](const StepRecord& s) { return s.kind == "pointwise_depthwise"; });
  };
  EXPECT_FALSE(apart({{0, net.joined()}}));
  EXPECT_TRUE(apart({{2, net.joined()}})) << "nothing reads it";
  EXPECT_TRUE(apart({{1, net.joined()}})) << "the second of the two";
  StepChoice short_one = net.joined();
  short_one.src_layouts.resize(3);
  EXPECT_TRUE(apart({{0, short_one}}));
  net.spec.outputs.push_back(kExpanded);
  EXPECT_TRUE(apart({{0, net.joined()}})) << "the caller wants what is between";
}

TEST(JoinedSteps, NeedOneReaderThatSlidesOverEachChannel) {
  const auto joins = [](const std::function<void(InvertedBottleneck&)>& change) {
    InvertedBottleneck net;
    change(net);
    return joinableReaders(net.spec)[0];
  };
  EXPECT_EQ(joins([](InvertedBottleneck&) {}), 1);
  EXPECT_EQ(joins([](InvertedBottleneck& net) { net.spec.nodes[0].op.post_ops.clear(); }), 1);
  EXPECT_EQ(joins([](InvertedBottleneck& net) { net.spec.outputs.push_back(kExpanded); }), -1);
  EXPECT_EQ(
      joins([](InvertedBottleneck& net) { net.add("pointwise{}|relu", {kExpanded}, kResult + 1, "second reader"); }),
      -1);
  EXPECT_EQ(
      joins([](InvertedBottleneck& net) { net.spec.nodes[0].op.post_ops.push_back(unaryPostOp(PostOpKind::kRelu)); }),
      -1)
      << "two activations";
  EXPECT_EQ(joins([](InvertedBottleneck& net) {
              net.spec.nodes[0].op.attributes["stride"] = std::vector<std::int64_t>{2, 2};
            }),
            -1);
  EXPECT_EQ(joins([](InvertedBottleneck& net) {
              net.spec.nodes[0].op.attributes["padding"] = std::vector<std::int64_t>{0, 1};
            }),
            -1);
  EXPECT_EQ(joins([](InvertedBottleneck& net) {
              net.spec.nodes[1].op.attributes["dilation"] = std::vector<std::int64_t>{2, 2};
            }),
            -1);
  EXPECT_EQ(joins([](InvertedBottleneck& net) { net.spec.nodes[1].op.attributes["groups"] = std::int64_t{1}; }), -1);
  EXPECT_EQ(joins([](InvertedBottleneck& net) { net.spec.nodes[0].op.attributes["result"] = std::string("u8"); }), -1);
}

TEST(JoinedSteps, AreChosenWhereTheyAreFasterAndExact) {
  const std::vector<std::string> joined{"both", "plain"}, apart{"plain", "plain", "plain"};
  for (const auto& [joined_ns, error, expected] : {std::tuple{std::int64_t{1500}, 0.0f, joined},
                                                   {std::int64_t{1500}, 1e3f, apart},
                                                   {std::int64_t{2500}, 0.0f, apart},
                                                   {std::int64_t{1990}, 0.0f, apart}}) {
    InvertedBottleneck net;
    MemoryTuningStore store;
    const FakeKernels list = withJoined(joined_ns, error);
    EXPECT_EQ(net.tuned(list, store), expected) << joined_ns << " " << error;
    if (error == 0) net.expectRight(*net.plan);
    // The record alone gives the same choice, and nothing is measured again.
    MemoryTuningStore read;
    read.readText(store.toJson(true).dump());
    const std::int64_t before = fake_now_ns;
    EXPECT_EQ(net.tuned(list, read, TuneMode::kOff), expected) << joined_ns << " " << error;
    EXPECT_EQ(fake_now_ns, before);
  }
}

TEST(JoinedSteps, TellWhatTheyWereMeasuredAgainst) {
  InvertedBottleneck net;
  MemoryTuningStore store;
  net.tuned(withJoined(1500), store);
  const auto& told = net.plan->dispatches();
  const auto timeOf = [&](const std::string& kernel) {
    const auto found = std::find_if(told.begin(), told.end(), [&](const DispatchRecord& dispatch) {
      return dispatch.kernel == kernel && dispatch.step == 0;
    });
    return found == told.end() ? -1 : found->elapsed_ns;
  };
  EXPECT_EQ(timeOf("both"), 1500);
  EXPECT_EQ(timeOf("plain + plain"), 2000);
}

// A user's choice for one of the two stays; a choice for both holds however long it takes.
TEST(JoinedSteps, HonorWhatWasPinned) {
  InvertedBottleneck net;
  MemoryTuningStore store;
  ASSERT_EQ(net.tuned(withJoined(1500), store).size(), 2u);
  MemoryTuningStore one, both;
  for (auto& [key, entry] : store.entries(false)) {
    if (entry.spec.rfind("plan ", 0) == 0) continue;
    TuningEntry pinned = entry;
    pinned.effort = kPinnedEffort;
    if (entry.spec.rfind("pointwise_depthwise", 0) == 0) {
      pinned.candidates[0].reason = "pinned";
      pinned.candidates[1].elapsed_ns = 5000;
      both.put(key, pinned);
    } else {
      one.put(key, pinned);
    }
  }
  EXPECT_EQ(net.tuned(withJoined(1500), one).size(), 3u);
  EXPECT_EQ(net.tuned(withJoined(5000), both).size(), 2u);
}

}  // namespace
}  // namespace ipex_studio
