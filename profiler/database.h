// profile.db: the records of every run, and facts remembered from run to run. Tables and units: schema.sql.
//
// A Database is one connection: use it from one thread at a time, and open one per thread. Any number of processes may
// read while one writes. Everything throws Error(kDatabase, sentence); a call that throws has changed nothing.
// Everything written by a call that returned survives `kill -9` and loss of power.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/record/curves_record.h"
#include "core/record/noise.h"
#include "core/record/pass_gain_record.h"
#include "core/record/records.h"
#include "core/record/tuning_store.h"

namespace ipex_studio {

class Connection;
struct SourceRecord;  // core/record/source_record.h

enum class OpenMode {
  kReadOnly,   // the file must exist
  kReadWrite,  // made when missing; its directory must exist
};

// Parts of a job to read. Graphs are most of its bytes, and numbers can be shown and compared without them.
enum class JobParts { kAll, kWithoutGraphs };

struct RunSummary {
  std::int64_t id = 0;
  std::int64_t job = 0;
  std::string command;
  std::string model_path;
  std::string sha256;
  std::int64_t started_unix_ns = 0;  // start of the job
  std::string cpu;
  std::string isa;
  std::string variant;
  std::string device;
  std::string precision;
  std::int32_t threads = 0;
  std::int32_t instances = 0;
  std::int64_t samples = 0;
  std::int64_t p50_ns = 0;
  NoiseVerdict noise;     // its text is known only where the records of the run were read
  bool judged = false;    // true: results were compared
  bool accurate = false;  // the verdict
  double sqnr_db = 0;     // of results that were judged
};

struct TrainingSummary {
  std::string precision;
  std::string metric;  // of `value`; empty: nothing was judged
  std::int64_t epochs = 0;
  std::int32_t threads = 0;
  bool finished = false;
  std::int64_t steps = 0;    // the last step
  double loss = 0;           // of that step
  double value = 0;          // of the last epoch that was judged; NaN: none
  std::int64_t step_ns = 0;  // mean time of a step
};

struct JobSummary {
  std::int64_t id = 0;
  std::string command;
  std::string model_path;
  std::string sha256;
  std::int64_t started_unix_ns = 0;
  std::int64_t baseline_p50_ns = 0;   // 0: not measured
  std::int64_t optimized_p50_ns = 0;  // 0: not measured
  std::vector<RunSummary> runs;
  std::optional<TrainingSummary> training;
  std::string name{};         // that a user gave to the job; empty: none
  bool pinned = false;        // true: the job is never pruned
  std::string model_name{};   // likewise of the model
  bool model_pinned = false;  // likewise of all jobs of the model
};

// A model of the database, by the SHA-256 of its file, or one of its jobs.
struct LibraryItem {
  std::string sha256{};
  std::int64_t job = 0;  // 0: the model itself
};

// Earlier trials on a model: a search over precisions, and what-ifs.
struct TriedBefore {
  std::string options;               // JobRecord::options of the newest search; empty: there was none
  std::int64_t started_unix_ns = 0;  // of that search
  std::vector<SensitivityRecord> sensitivities;
  std::vector<TradeoffRecord> tradeoffs;
  // What-ifs, oldest first: the decisions and two runs, "before" and "optimized", with latencies, rounds and accuracy
  // alone.
  std::vector<JobRecord> what_ifs;
};

// Limits of the database's size; the newest jobs stay, and those that are pinned, which `jobs` does not count.
// Negative: no limit.
struct PruneLimits {
  std::int64_t jobs = -1;
  std::int64_t file_bytes = -1;
};

// Returns `$XDG_DATA_HOME/ipex-studio/profile.db`, or `~/.local/share/ipex-studio/profile.db` without that variable.
std::string defaultDatabasePath();

class Database {
 public:
  static Database open(const std::string& path, OpenMode mode);
  // Opens defaultDatabasePath() for writing and makes its directories.
  static Database openDefault();
  Database(Database&&) noexcept;
  Database& operator=(Database&&) noexcept;
  ~Database();

