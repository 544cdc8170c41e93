// What results are compared with: equal random numbers on both sides, and the precision that a model computes in.
#include "core/verify/reference_results.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/torch/random_numbers.h"
#include "tests/core/graph/script_models.h"

namespace ipex_studio {
namespace {

using namespace testing;  // NOLINT: the fixture's names
using ::testing::HasSubstr;

AccuracyRecord verified(const Module& module, const std::string& candidate, const Weights& weights,
                        const std::vector<Inputs>& steps) {
  Module other = scriptModule(candidate, weights);
  return verifyModule(module, other, steps, "")[0];
}

TEST(ReferenceResults, RandomNumbersAreEqualOnBothSides) {
  const Weights weights = {{"w", weight({4, 4})}};
  const std::string noise = "def forward(self, x):\n    return torch.linear(x, self.w) + torch.randn_like(x) * 0.5\n";
  const Module module = scriptModule(noise, weights);
  const std::vector<Inputs> steps(2, Inputs{at::randn({8, 4})});
  const AccuracyRecord right = verified(module, noise, weights, steps);
  EXPECT_TRUE(right.pass) << right.text;
  EXPECT_GT(right.sqnr_db, 100);
  EXPECT_EQ(right.reference, "eager");
  EXPECT_THAT(right.text, HasSubstr("random numbers are equal on both sides"));
  const AccuracyRecord wrong =
      verified(module, "def forward(self, x):\n    return torch.linear(x, self.w) + torch.randn_like(x) * 0.51\n",
               weights, steps);
  EXPECT_FALSE(wrong.pass);
  EXPECT_EQ(wrong.text.find("draws others"), std::string::npos);
  const AccuracyRecord other = verified(module,
                                        "def forward(self, x):\n    noise = torch.rand([1])\n    return "
                                        "torch.linear(x, self.w) + torch.randn_like(x) * 0.5 + noise * 0\n",
                                        weights, steps);
  EXPECT_FALSE(other.pass);
  EXPECT_THAT(other.text, HasSubstr("the optimized model draws others"));
}

// A draw that shows in no result leaves the reference as it is.
TEST(ReferenceResults, DrawsThatDoNotMatter) {
  const std::string source =
      "def forward(self, x):\n    y = torch.rand_like(x)\n    return torch.exp(x) + torch.floor(y)\n";
  const Module module = scriptModule(source);
  const ReferenceResults reference = referenceResults(module, {{at::randn({16})}}, "");
  EXPECT_FALSE(reference.random.matter);
  EXPECT_TRUE(reference.fp64.has_value());
}

TEST(ReferenceResults, LeavesTheGeneratorAsItWas) {
  const Module module = scriptModule("def forward(self, x):\n    return x + torch.rand_like(x)\n");
  const at::Tensor x = at::randn({4});
  at::manual_seed(7);
  const at::Tensor expected = at::rand({4});
  at::manual_seed(7);
  referenceResults(module, {{x}}, "");
  EXPECT_TRUE(at::equal(at::rand({4}), expected));
}

// A chain of layers in BF16, as autocast writes it into a traced file; the types are those of each layer.
std::string layers(const std::string& type, int count) {
  std::string source = "def forward(self, x):\n";
  for (int i = 0; i < count; ++i)
    source += "    x = torch.tanh(torch.linear(torch.to(x, " + type + "), torch.to(self.w, " + type + ")))\n";
  return source + "    return torch.to(x, 6)\n";
}

TEST(ReferenceResults, AModelInBf16IsJudgedAsOne) {
  const Weights weights = {{"w", at::randn({32, 32}) / 4}};
  const Module module = scriptModule(layers("15", 6), weights);
  const std::vector<Inputs> steps{{at::randn({8, 32})}};
  EXPECT_EQ(referenceResults(module, steps, "").precision, Precision::kBf16);
  // The same in FP32 rounds nowhere as this one does, and is right.
  const AccuracyRecord right = verified(module, layers("6", 6), weights, steps);
  EXPECT_TRUE(right.pass) << right.text;
  EXPECT_THAT(right.text, HasSubstr("cosine"));
  EXPECT_FALSE(verified(module, layers("15", 5), weights, steps).pass);
}

// Weights that are stored in FP16 and computed with in FP32 allow no more than other weights do.
TEST(ReferenceResults, StoredHalvesAreNoHalfPrecision) {
  const Weights weights = {{"w", weight({16, 16}).to(at::kHalf)}};
  const std::string source = "def forward(self, x):\n    return torch.linear(x, torch.to(self.w, 6))";
  const Module module = scriptModule(source + "\n", weights);
  const std::vector<Inputs> steps{{at::randn({4, 16})}};
  EXPECT_EQ(referenceResults(module, steps, "").precision, Precision::kFp32);
  EXPECT_TRUE(verified(module, source + "\n", weights, steps).pass);
  EXPECT_FALSE(verified(module, source + " * 1.0005\n", weights, steps).pass);
}

}  // namespace
}  // namespace ipex_studio
