// Concatenations whose sources are written into their slices: same numbers as the interpreter, and no unneeded copies.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "core/plan/plan.h"
#include "tests/core/plan/all_kernels.h"
#include "tests/core/plan/plan_interpreter.h"
#include "tests/core/plan/scrambled_kernels.h"

namespace ipex_studio {
namespace {

using testing::kernels;
using testing::Random;
using testing::RandomPlan;
using testing::Tensor;

// Runs every operation by its reference in one kind of layout, so that copies do not depend on the machine.
class PinnedKernel final : public Kernel {
 public:
  PinnedKernel(const Kernel* reference, std::string layout) : reference_(reference), layout_(std::move(layout)) {}
  const char* name() const override { return "pinned"; }
  Verdict supports(const PrepareArgs& args) const override { return reference_->supports(args); }
  std::unique_ptr<PreparedOp> prepare(const PrepareArgs& args, std::string* reason) const override {
    PrepareArgs pinned = args;
    for (auto* side : {&pinned.src, &pinned.dst}) {
      for (TensorDesc& desc : *side) {
        if (desc.dims.rank == 4)
          desc = layout_ == "blocked" ? blockedDesc(desc.dtype, desc.dims, 16) : contiguousDesc(desc.dtype, desc.dims);
      }
    }
    return reference_->prepare(pinned, reason);
  }

 private:
  const Kernel* reference_;
  std::string layout_;
};

class PinnedKernels final : public KernelList {
 public:
  explicit PinnedKernels(const std::string& layout) {
    for (const OpKind kind : {OpKind::kConvolution, OpKind::kPool, OpKind::kUpsample, OpKind::kPointwise}) {
      pinned_.push_back(std::make_unique<PinnedKernel>(kernels().candidates(kind, DeviceKind::kCpu).back(), layout));
      candidates_[kind] = {pinned_.back().get()};
    }
  }
  const std::vector<const Kernel*>& candidates(OpKind kind, DeviceKind device) const override {
    const auto found = candidates_.find(kind);
    return found == candidates_.end() ? kernels().candidates(kind, device) : found->second;
  }

 private:
  std::vector<std::unique_ptr<PinnedKernel>> pinned_;
  std::map<OpKind, std::vector<const Kernel*>> candidates_;
};

Tensor waves(const Dims& dims, int phase) {
  Tensor tensor{contiguousDesc(DType::kF32, dims), {}, {}};
  for (std::int64_t e = 0; e < dims.count(); ++e)
    tensor.values.push_back(static_cast<float>(std::sin(0.7 * static_cast<double>(e) + phase)));
  return tensor;
}

// Grows a plan over one input; values are numbers of results in order, input 0 is value -1.
class Network {
 public:
  explicit Network(const Dims& input) : input_(input) {
    plan_.inputs.push_back(waves(input, 0));
    plan_.ints = {0};
    plan_.spec.inputs.push_back({false, DType::kF32, input.rank});
  }

  int convolution(int x, std::int64_t in, std::int64_t out, std::int64_t k) {
    OpSpec op = parseOpSpec("convolution{dilation=[1,1],groups=1,stride=[1,1]}|relu");
    op.attributes["padding"] = std::vector<std::int64_t>{k / 2, k / 2};
    plan_.constants.push_back(waves(Dims{out, in, k, k}, static_cast<int>(plan_.constants.size())));
    for (float& weight : plan_.constants.back().values) weight /= static_cast<float>(in * k);
    return add(op, {x, constant(plan_.constants.size() - 1), kAbsent});
  }
  int add(const std::string& op, const std::vector<int>& src) { return add(parseOpSpec(op), src); }
  int add(const OpSpec& op, const std::vector<int>& src) {
    nodes_.push_back({op, src});
    return static_cast<int>(nodes_.size()) - 1;
  }

  // Returns the steps of the plan; expects the numbers of the interpreter.
  std::vector<StepRecord> run(const std::vector<int>& outputs, const KernelList& list = kernels(),
                              const std::string& what = "") {
    finish(outputs);
    PlanRequest request;
    request.tensor_inputs = {plan_.inputs[0].desc};
    request.int_inputs = plan_.ints;
    for (const Tensor& constant : plan_.constants) request.constants.push_back(constant.data());
    WeightCache weights;
    const auto compiled = Plan::compile(plan_.spec, request, list, weights);
    arena_bytes = compiled->arenaBytes();
    Plan::Instance instance(*compiled);
    const auto expected = *testing::interpret(plan_.spec, plan_.inputs, plan_.ints, plan_.constants, kernels());
    for (int repeat = 0; repeat < 2; ++repeat) {
      std::vector<std::vector<float>> results;
      std::vector<void*> to;
      for (const TensorDesc& desc : compiled->outputs())
        results.emplace_back(static_cast<std::size_t>(desc.dims.count()), std::nanf(""));
      for (auto& result : results) to.push_back(result.data());
      const void* from = plan_.inputs[0].data();
      instance.run(&from, to.data());
      for (std::size_t o = 0; o < results.size(); ++o)
        expectNear(results[o], expected[o].values, what + " output " + std::to_string(o));
    }
    return compiled->steps();
  }

