// Operation specs as text: printed text reads back, and damaged text is refused in one sentence.
#include <gtest/gtest.h>

#include <set>

#include "core/base/error.h"
#include "tests/core/op/random_spec.h"

namespace ipex_studio {
namespace {

TEST(OpSpec, PrintsSortedAndReadsBack) {
  OpSpec spec;
  spec.kind = OpKind::kConvolution;
  spec.attributes["stride"] = std::vector<std::int64_t>{2, 2};
  spec.attributes["groups"] = std::int64_t{1};
  spec.attributes["eps"] = 1e-5;
  spec.post_ops = {binaryPostOp(PostOpKind::kAdd, 0), unaryPostOp(PostOpKind::kClip, 0, 6),
                   binaryPostOp(PostOpKind::kSub, 1, 0.5), unaryPostOp(PostOpKind::kRelu)};
  EXPECT_EQ(spec.text(), "convolution{eps=1e-05,groups=1,stride=[2,2]}|add(0)|clip(0.0,6.0)|sub(1,0.5)|relu");
  EXPECT_TRUE(parseOpSpec(spec.text()) == spec);
}

TEST(OpSpec, ReadsEveryKindAndPostOp) {
  for (int kind = 0; kind <= static_cast<int>(OpKind::kCast); ++kind) {
    OpSpec spec;
    spec.kind = static_cast<OpKind>(kind);
    EXPECT_TRUE(parseOpSpec(spec.text()) == spec) << spec.text();
  }
  for (int kind = 0; kind <= static_cast<int>(PostOpKind::kMin); ++kind) {
    OpSpec spec;
    const auto post = static_cast<PostOpKind>(kind);
    spec.post_ops = {isBinary(post) ? binaryPostOp(post, 3) : unaryPostOp(post)};
    EXPECT_TRUE(parseOpSpec(spec.text()) == spec) << spec.text();
  }
}

// Files of version 0.1.0 use other names for two kinds.
TEST(OpSpec, ReadsFormerNames) {
  EXPECT_EQ(parseOpSpec("extremum{axis=1,mode=max}").text(), "max_min{axis=1,mode=max}");
  EXPECT_EQ(parseOpSpec("expand_depthwise{padding=[1,1]}|relu").text(), "pointwise_depthwise{padding=[1,1]}|relu");
}

TEST(OpKinds, EveryNameIsItsOwn) {
  std::set<std::string> names;
  for (int kind = 0; kind < kOpKindCount; ++kind) {
    const OpKindRow& row = opKindRow(static_cast<OpKind>(kind));
    EXPECT_TRUE(names.insert(row.name).second) << row.name;
    EXPECT_TRUE(row.former_name == nullptr || names.insert(row.former_name).second) << row.name;
    EXPECT_EQ(row.is_view, row.batch == BatchRule::kView) << row.name;
    EXPECT_TRUE(row.base_sources < 0 || row.absent_sources >> row.base_sources == 0) << row.name;
    OpKind read;
    ASSERT_TRUE(opKindFromName(row.name, &read));
    EXPECT_EQ(read, row.kind);
  }
}

TEST(OpSpec, RandomSpecsReadBack) {
  testing::Random random(1);
  for (int i = 0; i < 2000; ++i) {
    const OpSpec spec = testing::randomSpec(random);
    ASSERT_TRUE(parseOpSpec(spec.text()) == spec) << spec.text();
  }
}

TEST(OpSpec, RefusesDamagedText) {
  for (const char* text :
       {"", "conv{}", "convolution", "convolution{", "convolution{stride}", "convolution{stride=}", "convolution{,}",
        "convolution{a=1,a=2}", "convolution{a=[1,]}", "convolution{a=[1.5]}", "convolution{}x", "convolution{}|",
        "convolution{}|bogus", "convolution{}|add", "convolution{}|add(-1)", "convolution{}|add(64)",
        "convolution{}|clip(1)", "convolution{}|relu(1)", "convolution{a=99999999999999999999}"}) {
    try {
      parseOpSpec(text);
      ADD_FAILURE() << "'" << text << "' was read";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ExitCode::kBadModel) << text;
    }
  }
  EXPECT_THROW(parseOpSpec("pointwise{a=" + std::string(1 << 17, 'x') + "}"), Error);
  std::string many = "pointwise{}";
  for (int p = 0; p < 65; ++p) many += "|relu";
  EXPECT_THROW(parseOpSpec(many), Error);
}

TEST(OpSpec, MutationsNeverCrash) {
  testing::Random random(2);
  int refused = 0;
  const int count = 2000 * testing::campaignFactor();
  for (int i = 0; i < count; ++i) {
    const std::string text = testing::mutated(testing::randomSpec(random).text(), random);
    try {
      const OpSpec spec = parseOpSpec(text);
      const OpSpec again = parseOpSpec(spec.text());
      ASSERT_EQ(again.text(), spec.text()) << text;  // NaN attributes are equal as text only
    } catch (const Error&) {
      ++refused;
    }
  }
  EXPECT_GT(refused, count / 4);
}

}  // namespace
}  // namespace ipex_studio
