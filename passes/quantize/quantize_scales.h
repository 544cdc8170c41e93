// The scale of each value: as calibrated, one for all values that an operation only moves. Private to
// the passes that follow a recipe.
#pragma once

#include <optional>
#include <unordered_map>
#include <vector>

#include "core/quantization/recipe.h"
#include "passes/quantize/quantize_forms.h"

namespace ipex_studio {

class QuantizationScales {
 public:
  QuantizationScales(const Recipe& recipe, const ValueKeys& keys);

  // True if everything that the value may hold was calibrated and is finite.
  bool known(torch::jit::Value* value) const;
  const RecipeValue* calibrated(const torch::jit::Value* value) const;

  // Values that pass through concatenations, pools and views as integers share their scale from now on.
  void unite(const std::vector<QuantizableOp>& quantizable_ops, const std::vector<Forms>& forms);
  AffineParameters of(torch::jit::Value* value);

 private:
  const torch::jit::Value* group(const torch::jit::Value* value);
  void include(const torch::jit::Value* group_of, torch::jit::Value* value);

  std::unordered_map<std::string, const RecipeValue*> recipe_;
  const ValueKeys& keys_;
  std::unordered_map<const torch::jit::Value*, const torch::jit::Value*> parents_;
  std::unordered_map<const torch::jit::Value*, ValueRange> ranges_;  // per group of several values
};

}  // namespace ipex_studio
