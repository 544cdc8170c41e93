// Reads and writes of a job, whose failures are kept as the problem.
#include "studio/job/session_database.h"

#include "core/record/records_json.h"
#include "core/runtime/machine_facts.h"
#include "studio/job/session_job.h"

namespace ipex_studio {

JobDatabase::JobDatabase(const std::string& path) {
  try {
    database_.emplace(path.empty() ? Database::openDefault() : Database::open(path, OpenMode::kReadWrite));
  } catch (const Error& error) {
    problem_ = error;
  }
}

std::vector<std::string> JobDatabase::rememberedInputs(const std::string& sha256) {
  std::vector<std::string> texts;
  if (!database_) return texts;
  try {
    for (const InputRecord& input : database_->rememberedInputs(sha256)) texts.push_back(inputText(input));
  } catch (const Error& error) {
    problem_ = error;
    texts.clear();
  }
  return texts;
}

std::string JobDatabase::rememberedTuning() {
  if (!database_) return "";
  try {
    MemoryTuningStore store;
    for (auto& [key, entry] : database_->tunings("cpu", machineFacts().isa)) store.put(key, std::move(entry));
    return store.empty() ? "" : dumpJson(store.toJson(false));
  } catch (const Error& error) {
    problem_ = error;
    return "";
  }
}

void JobDatabase::recordTuning(const MemoryTuningStore& tuning) {
  if (!database_ || tuning.empty()) return;
  try {
    database_->putTunings(tuning.entries(false));
  } catch (const Error& error) {
    problem_ = error;
  }
}

void JobDatabase::recordPassGains(std::int64_t job, const std::vector<PassGain>& gains) {
  if (!database_) return;
  try {
    database_->recordPassGains(job, gains);
  } catch (const Error& error) {
    problem_ = error;
  }
}

void JobDatabase::recordCurves(std::int64_t job, const CurvesRecord& curves) {
  if (!database_) return;
  try {
    database_->recordCurves(job, curves);
  } catch (const Error& error) {
    problem_ = error;
  }
}

std::optional<std::int64_t> JobDatabase::record(const JobRecord& job, bool remember_inputs) {
  if (!database_) return std::nullopt;
  try {
    const std::int64_t id = database_->record(job);
    if (remember_inputs) database_->rememberInputs(job.model.sha256, job.model.inputs);
    return id;
  } catch (const Error& error) {
    problem_ = error;
    return std::nullopt;
  }
}

std::optional<std::int64_t> JobDatabase::record(const ModelJob& job, bool remember_inputs) {
  const auto id = record(job.job(), remember_inputs);
  if (!id || !job.source()) return id;
  try {
    database_->recordSource(*id, *job.source());
  } catch (const Error& error) {
    problem_ = error;
  }
  return id;
}

}  // namespace ipex_studio
