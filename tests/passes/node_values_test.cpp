// What values hold: numbers, counterparts in the optimized model, FP64, pictures.
#include "passes/node_values.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "core/base/error.h"
#include "tests/core/graph/script_models.h"

namespace ipex_studio {
namespace {

using ::testing::HasSubstr;
using namespace testing;  // NOLINT: the fixture's names

ValueRecord valuesOf(const Module& module, const Inputs& inputs, const std::string& node) {
  const FrozenOriginal original(module, {});
  const OriginId origin = originNamed(original.table, node);
  Observer nobody;
  const OptimizedModel optimized = optimizeModel(module, inputs, {}, nobody);
  return nodeValues(original, optimized, inputs, {}, origin);
}

Module convolution() {
  return scriptModule("def forward(self, x):\n  return torch.relu(torch.conv2d(x, self.weight, None))\n",
                      {{"weight", at::ones({3, 3, 1, 1}) / 3}});
}

TEST(NodeValues, CountsEveryElement) {
  const Module module = scriptModule("def forward(self, x):\n  return torch.neg(x)\n");
  const float nan = std::numeric_limits<float>::quiet_NaN(), infinity = std::numeric_limits<float>::infinity();
  const ValueRecord record = valuesOf(module, {torch::tensor({1.F, 2.F, 0.F, -3.F, nan, infinity})}, "aten::neg");
  ASSERT_GE(record.forms.size(), 2U);
  const ValueForm& form = record.forms[0];
  EXPECT_EQ(form.form, "original");
  EXPECT_EQ(form.type, "6:float32");
  EXPECT_EQ(form.elements, 6);
  EXPECT_EQ(form.nans, 1);
  EXPECT_EQ(form.infinities, 1);
  EXPECT_EQ(form.zeros, 1);
  EXPECT_EQ(form.least, -2);
  EXPECT_EQ(form.greatest, 3);
  EXPECT_EQ(form.mean, 0);
  EXPECT_NEAR(form.deviation, std::sqrt(14.0 / 4), 1e-12);
  std::int64_t counted = 0;
  for (const std::int64_t count : form.histogram) counted += count;
  EXPECT_EQ(counted, 4);
}

TEST(NodeValues, ShowsWhatAFusedNodeGivesAndSaysSo) {
  const ValueRecord record = valuesOf(convolution(), {torch::rand({1, 3, 8, 8})}, "aten::conv2d");
  ASSERT_EQ(record.forms.size(), 3U);
  EXPECT_THAT(record.name, HasSubstr("relu"));
  EXPECT_THAT(record.remark, HasSubstr("at once"));
  EXPECT_EQ(record.origins.size(), 2U);
  EXPECT_EQ(record.forms[2].form, "fp64");
  ASSERT_EQ(record.differences.size(), 1U);
  EXPECT_LT(record.differences[0].accuracy.max_rel, 1e-5);
}

TEST(NodeValues, DrawsWhatLooksLikeAnImage) {
  at::Tensor image = torch::zeros({1, 3, 8, 8});
  image.select(3, 7).fill_(1);
  const ValueForm form = valuesOf(convolution(), {image}, "aten::relu").forms.at(0);
  ASSERT_EQ(form.width, 8);
  ASSERT_EQ(form.height, 8);
  ASSERT_EQ(form.colors, 3);
  EXPECT_EQ(form.picture.at(0), 0);
  EXPECT_EQ(form.picture.back(), 255);
  const Module many = scriptModule("def forward(self, x):\n  return torch.relu(x) + 1\n");
  const ValueForm tiles = valuesOf(many, {torch::rand({2, 40, 100, 50})}, "aten::relu").forms.at(0);
  EXPECT_EQ(tiles.height, 64);
  EXPECT_EQ(tiles.width, 32);
  EXPECT_EQ(tiles.colors, 1);
  EXPECT_TRUE(valuesOf(many, {torch::rand({5, 9})}, "aten::relu").forms.at(0).picture.empty());
}

TEST(NodeValues, NamesThatFitNoNodeAreRefused) {
  EXPECT_THROW(valuesOf(convolution(), {torch::rand({1, 3, 8, 8})}, "softmax"), Error);
  EXPECT_THROW(valuesOf(convolution(), {torch::rand({1, 3, 8, 8})}, "#99"), Error);
}

}  // namespace
}  // namespace ipex_studio
