// Whole networks, calibrated, quantized, run and exported, with numbers close to FP32.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <sstream>

#include "core/base/error.h"
#include "core/graph/fused_op.h"
#include "core/graph/reasons.h"
#include "core/model/model_memory.h"
#include "core/quantization/node_accuracy.h"
#include "core/quantization/quantized_value.h"
#include "core/quantization/weights.h"
#include "tests/core/quantization/models.h"

namespace ipex_studio {
namespace {

using torch::jit::Module;

std::vector<Inputs> images(int count) {
  std::vector<Inputs> data;
  for (int i = 0; i < count; ++i) data.push_back({imageBatch(static_cast<unsigned>(i) + 1)});
  return data;
}

std::vector<Inputs> tokens(int count) {
  std::vector<Inputs> data;
  for (int i = 0; i < count; ++i) data.push_back({tokenBatch(static_cast<unsigned>(i) + 1)});
  return data;
}

int integerResults(const OptimizedModel& model) {
  int count = 0;
  for (torch::jit::Node* node : model.rewritten.get_method("forward").graph()->nodes()) {
    const auto op = readFusedOp(node);
    count += op && op->spec.stringOr("result", "") == "u8" ? 1 : 0;
  }
  return count;
}

int integerProducts(const OptimizedModel& model) {
  int count = 0;
  for (torch::jit::Node* node : model.rewritten.get_method("forward").graph()->nodes()) {
    const auto op = readFusedOp(node);
    const auto weights = op && op->base.size() > 1 ? constantTensor(op->base[1]) : std::nullopt;
    count += weights && weights->scalar_type() == at::kChar ? 1 : 0;
  }
  return count;
}

struct Case {
  const char* name;
  Module (*network)();
  std::vector<Inputs> (*data)(int);
  int products;  // least number of products that compute in integers
  double least_sqnr;
};

class NetworkTest : public ::testing::TestWithParam<Case> {};

TEST_P(NetworkTest, IntegersComeCloseToFloats) {
  const Case& test = GetParam();
  Module network = test.network();
  const std::vector<Inputs> data = test.data(8);
  const Calibrated calibrated = calibrate(network, data);
  for (const int bits : {8, 7}) {
    OptimizedModel model = quantized(network, data[0], calibrated.recipe, nullptr, bits);
    EXPECT_EQ(integerProducts(model), test.products);
    const Inputs fresh = test.data(12).back();
    const at::Tensor reference = network.forward(fresh).toTensor();
    const at::Tensor result = model.module.forward(fresh).toTensor();
    EXPECT_GT(sqnrOf(result, reference), bits == 8 ? test.least_sqnr : test.least_sqnr - 5) << bits;
    EXPECT_GT(cosineOf(result, reference), 0.99) << bits;
  }
}

TEST_P(NetworkTest, PortableExportsGiveTheSameNumbers) {
  const Case& test = GetParam();
  Module network = test.network();
  const std::vector<Inputs> data = test.data(6);
  OptimizedModel model = quantized(network, data[0], calibrate(network, data).recipe);
  const at::Tensor result = model.module.forward(data[1]).toTensor();
  for (const ExportForm form : {ExportForm::kCompiled, ExportForm::kPortable}) {
    std::stringstream file;
    exportModule(model, file, form);
    Module loaded = torch::jit::load(file);
    // Sums of products of floats are not exact everywhere: a few values fall on the other side of a step.
    EXPECT_GT(sqnrOf(loaded.forward(data[1]).toTensor(), result), form == ExportForm::kCompiled ? 100 : 30);
  }
}

int constantsOf(const Module& module, at::ScalarType type) {
  int count = 0;
  for (torch::jit::Node* node : module.get_method("forward").graph()->nodes()) {
    const auto constant = node->outputs().empty() ? std::nullopt : constantTensor(node->output());
    count += constant && constant->dim() > 1 && constant->scalar_type() == type ? 1 : 0;
  }
  return count;
}

bool hasOurOperators(const Module& module) {
  const auto nodes = module.get_method("forward").graph()->nodes();
  return std::any_of(nodes.begin(), nodes.end(), [](const torch::jit::Node* node) {
    return std::string(node->kind().toQualString()).rfind("ipex_studio::", 0) == 0;
  });
}

// Results of a program without our library; weights keep their small size.
TEST_P(NetworkTest, PortableExportsHoldWoqWeightsForStockOperators) {
  const Case& test = GetParam();
  Module network = test.network();
  const std::vector<Inputs> data = test.data(6);
  OptimizeOptions how;
  how.precision = Precision::kBf16;
  Observer silent;
  OptimizedModel models[] = {optimizeModel(network, data[0], how, silent),
                             quantized(network, data[0], calibrate(network, data).recipe)};
  for (OptimizedModel& model : models) {
    const bool bf16 = &model == &models[0];
    std::stringstream file;
    exportModule(model, file, ExportForm::kPortable);
    Module loaded = torch::jit::load(file);
    EXPECT_FALSE(hasOurOperators(loaded));
    EXPECT_GE(constantsOf(loaded, bf16 ? at::kBFloat16 : at::kChar), bf16 ? 1 : test.products);
    const at::Tensor result = loaded.forward(data[1]).toTensor();
    EXPECT_EQ(result.scalar_type(), at::kFloat);
    EXPECT_GT(sqnrOf(result, model.module.forward(data[1]).toTensor()), 30);
    EXPECT_GT(cosineOf(result, network.forward(data[1]).toTensor()), bf16 ? 0.999 : 0.99);
  }
}

INSTANTIATE_TEST_SUITE_P(All, NetworkTest,
                         ::testing::Values(Case{"residual", residualNetwork, images, 5, 27},
                                           Case{"mobile", mobileNetwork, images, 7, 22},
                                           Case{"transformer", transformerNetwork, tokens, 4, 24}),
                         [](const auto& tested) { return tested.param.name; });

TEST(QuantizeTest, IntegersPassThroughPoolsSumsAndViews) {
  Module network = residualNetwork();
  const std::vector<Inputs> data = images(4);
  OptimizedModel model = quantized(network, data[0], calibrate(network, data).recipe);
  // The input once, and four convolutions; the pool between them moves integers.
  EXPECT_GE(integerResults(model), 5);
  for (torch::jit::Node* node : model.rewritten.get_method("forward").graph()->nodes()) {
    const auto op = readFusedOp(node);
    const bool integers = op && op->spec.stringOr("result", "") == "u8";
    const auto affine = op ? quantizationOf(node->output()) : std::nullopt;
    EXPECT_EQ(affine.has_value(), integers);
    EXPECT_GT(affine.value_or(AffineParameters{}).scale, 0);
  }
}

TEST(QuantizeTest, CalibrationIsFlatAndResumesExactly) {
  Module network = mobileNetwork();
  const std::vector<Inputs> data = images(9);
  OptimizeOptions how;
  how.calibrate = true;
  Observer silent;
  const OptimizedModel model = optimizeModel(network, data[0], how, silent);
  Calibrator whole(model.module, *model.calibration, {});
  for (const Inputs& inputs : data) whole.observe(inputs);
  std::string saved;
  {
    Calibrator first(model.module, *model.calibration, {});
    for (int i = 0; i < 4; ++i) first.observe(data[static_cast<std::size_t>(i)]);
    saved = first.state();
  }
  Calibrator second(model.module, *model.calibration, {});
  second.restore(saved);
  EXPECT_EQ(second.calls(), 4);
  for (std::size_t i = 4; i < data.size(); ++i) second.observe(data[i]);
  EXPECT_EQ(recipeToText(second.finish()), recipeToText(whole.finish()));
  EXPECT_LT(second.state().size(), saved.size() * 3);

  EXPECT_THROW(second.restore("{}"), Error);
  EXPECT_THROW(second.restore(saved.substr(0, saved.size() / 2)), Error);
  EXPECT_EQ(second.calls(), 9);
  const OptimizedModel other = optimizeModel(residualNetwork(), data[0], how, silent);
  Calibrator foreign(other.module, *other.calibration, {});
  EXPECT_THROW(foreign.restore(saved), Error);
}

TEST(QuantizeTest, RangesAreThoseOfTheValues) {
  Module network = residualNetwork();
  const std::vector<Inputs> data = images(3);
  CalibrationOptions options;
  options.observer.kind = ObserverKind::kMinMax;
  const Calibrated calibrated = calibrate(network, data, options);
  const RecipeValue* input = calibrated.recipe.value("input:0");
  ASSERT_NE(input, nullptr);
  double least = 0, greatest = 0;
  for (const Inputs& inputs : data) {
    least = std::min(least, inputs[0].toTensor().min().item<double>());
    greatest = std::max(greatest, inputs[0].toTensor().max().item<double>());
  }
  EXPECT_EQ(input->least, least);
  EXPECT_EQ(input->greatest, greatest);
  EXPECT_EQ(input->count, 3 * 2 * 3 * 16 * 16);
  ASSERT_EQ(input->channel_mean.size(), 3u);
}

TEST(QuantizeTest, BadSamplesAreRefusedAndChangeNothing) {
  Module network = residualNetwork();
  OptimizeOptions how;
  how.calibrate = true;
  Observer silent;
  const OptimizedModel model = optimizeModel(network, {imageBatch(1)}, how, silent);
  Calibrator calibrator(model.module, *model.calibration, {});
  EXPECT_THROW(calibrator.finish(), Error);
  calibrator.observe({imageBatch(1)});
  const std::string before = calibrator.state();
  at::Tensor bad = imageBatch(2);
  bad[0][0][0][0] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_THROW(calibrator.observe({bad}), Error);
  EXPECT_EQ(calibrator.state(), before);
}

TEST(QuantizeTest, TheRecipeDecidesAndEveryNodeLeftSaysWhy) {
  Module network = residualNetwork();
  const std::vector<Inputs> data = images(4);
  Recipe recipe = calibrate(network, data).recipe;
  std::vector<std::string> convolutions;
  for (const RecipeNode& node : recipe.nodes) {
    if (node.kind == "convolution") convolutions.push_back(node.key);
  }
  ASSERT_EQ(convolutions.size(), 4u);
  forcePrecision(recipe, {convolutions[1], convolutions[2]}, "fp32", "sensitive");
  RemarkLog log;
  OptimizedModel model = quantized(network, data[0], recipe, &log, 7);
  EXPECT_EQ(integerProducts(model), 3);
  const auto reasons = log.reasonsOf("insert-quantize");
  EXPECT_EQ(std::count(reasons.begin(), reasons.end(), reasons::kKeptByRecipe), 2);
  EXPECT_EQ(std::count(reasons.begin(), reasons.end(), reasons::kReducedRange), 1);
  EXPECT_GT(sqnrOf(model.module.forward(data[0]).toTensor(), network.forward(data[0]).toTensor()), 20);
  for (RecipeNode& node : recipe.nodes) node.precision = "fp32";
  EXPECT_EQ(integerResults(quantized(network, data[0], recipe)), 0);
}

TEST(QuantizeTest, WhatPeopleDecideStandsAboveTheRecipe) {
  Module network = residualNetwork();
  const std::vector<Inputs> data = images(2);
  OptimizeOptions how;
  how.precision = Precision::kInt8;
  how.quantization_recipe = recipeToText(calibrate(network, data).recipe);
  how.precision_overrides = {"kind:convolution=fp32"};
  RemarkLog log;
  const OptimizedModel model = optimizeModel(network, data[0], how, log);
  EXPECT_EQ(integerProducts(model), 1);
  const auto reasons = log.reasonsOf("insert-quantize");
  EXPECT_EQ(std::count(reasons.begin(), reasons.end(), reasons::kDecided), 4);
}

TEST(QuantizeTest, WhatIsReleasedIsFreed) {
  Module network = residualNetwork();
  const std::vector<Inputs> data = images(2);
  const Recipe recipe = calibrate(network, data).recipe;
  std::vector<c10::weak_intrusive_ptr<c10::TensorImpl>> weights;
  {
    OptimizedModel model = quantized(network, data[0], recipe);
    model.module.forward(data[0]);
    for (torch::jit::Node* node : model.rewritten.get_method("forward").graph()->nodes()) {
      const auto op = readFusedOp(node);
      const auto constant = op && op->base.size() > 1 ? constantTensor(op->base[1]) : std::nullopt;
      if (constant && constant->scalar_type() == at::kChar) weights.emplace_back(constant->getIntrusivePtr());
    }
    releaseMethods(model.module);
    releaseMethods(model.rewritten);
  }
  ASSERT_EQ(weights.size(), 5u);
  for (const auto& each : weights) EXPECT_TRUE(each.expired());
  EXPECT_NO_THROW(quantized(network, data[0], recipe).module.forward(data[0]));
}

TEST(QuantizeTest, RecipesOfOtherModelsAreRefused) {
  const std::vector<Inputs> data = images(2);
  Recipe recipe = calibrate(residualNetwork(), data).recipe;
  for (RecipeNode& node : recipe.nodes) node.key = "elsewhere." + node.key;
  EXPECT_THROW(quantized(residualNetwork(), data[0], recipe), Error);
  OptimizeOptions how;
  how.precision = Precision::kInt8;
  Observer silent;
  EXPECT_THROW(optimizeModel(residualNetwork(), data[0], how, silent), Error);
}

TEST(QuantizeTest, UncalibratedProductsStay) {
  const std::vector<Inputs> data = images(2);
  Recipe recipe = calibrate(residualNetwork(), data).recipe;
  recipe.values.erase(recipe.values.begin());
  RemarkLog log;
  quantized(residualNetwork(), data[0], recipe, &log);
  const auto reasons = log.reasonsOf("insert-quantize");
  EXPECT_GE(std::count(reasons.begin(), reasons.end(), reasons::kNotCalibrated), 1);
}

TEST(QuantizeTest, OtherBatchesRunOnTheSamePlan) {
  Module network = mobileNetwork();
  const std::vector<Inputs> data = images(4);
  OptimizedModel model = quantized(network, data[0], calibrate(network, data).recipe);
  const at::Tensor wide = at::cat({data[0][0].toTensor(), data[1][0].toTensor(), data[2][0].toTensor()});
  EXPECT_GT(cosineOf(model.module.forward({wide}).toTensor(), network.forward({wide}).toTensor()), 0.99);
}

TEST(QuantizeTest, SmoothingHelpsWhereAChannelDwarfsTheOthers) {
  Module network = transformerNetwork();
  const std::vector<Inputs> data = tokens(8);
  CalibrationOptions plain, smooth;
  plain.smooth_alpha = 0;
  smooth.smooth_alpha = 0.5;
  const Inputs fresh = tokens(12).back();
  const at::Tensor reference = network.forward(fresh).toTensor();
  OptimizedModel without = quantized(network, data[0], calibrate(network, data, plain).recipe);
  OptimizedModel with = quantized(network, data[0], calibrate(network, data, smooth).recipe);
  EXPECT_GT(sqnrOf(with.module.forward(fresh).toTensor(), reference),
            sqnrOf(without.module.forward(fresh).toTensor(), reference));
}

TEST(QuantizeTest, WeightsRoundWithinHalfAStepWhereTheyAreNotClipped) {
  torch::manual_seed(1);
  const at::Tensor weights = at::randn({8, 4, 3, 3});
  weights[3].zero_();
  for (const int bits : {8, 7}) {
    const QuantizedWeights made = quantizeWeights(weights, bits);
    EXPECT_LE(made.integers.abs().max().item<int>(), bits == 8 ? 127 : 63);
    const at::Tensor scales = made.scales.reshape({8, 1, 1, 1});
    const at::Tensor error = (made.integers.to(at::kFloat) * scales - weights).abs();
    EXPECT_LE((error / scales).median().item<double>(), 0.5);
    EXPECT_EQ(error[3].max().item<double>(), 0);
  }
}

TEST(QuantizeTest, BiasShiftIsWhatRoundingDoesToTheMean) {
  torch::manual_seed(2);
  const at::Tensor weights = at::randn({6, 2, 1, 1}), x = at::randn({1, 4, 50, 50}) + 1;
  const QuantizedWeights made = quantizeWeights(weights, 7);
  const at::Tensor restored = made.integers.to(at::kFloat) * made.scales.reshape({6, 1, 1, 1});
  const at::Tensor mean = x.mean({0, 2, 3}).to(at::kDouble);
  const std::vector<double> means(mean.data_ptr<double>(), mean.data_ptr<double>() + 4);
  const at::Tensor shift = biasShift(weights, made, means, 2);
  const at::Tensor exact =
      at::conv2d(x, weights - restored, {}, at::IntArrayRef{1, 1}, at::IntArrayRef{0, 0}, at::IntArrayRef{1, 1}, 2)
          .mean({0, 2, 3});
  EXPECT_LT((shift - exact).abs().max().item<double>(), 1e-5);
}

// Weights that were rounded are found again after a factor per channel, as folding multiplies them.
TEST(QuantizeTest, WeightsThatWereRoundedAreFoundAgain) {
  torch::manual_seed(3);
  const at::Tensor integers = at::randint(-128, 128, {16, 8, 3, 3}).to(at::kFloat);
  const at::Tensor scales = at::rand({16, 1, 1, 1}) * 0.01 + 0.001, factors = at::rand({16, 1, 1, 1}) + 0.5;
  const at::Tensor weights = integers * scales * factors;
  const auto found = weightsOnGrid(weights);
  ASSERT_TRUE(found);
  const at::Tensor restored = found->integers.to(at::kFloat) * found->scales.reshape({16, 1, 1, 1});
  EXPECT_LT((restored - weights).abs().max().item<double>(), 1e-5 * weights.abs().max().item<double>());
  EXPECT_FALSE(weightsOnGrid(at::randn({16, 8, 3, 3})));
  EXPECT_FALSE(weightsOnGrid(at::full({2, 4}, std::numeric_limits<float>::quiet_NaN())));
  EXPECT_TRUE(weightsOnGrid(at::zeros({2, 4})));
}

TEST(QuantizeTest, EachOperationIsComparedAloneAndTogether) {
  Module network = residualNetwork();
  const std::vector<Inputs> data = images(4);
  OptimizedModel model = quantized(network, data[0], calibrate(network, data).recipe);
  const auto records = nodeAccuracy(freezeForPasses(network, {}), model.rewritten, model.rewritten_origins, data[0]);
  int alone = 0, together = 0;
  double worst_alone = 999, worst_together = 999;
  for (const AccuracyRecord& record : records) {
    EXPECT_FALSE(record.origins.empty());
    EXPECT_GT(record.cosine, 0.99) << record.reference;
    const bool is_alone = record.reference == "fp32, alone";
    (is_alone ? alone : together) += 1;
    double& worst = is_alone ? worst_alone : worst_together;
    worst = std::min(worst, record.sqnr_db);
  }
  EXPECT_GE(alone, 5);
  EXPECT_GE(together, 5);
  EXPECT_GT(worst_alone, 25);
  EXPECT_LE(worst_together, worst_alone + 1);
}

TEST(QuantizeTest, LinearLayersNeedNoCalibration) {
  Module network = transformerNetwork();
  const std::vector<Inputs> data = tokens(3);
  for (const QuantizationMode mode : {QuantizationMode::kDynamic, QuantizationMode::kWeightOnly}) {
    Recipe recipe;
    recipe.mode = mode;
    OptimizedModel model = quantized(network, data[0], recipe);
    EXPECT_GE(integerProducts(model), 3);
    const at::Tensor reference = network.forward(data[1]).toTensor();
    EXPECT_GT(sqnrOf(model.module.forward(data[1]).toTensor(), reference), 28);
    std::stringstream file;
    exportModule(model, file, ExportForm::kCompiled);
    EXPECT_GT(sqnrOf(torch::jit::load(file).forward(data[1]).toTensor(), reference), 28);
  }
}

}  // namespace
}  // namespace ipex_studio
