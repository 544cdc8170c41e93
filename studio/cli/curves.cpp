// The command curves: a model over threads, instances, batch sizes and precisions.
#include <fmt/format.h>

#include <cstdio>
#include <optional>

#include "core/record/records_json.h"
#include "profiler/curves/curve_choice.h"
#include "profiler/curves/curves_table.h"
#include "studio/cli/commands.h"
#include "studio/cli/interrupt.h"
#include "studio/cli/progress.h"
#include "studio/curves/measure_curves.h"
#include "studio/flags/job_request.h"
#include "studio/job/session_database.h"
#include "studio/job/session_files.h"

namespace ipex_studio {
namespace {

// The command lines that run the model as its best points do.
void sayHowToUse(const CommandLine& line, const CurvesRecord& curves) {
  const CurveChoice choice = chooseCurvePoints(curves, line.curves.latency_limit_ms);
  const std::optional<std::size_t> best = choice.within_limit ? choice.within_limit : choice.throughput;
  if (best)
    std::fprintf(stderr, "To run it so: ipex-studio run %s %s\n", displayText(line.model).c_str(),
                 displayText(pointFlags(curves.points[*best]), 1000).c_str());
}

void print(const CommandLine& line, const CurvesRecord& curves) {
  const double limit_ms = line.curves.latency_limit_ms;
  if (!line.json) return printText(curvesTable(curves, limit_ms, stdoutStyle().color));
  nlohmann::json page = curvesJson(curves, limit_ms);
  page["schema"] = 1;
  page["command"] = "curves";
  page["model"] = line.model;
  printText(dumpJson(page) + "\n");
}

}  // namespace

int printCurves(const CommandLine& line) {
  Cancellation cancellation;
  const InterruptWatch watch(cancellation);
  JobRequest request = questionRequest(line, "curves");
  curvePrecisions(request);  // says what is missing before the model is read
  const CheckedModel model = checkModel(line.model);
  sayDangers(model, request);
  JobDatabase database(line.database);
  if (request.inputs.empty() && request.inputs_path.empty())
    request.remembered = database.rememberedInputs(model.report.sha256);
  if (request.optimize.tune != TuneMode::kOff) request.optimize.tuning_record = database.rememberedTuning();
  TerminalProgress progress;
  MemoryTuningStore tuning;
  const MeasuredCurves measured = measureCurves(model, request, tuning, progress, cancellation);
  progress.clear();
  database.recordTuning(tuning);
  const auto id = database.record(measured.job, false);
  if (id) database.recordCurves(*id, measured.curves);
  print(line, measured.curves);
  sayHowToUse(line, measured.curves);
  if (database.problem())
    throw Error(ExitCode::kDatabase, fmt::format("The curves are not recorded. {}", database.problem()->what()));
  std::fprintf(stderr, "Recorded as job %lld in %s.\n", static_cast<long long>(*id),
               database.database()->path().c_str());
  return static_cast<int>(measured.curves.complete ? ExitCode::kOk : kInterrupted);
}

}  // namespace ipex_studio
