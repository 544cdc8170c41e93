// Which operations a recipe, and decisions by hand, let into INT8. Private to the passes that follow a recipe.
#pragma once

#include <string>
#include <unordered_map>

#include "core/graph/pass.h"
#include "core/quantization/quantizable_ops.h"
#include "core/quantization/recipe.h"
#include "passes/quantize/quantize_scales.h"

namespace ipex_studio {

class RecipeWishes {
 public:
  // All have to outlive it.
  RecipeWishes(PassContext& context, const Recipe& recipe, const ValueKeys& keys, const QuantizationScales& scales);

  // The reason why this operation stays out of INT8; none if it may be lowered.
  Decline declineOf(const QuantizableOp& quantizable);

  // Refuses a recipe that names none of the products that declineOf() was asked about: it was made for another model.
  void requireSameModel() const;

 private:
  PassContext& context_;
  const Recipe& recipe_;
  const ValueKeys& keys_;
  const QuantizationScales& scales_;
  std::unordered_map<std::string, const RecipeNode*> nodes_;
  std::size_t known_nodes_ = 0, products_ = 0;
};

}  // namespace ipex_studio
