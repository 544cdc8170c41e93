// Recipe: the result of a calibration, with the operations of a model that are INT8 and their ranges. JSON text; it
// enters optimizeModel as OptimizeOptions::quantization_recipe. Knows no libtorch. Plain values; not synchronized.
//
// Values and operations are named by their origin in the user's model (records.h, Origin), so a recipe fits the same
// model whatever was fused: "layer1.0.relu:aten::relu_#2" is the result of that operation; "@1" follows if it has
// several; "input:0" is the first tensor argument of forward.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/quantization/observer.h"

namespace ipex_studio {

constexpr int kRecipeVersion = 1;

// Observed range of one value of the model.
struct RecipeValue {
  std::string key;
  double least = 0, greatest = 0;  // seen
  double low = 0, high = 0;        // quantized in
  double scale = 1;                // real = scale · (q - zero_point), q a u8
  std::int64_t zero_point = 0;
  std::int64_t count = 0, nan = 0, inf = 0;          // elements seen
  std::vector<double> channel_mean, channel_absmax;  // where corrections need them; else empty
};

// Precision of one operation.
struct RecipeNode {
  std::string key;                // key of its result
  std::string module_path, kind;  // of its product, for people: "layer1.0.conv1", "convolution"
  // "int8": INT8 wherever possible; "auto": INT8 where it moves fewer bytes; "fp32", "bf16": never INT8.
  std::string precision = "auto";
  std::string reason;  // the reason of a choice: "slower when measured"; may be empty
};

// kStatic: values have the ranges of the recipe. The other modes need no values and concern linear layers alone.
// kDynamic: rows that a layer reads are rounded to u8 while it runs, its weights are s8. kWeightOnly: only the weights
// are integers. In all modes embedding tables are integers too.
enum class QuantizationMode { kStatic, kDynamic, kWeightOnly };

struct Recipe {
  QuantizationMode mode = QuantizationMode::kStatic;
  std::string origin = "ipex-studio";  // writer of the recipe: also "int8_conf.json", "model"
  ObserverOptions observer;
  std::int64_t samples = 0;  // calls that were observed
  bool bias_correction = true;
  bool equalization = false;           // ranges of channels were levelled before (passes/quantize/equalize_layers.cpp)
  double smooth_alpha = 0;             // > 0: SmoothQuant with this exponent for linear layers
  std::int32_t weight_bits = 8;        // kWeightOnly: 8 or 4
  std::string weight_levels = "even";  // kWeightOnly: of 4 bits, a name of core/op/woq_weights.h
  bool quantized_tensors =
      false;               // PyTorch's own quantized tensors instead of integers, for files that any PyTorch runs
  std::int64_t group = 0;  // kWeightOnly: weights along a row that share a scale, a multiple of 32; 0: all
  std::vector<RecipeValue> values;
  std::vector<RecipeNode> nodes;

  // The entry of this key; null if there is none.
  const RecipeValue* value(const std::string& key) const;
  const RecipeNode* node(const std::string& key) const;
  RecipeNode* node(const std::string& key);
};

// Writes JSON that recipeFromText() reads back.
std::string recipeToText(const Recipe& recipe);
// Reads JSON; checks version, sizes, ranges. Throws Error(kUsage) with one sentence that names `name` (a path).
Recipe recipeFromText(const std::string& text, const std::string& name = "the recipe");
Recipe readRecipe(const std::string& path);  // throws Error(kUsage) for a file that is missing or no recipe
void writeRecipe(const Recipe& recipe, const std::string& path);  // replaces the file whole; throws Error(kFailure)

// Sets the precision of nodes ("fp32", "bf16", "int8", "auto") by key. Throws Error(kUsage) for unknown keys.
void forcePrecision(Recipe& recipe, const std::vector<std::string>& keys, const std::string& precision,
                    const std::string& reason);

}  // namespace ipex_studio
