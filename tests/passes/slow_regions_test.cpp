// Regions that lose against the interpreter, by made-up times: what is given back, what is remembered, and that results
// stay the same.
#include "passes/slow_regions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/csrc/jit/runtime/interpreter.h>

#include <sstream>

#include "core/graph/reasons.h"
#include "core/lower/region_object.h"
#include "tests/core/graph/script_models.h"

namespace ipex_studio {
namespace {

using namespace testing;  // NOLINT: the fixture's names
using ::testing::ElementsAre;
using ::testing::HasSubstr;

using Graph = torch::jit::Graph;

struct Kept : Observer {
  void onPass(const PassRecord& pass) override { passes.push_back(pass); }
  void onRemark(const Remark& remark) override { remarks.push_back(remark); }

  std::vector<PassRecord> passes;
  std::vector<Remark> remarks;
};

// Says in order of the calls which regions lose, and checks that a region and its code compute the same.
class MadeUpTimes {
 public:
  explicit MadeUpTimes(std::vector<bool> losses) : losses_(std::move(losses)) {}

  RegionTimer timer() {
    return [this](const IValue& region, const std::shared_ptr<Graph>& code, const std::vector<IValue>& tensors,
                  const std::vector<IValue>& ints, const TrialLimits& limits) -> std::optional<PairedTimes> {
      EXPECT_TRUE(region.isObject());
      EXPECT_GT(limits.budget_ns, 0);
      torch::jit::Stack stack = tensors;
      stack.insert(stack.end(), ints.begin(), ints.end());
      torch::jit::InterpreterState(torch::jit::Code(code, "code")).run(stack);
      EXPECT_EQ(stack.size(), code->outputs().size());
      const bool loses = calls_ < losses_.size() && losses_[calls_];
      ++calls_;
      return loses ? PairedTimes{3000, 1000, 3, 2.9, 3.1} : PairedTimes{1000, 3000, 0.33, 0.3, 0.35};
    };
  }
  std::size_t calls() const { return calls_; }

