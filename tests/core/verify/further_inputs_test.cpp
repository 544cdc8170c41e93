// Inputs beside the example: what is tried, what is kept, and that facts of an example show on them.
#include "core/verify/further_inputs.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "core/verify/branch_coverage.h"
#include "core/verify/verify.h"
#include "tests/core/graph/script_models.h"

namespace ipex_studio {
namespace {

using namespace testing;  // NOLINT: the fixture's names

bool has(const FurtherInputsSearch& search, const std::string& text) {
  return std::any_of(search.found.begin(), search.found.end(),
                     [&](const FurtherInputs& further) { return further.text == text; });
}

// True if `candidate` differs from `original` on one of the inputs that were found, though not on the example.
bool caught(const Module& original, const Module& candidate, const Inputs& example) {
  Module ours = candidate.deepcopy();
  EXPECT_TRUE(verifyModule(original, ours, {example}, "").front().pass);
  const FurtherInputsSearch search = findFurtherInputs(original, example);
  return std::any_of(search.found.begin(), search.found.end(), [&](const FurtherInputs& further) {
    return !verifyModule(original, ours, {further.inputs}, "").front().pass;
  });
}

TEST(FurtherInputs, AreOfOtherValuesSizesAndNumbers) {
  const Module module = scriptModule(
      "def forward(self, x, n: int, flag: bool, scale: float):\n"
      "    y = torch.linear(x, self.w) * scale + n\n"
      "    return torch.relu(y) if flag else y\n",
      {{"w", weight({8, 8})}});
  const at::Tensor x = at::randn({1, 8});
  const FurtherInputsSearch search = findFurtherInputs(module, {x, 0, true, 2.0});
  EXPECT_TRUE(has(search, "other values"));
  EXPECT_TRUE(has(search, "x of 2x8"));
  EXPECT_FALSE(has(search, "x of 1x9"));
  EXPECT_TRUE(has(search, "n = 1"));
  EXPECT_FALSE(has(search, "n = -1"));
  EXPECT_TRUE(has(search, "flag = false"));
  EXPECT_TRUE(has(search, "scale = 1.5"));
  EXPECT_EQ(search.ways, 2);
  EXPECT_EQ(search.ways_taken, 2);
}

TEST(FurtherInputs, ValuesStayInTheirRange) {
  const Module module = scriptModule("def forward(self, ids, mask):\n    return torch.embedding(self.w, ids) * mask\n",
                                     {{"w", weight({10, 4})}});
  const at::Tensor ids = at::tensor({9, 0, 3, 5}), mask = at::ones({4, 1});
  const FurtherInputsSearch search = findFurtherInputs(module, {ids, mask});
  ASSERT_FALSE(search.found.empty());
  EXPECT_EQ(search.found[0].text, "other values");
  EXPECT_TRUE(at::equal(search.found[0].inputs[0].toTensor(), at::tensor({5, 3, 0, 9})));
  EXPECT_TRUE(at::equal(search.found[0].inputs[1].toTensor(), at::tensor({1.F, 1.F, 1.F, 0.F}).reshape({4, 1})));
  EXPECT_TRUE(has(search, "ids of 5, mask of 5x1"));
}

TEST(FurtherInputs, AxesThatBelongTogetherChangeTogether) {
  const Module module = scriptModule("def forward(self, x, y):\n    return torch.matmul(x, y)\n");
  const FurtherInputsSearch search = findFurtherInputs(module, {at::randn({2, 7}), at::randn({7, 3})});
  EXPECT_TRUE(has(search, "x of 2x8, y of 8x3"));
  EXPECT_TRUE(has(search, "x of 3x7"));
  EXPECT_TRUE(has(search, "y of 7x4"));
}

TEST(FurtherInputs, ListsAndNestedValues) {
  const Module module = scriptModule(
      "def forward(self, xs: List[Tensor], d: Dict[str, Tensor]):\n"
      "    return torch.cat(xs) + d['a']\n");
  c10::impl::GenericList xs(c10::TensorType::get());
  xs.push_back(at::randn({1, 3}));
  c10::impl::GenericDict dict(c10::StringType::get(), c10::TensorType::get());
  dict.insert("a", at::randn({1, 3}));
  const FurtherInputsSearch search = findFurtherInputs(module, {xs, dict});
  EXPECT_TRUE(has(search, "xs with 2 elements"));
  EXPECT_TRUE(has(search, "xs[0] of 1x4, d[0] of 1x4"));
}

TEST(FurtherInputs, TakeBranchesThatTheExampleDoesNot) {
  const Module module = scriptModule(
      "def forward(self, x, n: int):\n"
      "    y = x\n"
      "    if x.size(0) > 17:\n"
      "        y = y * 2\n"
      "    if bool(x.sum() < 0):\n"
      "        y = y - 1\n"
      "    if n == 1000:\n"
      "        y = y + 3\n"
      "    assert n >= 0, 'n'\n"
      "    return y\n");
  const FurtherInputsSearch search = findFurtherInputs(module, {at::ones({4, 2}), 3});
  EXPECT_EQ(search.ways_taken, search.ways);
  EXPECT_TRUE(has(search, "x of 18x2"));
  EXPECT_TRUE(has(search, "n = 1000"));
}

TEST(FurtherInputs, LoopsThatNeverEndAreLeft) {
  const Module module = scriptModule(
      "def forward(self, x, n: int):\n"
      "    while n != 4:\n"
      "        n = n + 1\n"
      "    return x + n\n");
  const FurtherInputsSearch search = findFurtherInputs(module, {at::ones({2}), 3});
  EXPECT_TRUE(has(search, "n = 4"));
  EXPECT_FALSE(has(search, "n = 5"));
}

TEST(FurtherInputs, FactsOfTheExampleShow) {
  const Module grown = scriptModule(
      "def forward(self, x, n: int):\n"
      "    parts = [x]\n"
      "    for i in range(n):\n"
      "        parts.append(torch.relu(parts[-1]))\n"
      "    y = torch.cat(parts, 1)\n"
      "    return y.sum(1) / y.size(1)\n");
  const Module fixed = scriptModule(
      "def forward(self, x, n: int):\n"
      "    parts = [x]\n"
      "    for i in range(n):\n"
      "        parts.append(torch.relu(parts[-1]))\n"
      "    y = torch.cat(parts, 1)\n"
      "    return y.sum(1) / x.size(1)\n");
  EXPECT_TRUE(caught(grown, fixed, {at::rand({1, 3}), 0}));
  EXPECT_TRUE(caught(scriptModule("def forward(self, x):\n    return x.sum() / x.size(0)\n"),
                     scriptModule("def forward(self, x):\n    return x.sum()\n"), {at::rand({1, 3})}));
  EXPECT_TRUE(caught(scriptModule("def forward(self, x, mask):\n    return x * mask\n"),
                     scriptModule("def forward(self, x, mask):\n    return x * torch.ones_like(mask)\n"),
                     {at::rand({4}), at::ones({4})}));
}

TEST(FurtherInputs, LeaveTheModelAsItIs) {
  Module module = scriptModule("def forward(self, x):\n    self.count += 1\n    return x + self.count\n", {},
                               {{"count", at::zeros({1})}});
  findFurtherInputs(module, {at::ones({2})});
  EXPECT_EQ(module.attr("count").toTensor().item<float>(), 0);
}

TEST(BranchCoverage, CountsRounds) {
  BranchCoverage coverage(
      scriptModule("def forward(self, x, n: int):\n    for i in range(n):\n        x = x + 1\n    return x\n"));
  ASSERT_EQ(coverage.blocks(), 1);
  const at::Tensor x = at::zeros({1});
  EXPECT_EQ(coverage.run({x, 0}), BranchCoverage::Entries{0});
  EXPECT_EQ(coverage.run({x, 1}), BranchCoverage::Entries{1});
  EXPECT_EQ(coverage.run({x, 7}), BranchCoverage::Entries{2});
  EXPECT_EQ(coverage.run({x, 1'000'000}), std::nullopt);
  EXPECT_EQ(coverage.run({x}), std::nullopt);
}

}  // namespace
}  // namespace ipex_studio
