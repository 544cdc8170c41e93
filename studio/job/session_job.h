// One job on one model: starts engines, optimizes, times them interleaved and exports. Shared by command line and
// window.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/record/argument_record.h"
#include "core/record/bisect_record.h"
#include "core/record/generation_record.h"
#include "core/record/request.h"
#include "core/record/source_record.h"
#include "core/record/tuning_store.h"
#include "core/record/value_record.h"
#include "studio/job/process.h"
#include "studio/job/session_files.h"
#include "studio/protocol/protocol.h"

namespace ipex_studio {

// The request of a job, with paths as the user wrote them, and what the studio knows of the job. `optimize` is
// complete: its quantization_recipe and `data.preprocess` hold the texts of the files that the request names.
struct JobRequest : Request {
  std::string command = "run";              // for the record: "run", "bench", "studio"
  std::vector<std::string> remembered;      // `inputs` of an earlier run on this model
  std::vector<DecisionRecord> decisions;    // for the record: the decisions that `optimize` holds
  bool use_landlock = true;                 // false: as on a kernel without it
  bool remote = false;                      // the model and all paths are those of a worker's machine
  std::vector<PrecisionAbility> abilities;  // of the machine that runs the model; empty: not known yet
  // Time from the beginning to the verdict when a version is measured against the one before. Rounds end when the
  // verdict is clear or the time is over; 0: as `measure` says.
  double decide_within_s = 0;
  double tune_budget_s = 0;  // time that measuring kernels may take; 0: as the mode says

  JobRequest() = default;
  explicit JobRequest(const Request& request) : Request(request) {}
};

// Events of a running job; called on the thread that runs it.
class JobEvents {
 public:
  virtual ~JobEvents() = default;
  // The job goes on. `fraction`: of the whole job, 0..1; `eta_s` is negative while unknown.
  virtual void onProgress(const std::string& /*stage*/, double /*fraction*/, double /*eta_s*/) {}
  virtual void onLog(const std::string& /*text*/, bool /*warning*/) {}
  // The arguments of forward are known; nothing has run yet.
  virtual void onSignature(const std::vector<ArgumentRecord>& /*arguments*/) {}
  // The source of the model is known.
  virtual void onSource(const std::shared_ptr<const SourceRecord>& /*source*/) {}
  // The record holds something new that is worth showing.
  virtual void onRecord(const JobRecord& /*job*/) {}
  // Both latencies and the verdict of a job that is measured against a version before are known; times of single
  // steps follow.
  virtual void onMeasured(const JobRecord& /*job*/) {}
  // Timing begins or ends. While it lasts nothing else should run on this machine and no snapshot can be shown.
  virtual void onTimed(bool /*timed*/) {}
  // True if this program did other work between the two times (ns on the steady clock).
  virtual bool disturbed(double /*begin_ns*/, double /*end_ns*/) { return false; }
  // A calibration or search has written this state to its state file.
  virtual void onState(const std::string& /*text*/) {}
};

// Throws Error(kUnsupported) for a device or precision that this version or machine cannot do, Error(kUsage) for texts
// of --input that cannot be read and for impossible numbers. Needs no engine.
void checkRequest(const JobRequest& request);

// Throws Error(kUnsupported) for an export that this version cannot write.
void checkForm(const JobRequest& request, ExportForm form);

// The value of --input for a recorded input: "x:1x3x224x224:float32" or "rate=16000".
std::string inputText(const InputRecord& input);

class PreparedEngine;

// Not thread-safe; the thread that made it calls every function and gets the events. Every function throws Error;
// after that only the destructor may be called.
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

  // Reads the graph, the source and what inputs would be given, and runs nothing; instead of optimize().
  void readGraph();
  // Rewrites and plans the model and runs it once. `only_rewrite`: stops after the passes.
  void optimize(bool only_rewrite = false);
  // Times all engines interleaved, then measures single steps and accuracy. If results in FP32 are wrong, and leaving
  // out one rewrite, pass or planned operation makes them right, the job starts over without it, with a warning.
  void measure();
  // Times the two versions of a job that is measured against another, and nothing else, after optimize(); the record
  // keeps both runs.
  void timeAgainst();
  // Ends this job, also one that failed; returns the job that it was measured against, which can be so again.
  std::unique_ptr<ModelJob> giveBack();
  // Compares results instead of measure(), and starts over as that does.
  void verify();
  // Adds the findings of a search to the record.
  void addSearch(std::vector<SensitivityRecord> sensitivities, std::vector<TradeoffRecord> tradeoffs);
  // Writes the optimized model; to be called after measure(). `prepared`: writes beside a compiled export its weights
  // as this machine's kernels read them. Throws Error(kAccuracy) if the results are wrong.
  void exportTo(const std::string& path, ExportForm form, bool prepared = false);

