// What one value of a model holds, in the model, in the optimized model and in FP64.
#include "core/model/measure.h"
#include "core/record/records_json.h"
#include "passes/node_values.h"
#include "studio/engine/job_data.h"
#include "studio/engine/job_device.h"
#include "studio/engine/job_inputs.h"
#include "studio/engine/job_recipe.h"
#include "studio/engine/job_verify.h"
#include "studio/engine/jobs.h"

namespace ipex_studio {

void runValuesJob(const EngineJob& job, Channel& channel) {
  channel.progress("load", 0);
  Model model = loadModel(job);
  for (const std::string& note : model.notes()) channel.log(note);
  const std::unique_ptr<DataSet> data = openJobData(model, job);
  const JobInputs inputs = data ? JobInputs(model, job, namedInputs(*data, data->batch(0))) : JobInputs(model, job);
  OptimizeOptions options = job.optimize;
  options.tune = TuneMode::kOff;  // the rewritten model is run node by node, without plans
  options.quantization_recipe = ownRecipe(options.quantization_recipe, model.module(), inputs.example(), options);
  const FrozenOriginal original(model.module(), options.preserved_methods);
  const OriginId origin = originNamed(original.table, job.node);
  channel.progress("optimize", 0.1);
  useJobDevice(job);
  Observer silent;
  const OptimizedModel optimized = optimizeModel(model.module(), inputs.example(), options, silent);
  channel.progress("run up to the value", 0.6);
  const ValueRecord record = nodeValues(original, optimized, inputs.example(), accuracyRule(job), origin);
  channel.send({{"type", "result"}, {"values", toJson(record)}});
}

}  // namespace ipex_studio
