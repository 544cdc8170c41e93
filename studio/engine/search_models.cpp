// Builds the models of a search, with or without measured kernels.
#include "studio/engine/search_models.h"

#include "core/lower/region_object.h"
#include "core/model/model_memory.h"
#include "core/record/records_json.h"
#include "studio/engine/job_rounds.h"

namespace ipex_studio {

BuiltModel::~BuiltModel() {
  releaseMethods(model.module);
  releaseMethods(model.rewritten);
}

OptimizeOptions SearchModels::options(Precision precision, TuneMode tune) const {
  OptimizeOptions options = job_.optimize;
  options.precision = precision;
  options.tune = tune;
  options.tuning_record = tune == TuneMode::kOff ? "" : tuning_record_;
  options.quantization_recipe.clear();
  options.dump_directory.clear();
  return options;
}

OptimizedModel SearchModels::make(Precision precision, const std::string& recipe, TuneMode tune) const {
  OptimizeOptions own = options(precision, tune);
  if (precision == Precision::kInt8) own.quantization_recipe = recipe;
  Observer silent;
  return optimizeModel(module_, example_, own, silent);
}

BuiltModel SearchModels::build(Precision precision, const std::string& recipe) const {
  return BuiltModel(make(precision, recipe, TuneMode::kOff));
}

BuiltModel SearchModels::buildTuned(Precision precision, const std::string& recipe) {
  OptimizedModel model = make(precision, recipe, job_.optimize.tune);
  const ModuleState state(model.module);
  firstRun(model.module, example_);
  state.restore();
  const std::string fresh = tuningRecord(model.tuning, true);
  if (!fresh.empty()) {
    tuning_record_ = tuningRecord(model.tuning, false);
    nlohmann::json message = parseRecordText(fresh);
    message["type"] = "tuning";
    channel_.send(message);
  }
  return BuiltModel(std::move(model));
}

}  // namespace ipex_studio