  // True if opened as kReadOnly, and if a newer version of this program wrote the file.
  bool readOnly() const { return read_only_; }
  // Throws Error(kDatabase) if it can only be read: a newer version of this program wrote it.
  void checkWritable() const { writable(); }
  const std::string& path() const;

  // Writes a job as one short transaction and returns its id. Samples beyond the size budget (60,000 step samples and
  // 100,000 latencies per run) are thinned evenly.
  std::int64_t record(const JobRecord& job);
  JobRecord job(std::int64_t id, JobParts parts = JobParts::kAll) const;
  // Returns the job that a run belongs to, without graphs and without steps and times of its other runs, and the run's
  // place in JobRecord::runs. Throws if there is none.
  std::pair<JobRecord, std::size_t> run(std::int64_t run_id) const;
  // Newest first. `limit` bounds the number of jobs; a `sha256` that is not empty selects one model.
  std::vector<JobSummary> jobs(std::int64_t limit = 1000, const std::string& sha256 = "") const;
  std::vector<RunSummary> runs(std::int64_t limit = 1000, const std::string& sha256 = "") const;
  // Trials on a machine with the same CPU and ISA, and with as many threads and instances: other times cannot be
  // compared with these.
  TriedBefore tried(const std::string& sha256, const MachineFacts& machine, std::int32_t threads,
                    std::int32_t instances) const;

  // Keeps the source of a recorded job's model; does nothing if it is kept already.
  void recordSource(std::int64_t job, const SourceRecord& source);
  std::shared_ptr<const SourceRecord> source(std::int64_t job) const;  // null: none is kept

  // Keeps what passes gain in a recorded job; replaces what is known of the same passes.
  void recordPassGains(std::int64_t job, const std::vector<PassGain>& gains);
  std::vector<PassGain> passGains(std::int64_t job) const;  // empty: not measured

  // Keeps the curves of a recorded job.
  void recordCurves(std::int64_t job, const CurvesRecord& curves);
  CurvesRecord curves(std::int64_t job) const;  // without points: not measured
  // The newest of a model that were measured on this CPU; without points: there are none.
  CurvesRecord newestCurves(const std::string& sha256, const std::string& cpu) const;

  void rememberInputs(const std::string& sha256, const std::vector<InputRecord>& inputs);
  std::vector<InputRecord> rememberedInputs(const std::string& sha256) const;  // empty: none
  void trust(const std::string& sha256);
  bool isTrusted(const std::string& sha256) const;

  // Stores tuning records in one transaction; replaces those with the same key and spec.
  void putTunings(const std::vector<std::pair<TuningKey, TuningEntry>>& entries);
  // The newest `limit` entries for one device and ISA, with any libraries and threads. An engine is started with them.
  std::vector<std::pair<TuningKey, TuningEntry>> tunings(const std::string& device, const std::string& isa,
                                                         std::int64_t limit = 20000) const;

  // Names a model or job, or takes its name away if `name` is empty. Throws Error(kUsage) for a name that is too long
  // or holds control characters.
  void setName(const LibraryItem& item, const std::string& name);
  // Pins a model or job, which keeps it from prune(), or lets it loose again.
  void setPinned(const LibraryItem& item, bool pinned);
  // Removes a job, or a model with all its jobs, its name, inputs and trust. Returns the number of jobs removed.
  std::int64_t forget(const LibraryItem& item);

  // Copies jobs that are not here yet, with their names and pins, tuning records and remembered inputs; never trust.
  // Returns the number of jobs.
  std::int64_t import(const std::string& other_path);
  // Removes the oldest jobs that are not pinned and shrinks the file. Returns the number of jobs removed.
  std::int64_t prune(const PruneLimits& limits);
  // Returns "ok", or the findings of SQLite's integrity check.
  std::string check() const;

 private:
  Database(std::unique_ptr<Connection> connection, bool read_only);
  Connection& writable() const;
  void importMarks(const Database& other, const LibraryItem& from, const LibraryItem& to);

  std::unique_ptr<Connection> connection_;
  bool read_only_;
};

}  // namespace ipex_studio
