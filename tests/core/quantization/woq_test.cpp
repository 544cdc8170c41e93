// Weights in groups, tables with a scale per row, and layers that are equalized before calibration.
#include <gtest/gtest.h>

#include <sstream>

#include "core/base/error.h"
#include "core/export/woq_tensors.h"
#include "core/op/woq_weights.h"
#include "core/quantization/grouped_weights.h"
#include "core/quantization/node_accuracy.h"
#include "core/quantization/weights.h"
#include "tests/core/quantization/models.h"

namespace ipex_studio {
namespace {

using torch::jit::Module;

Module wordNetwork() {
  torch::manual_seed(11);
  Module module("Words");
  module.register_parameter("table", at::randn({500, 48}), false);
  module.register_parameter("up", at::randn({96, 48}) / 7, false);
  module.register_parameter("b", at::randn({96}), false);
  module.register_parameter("down", at::randn({500, 96}) / 10, false);
  module.define(R"(
def forward(self, ids):
    x = torch.embedding(self.table, ids)
    h = torch.gelu(torch.linear(x, self.up, self.b))
    return torch.linear(h, self.down)
)");
  module.eval();
  return module;
}

// A network whose channels differ a hundredfold in range, as batch normalization leaves them in depthwise networks.
Module unevenNetwork() {
  torch::manual_seed(12);
  Module module("Uneven");
  const at::Tensor reach = at::exp2(at::arange(16) * 0.6 - 4).reshape({16, 1, 1, 1});
  module.register_parameter("w0", at::randn({16, 3, 3, 3}) / 5 * reach, false);
  module.register_parameter("b0", at::randn({16}) / 5 * reach.flatten(), false);
  module.register_parameter("w1", at::randn({16, 1, 3, 3}) / 3 / reach * at::exp2(at::randn({16, 1, 1, 1})), false);
  module.register_parameter("b1", at::randn({16}) / 5, false);
  module.register_parameter("w2", at::randn({10, 16, 1, 1}) / 4, false);
  module.define(R"(
def forward(self, x):
    a = torch.relu(torch.conv2d(x, self.w0, self.b0, [1, 1], [1, 1]))
    d = torch.relu(torch.conv2d(a, self.w1, self.b1, [1, 1], [1, 1], [1, 1], 16))
    return torch.conv2d(d, self.w2).mean([2, 3])
)");
  module.eval();
  return module;
}

at::Tensor idBatch(unsigned seed) {
  torch::manual_seed(seed);
  return at::randint(0, 500, {1, 7});
}

at::Tensor savedAndLoaded(const OptimizedModel& model, ExportForm form, const at::Tensor& input) {
  std::stringstream file;
  exportModule(model, file, form);
  const torch::NoGradGuard no_grad;
  return torch::jit::load(file).forward({input}).toTensor();
}

TEST(WoqTest, GroupsOfWeightsComeBackWithinHalfAStep) {
  torch::manual_seed(1);
  const at::Tensor weights = at::randn({9, 77});
  for (const int bits : {8, 4}) {
    for (const std::int64_t group : {32, 64, 128}) {
      const GroupedWeights grouped = quantizeGroups(weights, bits, group);
      EXPECT_EQ(grouped.integers.size(1), bits == 4 ? nibbleRowBytes(77) : 77);
      const at::Tensor back = dequantizeGroups(grouped.integers, grouped.scales, bits, group, 77);
      EXPECT_GT(sqnrOf(back, weights), bits == 4 ? 18 : 40) << bits << " " << group;
      // Only clipped weights may be further off than half a step.
      const at::Tensor steps = grouped.scales.abs().repeat_interleave(group, 1).slice(1, 0, 77);
      const at::Tensor off = ((back - weights).abs() > steps * 0.501).to(at::kDouble);
      EXPECT_LT(off.mean().item<double>(), 0.05) << bits << " " << group;
    }
  }
}

TEST(WoqTest, LevelsAreKeptExactly) {
  torch::manual_seed(2);
  const at::Tensor levels = at::randint(-8, 8, {5, 64}).to(at::kFloat);
  levels.select(1, 3).fill_(-8);
  levels.select(1, 40).fill_(-8);
  const at::Tensor weights = levels * 0.125;
  const GroupedWeights grouped = quantizeGroups(weights, 4, 32);
  EXPECT_TRUE(dequantizeGroups(grouped.integers, grouped.scales, 4, 32, 64).equal(weights));
  const GroupedWeights none = quantizeGroups(at::zeros({2, 40}), 4, 32);
  EXPECT_TRUE(dequantizeGroups(none.integers, none.scales, 4, 32, 40).equal(at::zeros({2, 40})));
  EXPECT_THROW(dequantizeGroups(none.integers, none.scales, 4, 64, 40), Error);
  EXPECT_THROW(dequantizeGroups(none.integers, none.scales, 8, 32, 40), Error);
}

TEST(WoqTest, Nf4TakesTheNearestOfItsLevels) {
  torch::manual_seed(3);
  const at::Tensor weights = at::randn({9, 77});
  double even = 0, nf4 = 0;
  for (const std::int64_t group : {32, 64, 128}) {
    const GroupedWeights grouped = quantizeGroups(weights, 4, group, kNf4Levels);
    const at::Tensor back = dequantizeGroups(grouped.integers, grouped.scales, 4, group, 77, kNf4Levels);
    nf4 += sqnrOf(back, weights);
    const GroupedWeights whole = quantizeGroups(weights, 4, group);
    even += sqnrOf(dequantizeGroups(whole.integers, whole.scales, 4, group, 77), weights);
    const at::Tensor scales = grouped.scales.repeat_interleave(group, 1).slice(1, 0, 77);
    for (const float level : kNf4Levels)
      EXPECT_TRUE(((back - weights).abs() <= (level * scales - weights).abs() + 1e-6).all().item<bool>()) << level;
  }
  EXPECT_GT(nf4, even);  // normal weights are what these levels are made for
  const at::Tensor levels = at::tensor(c10::ArrayRef<float>(kNf4Levels)).repeat({3, 4});
  const GroupedWeights exact = quantizeGroups(levels * 0.25, 4, 32, kNf4Levels);
  EXPECT_TRUE(dequantizeGroups(exact.integers, exact.scales, 4, 32, 64, kNf4Levels).equal(levels * 0.25));
}

TEST(WoqTest, RowsOfTablesAreWithinHalfAStep) {
  torch::manual_seed(3);
  at::Tensor table = at::randn({40, 24});
  table[7].zero_();
  const at::Tensor rows = quantizeRows(table), back = dequantizeRows(rows);
  const at::Tensor steps = (table.amax(1) - table.amin(1)) / 255;
  EXPECT_TRUE(((back - table).abs() <= steps.reshape({40, 1}) * 0.501 + 1e-6).all().item<bool>());
  EXPECT_TRUE(back[7].equal(table[7]));
  EXPECT_THROW(dequantizeRows(table), Error);
}

TEST(WoqTest, LanguageModelsInEveryFormAndExport) {
  Module network = wordNetwork();
  const at::Tensor ids = idBatch(1), reference = network.forward({ids}).toTensor();
  struct Form {
    QuantizationMode mode;
    std::int32_t bits;
    std::int64_t group;
    double least_sqnr;
    const char* levels = "even";
  };
  for (const Form& form :
       {Form{QuantizationMode::kWeightOnly, 8, 0, 35}, Form{QuantizationMode::kWeightOnly, 8, 32, 38},
        Form{QuantizationMode::kWeightOnly, 4, 32, 15}, Form{QuantizationMode::kWeightOnly, 4, 32, 15, "nf4"},
        Form{QuantizationMode::kDynamic, 8, 0, 28}}) {
    Recipe recipe;
    recipe.mode = form.mode;
    recipe.weight_bits = form.bits;
    recipe.group = form.group;
    recipe.weight_levels = form.levels;
    RemarkLog log;
    OptimizedModel model = quantized(network, {ids}, recipe, &log);
    const at::Tensor result = model.module.forward({ids}).toTensor();
    EXPECT_GT(sqnrOf(result, reference), form.least_sqnr) << form.bits << " " << form.group << form.levels;
    EXPECT_GT(sqnrOf(savedAndLoaded(model, ExportForm::kCompiled, ids), result), 120);
    // Only our kernels round dynamically: a portable file computes with the same weights in FP32.
    EXPECT_GT(sqnrOf(savedAndLoaded(model, ExportForm::kPortable, ids), result),
              form.mode == QuantizationMode::kDynamic ? 28 : 100);
    int tables = 0;
    for (const Remark& remark : log.remarks)
      tables += remark.pass == "quantize-embeddings" && remark.kind == RemarkKind::kApplied ? 1 : 0;
    EXPECT_EQ(tables, 1);
  }
}

TEST(WoqTest, FourBitsMakeAFileOfAnEighth) {
  Module network = wordNetwork();
  const auto bytes = [&](const Recipe& recipe) {
    std::stringstream file;
    exportModule(quantized(network, {idBatch(1)}, recipe), file, ExportForm::kCompiled);
    return file.str().size();
  };
  Recipe eight, four;
  eight.mode = four.mode = QuantizationMode::kWeightOnly;
  four.weight_bits = 4;
  four.group = 128;
  EXPECT_LT(bytes(four) + 20000, bytes(eight));
}

TEST(WoqTest, LevelledLayersLoseLess) {
  Module network = unevenNetwork();
  std::vector<Inputs> data;
  for (unsigned i = 0; i < 4; ++i) data.push_back({imageBatch(i + 1)});
  const at::Tensor reference = network.forward(data[1]).toTensor();
  double sqnr[2] = {};
  for (const bool equalize : {false, true}) {
    OptimizeOptions how;
    how.calibrate = true;
    how.equalize = equalize;
    Observer silent;
    OptimizedModel calibrated = optimizeModel(network, data[0], how, silent);
    // Equal to FP32 up to rounding.
    EXPECT_GT(sqnrOf(calibrated.module.forward(data[1]).toTensor(), reference), 110);
    EXPECT_EQ(calibrated.divisors.empty(), !equalize);
    CalibrationOptions options;
    options.equalization = equalize;
    Calibrator calibrator(calibrated.module, *calibrated.calibration, options);
    for (const Inputs& inputs : data) calibrator.observe(inputs);
    const Recipe recipe = calibrator.finish();
    EXPECT_EQ(recipe.equalization, equalize);
    OptimizedModel model = quantized(network, data[0], recipe);
    sqnr[equalize ? 1 : 0] = sqnrOf(model.module.forward(data[1]).toTensor(), reference);
    // Values that were scaled on purpose are compared as they are meant.
    for (const AccuracyRecord& record : nodeAccuracy(freezeForPasses(network, {}), model.rewritten,
                                                     model.rewritten_origins, data[0], model.divisors)) {
      const double least = equalize ? 0.97 : 0;
      EXPECT_GT(record.cosine, least) << record.reference;
    }
  }
  RecordProperty("plain_db", std::to_string(sqnr[0]));
  RecordProperty("levelled_db", std::to_string(sqnr[1]));
  EXPECT_GT(sqnr[1], sqnr[0] + 3) << sqnr[0];
}

}  // namespace
}  // namespace ipex_studio
