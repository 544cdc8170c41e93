// Runs calibrations and searches with a state file, and reads their results.
#include "studio/job/session_precision.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <limits>
#include <sstream>

#include "core/base/replace_file.h"
#include "core/file/operator_table.h"
#include "core/record/records_json.h"
#include "studio/job/session_request.h"

namespace ipex_studio {
namespace {

using nlohmann::json;

constexpr std::size_t kMaxTextBytes = std::size_t{128} << 20;
constexpr std::size_t kMaxPreprocessBytes = std::size_t{1} << 20;
constexpr std::size_t kMaxOperatorBytes = std::size_t{4} << 20;

std::string readText(const std::string& path, const char* flag, std::size_t most) {
  std::ifstream file(path, std::ios::binary);
  std::error_code error;
  if (!file || std::filesystem::is_directory(path, error)) {
    throw Error(ExitCode::kUsage, fmt::format("{} {}: there is no such readable file.", flag, path));
  }
  if (std::filesystem::file_size(path, error) > most && !error)
    throw Error(ExitCode::kUsage, fmt::format("{} {}: the file is too large.", flag, path));
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

// Runs one engine from start to result. States go to the file, times of kernels to `tuning`.
json runWithState(const EngineJob& job, const CheckedModel& model, const JobRequest& request, const JobFolder& folder,
                  const StateFile& state, MemoryTuningStore& tuning, JobEvents& events,
                  const Cancellation& cancellation) {
  const EngineStart start = engineStart(model, request, folder, job.measure.threads);
  EngineProcess engine(start, cancellation);
  engine.send(toJson(job));
  while (true) {
    const json message = engine.receive();
    const std::string type = messageText(message, "type");
    if (type == "result") return message;
    if (type == "state") {
      const std::string text = messageText(message, "text", kMaxTextBytes);
      state.write(text);
      events.onState(text);
    } else if (type == "tuning") {
      tuning.read(message);
    } else if (type == "progress") {
      events.onProgress(messageText(message, "stage", 200), std::clamp(messageNumber(message, "fraction"), 0.0, 1.0),
                        -1);
    } else if (type == "log") {
      events.onLog(messageText(message, "text", 4000), messageText(message, "level", 20) == "warning");
    }
  }
}

EngineJob describedJob(JobKind kind, const CheckedModel& model, const JobRequest& request, const JobFolder& folder,
                       const StateFile& state) {
  checkRequest(request);
  const std::int32_t threads = request.measure.threads > 0 ? request.measure.threads : std::max(1, model.machine.cores);
  EngineJob job = engineJob(kind, model, request, folder, threads);
  job.state = state.read();
  return job;
}

template <class Record>
std::vector<Record> recordsOf(const json& result, const char* name) {
  const auto found = result.find(name);
  if (found == result.end() || !found->is_array()) unexpectedMessage("result");
  std::vector<Record> records;
  for (const json& record : *found) records.push_back(recordFromJson<Record>(record));
  return records;
}

}  // namespace

StateFile::StateFile(std::string path, bool restart) : path_(std::move(path)) {
  if (restart) remove();
}

std::string StateFile::read() const {
  std::error_code error;
  if (path_.empty() || !std::filesystem::exists(path_, error)) return "";
  return readText(path_, "The interrupted job", kMaxTextBytes);
}

void StateFile::write(const std::string& state) const {
  if (!path_.empty()) writeFileAtomically(path_, state);
}

void StateFile::remove() const {
  std::error_code ignored;
  if (!path_.empty()) std::filesystem::remove(path_, ignored);
}

std::vector<TradeoffRecord> triedSoFar(const std::string& state) {
  std::vector<TradeoffRecord> tried;
  try {
    const json source = parseRecordText(state);
    const auto trials = source.find("trials");
    if (trials == source.end() || !trials->is_object()) return tried;
    for (const json& trial : *trials) tried.push_back(recordFromJson<TradeoffRecord>(trial));
  } catch (const std::exception&) {
    tried.clear();  // the state of a calibration holds no trials
  }
  return tried;
}

CalibrationResult calibrateModel(const CheckedModel& model, const JobRequest& request, const StateFile& state,
                                 JobEvents& events, const Cancellation& cancellation) {
  const JobFolder folder;
  JobRequest own = request;
  own.optimize.precision = Precision::kFp32;
  const EngineJob job = describedJob(JobKind::kCalibrate, model, own, folder, state);
  MemoryTuningStore nothing;  // a calibration measures no kernels
  const json answer = runWithState(job, model, own, folder, state, nothing, events, cancellation);
  constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
  CalibrationResult result;
  result.recipe = messageText(answer, "recipe", kMaxTextBytes);
  result.samples = messageInteger(answer, "samples", 0, kMax);
  result.operations = messageInteger(answer, "operations", 0, kMax);
  result.lowered = messageInteger(answer, "lowered", 0, kMax);
  return result;
}

PrecisionSearchResult searchPrecisions(const CheckedModel& model, const JobRequest& request, const StateFile& state,
                                       MemoryTuningStore& tuning, JobEvents& events, const Cancellation& cancellation) {
  const JobFolder folder;
  JobRequest own = request;
  own.optimize.precision = Precision::kFp32;
  const EngineJob job = describedJob(JobKind::kSearch, model, own, folder, state);
  const json answer = runWithState(job, model, own, folder, state, tuning, events, cancellation);
  PrecisionSearchResult result;
  result.precision = precisionFromName(messageText(answer, "precision", 20)).value_or(Precision::kFp32);
  result.recipe = messageText(answer, "recipe", kMaxTextBytes);
  result.sensitivities = recordsOf<SensitivityRecord>(answer, "sensitivities");
  result.tradeoffs = recordsOf<TradeoffRecord>(answer, "tradeoffs");
  return result;
}

std::string readRecipeText(const std::string& path, const WeightForm& form) {
  const bool weight_only = path == "weight-only";
  if (!weight_only && (form.bits != 8 || form.group >= 0 || form.levels != "even")) {
    throw Error(ExitCode::kUsage,
                "--bits, --group and --levels say how weights are kept with --recipe weight-only; leave them out, or "
                "give that.");
  }
  if (form.bits != 4 && form.levels != "even")
    throw Error(ExitCode::kUsage, fmt::format("--levels {} is a form of 4 bits: give --bits 4, too.", form.levels));
  // Recipes without ranges need no file.
  if (path == "dynamic" || weight_only) {
    constexpr std::int64_t kGroupOfFourBits = 32;
    const std::int64_t group = form.group >= 0 ? form.group : form.bits == 4 ? kGroupOfFourBits : 0;
    if (form.bits == 4 && group == 0)
      throw Error(ExitCode::kUsage,
                  "Weights of 4 bits need scales of their own for every few: give --group 32, 64 or 128.");
    json recipe = {{"format", "ipex-studio-recipe"},
                   {"version", 1},
                   {"mode", path},
                   {"values", json::array()},
                   {"nodes", json::array()}};
    if (weight_only) {
      recipe["weight_bits"] = form.bits;
      recipe["group"] = group;
      if (form.levels != "even") recipe["weight_levels"] = form.levels;
    }
    return dumpJson(recipe);
  }
  std::string text = readText(path, "--recipe", kMaxTextBytes);
  if (!json::accept(text))
    throw Error(ExitCode::kUsage,
                fmt::format("--recipe {}: this is no JSON; give what calibrate wrote, or an int8_conf.json.", path));
  return text;
}

std::string readPreprocessText(const std::string& path) { return readText(path, "--preprocess", kMaxPreprocessBytes); }

std::vector<std::string> readOnlyOps(const std::string& path) {
  return parseOperatorList(readText(path, "--only-ops", kMaxOperatorBytes), path);
}

}  // namespace ipex_studio
