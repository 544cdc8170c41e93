// The command convert: a model in stock operators, as it was but for freezing.
#include "core/base/error.h"
#include "studio/cli/commands.h"
#include "studio/cli/interrupt.h"
#include "studio/cli/progress.h"
#include "studio/flags/job_request.h"
#include "studio/job/session_files.h"
#include "studio/job/session_request.h"
#include "studio/job/session_worker.h"

namespace ipex_studio {

int convertModel(const CommandLine& line) {
  Cancellation cancellation;
  const InterruptWatch watch(cancellation);
  JobRequest request = jobRequest(line, "convert");
  request.optimize.rewrite_limit = 0;
  request.optimize.tune = TuneMode::kOff;
  checkRequest(request);
  const CheckedModel model = openModel(line.model, splitCommand(line.worker), cancellation);
  sayDangers(model, request);
  request.abilities = model.abilities;
  TerminalProgress progress;
  ModelJob job(model, request, false, progress, cancellation);
  job.optimize();
  job.verify();
  progress.clear();
  if (!job.accurate()) throw Error(ExitCode::kAccuracy, job.accuracySentence());
  job.exportTo(line.output, ExportForm::kPortable, /*prepared=*/false);
  progress.clear();
  std::fprintf(stderr, "Written to %s, in operators of PyTorch.\n", line.output.c_str());
  return static_cast<int>(ExitCode::kOk);
}

}  // namespace ipex_studio