  std::size_t arena_bytes = 0;
  static constexpr int kAbsent = -1000, kInput = -1;

 private:
  struct Pending {
    OpSpec op;
    std::vector<int> src;
  };
  static int constant(std::size_t index) { return -2 - static_cast<int>(index); }

  static void expectNear(const std::vector<float>& actual, const std::vector<float>& expected,
                         const std::string& what) {
    ASSERT_EQ(actual.size(), expected.size());
    for (std::size_t i = 0; i < actual.size(); ++i)
      ASSERT_NEAR(actual[i], expected[i], 2e-4 * (1 + std::abs(expected[i]))) << what << " at " << i;
  }

  void finish(const std::vector<int>& outputs) {
    const int first = 1 + static_cast<int>(plan_.constants.size());
    const auto number = [&](int value) { return value == kAbsent ? -1 : value >= 0 ? first + value : -1 - value; };
    for (const Tensor& constant : plan_.constants) plan_.spec.constants.push_back(constant.desc);
    for (const Pending& pending : nodes_) {
      PlanNode node;
      node.op = pending.op;
      for (int value : pending.src) node.src.push_back(number(value));
      node.dst = {first + static_cast<int>(plan_.spec.nodes.size())};
      node.name = "n" + std::to_string(plan_.spec.nodes.size());
      plan_.spec.nodes.push_back(std::move(node));
    }
    for (int output : outputs) plan_.spec.outputs.push_back(number(output));
  }

