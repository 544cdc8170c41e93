// Branches that dtypes, ranks or given masks decide hide nothing of what the example showed; others do.
#include <gtest/gtest.h>

#include "core/model/model.h"
#include "tests/core/graph/script_models.h"

namespace ipex_studio {
namespace {

using testing::scriptModule;
using torch::jit::Module;

c10::TensorTypePtr typeOfResult(const std::string& source, const Inputs& inputs) {
  Module module = freezeForPasses(scriptModule(source), {});
  recordShapes(module, inputs);
  return module.get_method("forward").graph()->outputs()[0]->type()->expect<c10::TensorType>();
}

// A padding mask as encoder layers read it.
TEST(ChangingTypes, DtypesDecideBranches) {
  const auto type = typeOfResult(
      "def forward(self, mask):\n"
      "    assert mask.dtype == 11 or torch.is_floating_point(mask), 'only bool and floating masks'\n"
      "    if not torch.is_floating_point(mask):\n"
      "        mask = torch.zeros_like(mask, dtype=6).masked_fill(mask, 1.0)\n"
      "    if mask.is_complex():\n"
      "        mask = torch.zeros_like(mask, dtype=7)\n"
      "    return mask * 2\n",
      {at::ones({2, 3}, at::kBool)});
  EXPECT_EQ(type->scalarType().value_or(at::kLong), at::kFloat);
  EXPECT_EQ(type->dim().value_or(0), 2U);
}

TEST(ChangingTypes, RanksDecideBranches) {
  const auto type = typeOfResult(
      "def forward(self, mask):\n"
      "    if mask.dim() == 2 and mask.device.type == 'cpu':\n"
      "        mask = mask.unsqueeze(0)\n"
      "    else:\n"
      "        assert mask.dim() == 3, 'no mask'\n"
      "    return mask * 2\n",
      {at::ones({2, 3})});
  EXPECT_EQ(type->dim().value_or(0), 3U);
}

TEST(ChangingTypes, WhatIsGivenDecidesBranches) {
  const auto type = typeOfResult(
      "def forward(self, x):\n"
      "    mask: Optional[Tensor] = x\n"
      "    if mask is None:\n"
      "        x = x.unsqueeze(0)\n"
      "    return x * 2\n",
      {at::ones({2, 3})});
  EXPECT_EQ(type->dim().value_or(0), 2U);
}

TEST(ChangingTypes, ValuesAndSizesDecideNothing) {
  const std::string rest =
      "        y = x.unsqueeze(0)\n"
      "    else:\n"
      "        y = x\n"
      "    return y * 2\n";
  for (const std::string condition : {"x.size(0) == 2", "bool(x.sum() > 0)", "x.numel() > 2 and x.dim() == 2"}) {
    const auto type = typeOfResult("def forward(self, x):\n    if " + condition + ":\n" + rest, {at::ones({2, 3})});
    EXPECT_FALSE(type->dim().has_value()) << condition;
    EXPECT_EQ(type->scalarType().value_or(at::kLong), at::kFloat) << condition;
  }
}

// What changes between the rounds of a loop is no fact that a branch could be decided by.
TEST(ChangingTypes, RanksThatLoopsChangeDecideNothing) {
  const auto type = typeOfResult(
      "def forward(self, x, n: int):\n"
      "    y = x\n"
      "    for i in range(n):\n"
      "        y = y.unsqueeze(0)\n"
      "    if y.dim() == 4:\n"
      "        z = y.flatten(1)\n"
      "    else:\n"
      "        z = x.flatten()\n"
      "    return z * 2\n",
      {at::ones({2, 3}), 2});
  EXPECT_FALSE(type->dim().has_value());
}

}  // namespace
}  // namespace ipex_studio
