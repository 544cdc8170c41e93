#include "passes/quantize/recipe_wishes.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/base/error.h"
#include "core/quantization/precision_overrides.h"

namespace ipex_studio {

using torch::jit::Value;

namespace {

Decline declineOfWeights(const QuantizableOp& quantizable) {
  if (quantizable.op.spec.kind == OpKind::kMatmul) return {};
  const bool has_bias = quantizable.op.src.size() > 2 && !quantizable.op.src[2].absent();
  if (has_bias && (quantizable.op.src[2].value == nullptr || !constantTensor(quantizable.op.src[2].value))) {
    return {reasons::kWeightsNotConstant, "Its bias is computed while the model runs."};
  }
  if (!constantTensor(quantizable.op.src[1].value)->isfinite().all().item<bool>())
    return {reasons::kUnsupportedAttribute, "Its weights hold NaN or infinity."};
  return {};
}

}  // namespace

RecipeWishes::RecipeWishes(PassContext& context, const Recipe& recipe, const ValueKeys& keys,
                           const QuantizationScales& scales)
    : context_(context), recipe_(recipe), keys_(keys), scales_(scales) {
  for (const RecipeNode& node : recipe.nodes) nodes_[node.key] = &node;
}

Decline RecipeWishes::declineOf(const QuantizableOp& quantizable) {
  const auto found = nodes_.find(keys_.of(quantizable.node->output()));
  const RecipeNode* wish = found == nodes_.end() ? nullptr : found->second;
  if (wish != nullptr) ++known_nodes_;
  if (quantizable.role == QuantizableRole::kProduct) ++products_;
  const std::string decided = decidedPrecision(context_.options.precision_overrides, context_.rewriter.origins(),
                                               quantizable.node, opKindName(quantizable.op.spec.kind));
  if (!decided.empty() && decided != "int8") return {reasons::kDecided, "It was decided that it stays out of INT8."};
  if (decided.empty() && wish != nullptr && (wish->precision == "fp32" || wish->precision == "bf16")) {
    return {reasons::kKeptByRecipe, wish->reason.empty()
                                        ? "The recipe keeps it out of INT8."
                                        : fmt::format("The recipe keeps it out of INT8: {}.", wish->reason)};
  }
  const auto written = [&](Value* value) { return context_.mayBeWritten(value); };
  if (written(quantizable.node->output()) ||
      std::any_of(quantizable.activations.begin(), quantizable.activations.end(), written)) {
    return {reasons::kAliased, "Its result or an operand may be written to."};
  }
  if (quantizable.role != QuantizableRole::kProduct) return {};
  if (wish == nullptr) return {reasons::kNotCalibrated, "The recipe does not know this operation."};
  for (std::size_t a = 0; a < quantizable.base_count; ++a) {
    if (!scales_.known(quantizable.activations[a]))
      return {reasons::kNotCalibrated, "What it reads was not seen while calibrating."};
  }
  return declineOfWeights(quantizable);
}

void RecipeWishes::requireSameModel() const {
  if (recipe_.nodes.empty() || known_nodes_ > 0 || products_ == 0) return;
  throw Error(ExitCode::kUsage,
              "The recipe belongs to another model: it names none of this one's operations; calibrate this model.");
}

}  // namespace ipex_studio
