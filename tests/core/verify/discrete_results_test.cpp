// Results that jump: either side of a near jump is right, nothing else is.
#include "core/verify/discrete_results.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/core/graph/script_models.h"

namespace ipex_studio {
namespace {

using namespace testing;  // NOLINT: the fixture's names
using ::testing::HasSubstr;

// Verifies a candidate that computes something else than the model.
AccuracyRecord verified(const std::string& model, const std::string& candidate, const at::Tensor& x,
                        const AccuracyRule& rule = {}) {
  const auto module = [](const std::string& body) { return scriptModule("def forward(self, x):\n    " + body + "\n"); };
  const Module original = module(model);
  Module other = module(candidate);
  return verifyModule(original, other, {{x}}, "", rule)[0];
}

// The second of four values lies on a half, as far as FP32 can tell.
at::Tensor onAHalf() { return at::tensor({0.25f, 0.5f, 100.0f, 201.25f}); }

TEST(DiscreteResults, AHalfMayFallEitherWay) {
  for (const std::string to : {"torch.to(torch.round(x * 1.0), 0)", "torch.round(x * 1.0)",
                               "torch.reshape(torch.to(torch.clamp(torch.round(x * 1.0), 0, 255), 4), [2, 2])"}) {
    std::string off = to;
    const AccuracyRecord same = verified("return " + to, "return " + to, onAHalf());
    EXPECT_TRUE(same.pass) << same.text;
    off.replace(off.find("1.0"), 3, "1.000001");  // 0.5 → 1 instead of 0
    const AccuracyRecord right = verified("return " + to, "return " + off, onAHalf());
    EXPECT_TRUE(right.pass) << right.text;
    EXPECT_EQ(right.max_abs, 1);
    EXPECT_THAT(right.text, HasSubstr("1 of 4 values differ, each where"));
    off.replace(off.find("1.000001"), 8, "1.01");
    const AccuracyRecord wrong = verified("return " + to, "return " + off, onAHalf());
    EXPECT_FALSE(wrong.pass) << to;
  }
}

// One step is right where a value is near it, and nowhere else.
TEST(DiscreteResults, OneStepIsNotRightEverywhere) {
  const std::string to = "return torch.to(torch.round(x), 3)";
  const AccuracyRecord other = verified(to, "return torch.to(torch.round(x), 3) + torch.to(x == 100.0, 3)", onAHalf());
  EXPECT_FALSE(other.pass);
  EXPECT_THAT(other.text,
              HasSubstr("1 of 4 integers differ from the model's, by up to 1; 1 of them do not lie within"));
  EXPECT_FALSE(verified(to, "return torch.to(torch.round(x), 3) + 2 * torch.to(x == 0.5, 3)", onAHalf()).pass);
}

TEST(DiscreteResults, BytesThatWrapAround) {
  const at::Tensor x = at::tensor({255.99999f, 17.5f});
  const std::string to = "return torch.to(x * 1.0, 0)";
  EXPECT_TRUE(verified(to, "return torch.to(x * 1.000001, 0)", x).pass);
  EXPECT_FALSE(verified(to, "return torch.to(x * 1.0, 0) + torch.to(x > 255.0, 0) * 100", x).pass);
}

TEST(DiscreteResults, Comparisons) {
  const std::string above = "return torch.gt(x * 1.0, 0.5)";
  EXPECT_TRUE(verified(above, "return torch.gt(x * 1.000001, 0.5)", onAHalf()).pass);
  EXPECT_FALSE(verified(above, "return torch.gt(x, 0.2)", onAHalf()).pass);
}

// A jump that something writes behind, or whose value is written to, excuses nothing.
TEST(DiscreteResults, WritesBetweenValueAndResult) {
  const std::string source =
      "y = x * 1.0\n    z = torch.round(y)\n    z.add_(1)\n    return torch.to(z, 3), torch.to(torch.round_(y), 3)";
  std::string off = source;
  off.replace(off.find("1.0"), 3, "1.000001");
  EXPECT_FALSE(verified(source, off, onAHalf()).pass);
  EXPECT_TRUE(
      verified("y = x * 1.0\n    return torch.round_(y)", "y = x * 1.000001\n    return torch.round_(y)", onAHalf())
          .pass);
}

TEST(DiscreteResults, PlacesOfEqualValues) {
  const at::Tensor x = at::tensor({1.0f, 3.0f, 3.0f, 0.0f, 5.0f, 1.0f, 2.0f, 0.0f}).reshape({2, 4});
  const std::string tilt = "x + torch.arange(4) * 1e-6";  // the last of equal values becomes the greatest
  for (const std::string find : {"torch.argmax(%, 1)", "torch.argmax(%, 1, True)", "torch.max(%, 1)",
                                 "torch.topk(%, 2, 1)", "torch.sort(%, 1, True)", "torch.to(torch.argmax(%, -1), 3)"}) {
    const auto with = [&](const std::string& values) {
      std::string text = "return " + find;
      return text.replace(text.find('%'), 1, values);
    };
    const AccuracyRecord tie = verified(with("x"), with(tilt), x);
    EXPECT_TRUE(tie.pass) << find << tie.text;
    EXPECT_FALSE(verified(with("x"), with("x * -1.0"), x).pass) << find;
  }
  const AccuracyRecord tie = verified("return torch.argmax(x, 1)", "return torch.argmax(" + tilt + ", 1)", x);
  EXPECT_THAT(tie.text, HasSubstr("1 of 2 places differ"));
  EXPECT_THAT(tie.text, HasSubstr("tie"));
  // A place that comes twice is no order.
  const std::string order = "places = torch.argsort(x[0], 0, True)\n    return places";
  EXPECT_FALSE(verified(order, order + " - torch.to(places == 2, 4)", x).pass);
  EXPECT_FALSE(verified("return torch.argmax(x)", "return torch.argmax(x) + 100", x).pass);
}

// In lower precisions values are further off, and so are what counts as ties.
TEST(DiscreteResults, LowerPrecisions) {
  const at::Tensor x = at::tensor({1.0f, 3.0f, 3.005f, 0.0f, 5.0f, 1.0f, 2.0f, 0.0f}).reshape({2, 4});
  const std::string rounded = "torch.to(torch.to(x, 15), 6)";
  const std::string find = "return torch.argmax(x, 1)", low = "return torch.argmax(" + rounded + ", 1)";
  EXPECT_FALSE(verified(find, low, x).pass);
  EXPECT_TRUE(verified(find, low, x, Precision::kBf16).pass);
  EXPECT_FALSE(verified(find, "return torch.argmin(x, 1)", x, Precision::kBf16).pass);
  const at::Tensor pixels = at::rand({64}) * 255;
  const std::string bytes = "return torch.to(torch.round(%), 0)";
  const auto with = [&](const std::string& values) { return std::string(bytes).replace(bytes.find('%'), 1, values); };
  EXPECT_FALSE(verified(with("x"), with(rounded), pixels).pass);
  EXPECT_TRUE(verified(with("x"), with(rounded), pixels, Precision::kBf16).pass);
  EXPECT_FALSE(verified(with("x"), with("255 - x"), pixels, Precision::kBf16).pass);
}

// The model itself, optimized: fused sums differ in the last bit from those of libtorch.
TEST(DiscreteResults, OfAnOptimizedModel) {
  const Module module = scriptModule(R"(
def forward(self, x):
    y = torch.sigmoid(torch.conv2d(x, self.w, self.b, [1, 1], [1, 1], [1, 1], 1))
    return {"bytes": torch.to(torch.round(y * 255), 0), "best": torch.argmax(y, 1), "mask": torch.gt(y, 0.5)}
)",
                                     {{"w", weight({8, 3, 3, 3})}, {"b", weight({8})}});
  const at::Tensor x = at::rand({1, 3, 96, 96});
  OptimizedModel result = optimized(module, {x});
  for (const AccuracyRecord& record : verifyModule(module, result.module, {{x}, {x * 2}}, ""))
    EXPECT_TRUE(record.pass) << record.text;
}

}  // namespace
}  // namespace ipex_studio
