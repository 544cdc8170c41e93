// Verification: the results it accepts and refuses, and its reference.
#include "core/verify/verify.h"

#include <gtest/gtest.h>

#include <limits>

#include "tests/core/graph/script_models.h"

namespace ipex_studio {
namespace {

using namespace testing;  // NOLINT: the fixture's names

AccuracyRecord worst(const IValue& actual, const IValue& expected) {
  return compareOutputs(actual, expected, nullptr)[0];
}

IValue tuple(std::vector<IValue> values) { return c10::ivalue::Tuple::create(std::move(values)); }

TEST(Verify, AcceptsRoundingOnly) {
  const at::Tensor x = at::randn({100});
  EXPECT_TRUE(worst(x, x).pass);
  EXPECT_TRUE(worst(x + x.abs().max() * 9e-5, x).pass);
  EXPECT_FALSE(worst(x + x.abs().max() * 1.2e-4, x).pass);
  EXPECT_TRUE(worst(at::zeros({0}), at::zeros({0})).pass);
  EXPECT_EQ(worst(x, x).output, -1);
}

TEST(Verify, RefusesOtherKindsOfResults) {
  const at::Tensor x = at::randn({4});
  EXPECT_FALSE(worst(x.reshape({2, 2}), x).pass);
  EXPECT_FALSE(worst(x.to(at::kDouble), x).pass);
  EXPECT_FALSE(worst(tuple({x}), tuple({x, x})).pass);
  EXPECT_FALSE(worst(tuple({x, x + 1}), tuple({x, x})).pass);
  EXPECT_FALSE(worst(at::arange(4), at::arange(4) + 1).pass);
  EXPECT_TRUE(worst(at::arange(4), at::arange(4)).pass);
  EXPECT_FALSE(worst(tuple({x, 3}), tuple({x, 4})).pass);
  EXPECT_FALSE(worst(tuple({x, true}), tuple({x, false})).pass);
  EXPECT_TRUE(worst(tuple({x, 3, 0.5, false}), tuple({x, 3, 0.5, false})).pass);
}

// Integers that are equal say so, and do not hide how far the values beside them are off.
TEST(Verify, IntegersBesideFloats) {
  const at::Tensor x = at::tensor({1.0f, 2.0f, 3.0f}), ids = at::arange(3), flags = at::tensor({1, 0}).to(at::kBool);
  const auto records = compareOutputs(tuple({ids, x + 1e-5, flags}), tuple({ids, x, flags}), nullptr);
  ASSERT_EQ(records.size(), 4u);
  for (const AccuracyRecord& record : records) EXPECT_TRUE(record.pass) << record.text;
  for (const int o : {1, 3}) {
    EXPECT_EQ(records[o].sqnr_db, kSqnrOfEqual);
    EXPECT_EQ(records[o].text, "equal");
  }
  EXPECT_GT(records[0].max_abs, 9e-6);
  EXPECT_LT(records[0].sqnr_db, 120);
  const AccuracyRecord wrong = worst(tuple({ids + at::tensor({0, 0, 7}), x}), tuple({ids, x}));
  EXPECT_FALSE(wrong.pass);
  EXPECT_EQ(wrong.max_abs, 7);
  EXPECT_EQ(wrong.text, "1 of 3 integers differ from the model's, by up to 7");
  EXPECT_EQ(worst(at::ones({2}, at::kBool), flags).text, "1 of 2 booleans differ from the model's, by up to 1");
}

TEST(Verify, ComplexNumbers) {
  const at::Tensor x = at::complex(at::randn({8}), at::randn({8}));
  EXPECT_TRUE(worst(x * (1 + 1e-6), x).pass);
  EXPECT_FALSE(worst(x * 1.01, x).pass);
  EXPECT_FALSE(worst(x.conj().resolve_conj(), x).pass);
}

TEST(Verify, NotANumber) {
  const double nan = std::numeric_limits<double>::quiet_NaN(), infinity = std::numeric_limits<double>::infinity();
  const at::Tensor special = at::tensor({1.0, nan, infinity, -infinity});
  EXPECT_TRUE(worst(special, special).pass);
  EXPECT_FALSE(worst(special, at::tensor({1.0, 2.0, infinity, -infinity})).pass);
  EXPECT_FALSE(worst(at::tensor({1.0, 2.0}), at::tensor({1.0, nan})).pass);
  EXPECT_FALSE(worst(at::tensor({1.0, infinity}), at::tensor({1.0, -infinity})).pass);
}

// A detector of boxes with equal scores selects others when a weight changes in its last bit; so may the candidate.
TEST(Verify, SelectionsBetweenEqualValues) {
  const std::string code =
      "def forward(self, x):\n"
      "    scores = torch.sigmoid(torch.linear(x, self.w)).flatten()\n"
      "    best, places = torch.topk(scores, 3)\n"
      "    return torch.index(self.boxes, [places]), best, places\n";
  const at::Tensor row = at::linspace(-1, 1.02, 64).unsqueeze(0), boxes = at::arange(32, at::kFloat).reshape({8, 4});
  const std::string reversed =
      "def forward(self, x):\n"
      "    scores = torch.sigmoid(torch.linear(x, self.w)).flatten()\n"
      "    best, places = torch.topk(torch.flip(scores, [0]) * 1.0000001, 3)\n"
      "    return torch.index(self.boxes, [7 - places])@, best, 7 - places\n";
  const auto verdict = [&](const at::Tensor& w, const std::string& wrong) {
    const Module original = scriptModule(code, {{"w", w}, {"boxes", boxes}});
    std::string other = reversed;
    other.replace(other.find('@'), 1, wrong);
    Module candidate = scriptModule(other, {{"w", w}, {"boxes", boxes}});
    return verifyModule(original, candidate, {Inputs{at::ones({1, 64})}}, "")[0];
  };
  const at::Tensor ties = row.expand({8, 64}).contiguous();
  const AccuracyRecord tied = verdict(ties, "");
  EXPECT_TRUE(tied.pass) << tied.text;
  EXPECT_NE(tied.text.find("when its weights change in the last bits"), std::string::npos) << tied.text;
  EXPECT_FALSE(verdict(ties, " + 100.0").pass);
  EXPECT_FALSE(verdict(ties, " / 0.0").pass);
  // Scores that are apart leave one selection.
  const at::Tensor apart = ties * (at::arange(8, at::kFloat) + 1).unsqueeze(1) * 0.01;
  EXPECT_TRUE(verdict(apart, "").pass);
  EXPECT_FALSE(verdict(apart, " - 4.0").pass);
}

TEST(Verify, ReferenceIsDoublePrecisionWherePossible) {
  const auto reference = [](const Module& module, const Inputs& inputs) {
    Module candidate = module.deepcopy();
    const std::vector<AccuracyRecord> records = verifyModule(module, candidate, {inputs}, "");
    EXPECT_TRUE(records[0].pass) << records[0].text;
    return records[0].reference;
  };
  const at::Tensor x = at::randn({4, 8});
  EXPECT_EQ(
      reference(scriptModule("def forward(self, x):\n    return torch.softmax(torch.linear(x, self.w), -1).mean([1])\n",
                             {{"w", weight({8, 8})}}),
                {x}),
      "fp64");
  EXPECT_EQ(reference(scriptModule(
                          "def forward(self, x):\n    return torch.sum(x, [0], dtype=6) + torch.zeros([8], dtype=6)\n"),
                      {x}),
            "fp64");
  EXPECT_EQ(reference(scriptModule("def forward(self, x):\n    return {'twice': x * 2, 'both': torch.relu(x)}\n"), {x}),
            "fp64");
  EXPECT_EQ(reference(scriptModule("def forward(self, x):\n    return torch.ones([3]), x * 2\n"), {x}), "eager");
  // Indices are not converted.
  EXPECT_EQ(reference(scriptModule("def forward(self, x):\n    return torch.index_select(x, 0, self.rows)\n", {},
                                   {{"rows", at::tensor({2, 0})}}),
                      {x}),
            "fp64");
}

TEST(Verify, ViewsAndWritesAmongResults) {
  const at::Tensor x = at::randn({2, 3});
  for (const char* source : {"def forward(self, x):\n    y = torch.relu(x)\n    return y, y.t(), y[0], y.view([-1])\n",
                             "def forward(self, x):\n    x.mul_(2)\n    return x, x + 1\n"}) {
    const Module module = scriptModule(source);
    Module candidate = module.deepcopy();
    const at::Tensor given = x.clone();
    for (const AccuracyRecord& record : verifyModule(module, candidate, {{given}}, ""))
      EXPECT_TRUE(record.pass) << record.text;
    EXPECT_TRUE(at::equal(given, x));
  }
}

TEST(Verify, TheCosineThatIsNeededCanBeChosen) {
  const at::Tensor reference = at::tensor({3.0f, 4.0f}), result = at::tensor({4.0f, 3.0f});  // 0.96
  const auto passes = [&](const AccuracyRule& rule) { return compareOutputs(result, reference, nullptr, rule)[0]; };
  EXPECT_FALSE(passes(Precision::kInt8).pass);
  EXPECT_FALSE(passes({Precision::kInt8, 0.97}).pass);
  EXPECT_TRUE(passes({Precision::kInt8, 0.95}).pass);
  EXPECT_TRUE(passes({Precision::kBf16, 0.95}).pass);
  EXPECT_FALSE(passes({Precision::kFp32, 0.95}).pass);
  EXPECT_NE(passes({Precision::kInt8, 0.95}).text.find("0.95 was asked for"), std::string::npos);
  EXPECT_NE(passes(Precision::kInt8).text.find("0.99 is needed"), std::string::npos);
}

TEST(Verify, FindsAWrongCandidate) {
  const Module module = scriptModule("def forward(self, x):\n    return torch.relu(x), x + 1\n");
  Module wrong = scriptModule("def forward(self, x):\n    return torch.relu(x), x + 1.01\n");
  const std::vector<AccuracyRecord> records = verifyModule(module, wrong, {{at::randn({3})}}, "");
  EXPECT_FALSE(records[0].pass);
  ASSERT_EQ(records.size(), 3u);
  EXPECT_TRUE(records[1].pass);
  EXPECT_FALSE(records[2].pass);
}

}  // namespace
// A cosine that was asked for is widened too, and never turns into the precision's own rule.
TEST(Verify, AnAllowanceWidensTheCosineThatIsNeeded) {
  EXPECT_NEAR((AccuracyRule{Precision::kInt8}.withAllowance(4).leastCosine()), 0.96, 1e-12);
  EXPECT_NEAR((AccuracyRule{Precision::kBf16, 0.9}.withAllowance(4).leastCosine()), 0.6, 1e-12);
  EXPECT_LT((AccuracyRule{Precision::kInt8, 0.5}.withAllowance(4).leastCosine()), 1e-300);
  EXPECT_EQ((AccuracyRule{}.withAllowance(4).min_cosine), 0);
}

}  // namespace ipex_studio