  Dims input_;
  RandomPlan plan_;
  std::vector<Pending> nodes_;
};

int countOf(const std::vector<StepRecord>& steps, const std::string& kind) {
  return static_cast<int>(
      std::count_if(steps.begin(), steps.end(), [&](const StepRecord& step) { return step.kind == kind; }));
}

std::string listOf(const std::vector<StepRecord>& steps) {
  std::string text;
  for (const StepRecord& step : steps)
    text += step.spec + " by " + step.kernel + ": " + step.src_layout + " -> " + step.dst_layout + " " +
            step.dst_shape + "\n";
  return text;
}

// Every layer reads all layers before it; each map is written once, into the widest concatenation.
TEST(PlanConcat, DenselyConnectedLayersMoveNothing) {
  for (const char* layout : {"blocked", "plain"}) {
    Network network(Dims{1, 32, 7, 7});
    std::vector<int> maps{network.convolution(Network::kInput, 32, 32, 3)};
    for (int layer = 0; layer < 5; ++layer) {
      const int all = layer == 0 ? maps[0] : network.add("concat{axis=1}", maps);
      const int normalized = network.add("pointwise{}|linear(0.5,0.1)|relu", {all});
      maps.push_back(network.convolution(normalized, 32 + 16 * layer, 16, 3));
    }
    const int result = network.add("reduce{axes=[2,3],keepdim=0,mode=mean}", {network.add("concat{axis=1}", maps)});
    const std::vector<StepRecord> steps = network.run({result}, PinnedKernels(layout), layout);
    EXPECT_EQ(countOf(steps, "concat"), 0) << listOf(steps);
    EXPECT_LE(countOf(steps, "reorder"), 1) << listOf(steps);  // the input
  }
}

TEST(PlanConcat, BranchesAndSkips) {
  for (const char* layout : {"blocked", "plain"}) {
    Network network(Dims{1, 16, 8, 8});
    const int stem = network.convolution(Network::kInput, 16, 32, 3);
    const int skip = network.convolution(stem, 32, 32, 3);
    const int down = network.add("pool{kernel=[2,2],mode=max,stride=[2,2]}", {skip});
    const int bottom = network.convolution(down, 32, 32, 3);
    const int up = network.add("upsample{mode=nearest,output=[8,8]}", {bottom});
    const int joined = network.add("concat{axis=1}", {skip, up});
    const std::vector<StepRecord> steps =
        network.run({network.convolution(joined, 64, 16, 1)}, PinnedKernels(layout), layout);
    EXPECT_EQ(countOf(steps, "concat"), 0) << listOf(steps);
    EXPECT_LE(countOf(steps, "reorder"), 2) << listOf(steps);  // the input and the result
  }
}

TEST(PlanConcat, RowMajorTokens) {
  Network network(Dims{1, 4, 24});
  const int a = network.add("pointwise{}|tanh", {Network::kInput});
  const int b = network.add("softmax{axis=-1}", {Network::kInput, Network::kAbsent});
  const std::vector<StepRecord> steps = network.run({network.add("concat{axis=1}", {a, b, a})});
  EXPECT_EQ(countOf(steps, "concat"), 0) << listOf(steps);
  EXPECT_EQ(countOf(steps, "reorder"), 1);  // the second use
}

// Sources that must be copied all the same.
TEST(PlanConcat, InputsConstantsOutputsViewsAndTwice) {
  for (const char* axis : {"concat{axis=0}", "concat{axis=1}", "concat{axis=2}"}) {
    Network network(Dims{1, 16, 4, 4});
    const int a = network.add("pointwise{}|tanh", {Network::kInput});
    const int b = network.convolution(Network::kInput, 16, 16, 1);
    const int view = network.add("permute{order=[0,1,3,2]}", {a});
    const int first = network.add(axis, {a, Network::kInput, b, a, view});
    const int second = network.add(axis, {b, first, a});
    const int alone = network.add(axis, {second});
    const int later = network.add("pointwise{}|relu", {b});
    network.run({a, first, second, later, alone, b}, kernels(), axis);
  }
}

// A value in a slice lives as long as the whole; neither may be overwritten while the other is read.
TEST(PlanConcat, NothingIsOverwrittenEarly) {
  for (const bool whole_first : {false, true}) {
    Network network(Dims{1, 16, 4, 4});
    const int a = network.add("pointwise{}|tanh", {Network::kInput});
    const int b = network.add("pointwise{}|abs", {Network::kInput});
    const int whole = network.add("concat{axis=1}", {a, b});
    std::vector<int> results;
    if (whole_first) results.push_back(network.add("pointwise{}|square|linear(2,1)", {whole}));
    results.push_back(network.add("pointwise{}|neg|linear(3,1)", {a}));
    if (!whole_first) results.push_back(network.add("pointwise{}|square|linear(2,1)", {whole}));
    const int sum = network.add("pointwise{}|exp", {results[0]});
    network.run({sum, results[1]});
  }
}

int randomNode(Network& network, Random& random, std::vector<std::pair<int, Dims>>& values) {
  const auto [x, dims] = values[values.size() - 1 - random.index(std::min<std::size_t>(values.size(), 6))];
  static const char* const kChains[] = {"pointwise{}|tanh", "pointwise{}|relu|linear(0.5,0.25)", "pointwise{}|sigmoid"};
  switch (random.between(0, 5)) {
    case 0: {
      const std::int64_t out = random.chance(70) ? 16 : 8;
      Dims y = dims;
      y[1] = out;
      values.emplace_back(network.convolution(x, dims[1], out, random.chance(50) ? 1 : 3), y);
      break;
    }
    case 1:
      values.emplace_back(network.add(kChains[random.index(3)], {x}), dims);
      break;
    case 2: {
      const auto [other, other_dims] = values[random.index(values.size())];
      if (!(other_dims == dims)) break;
      values.emplace_back(network.add("pointwise{}|add(0)|tanh", {x, other}), dims);
      break;
    }
    case 3: {
      if (dims[1] < 2) break;
      Dims y = dims;
      y[1] = dims[1] / 2;
      const bool low = random.chance(50);
      OpSpec slice = parseOpSpec("slice{axis=1,begin=0,end=1,step=1}");
      slice.attributes["begin"] = low ? std::int64_t{0} : dims[1] - y[1];
      slice.attributes["end"] = low ? y[1] : dims[1];
      values.emplace_back(network.add(slice, {x}), y);
      break;
    }
    default: {
      std::vector<int> src;
      Dims y = dims;
      y[1] = 0;
      for (std::int64_t parts = random.between(1, 4); parts > 0; --parts) {
        const auto& [part, part_dims] =
            values[random.chance(60) ? values.size() - 1 - random.index(std::min<std::size_t>(values.size(), 3))
                                     : random.index(values.size())];
        if (part_dims[0] != dims[0] || y[1] + part_dims[1] > 96) continue;
        src.push_back(part);
        y[1] += part_dims[1];
      }
      if (!src.empty()) values.emplace_back(network.add("concat{axis=1}", src), y);
    }
  }
  return values.back().first;
}

TEST(PlanConcat, RandomNetworks) {
  const int count = 300 * testing::campaignFactor();
  for (int seed = 0; seed < count && !HasFailure(); ++seed) {
    Random random(seed);
    const Dims input{random.chance(80) ? 1 : 2, random.chance(70) ? 16 : 24, random.between(1, 4),
                     random.between(1, 4)};
    Network network(input);
    std::vector<std::pair<int, Dims>> values{{Network::kInput, input}};
    for (std::int64_t nodes = random.between(3, 16); nodes > 0; --nodes) randomNode(network, random, values);
    std::vector<int> outputs{values.back().first};
    for (std::int64_t more = random.between(0, 3); more > 0; --more)
      outputs.push_back(values[random.index(values.size())].first);
    const testing::ScrambledKernels scrambled(kernels(), seed);
    network.run(outputs, random.chance(60) ? kernels() : static_cast<const KernelList&>(scrambled),
                "seed " + std::to_string(seed));
  }
}

}  // namespace
}  // namespace ipex_studio
