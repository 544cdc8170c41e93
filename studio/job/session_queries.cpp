// Jobs that answer with one result: the list of passes, the comparison of two files, the first wrong node.
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <limits>

#include "core/record/records_json.h"
#include "core/runtime/machine_facts.h"
#include "profiler/database.h"
#include "studio/job/session_request.h"

namespace ipex_studio {
namespace {

using nlohmann::json;

// Waits for the result of a job. `events` may be null.
json runToResult(EngineProcess& engine, const EngineJob& job, JobEvents* events) {
  engine.send(toJson(job));
  while (true) {
    json message = engine.receive();
    const std::string type = messageText(message, "type");
    if (type == "result") return message;
    if (events == nullptr) continue;
    if (type == "progress") {
      events->onProgress(messageText(message, "stage", 200), std::clamp(messageNumber(message, "fraction"), 0.0, 1.0),
                         -1);
    } else if (type == "log") {
      events->onLog(messageText(message, "text", 4000), messageText(message, "level", 20) == "warning");
    }
  }
}

const json& resultList(const json& result, const char* name) {
  const auto found = result.find(name);
  if (found == result.end() || !found->is_array()) unexpectedMessage("result");
  return *found;
}

}  // namespace

std::vector<std::pair<std::string, std::string>> listPasses(const Cancellation& cancellation) {
  const JobFolder folder;
  EngineStart start;
  start.program = engineProgram();
  start.job_folder = folder.path();
  EngineProcess engine(start, cancellation);
  EngineJob job;
  job.kind = JobKind::kPasses;
  const json result = runToResult(engine, job, nullptr);
  std::vector<std::pair<std::string, std::string>> passes;
  for (const json& pass : resultList(result, "passes")) {
    passes.emplace_back(messageText(pass, "name", 200), messageText(pass, "summary", 2000));
  }
  return passes;
}

std::string writeSampleModel(const Cancellation& cancellation) {
  const std::filesystem::path path = std::filesystem::path(defaultDatabasePath()).parent_path() / "sample.pt";
  if (::access(path.c_str(), R_OK) == 0) return path.string();
  std::filesystem::create_directories(path.parent_path());
  const JobFolder folder;
  const UniqueFd file = openExportFile(folder);
  EngineStart start;
  start.program = engineProgram();
  start.job_folder = folder.path();
  start.export_fd = file.get();
  EngineProcess engine(start, cancellation);
  EngineJob job;
  job.kind = JobKind::kSample;
  const json result = runToResult(engine, job, nullptr);
  moveExport(file.get(), messageInteger(result, "model_bytes", 1, std::numeric_limits<std::int64_t>::max()),
             path.string());
  return path.string();
}

FileVerdict verifyFiles(const CheckedModel& original, const CheckedModel& candidate, const JobRequest& request,
                        JobEvents& events, const Cancellation& cancellation) {
  checkRequest(request);
  const JobFolder folder;
  if (!original.worker.empty() || !candidate.worker.empty())
    throw Error(ExitCode::kUnsupported,
                "Two files are compared on this machine only; run ipex-studio verify on the worker's.");
  EngineStart start =
      engineStart(original, request, folder, request.measure.threads > 0 ? request.measure.threads : usableCores());
  start.other_fd = candidate.fd.get();
  EngineProcess engine(start, cancellation);
  const json result =
      runToResult(engine, engineJob(JobKind::kVerify, original, request, folder, start.threads), &events);
  FileVerdict verdict;
  for (const json& record : resultList(result, "accuracy"))
    verdict.records.push_back(recordFromJson<AccuracyRecord>(record));
  if (verdict.records.empty()) unexpectedMessage("result");
  constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
  verdict.load_ns = messageInteger(result, "load_ns", 0, kMax);
  verdict.first_run_ns = messageInteger(result, "first_run_ns", 0, kMax);
  return verdict;
}

BisectRecord bisect(const CheckedModel& original, const CheckedModel* other, const JobRequest& request,
                    JobEvents& events, const Cancellation& cancellation) {
  checkRequest(request);
  const JobFolder folder;
  if (other != nullptr && (!original.worker.empty() || !other->worker.empty()))
    throw Error(ExitCode::kUnsupported,
                "Two files are compared on this machine only; run ipex-studio bisect on the worker's.");
  EngineStart start =
      engineStart(original, request, folder, request.measure.threads > 0 ? request.measure.threads : usableCores());
  if (other != nullptr) start.other_fd = other->fd.get();
  EngineProcess engine(start, cancellation);
  const JobKind kind = other != nullptr ? JobKind::kBisectFiles : JobKind::kBisect;
  const json result = runToResult(engine, engineJob(kind, original, request, folder, start.threads), &events);
  const auto found = result.find("bisect");
  if (found == result.end()) unexpectedMessage("result");
  return recordFromJson<BisectRecord>(*found);
}

ValueRecord nodeValues(const CheckedModel& model, const JobRequest& request, const std::string& node, JobEvents& events,
                       const Cancellation& cancellation) {
  checkRequest(request);
  const JobFolder folder;
  const EngineStart start =
      engineStart(model, request, folder, request.measure.threads > 0 ? request.measure.threads : usableCores());
  EngineProcess engine(start, cancellation);
  EngineJob job = engineJob(JobKind::kValues, model, request, folder, start.threads);
  job.node = node;
  const json result = runToResult(engine, job, &events);
  const auto found = result.find("values");
  if (found == result.end()) unexpectedMessage("result");
  return recordFromJson<ValueRecord>(*found);
}

GenerationRecord generateText(const CheckedModel& model, const JobRequest& request, JobEvents& events,
                              const Cancellation& cancellation) {
  checkRequest(request);
  const JobFolder folder;
  const EngineStart start =
      engineStart(model, request, folder, request.measure.threads > 0 ? request.measure.threads : usableCores());
  EngineProcess engine(start, cancellation);
  const json result =
      runToResult(engine, engineJob(JobKind::kGenerate, model, request, folder, start.threads), &events);
  const auto found = result.find("generation");
  if (found == result.end()) unexpectedMessage("result");
  return recordFromJson<GenerationRecord>(*found);
}

}  // namespace ipex_studio
