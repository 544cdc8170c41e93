// The tuner: any choice gives the same numbers, the fastest of kernels of given speed is chosen, and records read back.
#include "core/tune/tuner.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <optional>

#include "core/plan/plan_trace.h"
#include "core/tune/tuner_key.h"
#include "tests/core/plan/all_kernels.h"
#include "tests/core/plan/plan_interpreter.h"
#include "tests/core/plan/random_plan.h"
#include "tests/core/tune/timed_kernels.h"

namespace ipex_studio {
namespace {

using testing::fake_now_ns;
using testing::FakeKernel;
using testing::FakeKernels;
using testing::interpret;
using testing::kernels;
using testing::Random;
using testing::RandomPlan;
using testing::requestFor;
using testing::Tensor;

using Results = std::vector<std::vector<float>>;

Results run(const Plan& plan, const RandomPlan& random) {
  Plan::Instance instance(plan);
  std::vector<const void*> from;
  for (const Tensor& input : random.inputs) from.push_back(input.data());
  Results results;
  std::vector<void*> to;
  for (const TensorDesc& desc : plan.outputs())
    results.emplace_back(static_cast<std::size_t>(desc.dims.count()), std::nanf(""));
  for (auto& result : results) to.push_back(result.data());
  instance.run(from.data(), to.data());
  return results;
}

// Largest error relative to the largest value; infinite if one is NaN and the other is not.
double largestError(const Results& actual, const std::vector<Tensor>& expected) {
  double worst = 0;
  for (std::size_t o = 0; o < actual.size(); ++o) {
    double scale = 1e-3, difference = 0;
    for (std::size_t i = 0; i < actual[o].size(); ++i) {
      const double reference = expected[o].values[i];
      if (std::isnan(actual[o][i]) != std::isnan(reference)) return INFINITY;
      if (std::isnan(reference) || actual[o][i] == reference) continue;
      scale = std::max(scale, std::abs(reference));
      difference = std::max(difference, std::abs(actual[o][i] - reference));
    }
    worst = std::max(worst, difference / scale);
  }
  return worst;
}

bool isRight(const Results& results, const RandomPlan& random, const std::vector<Tensor>& expected) {
  return largestError(results, expected) < 1e-3 ||
         testing::withinRounding(random, random.inputs, kernels(), results, expected);
}

std::string stepsOf(const Plan& plan) {
  std::string text;
  for (const StepRecord& step : plan.steps())
    text += step.spec + " by " + step.kernel + " " + step.src_layout + " -> " + step.dst_layout + "\n";
  return text;
}

// Makes random choices of kernels, layouts and splits, including ones that no measurement would make.
PlanChoices randomChoices(const RandomPlan& random, const PlanRequest& request, Random& dice) {
  static const char* const kLayouts[] = {"",           "row-major", "channels-last", "blocked-8",
                                         "blocked-16", "blocked-7", "\xff"};
  PlanChoices choices;
  for (const TracedStep& step : tracePlan(random.spec, request)) {
    const auto& list = kernels().candidates(step.op.kind, DeviceKind::kCpu);
    StepChoice choice;
    choice.kernel = dice.chance(95) ? list[dice.index(list.size())]->name() : "none";
    choice.kept =
        static_cast<std::int32_t>(dice.chance(90) ? dice.index(step.op.post_ops.size() + 1) : dice.between(-1, 99));
    const std::size_t sources = dice.chance(95) ? step.src.size() : dice.index(9);
    for (std::size_t s = 0; s < sources; ++s)
      choice.src_layouts.emplace_back(kLayouts[dice.index(std::size(kLayouts))]);
    choices[step.node] = choice;
  }
  return choices;
}

TEST(Tuner, AnyChoiceGivesTheSameNumbers) {
  const int count = 300 * testing::campaignFactor();
  for (int seed = 0; seed < count; ++seed) {
    const RandomPlan random = testing::makeRandomPlan(static_cast<std::uint64_t>(seed), 3 + seed % 14);
    Random dice(static_cast<std::uint64_t>(seed));
    PlanRequest request = requestFor(random, random.inputs, false, 1);
    request.choices = std::make_shared<const PlanChoices>(randomChoices(random, request, dice));
    const auto expected = interpret(random.spec, random.inputs, random.ints, random.constants, kernels());
    ASSERT_TRUE(expected);
    WeightCache weights;
    const auto plan = Plan::compile(random.spec, request, kernels(), weights);
    const Results results = run(*plan, random);
    ASSERT_TRUE(isRight(results, random, *expected)) << "seed " << seed << "\n"
                                                     << planSpecToText(random.spec) << "\n"
                                                     << stepsOf(*plan);
  }
}

TuneOptions quickly() {
  TuneOptions options;
  options.budget_s = 0.5;
  options.libraries = "test";
  return options;
}

void take(TunedPlan tuned, PlanRequest* request) {
  request->choices = std::move(tuned.choices);
  request->micro_batches = std::move(tuned.micro_batches);
}

TEST(Tuner, TunedPlansGiveTheSameNumbersAndTheSameBitsFromTheirRecord) {
  const int count = 60 * testing::campaignFactor();
  int chosen = 0;
  for (int seed = 0; seed < count; ++seed) {
    const RandomPlan random = testing::makeRandomPlan(static_cast<std::uint64_t>(seed), 3 + seed % 14);
    PlanRequest request = requestFor(random, random.inputs, false, 1);
    MemoryTuningStore store;
    WeightCache weights;
    take(tunePlan(random.spec, request, kernels(), store, weights, quickly()), &request);
    chosen += request.choices != nullptr;
    const auto expected = interpret(random.spec, random.inputs, random.ints, random.constants, kernels());
    const auto plan = Plan::compile(random.spec, request, kernels(), weights);
    const std::size_t tried_bytes = weights.bytes();
    weights.releaseUnused();
    EXPECT_LE(weights.bytes(), tried_bytes);
    const Results results = run(*plan, random);
    ASSERT_TRUE(isRight(results, random, *expected)) << "seed " << seed << "\n"
                                                     << planSpecToText(random.spec) << "\n"
                                                     << stepsOf(*plan);

    // As in another process: only the record's text, no clock.
    MemoryTuningStore other;
    other.readText(store.toJson(false).dump());
    TuneOptions from_record = quickly();
    from_record.mode = TuneMode::kOff;
    from_record.clock_ns = []() -> std::int64_t { return 0; };
    request.micro_batches = nullptr;
    take(tunePlan(random.spec, request, kernels(), other, weights, from_record), &request);
    const auto again = Plan::compile(random.spec, request, kernels(), weights);
    ASSERT_EQ(stepsOf(*again), stepsOf(*plan)) << "seed " << seed;
    const Results same = run(*again, random);
    for (std::size_t o = 0; o < same.size(); ++o) {
      ASSERT_EQ(std::memcmp(same[o].data(), results[o].data(), results[o].size() * sizeof(float)), 0)
          << "seed " << seed;
    }
    EXPECT_EQ(other.toJson(true)["tuning"].size(), 0u) << "nothing is measured twice";
  }
  EXPECT_GT(chosen, 0);
}

// --- kernels of given speed ------------------------------------------------------------------------------------------

// x -> conv -> conv -> conv, 4 channels on 4x4 pixels, each with a relu.
struct ThreeConvolutions {
  explicit ThreeConvolutions(DType dtype = DType::kF32) : weights(4 * 4 * 9, 0.1f) {
    // 0.1 in FP16, nearly 0 in BF16.
    if (isLowPrecisionFloat(dtype))
      std::fill_n(reinterpret_cast<std::uint16_t*>(weights.data()), weights.size(), std::uint16_t{0x2e66});
    spec.inputs.push_back({false, dtype, 4});
    spec.constants.push_back(contiguousDesc(dtype, Dims{4, 4, 3, 3}));
    for (int n = 0; n < 3; ++n) {
      PlanNode node;
      node.op = parseOpSpec("convolution{dilation=[1,1],groups=1,padding=[1,1],stride=[1,1]}|relu");
      node.src = {n == 0 ? 0 : n + 1, 1, -1};
      node.dst = {n + 2};
      spec.nodes.push_back(node);
    }
    spec.outputs = {4};
    request.tensor_inputs = {contiguousDesc(dtype, Dims{1, 4, 4, 4})};
    request.int_inputs = {0};
    request.constants = {weights.data()};
  }

