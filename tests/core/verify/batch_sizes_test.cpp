// Which batch sizes a model takes.
#include "core/verify/batch_sizes.h"

#include <gtest/gtest.h>

#include "tests/core/graph/script_models.h"

namespace ipex_studio {
namespace {

using namespace testing;  // NOLINT: the fixture's names

std::string problemsOf(const BatchSizes& sizes) {
  std::string text;
  for (const BatchSize& size : sizes.sizes) text += size.problem.empty() ? "+" : "-";
  return text;
}

BatchSizes sizesOf(const char* source, const std::vector<std::string>& inputs, const std::vector<std::int64_t>& sizes) {
  std::vector<InputSpec> specs;
  for (const std::string& text : inputs) specs.push_back(parseInputSpec(text));
  return findBatchSizes(scriptModule(source, {{"w", weight({8, 8})}}), specs, sizes, 0);
}

TEST(BatchSizes, AreTakenWhereSamplesAreIndependent) {
  const BatchSizes found =
      sizesOf("def forward(self, x):\n    return torch.relu(torch.linear(x, self.w))\n", {"x:1x8"}, {1, 2, 16});
  EXPECT_EQ(found.given, 1);
  EXPECT_EQ(problemsOf(found), "+++");
  EXPECT_EQ(found.sizes[2].specs[0].str(), "x:16x8");
}

TEST(BatchSizes, AreRefusedWhereSamplesMeet) {
  const BatchSizes found =
      sizesOf("def forward(self, x):\n    return x - x.mean([0], keepdim=True) + 0 * x\n", {"x:4x8"}, {2, 4});
  EXPECT_EQ(problemsOf(found).back(), '+') << "that of the inputs themselves";
  const BatchSizes sum = sizesOf("def forward(self, x):\n    return x + x.sum()\n", {"x:1x1x8"}, {1, 2});
  EXPECT_EQ(problemsOf(sum), "+-");
  EXPECT_NE(sum.sizes[1].problem.find("depends on the others"), std::string::npos);
}

TEST(BatchSizes, AreRefusedWhereResultsDoNotGrowOrSizesAreFixed) {
  EXPECT_EQ(problemsOf(sizesOf("def forward(self, x):\n    return x.sum([0])\n", {"x:1x8"}, {1, 2})), "+-");
  EXPECT_EQ(
      problemsOf(sizesOf("def forward(self, x):\n    return torch.linear(x.view(1, 8), self.w)\n", {"x:1x8"}, {1, 2})),
      "+-");
}

TEST(BatchSizes, ScaleAllInputsThatShareTheAxis) {
  const BatchSizes found = sizesOf("def forward(self, x, y, n: int, w):\n    return x * n + y + w\n",
                                   {"x:2x8", "y:2x1", "n=3", "w:8"}, {2, 3});
  EXPECT_EQ(problemsOf(found), "++");
  EXPECT_EQ(found.sizes[1].specs[1].str(), "y:3x1");
  EXPECT_EQ(found.sizes[1].specs[3].str(), "w:8");
}

TEST(BatchSizes, StandOnTheSecondAxisOfSequences) {
  // Each step of the sequence sees those before it; the samples are independent.
  const BatchSizes found =
      sizesOf("def forward(self, x):\n    return torch.cumsum(torch.linear(x, self.w), 0)\n", {"x:5x1x8"}, {1, 2});
  EXPECT_EQ(found.given, 1);
  EXPECT_EQ(problemsOf(found), "++");
  EXPECT_EQ(found.sizes[1].specs[0].str(), "x:5x2x8");
}

TEST(BatchSizes, WithoutATensorThereIsOne) {
  EXPECT_EQ(problemsOf(sizesOf("def forward(self, n: int):\n    return self.w * n\n", {"n=3"}, {1, 2})), "+-");
}

}  // namespace
}  // namespace ipex_studio
