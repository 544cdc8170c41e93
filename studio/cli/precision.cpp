// Commands that lower precision: calibrate, quantize, tune.
#include "studio/cli/precision.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

#include "core/base/replace_file.h"
#include "core/record/records_json.h"
#include "profiler/export/export_json.h"
#include "profiler/precision_table.h"
#include "profiler/run_table.h"
#include "studio/cli/commands.h"
#include "studio/cli/interrupt.h"
#include "studio/flags/job_request.h"
#include "studio/job/session_database.h"
#include "studio/job/session_files.h"
#include "studio/job/session_request.h"
#include "studio/job/session_worker.h"

namespace ipex_studio {
namespace {

constexpr std::size_t kSensitivityRows = 12;

// The file that keeps the state of an interrupted job; removed when the job ends.
std::string statePath(const std::string& output) { return output.empty() ? "" : output + ".interrupted"; }

void sayHowToGoOn(const StateFile& state) {
  if (!state.path().empty() && !state.read().empty()) {
    std::fprintf(stderr, "What was done is kept in %s; the same command goes on from there.\n", state.path().c_str());
  }
}

// Runs `work`; if it fails, tells how to resume.
template <class Work>
auto keepingState(const StateFile& state, TerminalProgress& progress, const Work& work) {
  try {
    auto result = work();
    progress.clear();
    return result;
  } catch (const Error&) {
    progress.clear();
    sayHowToGoOn(state);
    throw;
  }
}

void finishJob(const CommandLine& line, ModelJob& job, JobDatabase& database) {
  const auto id = database.record(job, false);
  if (!job.accurate()) throw Error(ExitCode::kAccuracy, job.accuracySentence());
  job.exportTo(line.output, exportForm(line), line.prepared);
  sayExport(line);
  if (database.problem())
    throw Error(ExitCode::kDatabase, fmt::format("The run is not recorded. {}", database.problem()->what()));
  sayRecorded(*database.database(), *id, job.job());
}

}  // namespace

bool usesInt8(const JobRequest& request) {
  const auto& also = request.also;
  return request.optimize.precision == Precision::kInt8 ||
         std::find(also.begin(), also.end(), Precision::kInt8) != also.end();
}

void addRecipe(const CommandLine& line, const CheckedModel& model, JobRequest* request, TerminalProgress& progress,
               const Cancellation& cancellation) {
  const std::vector<std::string>& features = model.machine.features;
  const bool vnni = std::any_of(features.begin(), features.end(),
                                [](const std::string& name) { return name.find("vnni") != std::string::npos; });
  if (!vnni) {
    progress.onLog(
        "This CPU has no VNNI: weights are kept within 7 bits, so that sums of two products fit 16 bits, and INT8 "
        "gains less.",
        true);
  }
  if (!request->optimize.quantization_recipe.empty()) return;
  const StateFile state(statePath(line.output.empty() ? "" : line.output + ".calibration"), line.restart);
  const CalibrationResult result =
      keepingState(state, progress, [&] { return calibrateModel(model, *request, state, progress, cancellation); });
  request->optimize.quantization_recipe = result.recipe;
  state.remove();
}

int calibrateAndSave(const CommandLine& line) {
  Cancellation cancellation;
  const InterruptWatch watch(cancellation);
  const JobRequest request = jobRequest(line, "calibrate");
  checkRequest(request);
  const CheckedModel model = openModel(line.model, splitCommand(line.worker), cancellation);
  sayDangers(model, request);
  TerminalProgress progress;
  const StateFile state(statePath(line.output), line.restart);
  const CalibrationResult result =
      keepingState(state, progress, [&] { return calibrateModel(model, request, state, progress, cancellation); });
  writeFileAtomically(line.output, result.recipe);
  state.remove();
  if (line.json) {
    printText(
        dumpJson(
            {{"schema", 1}, {"samples", result.samples}, {"operations", result.operations}, {"int8", result.lowered}}) +
        "\n");
  }
  std::fprintf(stderr, "Saw %lld samples; %lld of %lld operations can be INT8. Recipe written to %s.\n",
               static_cast<long long>(result.samples), static_cast<long long>(result.lowered),
               static_cast<long long>(result.operations), line.output.c_str());
  return static_cast<int>(ExitCode::kOk);
}

int quantizeAndExport(const CommandLine& line) {
  Cancellation cancellation;
  const InterruptWatch watch(cancellation);
  JobRequest request = jobRequest(line, "quantize");
  request.optimize.precision = Precision::kInt8;
  if (request.optimize.quantization_recipe.empty() && request.data.path.empty()) {
    throw Error(ExitCode::kUsage, "quantize needs --recipe FILE, or --data PATH to calibrate on.");
  }
  checkRequest(request);
  checkForm(request, exportForm(line));
  const CheckedModel model = openModel(line.model, splitCommand(line.worker), cancellation);
  sayDangers(model, request);
  request.abilities = model.abilities;
  JobDatabase database(line.database);
  if (request.inputs.empty() && request.inputs_path.empty())
    request.remembered = database.rememberedInputs(model.report.sha256);
  TerminalProgress progress;
  addRecipe(line, model, &request, progress, cancellation);
  request.optimize.tuning_record = database.rememberedTuning();
  ModelJob job(model, request, false, progress, cancellation);
  job.optimize();
  database.recordTuning(job.tuning());
  job.verify();
  progress.clear();
  printText(line.json ? dumpJson(benchJson(job.job())) + "\n" : precisionTable(job.job()));
  finishJob(line, job, database);
  return static_cast<int>(ExitCode::kOk);
}

int tunePrecision(const CommandLine& line) {
  Cancellation cancellation;
  const InterruptWatch watch(cancellation);
  JobRequest request = jobRequest(line, "tune");
  checkRequest(request);
  checkForm(request, exportForm(line));
  const CheckedModel model = openModel(line.model, splitCommand(line.worker), cancellation);
  sayDangers(model, request);
  request.abilities = model.abilities;
  JobDatabase database(line.database);
  request.optimize.tuning_record = database.rememberedTuning();
  TerminalProgress progress;
  const StateFile state(statePath(line.output), line.restart);
  MemoryTuningStore measured;
  PrecisionSearchResult found = keepingState(
      state, progress, [&] { return searchPrecisions(model, request, state, measured, progress, cancellation); });
  database.recordTuning(measured);
  request.optimize.tuning_record = database.rememberedTuning();
  if (!line.save_recipe.empty()) writeFileAtomically(line.save_recipe, found.recipe);
  request.optimize.precision = found.precision;
  request.optimize.quantization_recipe = found.recipe;  // recorded even if the chosen precision does not use it
  ModelJob job(model, request, true, progress, cancellation);
  job.optimize();
  database.recordTuning(job.tuning());
  job.measure();
  job.addSearch(std::move(found.sensitivities), std::move(found.tradeoffs));
  progress.clear();
  const JobRecord& record = job.job();
  printText(line.json ? dumpJson(benchJson(record)) + "\n"
                      : sensitivityTable(record, kSensitivityRows) + "\n" + tradeoffTable(record) + "\n" +
                            precisionTable(record));
  finishJob(line, job, database);
  state.remove();
  return static_cast<int>(ExitCode::kOk);
}

}  // namespace ipex_studio