  const JobRecord& job() const { return job_; }
  // The source of the model; null: the engine has not told.
  const std::shared_ptr<const SourceRecord>& source() const { return source_; }
  // Tuning records that the engines sent; only their form is checked.
  const MemoryTuningStore& tuning() const { return tuning_; }
  bool accurate() const { return accurate_; }
  // True if the model could not be run because of its inputs; job() then has the graph as far as it is known.
  bool inputsRefused() const { return inputs_refused_; }
  // A sentence on why the results are not accurate; empty if they are.
  std::string accuracySentence() const;

 private:
  struct Side;

  void prepare(std::unique_ptr<PreparedEngine> prepared);
  std::unique_ptr<Side> startEngine(const char* variant, const std::string& device, Precision precision);
  std::unique_ptr<Side> sideOf(std::unique_ptr<EngineProcess> engine, const char* variant, const std::string& device,
                               Precision precision) const;
  std::unique_ptr<Side> startBaseline();
  void startOthers();
  JobRequest requestOn(const std::string& device) const;
  void loadBeside();
  void runInterleaved(std::vector<Side*> sides);
  bool roundsAreEnough(int rounds) const;
  std::vector<std::int64_t> undisturbed(const RoundResult& result);
  bool isOther(const Side& side) const;
  void load(Side& side, bool only_rewrite);
  void takeTurn(Side& side, int index, double seconds, std::int64_t iterations);
  void finish(Side& side, int profile_iterations, bool evaluate = true);
  // Starts over without what made the results wrong; false if nothing is known or too much was left out already.
  bool startOver();
  // Sends the request and waits for its result.
  nlohmann::json answerTo(Side& side, const FinishRequest& request);
  // Waits for the next message of this type; messages of other types are absorbed.
  nlohmann::json expect(Side& side, const char* type);
  void absorb(Side& side, const nlohmann::json& message);
  void progress(const std::string& stage, double fraction);
  void keepDumps() const;
  std::int32_t threads() const;
  double elapsed_s() const;

  const CheckedModel& model_;
  JobRequest request_;
  // The job measured against, whose engine is baseline_; null: baseline_ runs the default freeze.
  std::unique_ptr<ModelJob> before_;
  JobEvents& events_;
  const Cancellation& cancellation_;
  std::unique_ptr<JobFolder> folder_;
  UniqueFd export_;  // the file that the optimized engine exports to
  JobRecord job_;
  std::shared_ptr<const SourceRecord> source_;
  MemoryTuningStore tuning_;
  std::unique_ptr<Side> baseline_;
  std::vector<std::unique_ptr<Side>> others_;  // engines of JobRequest::also and also_devices
  std::unique_ptr<Side> optimized_;
  bool accurate_ = true;
  bool inputs_refused_ = false;
  // What to leave out for the results to be right, and what it does wrong; empty: not known.
  std::string leave_out_, fault_;
  std::vector<Remark> left_out_;  // faults that the job started over without
  std::size_t disturbed_ = 0;     // number of samples taken while the window was drawn
  std::chrono::steady_clock::time_point started_ = std::chrono::steady_clock::now();
};

// Names and summaries of all passes, in the order of the pipeline. Throws Error.
std::vector<std::pair<std::string, std::string>> listPasses(const Cancellation& cancellation);

// The second of two files beside the first.
struct FileVerdict {
  std::vector<AccuracyRecord> records;         // the worst output first
  std::int64_t load_ns = 0, first_run_ns = 0;  // of the second file
};

// Makes the sample model, if it is not there yet, beside the database; returns its path. Throws Error.
std::string writeSampleModel(const Cancellation& cancellation);

// Compares the results of two files on this machine. Of `request` it uses inputs, reset
// method, threads, seed and trust. Throws Error.
FileVerdict verifyFiles(const CheckedModel& original, const CheckedModel& candidate, const JobRequest& request,
                        JobEvents& events, const Cancellation& cancellation);

// Finds the first node at which the model that `request` makes differs from its original or, with `other` (may be
// null), at which that file does, and what is to blame. Throws Error.
BisectRecord bisect(const CheckedModel& original, const CheckedModel* other, const JobRequest& request,
                    JobEvents& events, const Cancellation& cancellation);

// What the value of a node holds, in the model and as `request` optimizes it. `node`: as EngineJob has it. Throws
// Error.
ValueRecord nodeValues(const CheckedModel& model, const JobRequest& request, const std::string& node, JobEvents& events,
                       const Cancellation& cancellation);

// Writes the text that `request.generate` asks for, with the model as `request` optimizes it, and compares it with the
// original. Throws Error.
GenerationRecord generateText(const CheckedModel& model, const JobRequest& request, JobEvents& events,
                              const Cancellation& cancellation);

}  // namespace ipex_studio
