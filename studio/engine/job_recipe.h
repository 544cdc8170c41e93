// Recipes in the engine: made from data, or taken over from Intel Extension for PyTorch.
#pragma once

#include <functional>
#include <string>

#include "core/data/data_set.h"
#include "core/quantization/recipe.h"
#include "studio/engine/channel.h"
#include "studio/engine/job_data.h"
#include "studio/engine/job_inputs.h"

namespace ipex_studio {

// Returns the text of a recipe, or an empty one, unchanged; turns an int8_conf.json into the recipe that it means for
// this model. Throws Error(kUsage) for any other text.
std::string ownRecipe(const std::string& text, const torch::jit::Module& module, const Inputs& example,
                      const OptimizeOptions& options);

// Runs the job's data through the model and returns what was observed. `state`: of an interrupted calibration, to
// resume from; may be empty. `checkpoint` gets the state every few seconds. Throws Error(kUsage) when the state is of
// another model, of other data or other options, and on data that cannot be used.
Recipe calibrate(const EngineJob& job, const torch::jit::Module& module, const DataSet& data, const JobInputs& inputs,
                 const std::string& state, const std::function<void(const std::string&)>& checkpoint, Channel& channel);

}  // namespace ipex_studio
