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

// Texts of recipes and empty ones as they are; an int8_conf.json becomes the recipe that it means for this model. Throws
// Error(kUsage) when the text is neither.
std::string ownRecipe(const std::string& text, const torch::jit::Module& module, const Inputs& example,
                      const OptimizeOptions& options);

// Runs the job's data through the model and returns what was seen. `state`: to go on from; `checkpoint` gets the state every
// few seconds. Throws Error(kUsage) when the state is of another model, of other data or other options, and on data that
// cannot be used.
Recipe calibrate(const EngineJob& job, const torch::jit::Module& module, const DataSet& data, const JobInputs& inputs,
                 const std::string& state, const std::function<void(const std::string&)>& checkpoint, Channel& channel);

}  // namespace ipex_studio
