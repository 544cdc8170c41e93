// Starts an engine ahead of its job, and collects its messages until it is ready.
#include "studio/job/session_prepared.h"

#include <utility>

#include "core/record/records_json.h"
#include "studio/job/session_request.h"

namespace ipex_studio {
namespace {

// Least size of the machine's memory, in models, for another engine: one holds the model several times while it
// computes the reference in double precision.
constexpr std::int64_t kModelsInMemory = 16;

}  // namespace

PreparedEngine::PreparedEngine(const CheckedModel& model, const JobRequest& request, std::int32_t threads,
                               const Cancellation& cancellation)
    : folder(std::make_unique<JobFolder>()),
      export_file(openExportFile(*folder)),
      model_(model),
      key_(keyOf(request, threads)) {
  EngineStart start = engineStart(model, request, *folder, threads);
  start.export_fd = export_file.get();
  process = std::make_unique<EngineProcess>(start, cancellation);
  EngineJob job = engineJob(JobKind::kOptimize, model, request, *folder, threads);
  job.wait = true;
  process->send(toJson(job));
}

std::string PreparedEngine::keyOf(const JobRequest& request, std::int32_t threads) const {
  EngineJob job = engineJob(JobKind::kOptimize, model_, request, *folder, threads);
  const std::vector<std::string> preserved = job.optimize.preserved_methods;
  const std::string device = job.optimize.device;
  const std::uint64_t seed = job.measure.seed;
  job.optimize = OptimizeOptions();
  job.optimize.preserved_methods = preserved;
  job.optimize.device = device;
  job.measure = MeasureOptions();
  job.measure.threads = threads;
  job.measure.instances = request.measure.instances;
  job.measure.seed = seed;
  nlohmann::json key = toJson(job);
  key["trust"] = request.trust;
  key["landlock"] = request.use_landlock;
  return dumpJson(key);
}

bool PreparedEngine::fits(const JobRequest& request, std::int32_t threads) const {
  return request.optimize.dump_directory.empty() && keyOf(request, threads) == key_;
}

bool PreparedEngine::wait() {
  try {
    while (true) {
      nlohmann::json message = process->receive();
      if (messageText(message, "type") == "prepared") return true;
      said.push_back(std::move(message));
    }
  } catch (const Error& error) {
    if (error.code() == kInterrupted) throw;
    return false;
  }
}

bool mayPrepare(const CheckedModel& model, const JobRequest& request) {
  const std::int64_t memory = model.machine.memory_bytes;
  return request.optimize.dump_directory.empty() && (memory <= 0 || model.report.file_bytes < memory / kModelsInMemory);
}

}  // namespace ipex_studio
