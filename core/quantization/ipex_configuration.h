// Configuration files of Intel Extension for PyTorch: int8_conf.json. Reads both forms: the dictionary of 2.x (module →
// q_op_infos → operation with fqn, input_tensor_infos, weight_tensor_infos, output_tensor_infos) and the list of 1.10
// (id, name, algorithm, weight_granularity, input_scales, input_zero_points, output_scales, …). Writes both.
// Knows no libtorch; thread-safe.
#pragma once

#include <string>

#include "core/quantization/calibration_plan.h"

namespace ipex_studio {

// Returns the recipe that the file describes for a model (its calibration plan). Operations are found by fqn (2.x) or
// by order and kind (1.10). Operations that the file does not quantize are "fp32"; values without a scale in it keep
// that of `observed` (may be empty). Throws Error(kUsage) with one sentence if the text is no such file or belongs to
// another model.
Recipe recipeFromIpexConfiguration(const std::string& text, const CalibrationPlan& plan, const Recipe& observed,
                                   const std::string& name = "the configuration");

// True if the text looks like such a file (and not like a recipe).
bool looksLikeIpexConfiguration(const std::string& text);

enum class IpexForm { kDictionary, kList };

// Writes the products of the plan; the program chooses for the rest. The list has no scales of weights, which follow
// from the weights.
std::string ipexConfigurationText(const Recipe& recipe, const CalibrationPlan& plan,
                                  IpexForm form = IpexForm::kDictionary);

}  // namespace ipex_studio