 private:
  std::vector<bool> losses_;
  std::size_t calls_ = 0;
};

OptimizeOptions tuned(const std::string& record = "") {
  OptimizeOptions options;
  options.tune = TuneMode::kQuick;
  options.tuning_record = record;
  return options;
}

// Two regions with an operator of the interpreter between them.
Module twoRegions() {
  return scriptModule(R"(
def forward(self, x, i):
    y = torch.gather(x, 1, i)
    n = torch.bincount(i.view([-1]), None, 8).to(6)
    z = torch.linear(torch.relu(y), self.w)
    return torch.softmax(z + n.view([1, 8]), -1), y
)",
                      {{"w", weight({8, 5})}});
}

Inputs twoRegionsInputs(std::int64_t rows = 6) { return {at::randn({rows, 8}), at::randint(0, 8, {rows, 5})}; }

TEST(SlowRegions, ALoserGoesBackToTheInterpreter) {
  const Module module = twoRegions();
  const Inputs example = twoRegionsInputs();
  OptimizedModel model = optimized(module, example, tuned());
  ASSERT_EQ(regionsIn(model.module), 2);
  const double coverage = model.coverage.nodes;
  Kept kept;
  MadeUpTimes times({true, false});
  eliminateSlowRegions(model, example, tuned(), kept, times.timer());
  EXPECT_EQ(times.calls(), 2u);
  EXPECT_EQ(regionsIn(model.module), 1);
  EXPECT_EQ(regionObjects(model.module).size(), 1u) << "numbered without gaps";
  EXPECT_LT(model.coverage.nodes, coverage);
  EXPECT_GT(model.coverage.nodes, 0);
  ASSERT_EQ(kept.passes.size(), 1u);
  EXPECT_EQ(kept.passes[0].name, kEliminateSlowRegionName);
  EXPECT_TRUE(kept.passes[0].changed);
  EXPECT_EQ(kept.passes[0].rewrites, 1);
  ASSERT_TRUE(kept.passes[0].snapshot);
  EXPECT_THAT(kept.passes[0].snapshot->text, HasSubstr("Float(6, 8")) << "sizes are shown";
  ASSERT_EQ(kept.remarks.size(), 2u);
  EXPECT_EQ(kept.remarks[1].kind, RemarkKind::kMissed);
  EXPECT_EQ(kept.remarks[1].reason, reasons::kSlowerThanInterpreter);
  EXPECT_FALSE(kept.remarks[1].origins.empty());
  for (const std::int64_t rows : {6, 3, 9}) EXPECT_EQ(difference(module, model.module, twoRegionsInputs(rows)), "");
}

TEST(SlowRegions, AllOfThemMayLose) {
  const Module module = twoRegions();
  const Inputs example = twoRegionsInputs();
  OptimizedModel model = optimized(module, example, tuned());
  Kept kept;
  MadeUpTimes times({true, true});
  eliminateSlowRegions(model, example, tuned(), kept, times.timer());
  EXPECT_EQ(regionsIn(model.module), 0);
  EXPECT_EQ(model.coverage.nodes, 0);
  EXPECT_EQ(difference(module, model.module, twoRegionsInputs(4)), "");
}

// A second run and an export agree with the first, and nothing is measured again.
TEST(SlowRegions, VerdictsAreRemembered) {
  const Module module = twoRegions();
  const Inputs example = twoRegionsInputs();
  OptimizedModel first = optimized(module, example, tuned());
  Observer silent;
  MadeUpTimes times({true, false});
  eliminateSlowRegions(first, example, tuned(), silent, times.timer());
  const OptimizeOptions options = tuned(tuningRecord(first.tuning, false));

  OptimizedModel second = optimized(module, example, options);
  Kept kept;
  MadeUpTimes unused({});
  eliminateSlowRegions(second, example, options, kept, unused.timer());
  EXPECT_EQ(unused.calls(), 0u);
  EXPECT_EQ(regionsIn(second.module), 1);
  ASSERT_EQ(kept.remarks.size(), 2u);
  EXPECT_THAT(kept.remarks[1].text, HasSubstr("0.003 ms"));
  std::stringstream file;
  exportModule(second, file, ExportForm::kCompiled);
  Module exported = torch::jit::load(file);
  EXPECT_EQ(regionsIn(exported), 1);
  EXPECT_EQ(difference(module, exported, twoRegionsInputs(5)), "");
}

TEST(SlowRegions, OtherSizesAreMeasuredAgain) {
  const Module module = twoRegions();
  OptimizedModel first = optimized(module, twoRegionsInputs(), tuned());
  Observer silent;
  MadeUpTimes times({true, false}), again({false, false});
  eliminateSlowRegions(first, twoRegionsInputs(), tuned(), silent, times.timer());
  const OptimizeOptions options = tuned(tuningRecord(first.tuning, false));
  OptimizedModel second = optimized(module, twoRegionsInputs(60), options);
  eliminateSlowRegions(second, twoRegionsInputs(60), options, silent, again.timer());
  EXPECT_EQ(again.calls(), 2u);
  EXPECT_EQ(regionsIn(second.module), 2);
}

TEST(SlowRegions, NothingHappensWithoutTuningOrWhenSwitchedOff) {
  const Module module = twoRegions();
  const Inputs example = twoRegionsInputs();
  OptimizeOptions off, disabled = tuned();
  off.tune = TuneMode::kOff;
  disabled.disabled_passes = {kEliminateSlowRegionName};
  for (const OptimizeOptions& options : {off, disabled}) {
    OptimizedModel model = optimized(module, example, options);
    Kept kept;
    MadeUpTimes times({true, true});
    eliminateSlowRegions(model, example, options, kept, times.timer());
    EXPECT_EQ(times.calls(), 0u);
    EXPECT_TRUE(kept.passes.empty());
    EXPECT_EQ(regionsIn(model.module), 2);
  }
}

// A run more or less must not change what the model remembers.
TEST(SlowRegions, AttributesStayAsTheyAre) {
  const Module module = scriptModule(R"(
def forward(self, x):
    self.seen = self.seen + x.mean()
    self.cache.copy_(torch.tanh(x))
    return torch.relu(x) * 2, self.seen, self.cache * 2
)",
                                     {}, {{"seen", at::zeros({})}, {"cache", at::zeros({3, 4})}});
  const Inputs example{at::randn({3, 4})};
  OptimizedModel model = optimized(module, example, tuned());
  const auto state = [&] {
    std::vector<at::Tensor> tensors;
    for (const auto& attribute : model.module.named_attributes(false)) {
      if (attribute.value.isTensor()) tensors.push_back(attribute.value.toTensor().clone());
    }
    return tensors;
  };
  const std::vector<at::Tensor> before = state();
  ASSERT_FALSE(before.empty());
  Observer silent;
  MadeUpTimes times({true, true, true});
  eliminateSlowRegions(model, example, tuned(), silent, times.timer());
  EXPECT_GT(times.calls(), 0u);
  const std::vector<at::Tensor> after = state();
  ASSERT_EQ(after.size(), before.size());
  for (std::size_t t = 0; t < after.size(); ++t) EXPECT_TRUE(at::equal(after[t], before[t]));
}

// Regions in branches, lists and sizes that carry operands, several results.
TEST(SlowRegions, GivenBackCodeComputesTheSame) {
  const std::vector<std::string> sources = {R"(
def forward(self, x, i):
    if bool(x.sum() > 1000000):
        y = torch.relu(x)
    else:
        y = torch.cat([x.view([x.size(0), -1]), torch.tanh(x)], 1)
    return y * 2, i + 1
)",
                                            R"(
def forward(self, x, i):
    a, b = torch.chunk(x, 2, 1)
    y = torch.cat([a.sigmoid() * b, b], 1).reshape([x.size(0) * 2, x.size(1) // 2])
    best, at = torch.max(y, 1)
    return y[:, 1:], best, at + i.size(1)
)"};
  for (const std::string& source : sources) {
    const Module module = scriptModule(source);
    const Inputs example = twoRegionsInputs();
    OptimizedModel model = optimized(module, example, tuned());
    ASSERT_GT(regionsIn(model.module), 0);
    Observer silent;
    MadeUpTimes times({true, true, true, true});
    eliminateSlowRegions(model, example, tuned(), silent, times.timer());
    EXPECT_GT(times.calls(), 0u);
    for (const std::int64_t rows : {6, 3}) EXPECT_EQ(difference(module, model.module, twoRegionsInputs(rows)), "");
  }
}

}  // namespace
}  // namespace ipex_studio
