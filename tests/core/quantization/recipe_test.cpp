// Recipes and Intel's configuration files as text: round trips and refusals.
#include "core/quantization/recipe.h"

#include <gtest/gtest.h>

#include <cstdio>

#include "core/base/error.h"
#include "core/quantization/ipex_configuration.h"

namespace ipex_studio {
namespace {

Recipe sample() {
  Recipe recipe;
  recipe.samples = 12;
  recipe.observer.kind = ObserverKind::kKl;
  recipe.smooth_alpha = 0.5;
  recipe.quantized_tensors = true;
  recipe.values.push_back({"input:0", -2, 3, -1.9, 2.9, 0.02, 95, 1000, 0, 0, {0.1, -0.2}, {2, 3}});
  recipe.values.push_back({"layer1.relu:aten::relu#0", 0, 6, 0, 5.1, 0.02, 0, 500, 1, 2, {}, {}});
  recipe.nodes.push_back({"layer1.relu:aten::relu#0", "layer1.conv", "convolution", "int8", ""});
  recipe.nodes.push_back({"fc:aten::linear#0", "fc", "linear", "fp32", "slower when measured"});
  return recipe;
}

// Two convolutions and a linear layer in a row.
CalibrationPlan threeProducts() {
  CalibrationPlan plan;
  for (const char* key : {"input:0", "a:aten::conv2d#0", "b:aten::conv2d#0", "fc:aten::linear#0"})
    plan.points.push_back({key, true, 1});
  plan.candidates = {{"a:aten::conv2d#0", "a", "convolution", "int8", ""},
                     {"b:aten::conv2d#0", "b", "convolution", "int8", ""},
                     {"fc:aten::linear#0", "fc", "linear", "int8", ""}};
  plan.reads = {{0}, {1}, {2}};
  plan.writes = {1, 2, 3};
  return plan;
}

std::string messageOf(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& problem) {
    EXPECT_EQ(problem.code(), ExitCode::kUsage) << problem.what();
    return problem.what();
  }
  ADD_FAILURE() << "nothing was thrown";
  return "";
}

TEST(RecipeTest, TextKeepsEverything) {
  const Recipe back = recipeFromText(recipeToText(sample()));
  EXPECT_EQ(recipeToText(back), recipeToText(sample()));
  ASSERT_NE(back.value("input:0"), nullptr);
  EXPECT_EQ(back.value("input:0")->zero_point, 95);
  EXPECT_EQ(back.value("input:0")->channel_mean, (std::vector<double>{0.1, -0.2}));
  ASSERT_NE(back.node("fc:aten::linear#0"), nullptr);
  EXPECT_EQ(back.node("fc:aten::linear#0")->reason, "slower when measured");
}

TEST(RecipeTest, HostileTextsAreRefusedInOneSentence) {
  const std::string good = recipeToText(sample());
  const auto with = [&](const std::string& from, const std::string& to) {
    std::string text = good;
    const auto at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    return text.replace(at, from.size(), to);
  };
  const std::vector<std::string> bad = {"",
                                        "{",
                                        "[]",
                                        "null",
                                        "7",
                                        "{}",
                                        good.substr(0, good.size() / 2),
                                        std::string(5000, '['),
                                        with("\"version\":1", "\"version\":99"),
                                        with("\"zero_point\":95", "\"zero_point\":300"),
                                        with("\"zero_point\":95", "\"zero_point\":\"x\""),
                                        with("\"scale\":0.02", "\"scale\":0"),
                                        with("\"scale\":0.02", "\"scale\":null"),
                                        with("\"scale\":0.02", "\"scale\":1e-320"),
                                        with("\"scale\":0.02", "\"scale\":1e300"),
                                        with("\"int8\"", "\"int3\""),
                                        with("fc:aten::linear#0", "layer1.relu:aten::relu#0"),
                                        with("\"observer\":\"kl\"", "\"observer\":\"best\""),
                                        with("\"least\":-2.0", "\"least\":5e3"),
                                        with("\"smooth_alpha\":0.5", "\"smooth_alpha\":7")};
  for (const std::string& text : bad) {
    const std::string message = messageOf([&] { recipeFromText(text, "'r.json'"); });
    EXPECT_EQ(message.find('\n'), std::string::npos) << message;
    EXPECT_EQ(message.back(), '.') << message;
  }
}

TEST(RecipeTest, FilesRoundTripAndMissingOnesAreNamed) {
  const std::string path = std::string(::testing::TempDir()) + "recipe_test.json";
  writeRecipe(sample(), path);
  EXPECT_EQ(recipeToText(readRecipe(path)), recipeToText(sample()));
  std::remove(path.c_str());
  EXPECT_NE(messageOf([&] { readRecipe(path); }).find(path), std::string::npos);
}

TEST(RecipeTest, PrecisionsAreForcedByKey) {
  Recipe recipe = sample();
  forcePrecision(recipe, {"layer1.relu:aten::relu#0"}, "fp32", "sensitive");
  EXPECT_EQ(recipe.nodes[0].precision, "fp32");
  EXPECT_EQ(recipe.nodes[0].reason, "sensitive");
  messageOf([&] { forcePrecision(recipe, {"nobody"}, "fp32", ""); });
  messageOf([&] { forcePrecision(recipe, {"fc:aten::linear#0"}, "int4", ""); });
}

constexpr const char kDictionary[] = R"({" ": {"q_op_infos": {
  "0": {"op_type": "<class 'torch.nn.modules.conv.Conv2d'>", "fqn": "a",
        "input_tensor_infos": [{"id": 0, "orig_dtype": "torch.float32", "inf_dtype": "torch.quint8", "force_dtype": "torch.quint8",
                                "scale": [0.25], "zero_point": [114]}],
        "weight_tensor_infos": [{"orig_dtype": "torch.float32", "inf_dtype": "torch.qint8", "scale": [1, 2], "zero_point": [0, 0]}],
        "output_tensor_infos": []},
  "1": {"op_type": "<class 'torch.nn.modules.conv.Conv2d'>", "fqn": "b",
        "input_tensor_infos": [{"id": 1, "orig_dtype": "torch.float32", "inf_dtype": "torch.float32", "force_dtype": "torch.float32"}],
        "weight_tensor_infos": [], "output_tensor_infos": []},
  "2": {"op_type": "<class 'torch.nn.modules.linear.Linear'>", "fqn": "fc",
        "input_tensor_infos": [{"id": 2, "orig_dtype": "torch.float32", "inf_dtype": "torch.qint8", "force_dtype": "torch.qint8",
                                "scale": 0.5, "zero_point": -3}],
        "weight_tensor_infos": [], "output_tensor_infos": []}}, "nonq_op_infos": {}, "layer_output_infos": []}})";

