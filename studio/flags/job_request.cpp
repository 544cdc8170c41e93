// See job_request.h.
#include "studio/flags/job_request.h"

#include <algorithm>
#include <sstream>

#include "core/base/error.h"
#include "studio/job/session_precision.h"
#include "studio/job/session_worker.h"

namespace ipex_studio {

ExportForm exportForm(const CommandLine& line) {
  const ExportForm form = line.form == "portable" ? ExportForm::kPortable : ExportForm::kCompiled;
  if (line.prepared && (line.output.empty() || form != ExportForm::kCompiled)) {
    throw Error(ExitCode::kUsage,
                "--prepared writes a file beside a compiled export; give -o FILE, and no --form portable.");
  }
  return form;
}

JobRequest jobRequest(const CommandLine& line, const char* command) {
  JobRequest request;
  request.command = command;
  request.inputs = line.inputs;
  request.inputs_path = line.inputs_path;
  request.reset_method = line.reset_method;
  const std::vector<Precision> precisions = precisionsOf(line.precision);
  request.optimize.precision = precisions.back();
  request.also.assign(precisions.begin(), precisions.end() - 1);
  request.data.path = line.data;
  if (!line.preprocess.empty()) request.data.preprocess = readPreprocessText(line.preprocess);
  request.data.samples = line.samples;
  request.data.batch = line.batch;
  request.data.metric = line.metric;
  if (!line.recipe.empty())
    request.optimize.quantization_recipe = readRecipeText(line.recipe, {line.weight_bits, line.group});
  if (line.recipe.empty() && (line.weight_bits != 8 || line.group >= 0)) {
    throw Error(ExitCode::kUsage, "--bits and --group say how weights are kept with --recipe weight-only; add that.");
  }
  if (line.equalize && !line.recipe.empty()) {
    throw Error(ExitCode::kUsage,
                "--equalize is for calibrating, and a recipe says itself whether layers are levelled; leave one of the "
                "two out.");
  }
  request.optimize.equalize = line.equalize;
  request.optimize.min_cosine = line.min_cosine;
  request.calibration.method = line.method;
  request.calibration.percentile = line.percentile;
  request.calibration.samples = line.kind == CommandKind::kCalibrate ? 0 : line.calibration_samples;
  request.search.max_drop = line.max_drop;
  request.search.min_sqnr_db = line.min_sqnr_db;
  request.search.time_budget_s = line.time_budget_s;
  request.force_precision = line.force_precision;
  request.optimize.device = line.device;
  request.optimize.disabled_passes = line.disabled;
  request.optimize.rewrite_limit = line.limit;
  request.optimize.dump_directory = line.dump_directory;
  request.optimize.preserved_methods = line.preserved;
  if (!line.reset_method.empty()) request.optimize.preserved_methods.push_back(line.reset_method);
  request.optimize.tune = tuneModeFromName(line.tune).value_or(TuneMode::kQuick);
  request.optimize.allow_winograd = !line.no_winograd;
  request.optimize.batch_buckets = line.batch_buckets;
  std::sort(request.optimize.batch_buckets.begin(), request.optimize.batch_buckets.end());
  request.measure = line.measure;
  request.trust = line.trust;
  request.remote = !line.worker.empty() || parseRemote(line.model).has_value();
  request.silence_s = line.timeout_s;
  return request;
}

std::vector<Precision> precisionsOf(const std::string& text) {
  std::vector<Precision> precisions;
  std::istringstream names(text);
  for (std::string name; std::getline(names, name, ',');)
    precisions.push_back(precisionFromName(name).value_or(Precision::kFp32));
  if (precisions.empty()) precisions.push_back(Precision::kFp32);
  return precisions;
}

}  // namespace ipex_studio