  // Returns the kernels of the steps of the tuned plan.
  std::vector<std::string> tuned(const FakeKernels& list, TuningStore& store, TuneOptions options = quickly(),
                                 double budget_s = 1000) {
    options.clock_ns = [] { return fake_now_ns; };
    options.budget_s = budget_s;
    WeightCache cache;
    request.micro_batches = nullptr;
    take(tunePlan(spec, request, list, store, cache, options), &request);
    plan = Plan::compile(spec, request, list, cache);
    std::vector<std::string> names;
    for (const StepRecord& step : plan->steps()) names.push_back(step.kernel);
    return names;
  }

  std::vector<float> weights;
  PlanSpec spec;
  PlanRequest request;
  std::unique_ptr<Plan> plan;
};

FakeKernels twoLayouts(std::int64_t plain_ns, std::int64_t last_ns, std::int64_t reorder_ns) {
  FakeKernels list;
  const Kernel* convolution = FakeKernels::reference(OpKind::kConvolution);
  list.add(OpKind::kConvolution, std::make_unique<FakeKernel>("plain", convolution, plain_ns, "row-major", false));
  list.add(OpKind::kConvolution, std::make_unique<FakeKernel>("last", convolution, last_ns, "channels-last", true));
  list.add(OpKind::kReorder,
           std::make_unique<FakeKernel>("reorder", FakeKernels::reference(OpKind::kReorder), reorder_ns, "", false));
  return list;
}

TEST(Tuner, WeighsKernelsAgainstConversions) {
  ThreeConvolutions net;
  MemoryTuningStore gains, loses, ties;
  // Two conversions of 100 each for three gains of 100.
  EXPECT_EQ(net.tuned(twoLayouts(1000, 900, 100), gains),
            (std::vector<std::string>{"reorder", "last", "last", "last", "reorder"}));
  EXPECT_EQ(net.tuned(twoLayouts(1000, 900, 200), loses), (std::vector<std::string>{"plain", "plain", "plain"}));
  // A gain of one percent is too small.
  EXPECT_EQ(net.tuned(twoLayouts(1000, 990, 0), ties), (std::vector<std::string>{"plain", "plain", "plain"}));
}

TEST(Tuner, RefusesWhatIsInexactAndWinogradOnRequest) {
  const Kernel* convolution = FakeKernels::reference(OpKind::kConvolution);
  for (const float error : {0.0f, 1e-2f}) {
    for (const bool allowed : {true, false}) {
      FakeKernels list;
      list.add(OpKind::kConvolution, std::make_unique<FakeKernel>("direct", convolution, 1000, "", false));
      list.add(OpKind::kConvolution, std::make_unique<FakeKernel>("fake_winograd", convolution, 500, "", true, error));
      ThreeConvolutions net;
      MemoryTuningStore store;
      TuneOptions options = quickly();
      options.allow_winograd = allowed;
      const std::string expected = error == 0 && allowed ? "fake_winograd" : "direct";
      EXPECT_EQ(net.tuned(list, store, options), (std::vector<std::string>(3, expected))) << error << allowed;
    }
  }
}

// The first run only warms up; the next one may be disturbed by other work on the machine.
TEST(Tuner, OneDisturbedRunDecidesNothing) {
  const Kernel* convolution = FakeKernels::reference(OpKind::kConvolution);
  FakeKernels list;
  list.add(OpKind::kConvolution, std::make_unique<FakeKernel>("steady", convolution, 1000, "", false));
  auto disturbed = std::make_unique<FakeKernel>("disturbed", convolution, 500, "", true);
  disturbed->disturbed_run_ = 1;
  list.add(OpKind::kConvolution, std::move(disturbed));
  ThreeConvolutions net;
  MemoryTuningStore store;
  EXPECT_EQ(net.tuned(list, store), (std::vector<std::string>(3, "disturbed")));
}

// A sum that is rounded to the neighbouring 16-bit float is as good as any; two floats further it is another result.
TEST(Tuner, MeasuresFloatsOfTwoBytesAsTheyRound) {
  const Kernel* convolution = FakeKernels::reference(OpKind::kConvolution);
  for (const DType dtype : {DType::kBf16, DType::kF16}) {
    for (const float steps : {0.0f, 1.0f, 3.0f}) {
      FakeKernels list;
      list.add(OpKind::kConvolution, std::make_unique<FakeKernel>("default", convolution, 1000, "", false));
      list.add(OpKind::kConvolution, std::make_unique<FakeKernel>("measured", convolution, 500, "", true, steps));
      ThreeConvolutions net(dtype);
      MemoryTuningStore store;
      const std::string expected = steps <= 1 ? "measured" : "default";
      EXPECT_EQ(net.tuned(list, store), (std::vector<std::string>(3, expected))) << dtypeName(dtype) << " " << steps;
      const auto entries = store.entries(true);
      EXPECT_TRUE(std::any_of(entries.begin(), entries.end(), [&](const auto& known) {
        return known.second.spec.find(std::string(" : ") + dtypeName(dtype) + " 1x4x4x4") != std::string::npos &&
               known.first.threads == 1;
      }));
    }
  }
}

// The second and third step are equal; only the third one's weights do not suit the kernel.
TEST(Tuner, ChecksExactnessOnEachStepsOwnWeights) {
  const Kernel* convolution = FakeKernels::reference(OpKind::kConvolution);
  ThreeConvolutions net;
  const std::vector<float> others(net.weights.size(), 0.2f);
  net.spec.constants.push_back(net.spec.constants[0]);
  for (PlanNode& node : net.spec.nodes) {
    for (std::int32_t* value : {&node.src[0], &node.dst[0]}) *value += *value > 0;
  }
  net.spec.nodes[2].src[1] = 2;
  net.spec.outputs = {5};
  net.request.constants.push_back(others.data());
  FakeKernels list;
  list.add(OpKind::kConvolution, std::make_unique<FakeKernel>("direct", convolution, 1000, "", false));
  auto winograd = std::make_unique<FakeKernel>("fake_winograd", convolution, 500, "", true, 1.0f);
  winograd->only_wrong_on_ = others.data();
  list.add(OpKind::kConvolution, std::move(winograd));
  MemoryTuningStore store;
  EXPECT_EQ(net.tuned(list, store), (std::vector<std::string>{"fake_winograd", "fake_winograd", "direct"}));
}

TEST(Tuner, LeavesPostOperationsToAStepWhereThatIsFaster) {
  FakeKernels list;
  const Kernel* convolution = FakeKernels::reference(OpKind::kConvolution);
  list.add(OpKind::kConvolution, std::make_unique<FakeKernel>("fused", convolution, 1000, "", false));
  list.add(OpKind::kConvolution, std::make_unique<FakeKernel>("bare", convolution, 500, "", true, 0.0f, false));
  list.add(OpKind::kPointwise,
           std::make_unique<FakeKernel>("tail", FakeKernels::reference(OpKind::kPointwise), 100, "", false));
  ThreeConvolutions net;
  MemoryTuningStore store;
  EXPECT_EQ(net.tuned(list, store), (std::vector<std::string>{"bare", "tail", "bare", "tail", "bare", "tail"}));
  // Every candidate is reported with its time, and whether it was chosen or slower.
  int chosen = 0, slower = 0;
  for (const DispatchRecord& dispatch : net.plan->dispatches()) {
    if (dispatch.kernel == "bare" && dispatch.chosen) chosen += dispatch.elapsed_ns == 600;
    if (dispatch.kernel == "fused" && !dispatch.chosen)
      slower += dispatch.elapsed_ns == 1000 && dispatch.reason == "slower";
  }
  EXPECT_EQ(chosen, 3);
  EXPECT_EQ(slower, 9);  // three steps in three layouts each
}

TEST(Tuner, MeasuresAgainOnlyWhatItDoesNotKnow) {
  ThreeConvolutions net;
  MemoryTuningStore store;
  net.tuned(twoLayouts(1000, 500, 10), store);
  MemoryTuningStore read;
  read.readText(store.toJson(true).dump());
  int steps = 0;
  TuneOptions options = quickly();
  options.progress = [&](int, int total) { steps += total; };
  // The same plan needs no measurement; nor does another plan of the same steps, which are known.
  EXPECT_EQ(net.tuned(twoLayouts(1000, 500, 10), read, options).size(), 5u);
  net.spec.nodes[0].name = "renamed";
  EXPECT_EQ(net.tuned(twoLayouts(1000, 500, 10), read, options).size(), 5u);
  EXPECT_EQ(steps, 0);
  // Nothing is known for other threads, libraries and effort.
  net.request.target.threads = 3;
  net.tuned(twoLayouts(1000, 500, 10), read, options);
  EXPECT_GT(steps, 0);
  net.request.target.threads = 1;
  steps = 0;
  options.mode = TuneMode::kFull;
  net.tuned(twoLayouts(1000, 500, 10), read, options);
  EXPECT_GT(steps, 0);
}

// --- slices of a batch -----------------------------------------------------------------------------------------------

// Tunes three convolutions of eight samples; the cost of one run depends on the number of samples at a time.
std::string slicesOf(std::map<std::int64_t, std::int64_t> cost_of_rows, TuningStore& store,
                     TuneMode mode = TuneMode::kQuick, double budget_s = 1000) {
  FakeKernels list;
  auto convolution = std::make_unique<FakeKernel>("only", FakeKernels::reference(OpKind::kConvolution), 0, "", false);
  convolution->cost_of_rows_ = std::move(cost_of_rows);
  list.add(OpKind::kConvolution, std::move(convolution));
  ThreeConvolutions net;
  net.request.tensor_inputs[0].dims[0] = 8;
  TuneOptions options = quickly();
  options.mode = mode;
  net.tuned(list, store, options, budget_s);
  EXPECT_EQ(net.plan->outputs()[0].dims, (Dims{8, 4, 4, 4}));
  const StepRecord& step = net.plan->steps().at(0);
  return std::to_string(step.micro_batches) + " of " + step.dst_shape;
}

TEST(Tuner, ComputesAsManySamplesAtATimeAsIsFastest) {
  MemoryTuningStore store, close, whole;
  EXPECT_EQ(slicesOf({{1, 1000}, {2, 1200}, {4, 4000}, {8, 9000}}, store), "4 of 2x4x4x4");
  // A gain of three percent is too small.
  EXPECT_EQ(slicesOf({{1, 2000}, {2, 2250}, {4, 4400}, {8, 9000}}, close), "1 of 8x4x4x4");
  EXPECT_EQ(slicesOf({{1, 2000}, {2, 2000}, {4, 4000}, {8, 1000}}, whole), "1 of 8x4x4x4");
  // The measurements are known to another process through the record.
  MemoryTuningStore read;
  read.readText(store.toJson(true).dump());
  EXPECT_EQ(slicesOf({}, read, TuneMode::kOff), "4 of 2x4x4x4");
}

// The fewest samples at a time are the slowest where weights are large.
TEST(Tuner, WithoutTimeComputesTheWholeBatch) {
  constexpr double kNoTime_s = 1e-6;
  MemoryTuningStore cheap, dear;
  EXPECT_EQ(slicesOf({{1, 1000}, {2, 2100}, {4, 4000}, {8, 1500}}, cheap, TuneMode::kQuick, kNoTime_s), "1 of 8x4x4x4");
  const std::int64_t ms = 1'000'000;
  EXPECT_EQ(slicesOf({{1, 100 * ms}, {2, 300 * ms}, {4, 400 * ms}, {8, 150 * ms}}, dear, TuneMode::kQuick, kNoTime_s),
            "1 of 8x4x4x4");
}

// A record may say anything; impossible micro-batches fall back to the whole batch.
TEST(Tuner, SlicesOfARecordAreProvenAgain) {
  MemoryTuningStore measured;
  slicesOf({{1, 1000}, {2, 1200}, {4, 4000}, {8, 9000}}, measured);
  for (const int samples : {-1, 0, 8, 9, 1 << 30}) {
    nlohmann::json record = measured.toJson(true);
    for (nlohmann::json& entry : record["tuning"]) {
      if (entry["spec"].get<std::string>().rfind("slices of ", 0) == 0) entry["candidates"][0]["node"] = samples;
    }
    MemoryTuningStore read;
    read.read(record);
    EXPECT_EQ(slicesOf({}, read, TuneMode::kOff), "1 of 8x4x4x4") << samples;
  }
}

// The row that a loop reads in this round decides nothing; the number of rows does.
TEST(Tuner, PlacesOfASequenceShareTheirChoices) {
  const auto spec_with = [](OpKind kind, const char* attribute) {
    PlanSpec spec;
    spec.inputs = {{false, DType::kF32, 3}, {true, DType::kNone, 0}};
    PlanNode next;  // the integer after it
    next.is_int = true;
    next.int_op = IntOp::kAdd;
    next.src = {1, 1};
    next.dst = {2};
    PlanNode piece;
    piece.op.kind = kind;
    piece.op.attributes = {{"axis", std::int64_t{1}}, {attribute, std::int64_t{0}}};
    piece.refs = {{attribute, -1, 2}};
    piece.src = {0};
    piece.dst = {3};
    spec.nodes = {next, piece};
    spec.outputs = {3};
    return spec;
  };
  const auto text_at = [](const PlanSpec& spec, std::int64_t place) {
    PlanRequest request;
    request.tensor_inputs = {contiguousDesc(DType::kF32, {2, 7, 5}), TensorDesc()};
    request.int_inputs = {0, place};
    return planText(spec, request, kernels(), true);
  };
  const PlanSpec select = spec_with(OpKind::kSelect, "index"), slice = spec_with(OpKind::kSlice, "end");
  EXPECT_EQ(text_at(select, 1), text_at(select, 2));
  EXPECT_NE(text_at(slice, 1), text_at(slice, 2));
}

}  // namespace
}  // namespace ipex_studio