TEST(IpexConfigurationTest, ReadsTheDictionary) {
  ASSERT_TRUE(looksLikeIpexConfiguration(kDictionary));
  const Recipe recipe = recipeFromIpexConfiguration(kDictionary, threeProducts(), {});
  EXPECT_EQ(recipe.nodes[0].precision, "int8");
  EXPECT_EQ(recipe.nodes[1].precision, "fp32");
  EXPECT_EQ(recipe.nodes[2].precision, "int8");
  ASSERT_NE(recipe.value("input:0"), nullptr);
  EXPECT_EQ(recipe.value("input:0")->scale, 0.25);
  EXPECT_EQ(recipe.value("input:0")->zero_point, 114);
  EXPECT_EQ(recipe.value("a:aten::conv2d#0"), nullptr);
  ASSERT_NE(recipe.value("b:aten::conv2d#0"), nullptr);
  EXPECT_EQ(recipe.value("b:aten::conv2d#0")->zero_point, 125) << "signed integers are moved by 128";
  // The scale survives the text form of our recipe.
  EXPECT_EQ(recipeFromText(recipeToText(recipe)).value("input:0")->scale, 0.25);
}

TEST(IpexConfigurationTest, ReadsTheListOfOldVersions) {
  const char* text = R"([
    {"id": 0, "name": "conv2d", "algorithm": "min_max", "weight_granularity": "per_channel", "input_scales": [0.125],
     "input_zero_points": [7], "output_scales": [0.5], "output_zero_points": [1], "input_quantized_dtypes": ["uint8"],
     "output_quantized_dtypes": ["uint8"], "inputs_quantized": [true], "outputs_quantized": [true]},
    {"id": 1, "name": "conv2d", "algorithm": "min_max", "weight_granularity": "per_channel", "input_scales": [1.0],
     "input_zero_points": [0], "inputs_quantized": [false], "outputs_quantized": [false]},
    {"id": 2, "name": "linear", "algorithm": "min_max", "weight_granularity": "per_channel", "input_scales": [0.75],
     "input_zero_points": [0], "inputs_quantized": [true], "outputs_quantized": [false]}])";
  ASSERT_TRUE(looksLikeIpexConfiguration(text));
  const Recipe recipe = recipeFromIpexConfiguration(text, threeProducts(), {});
  EXPECT_EQ(recipe.nodes[1].precision, "fp32");
  ASSERT_NE(recipe.value("input:0"), nullptr);
  EXPECT_EQ(recipe.value("input:0")->scale, 0.125);
  ASSERT_NE(recipe.value("a:aten::conv2d#0"), nullptr);
  EXPECT_EQ(recipe.value("a:aten::conv2d#0")->zero_point, 1);
}

