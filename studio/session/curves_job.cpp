// See curves_job.h.
#include "studio/session/curves_job.h"

#include <fmt/format.h>

#include <exception>
#include <utility>

#include "core/record/option_names.h"
#include "profiler/curves/curve_choice.h"
#include "studio/curves/measure_curves.h"

namespace ipex_studio {

void CurvesJob::show(CurvesRecord curves) {
  record_ = curves.empty() ? nullptr : std::make_shared<const CurvesRecord>(std::move(curves));
}

void CurvesJob::measure(const CurvesRequest& wanted) {
  if (!model_.loaded()) throw Error(ExitCode::kUsage, "Open a model first; recorded runs cannot be measured again.");
  if (model_.trustIsAsked()) throw Error(ExitCode::kUsage, "Say first how far this model is to be trusted.");
  reporter_.setState(JobState::kWorking, "");
  runner_.dropPrepared();
  JobDatabase database(model_.databasePath());
  JobRequest request = model_.requestWith(decisions_.now().withoutWhole(), database);
  request.command = "curves";
  request.curves = wanted;
  const auto before = std::exchange(record_, nullptr);
  MeasuredCurves measured;
  MemoryTuningStore tuning;
  try {
    measured =
        measureCurves(model_.checked(), request, tuning, reporter_, cancellation_, [this](const CurvesRecord& curves) {
          show(curves);
          reporter_.publishStatus();
        });
  } catch (const std::exception&) {
    record_ = before;
    throw;
  }
  database.recordTuning(tuning);
  if (const auto id = database.record(measured.job, false)) {
    database.recordCurves(*id, measured.curves);
    reporter_.log(LogLevel::kInfo, fmt::format("Recorded as job {} in {}.", *id, database.database()->path()));
  }
  if (database.problem())
    reporter_.log(LogLevel::kError, fmt::format("The curves are not recorded. {}", database.problem()->what()));
  for (const std::string& note : measured.curves.notes) reporter_.log(LogLevel::kInfo, note);
  const JobState state = runner_.hasJob() ? JobState::kDone : JobState::kReady;
  const std::string sentence = curvesSentence(measured.curves);
  show(std::move(measured.curves));
  reporter_.setState(state,
                     record_ && !record_->complete ? "Interrupted; what was measured until then is kept." : sentence);
}

std::string CurvesJob::use(const CurvePoint& point) {
  if (!model_.loaded()) throw Error(ExitCode::kUsage, "Open a model first; a point is for its next run.");
  const auto precision = precisionFromName(point.precision);
  if (!precision) throw Error(ExitCode::kUsage, fmt::format("{} is no precision.", point.precision));
  JobRequest& request = model_.request();
  request.measure.threads = point.threads;
  request.measure.instances = point.instances;
  request.measure.hint = Hint::kNone;
  request.optimize.precision = *precision;
  decisions_.chooseWhole(point.precision);
  if (!point.inputs.empty()) model_.takeInputs(point.inputs, true);
  runner_.offer(*precision, point.threads);
  return fmt::format("The next run has {}.", pointText(point));
}

void CurvesJob::lookForEarlier() {
  try {
    JobDatabase database(model_.databasePath());
    if (database.database() != nullptr)
      show(database.database()->newestCurves(model_.checked().report.sha256, model_.checked().machine.cpu));
  } catch (const Error& error) {
    reporter_.log(LogLevel::kWarning, error.what());
  }
}

void CurvesJob::show(const Database& database, std::int64_t id, const JobRecord& job) {
  CurvesRecord curves = database.curves(id);
  if (curves.empty()) curves = database.newestCurves(job.model.sha256, job.machine.cpu);
  show(std::move(curves));
}

}  // namespace ipex_studio
