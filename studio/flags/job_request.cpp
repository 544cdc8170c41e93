// See job_request.h.
#include "studio/flags/job_request.h"

#include <algorithm>

#include "core/base/error.h"
#include "studio/job/session_precision.h"
#include "studio/job/session_worker.h"

namespace ipex_studio {

ExportForm exportForm(const CommandLine& line) {
  if (line.prepared && (line.output.empty() || line.form != ExportForm::kCompiled)) {
    throw Error(ExitCode::kUsage,
                "--prepared writes a file beside a compiled export; give -o FILE, and no --form portable.");
  }
  if (!line.only_ops_path.empty() && line.output.empty())
    throw Error(ExitCode::kUsage, "--only-ops says which operators an export may have; give -o FILE.");
  return line.form;
}

namespace {

void checkDecoding(const GenerateRequest& request) {
  if (request.prompt.empty() && request.prompt_path.empty())
    throw Error(ExitCode::kUsage, "generate goes on with a text: give its token ids by --prompt or --prompt-file.");
  if (request.temperature == 0 && (request.top_k != 0 || request.top_p != 1))
    throw Error(ExitCode::kUsage, "--top-k and --top-p say from what tokens are drawn; add --temperature.");
  if (request.beams > 1 && request.temperature != 0)
    throw Error(ExitCode::kUsage, "--beams takes the likeliest texts and --temperature draws; leave one of them out.");
}

}  // namespace

JobRequest jobRequest(const CommandLine& line, const char* command) {
  JobRequest request(line);
  request.command = command;
  if (!line.data.preprocess_path.empty()) request.data.preprocess = readPreprocessText(line.data.preprocess_path);
  if (!line.only_ops_path.empty()) request.only_ops = readOnlyOps(line.only_ops_path);
  if (!line.recipe.empty()) request.optimize.quantization_recipe = readRecipeText(line.recipe, line.weights);
  if (line.recipe.empty() && (line.weights.bits != 8 || line.weights.group >= 0 || line.weights.levels != "even")) {
    throw Error(ExitCode::kUsage,
                "--bits, --group and --levels say how weights are kept with --recipe weight-only; add that.");
  }
  if (line.optimize.equalize && !line.recipe.empty()) {
    throw Error(ExitCode::kUsage,
                "--equalize is for calibrating, and a recipe says itself whether layers are levelled; leave one of the "
                "two out.");
  }
  const bool one = line.kind == CommandKind::kShow || line.kind == CommandKind::kBisect ||
                   line.kind == CommandKind::kValues || line.kind == CommandKind::kGenerate;
  if (one && !(line.also.empty() && line.also_devices.empty())) {
    throw Error(ExitCode::kUsage,
                "--precision and --device: only run and bench measure several side by side; give one of each.");
  }
  if (line.kind == CommandKind::kGenerate) checkDecoding(line.generate);
  if (line.kind == CommandKind::kCalibrate) request.calibration.samples = 0;
  if (!line.reset_method.empty()) request.optimize.preserved_methods.push_back(line.reset_method);
  std::sort(request.optimize.batch_buckets.begin(), request.optimize.batch_buckets.end());
  std::sort(request.optimize.length_buckets.begin(), request.optimize.length_buckets.end());
  request.remote = !line.worker.empty() || parseRemote(line.model).has_value();
  return request;
}

}  // namespace ipex_studio