class IpexFormTest : public testing::TestWithParam<IpexForm> {};

TEST_P(IpexFormTest, WhatIsWrittenIsReadBack) {
  const Recipe first = recipeFromIpexConfiguration(kDictionary, threeProducts(), {});
  const std::string text = ipexConfigurationText(first, threeProducts(), GetParam());
  ASSERT_TRUE(looksLikeIpexConfiguration(text));
  const Recipe second = recipeFromIpexConfiguration(text, threeProducts(), {});
  ASSERT_EQ(second.nodes.size(), first.nodes.size());
  for (std::size_t n = 0; n < first.nodes.size(); ++n) EXPECT_EQ(second.nodes[n].precision, first.nodes[n].precision);
  for (const RecipeValue& value : first.values) {
    ASSERT_NE(second.value(value.key), nullptr) << value.key;
    EXPECT_EQ(second.value(value.key)->scale, value.scale);
    EXPECT_EQ(second.value(value.key)->zero_point, value.zero_point);
  }
}

INSTANTIATE_TEST_SUITE_P(BothForms, IpexFormTest, testing::Values(IpexForm::kDictionary, IpexForm::kList));

TEST(IpexConfigurationTest, HostileAndForeignFilesAreRefused) {
  const std::string dictionary = kDictionary;
  const auto with = [&](const std::string& from, const std::string& to) {
    std::string text = dictionary;
    return text.replace(text.find(from), from.size(), to);
  };
  std::string foreign = dictionary;
  for (const char* name : {"\"fqn\": \"a\"", "\"fqn\": \"b\"", "\"fqn\": \"fc\""})
    foreign.replace(foreign.find(name), std::string(name).size(), "\"fqn\": \"zz\"");
  for (const std::string& text :
       {std::string(), std::string("{}"), std::string("[1]"), dictionary.substr(0, 300), foreign,
        with("[0.25]", "[-1]"), with("[114]", "[900]"),
        with("\"op_type\": \"<class 'torch.nn.modules.conv.Conv2d'>\"", "\"op_type\": 3"),
        std::string(R"([{"id": 0, "name": "conv2d", "inputs_quantized": [true], "input_scales": [1]}])")}) {
    const std::string message = messageOf([&] { recipeFromIpexConfiguration(text, threeProducts(), {}, "'c.json'"); });
    EXPECT_NE(message.find("'c.json'"), std::string::npos) << message;
  }
}

}  // namespace
}  // namespace ipex_studio
