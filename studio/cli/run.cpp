// The commands run and bench: the main job without a window.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <set>

#include "core/plan/prepared_weights.h"
#include "core/record/records_json.h"
#include "profiler/device_comparison.h"
#include "profiler/export/export_json.h"
#include "profiler/faster_fp32.h"
#include "profiler/precision_table.h"
#include "profiler/run_table.h"
#include "profiler/text.h"
#include "studio/cli/advice_text.h"
#include "studio/cli/commands.h"
#include "studio/cli/interrupt.h"
#include "studio/cli/precision.h"
#include "studio/cli/progress.h"
#include "studio/flags/job_request.h"
#include "studio/job/session_database.h"
#include "studio/job/session_files.h"
#include "studio/job/session_worker.h"
#include "studio/snapshot/snapshot_index.h"

namespace ipex_studio {
namespace {

// Prints guessed or remembered inputs, with the flags that change them.
void sayGuess(const ModelRecord& model, bool remembered) {
  std::string guessed;
  for (const InputRecord& input : model.inputs) {
    if (input.guessed) guessed += " --input " + displayText(inputText(input));
  }
  if (!guessed.empty()) {
    std::fprintf(stderr, "Inputs are a guess:%s\n", guessed.c_str());
  } else if (remembered) {
    std::string texts;
    for (const InputRecord& input : model.inputs) texts += " --input " + displayText(inputText(input));
    std::fprintf(stderr, "Inputs as in the last run:%s\n", texts.c_str());
  }
}

void print(const CommandLine& line, const JobRecord& job) {
  const TerminalStyle style = stdoutStyle();
  const auto index = buildJobIndex(job);
  if (line.json) {
    nlohmann::json json = benchJson(job);
    json["advice"] = adviceJson(index->advice);
    return printText(dumpJson(json) + "\n");
  }
  const bool side_by_side = job.runs.size() > 2 || !line.data.path.empty();
  const std::string devices = deviceTable(job);
  printText(runTable(job, style.columns, style.color) + (side_by_side ? "\n" + precisionTable(job) : "") +
            adviceText(index->advice) + (devices.empty() ? "" : "\n" + devices));
}

// Says if the model was faster in FP32, in this job or an earlier one, than in the precision that was asked for.
void sayFasterFp32(const Database& database, const std::vector<JobSummary>& jobs, const JobSummary& recorded,
                   const std::string& precision) {
  if (precision == "fp32") return;
  const std::vector<std::int64_t> runs = newestRuns(jobs, recorded, {"fp32", precision});
  if (std::count(runs.begin(), runs.end(), 0) > 0) return;
  if (const auto fp32 = fasterFp32(compareRunSet(database, runs), precision))
    std::fprintf(stderr, "FP32 was faster: %s ms.\n", msText(static_cast<double>(fp32->p50_ns)).c_str());
}

}  // namespace

JobRequest questionRequest(const CommandLine& line, const char* command) {
  JobRequest request = jobRequest(line, command);
  if (request.optimize.dump_directory.empty()) return request;
  throw Error(ExitCode::kUsage,
              fmt::format("--dump: {} writes no graphs; give that flag to ipex-studio run.", command));
}

void sayDangers(const CheckedModel& model, const JobRequest& request) {
  if (!model.report.dangerous()) return;
  std::set<std::string> kinds;
  for (const Finding& finding : model.report.findings) {
    if (finding.dangerous) kinds.insert(finding.kind);
  }
  std::fprintf(stderr, "%s: dangerous findings (%s); it runs %s. ipex-studio inspect tells them.\n",
               displayText(model.path).c_str(), displayText(fmt::format("{}", fmt::join(kinds, ", "))).c_str(),
               request.trust ? "without the sandbox, as --trust says" : "in the sandbox");
}

void sayRecorded(const Database& database, std::int64_t id, const JobRecord& record) {
  constexpr std::int64_t kMaxJobs = 1000;
  const std::vector<JobSummary> jobs = database.jobs(kMaxJobs, record.model.sha256);
  const auto recorded = std::find_if(jobs.begin(), jobs.end(), [&](const JobSummary& job) { return job.id == id; });
  std::string runs;
  if (recorded != jobs.end()) {
    sayFasterFp32(database, jobs, *recorded, record.runs.back().precision);
    for (const RunSummary& run : recorded->runs) runs += fmt::format("{}{}", runs.empty() ? " (runs " : ", ", run.id);
    if (!runs.empty()) runs += ")";
  }
  std::fprintf(stderr, "Recorded as job %lld%s in %s.\n", static_cast<long long>(id), runs.c_str(),
               database.path().c_str());
}

void sayExport(const CommandLine& line) {
  std::fprintf(stderr, "Exported to %s (%s form).\n", line.output.c_str(), enumName(line.form));
  if (line.prepared)
    std::fprintf(stderr, "Its weights, as this machine's kernels read them, are in %s%s.\n", line.output.c_str(),
                 kPreparedSuffix);
}

int runAndExport(const CommandLine& line) {
  Cancellation cancellation;
  const InterruptWatch watch(cancellation);
  JobRequest request = jobRequest(line, line.kind == CommandKind::kRun ? "run" : "bench");
  const bool int8 = usesInt8(request);
  if (int8 && request.optimize.quantization_recipe.empty() && request.data.path.empty()) {
    throw Error(ExitCode::kUsage, "--precision int8 needs --recipe FILE, or --data PATH to calibrate on.");
  }
  checkRequest(request);
  const ExportForm form = exportForm(line);
  if (!line.output.empty()) checkForm(request, form);
  const CheckedModel model = openModel(line.model, splitCommand(line.worker), cancellation);
  sayDangers(model, request);
  request.abilities = model.abilities;
  JobDatabase database(line.database);
  if (request.inputs.empty() && request.inputs_path.empty()) {
    request.remembered = database.rememberedInputs(model.report.sha256);
  }
  if (request.optimize.tune != TuneMode::kOff) request.optimize.tuning_record = database.rememberedTuning();

  TerminalProgress progress;
  if (int8) addRecipe(line, model, &request, progress, cancellation);
  ModelJob job(model, request, true, progress, cancellation);
  job.optimize();
  database.recordTuning(job.tuning());
  progress.clear();
  sayGuess(job.job().model, !request.remembered.empty());
  job.measure();
  database.recordTuning(job.tuning());  // measure() optimizes the other precisions
  progress.clear();
  const auto id = database.record(job, request.inputs_path.empty());
  print(line, job.job());
  if (!job.accurate()) throw Error(ExitCode::kAccuracy, job.accuracySentence());
  if (!line.output.empty()) {
    job.exportTo(line.output, form, line.prepared);
    progress.clear();
    sayExport(line);
  }
  if (database.problem()) {
    throw Error(ExitCode::kDatabase, fmt::format("The run is not recorded. {}", database.problem()->what()));
  }
  sayRecorded(*database.database(), *id, job.job());
  return static_cast<int>(ExitCode::kOk);
}

}  // namespace ipex_studio
