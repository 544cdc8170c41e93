// Copies of modules keep what their values share; state comes back whole.
#include "core/model/module_state.h"

#include <gtest/gtest.h>

#include "tests/core/graph/script_models.h"

namespace ipex_studio {
namespace {

using namespace testing;  // NOLINT: the fixture's names

// Two attributes that are views of one tensor, one that is the tensor itself, and the first one in a list.
Module sharing() {
  const at::Tensor whole = at::arange(6, at::kFloat).reshape({2, 3});
  Module module = scriptModule("def forward(self, x):\n    return x + self.low * 10 + self.high\n", {},
                               {{"whole", whole}, {"low", whole[0]}, {"high", whole[1]}, {"again", whole}});
  module.register_attribute("all", c10::ListType::ofTensors(), c10::List<at::Tensor>({module.attr("low").toTensor()}));
  return module;
}

TEST(ModuleState, CopiesKeepWhatIsShared) {
  Module module = sharing();
  Module copy = copyModule(module);
  const at::Tensor x = at::zeros({3});
  EXPECT_EQ(difference(call(copy, {x}), at::tensor({3.0f, 14.0f, 25.0f})), "");
  copy.attr("whole").toTensor().fill_(1);
  EXPECT_EQ(difference(call(copy, {x}), at::tensor({11.0f, 11.0f, 11.0f})), "");
  EXPECT_EQ(copy.attr("all").toTensorVector()[0].sum().item<float>(), 3);
  EXPECT_TRUE(copy.attr("whole").toTensor().is_same(copy.attr("again").toTensor()));
  EXPECT_EQ(module.attr("whole").toTensor().sum().item<float>(), 15);
}

TEST(ModuleState, CopiesInAnotherPrecision) {
  Module module = sharing();
  module.register_buffer("rows", at::tensor({1, 0}, at::kLong));
  const Module copy = copyModule(module, at::kDouble);
  EXPECT_EQ(copy.attr("high").toTensor().scalar_type(), at::kDouble);
  EXPECT_EQ(copy.attr("high").toTensor()[2].item<double>(), 5);
  EXPECT_EQ(copy.attr("rows").toTensor().scalar_type(), at::kLong);
  EXPECT_EQ(module.attr("high").toTensor().scalar_type(), at::kFloat);
}

// Weights that are views of one tensor, as those of a split projection are.
TEST(ModuleState, VerifiesAgainstWeightsThatShareMemory) {
  const at::Tensor packed = weight({12, 4});
  const Module module = scriptModule(
      "def forward(self, x):\n    return torch.linear(x, self.q), torch.linear(x, self.k), torch.linear(x, self.v)\n",
      {{"q", packed.slice(0, 0, 4)}, {"k", packed.slice(0, 4, 8)}, {"v", packed.slice(0, 8, 12)}});
  const at::Tensor x = at::randn({2, 4});
  OptimizedModel result = optimized(module, {x});
  for (const AccuracyRecord& record : verifyModule(module, result.module, {{x}}, ""))
    EXPECT_TRUE(record.pass) << record.text;
  const IValue given = call(result.module, {x});
  EXPECT_EQ(difference(given.toTupleRef().elements()[2], at::linear(x, packed.slice(0, 8, 12))), "");
}

// Everything that a call can leave behind: written tensors, new ones, numbers, lists, dictionaries, in a submodule too.
constexpr const char* kRemembers = R"(
def forward(self, x):
    self.calls += 1
    self.written.add_(x)
    self.replaced = self.replaced * 2 + x
    self.last = x
    self.seen.append(x)
    self.named["last"] = x
    return x * self.calls + self.written + self.replaced + len(self.seen) + len(self.named)
)";

Module remembering() {
  Module module = scriptModule("", {}, {{"written", at::zeros({2})}, {"replaced", at::ones({2})}});
  module.register_attribute("calls", c10::IntType::get(), 0);
  module.register_attribute("last", c10::OptionalType::ofTensor(), IValue());
  module.register_attribute("seen", c10::ListType::ofTensors(), c10::List<at::Tensor>());
  const auto type = c10::DictType::create(c10::StringType::get(), c10::TensorType::get());
  module.register_attribute("named", type, c10::impl::GenericDict(c10::StringType::get(), c10::TensorType::get()));
  module.define(kRemembers);
  Module outer("Outer");
  outer.register_attribute("training", c10::BoolType::get(), false);
  outer.register_module("inner", module);
  outer.define("def forward(self, x):\n    return self.inner.forward(x) * 2\n");
  return outer;
}

TEST(ModuleState, ComesBackWhole) {
  Module module = remembering();
  const ModuleState state(module);
  EXPECT_FALSE(state.empty());
  const at::Tensor x = at::tensor({0.5f, 2.0f});
  std::vector<IValue> first;
  for (int i = 0; i < 3; ++i) first.push_back(copyValue(call(module, {x})));
  EXPECT_NE(difference(first[1], first[0]), "");
  for (int round = 0; round < 2; ++round) {
    state.restore();
    EXPECT_TRUE(module.attr("inner").toModule().attr("last").isNone());
    for (int i = 0; i < 3; ++i) EXPECT_EQ(difference(call(module, {x}), first[i]), "") << round << " " << i;
  }
}

TEST(ModuleState, OfAnOptimizedModel) {
  const Module module = remembering();
  const at::Tensor x = at::tensor({0.5f, 2.0f});
  OptimizedModel result = optimized(module, {x});
  const ModuleState state(result.module);
  EXPECT_FALSE(state.empty());
  const std::vector<Inputs> steps(4, Inputs{x});
  for (int round = 0; round < 2; ++round) {
    for (const AccuracyRecord& record : verifyModule(module, result.module, steps, ""))
      EXPECT_TRUE(record.pass) << record.text;
  }
  call(result.module, {x});
  EXPECT_FALSE(verifyModule(module, result.module, steps, "")[0].pass);
  state.restore();
  EXPECT_TRUE(verifyModule(module, result.module, steps, "")[0].pass);
}

// A write to one attribute shows in others that are views of it.
TEST(ModuleState, OptimizedViewsOfOneTensor) {
  const at::Tensor ring = at::arange(8, at::kFloat).reshape({2, 4});
  const Module module = scriptModule(
      "def forward(self, x):\n    y = torch.relu(self.last + x)\n    self.ring.copy_(torch.roll(self.ring, 1, 0))\n"
      "    self.last.copy_(y)\n    return y + self.ring.sum()\n",
      {}, {{"ring", ring}, {"last", ring[1]}});
  const at::Tensor x = at::randn({4});
  OptimizedModel result = optimized(module, {x});
  for (Module* candidate : {&result.module, &result.rewritten}) {
    for (const AccuracyRecord& record : verifyModule(module, *candidate, {{x}, {x}, {x}}, ""))
      EXPECT_TRUE(record.pass) << record.text;
  }
}

TEST(ModuleState, AModelThatOnlyReadsHasNone) {
  const Module module =
      scriptModule("def forward(self, x):\n    return torch.relu(torch.linear(x, self.w))\n", {{"w", weight({4, 4})}});
  OptimizedModel result = optimized(module, {at::randn({2, 4})});
  EXPECT_TRUE(ModuleState(result.module).empty());
}

}  // namespace
}  // namespace ipex_studio
