// One job on one model: engines are started, optimize, run interleaved, export. Shared by the command line and the window.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/record/records.h"
#include "core/record/request.h"
#include "core/record/tuning_store.h"
#include "studio/job/process.h"
#include "studio/job/session_files.h"
#include "studio/protocol/protocol.h"

namespace ipex_studio {

// The request of a job, with paths as the user wrote them, and what the studio knows of the job. `optimize` is complete:
// its quantization_recipe and `data.preprocess` hold the texts of the files that the request names.
struct JobRequest : Request {
  std::string command = "run";              // "run", "bench", "studio": goes into the record
  std::vector<std::string> remembered;      // `inputs` of an earlier run on this model
  std::vector<DecisionRecord> decisions;    // that `optimize` holds; for the record
  bool use_landlock = true;                 // false: as on a kernel without it
  bool remote = false;                      // the model and all paths are those of a worker's machine
  std::vector<PrecisionAbility> abilities;  // of that machine; empty: not known yet
  // Time from the beginning to the verdict when a version is measured against the one before. Rounds end when the
  // verdict is clear or the time is over; 0: as `measure` says.
  double decide_within_s = 0;
  double tune_budget_s = 0;  // that measuring kernels may take; 0: as the mode says

  JobRequest() = default;
  explicit JobRequest(const Request& request) : Request(request) {}
};

// Events of a running job; called on the thread that runs it.
class JobEvents {
 public:
  virtual ~JobEvents() = default;
  // `fraction` of the whole job, 0..1; `eta_s` is negative while unknown.
  virtual void onProgress(const std::string& /*stage*/, double /*fraction*/, double /*eta_s*/) {}
  virtual void onLog(const std::string& /*text*/, bool /*warning*/) {}
  // The record has grown by something worth showing.
  virtual void onRecord(const JobRecord& /*job*/) {}
  // For a job that is measured against a version before: both latencies and the verdict are known, the times of single
  // steps follow.
  virtual void onMeasured(const JobRecord& /*job*/) {}
  // From now on something is timed, or no longer: nothing else should run on this machine, and no news can be looked at.
  virtual void onTimed(bool /*timed*/) {}
  // True if anything of this program ran between two times (ns) of the steady clock.
  virtual bool disturbed(double /*begin_ns*/, double /*end_ns*/) { return false; }
  // The state of a calibration or search, as its state file has it.
  virtual void onState(const std::string& /*text*/) {}
};

// Throws Error(kUnsupported) for a device or precision that this version or machine cannot do, Error(kUsage) for texts
// of --input that cannot be read and for impossible numbers. Needs no engine.
void checkRequest(const JobRequest& request);

// Throws Error(kUnsupported) for an export that this version cannot write.
void checkForm(const JobRequest& request, ExportForm form);

// "x:1x3x224x224:float32" or "rate=16000": what --input takes.
std::string inputText(const InputRecord& input);

class PreparedEngine;

// Not thread-safe; everything happens on the thread that made it. Every function throws Error; after that only the
// destructor may be called.
class ModelJob {
 public:
  // Starts the engines, which load their libraries while the caller goes on. `with_baseline`: a second engine measures
  // the default freeze.
  ModelJob(const CheckedModel& model, const JobRequest& request, bool with_baseline, JobEvents& events,
           const Cancellation& cancellation);
  // A job that measures `request` against the finished job `before` (variant "before"), whose waiting engine it takes
  // over. `before` is of the same model, after measure(), with the same threads and instances. `prepared` computes what
  // `request` asks for, if it fits; may be null.
  ModelJob(const CheckedModel& model, const JobRequest& request, std::unique_ptr<ModelJob> before,
           std::unique_ptr<PreparedEngine> prepared, JobEvents& events, const Cancellation& cancellation);
  ~ModelJob();

  // Rewrites, plans and runs once. `only_rewrite`: stops after the passes.
  void optimize(bool only_rewrite = false);
  // All engines interleaved; then per-step times and accuracy.
  void measure();
  // Instead of measure(): accuracy alone.
  void verify();
  // Adds the findings of a search to the record.
  void addSearch(std::vector<SensitivityRecord> sensitivities, std::vector<TradeoffRecord> tradeoffs);
  // Writes the optimized model. After measure(); throws Error(kAccuracy) when the results are not right.
  // `prepared`: and beside it its weights as this machine's kernels read them; of the compiled form.
  void exportTo(const std::string& path, ExportForm form, bool prepared = false);

  const JobRecord& job() const { return job_; }
  // Tuning records of the engine; only their form is checked.
  const MemoryTuningStore& tuning() const { return tuning_; }
  bool accurate() const { return accurate_; }
  // Why results are not accurate, as a sentence.
  std::string accuracySentence() const;

 private:
  struct Side;

  void prepare(std::unique_ptr<PreparedEngine> prepared);
  std::unique_ptr<Side> startEngine(const char* variant);
  std::unique_ptr<Side> sideOf(std::unique_ptr<EngineProcess> engine, const char* variant) const;
  void startOthers();
  void loadBeside();
  void runInterleaved(std::vector<Side*> sides);
  bool roundsAreEnough(int rounds) const;
  std::vector<std::int64_t> undisturbed(const RoundResult& result);
  bool isOther(const Side& side) const;
  void load(Side& side, bool only_rewrite);
  void takeTurn(Side& side, int index, double seconds, std::int64_t iterations);
  void finish(Side& side, int profile_iterations, bool evaluate = true);
  // Asks for it, and waits for the answer.
  nlohmann::json answerTo(Side& side, const FinishRequest& request);
  // The next message that is not progress, log or record; checks its type.
  nlohmann::json expect(Side& side, const char* type);
  void absorb(Side& side, const nlohmann::json& message);
  void progress(const std::string& stage, double fraction);
  void keepDumps() const;
  std::int32_t threads() const;
  double elapsed_s() const;

  const CheckedModel& model_;
  JobRequest request_;
  std::unique_ptr<ModelJob> before_;  // whose engine is the one beside; else that measures the default freeze
  JobEvents& events_;
  const Cancellation& cancellation_;
  std::unique_ptr<JobFolder> folder_;
  UniqueFd export_;  // shared with the optimized engine
  JobRecord job_;
  MemoryTuningStore tuning_;
  std::unique_ptr<Side> baseline_;
  std::vector<std::unique_ptr<Side>> others_;  // of JobRequest::also
  std::unique_ptr<Side> optimized_;
  bool accurate_ = true;
  std::size_t disturbed_ = 0;  // samples that were taken while the window was drawn
  std::chrono::steady_clock::time_point started_ = std::chrono::steady_clock::now();
};

// Names and summaries of all passes, in order.
std::vector<std::pair<std::string, std::string>> listPasses(const Cancellation& cancellation);

// Compares the results of two files, worst output first. `request`: inputs, reset method, threads, seed, trust.
std::vector<AccuracyRecord> verifyFiles(const CheckedModel& original, const CheckedModel& candidate,
                                        const JobRequest& request, JobEvents& events, const Cancellation& cancellation);

}  // namespace ipex_studio
