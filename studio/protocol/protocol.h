// The language between ipex-studio and its engine process: frames over a pair of sockets.
//
// A frame is a 4-byte little-endian length and that many bytes of JSON: one object with a "type". The first frame to
// the engine is the job; turns and a finish request follow. The engine answers with messages and ends with a result or
// an error.
//
//   to the engine      job      EngineJob; a second one where the first says to wait for it
//                      turn     Turn: run forward for a while, then answer with samples
//                      finish   FinishRequest: profile, export, then answer with the result
//                      kept     a checkpoint was copied, and training may go on
//                      stop     end the training behind this step
//   from the engine    hello    versions of its libraries
//                      progress stage, fraction; timed: what follows is timed, until the next one or the result
//                      log      level, text
//                      signature arguments of forward, before anything runs
//                      refused  the inputs keep the model from running; an error follows
//                      input, origins, frozen, pass, remark       records of core/record/records.h
//                      tuning   what was measured to choose kernels, as MemoryTuningStore writes it
//                      prepared an engine that waits has the model ready; the job follows
//                      ready    load, compile, tuning and first run times; accuracy; the engine now waits for rounds
//                      samples  raw times of one turn
//                      state    state of a calibration or search, from which an interrupted one resumes
//                      training what is known of a training before its first step
//                      steps, epoch   steps that were done, and the end of an epoch
//                      profile  layers and memory of a step
//                      fault    the operation that made NaN or infinity; an error follows
//                      checkpoint   one lies in the export file; the engine waits until it is kept
//                      result   depends on the job: the run record, a text, accuracy records
//                      error    exit code, sentence
//
// The studio trusts nothing that arrives: frames are limited in size, every record is checked by records_json.h, and
// names of files never come from the engine.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "core/record/option_names.h"
#include "core/record/records.h"
#include "core/record/request.h"

namespace ipex_studio {

// Descriptors an engine starts with.
constexpr int kEngineChannelFd = 3;  // frames, both ways
constexpr int kEngineModelFd = 4;    // the model, open for reading
constexpr int kEngineOtherFd = 5;    // the second model of `verify` or `bisect`, the checkpoint of `train`, if any
constexpr int kEngineExportFd = 6;   // an empty file for exports and checkpoints, if there may be any

// Largest frame either side takes. A 5,000-node snapshot is about 3 MB.
constexpr std::uint32_t kMaxFrameBytes = 256u << 20;

enum class JobKind {
  kBaseline,     // default freeze, timed turn by turn
  kOptimize,     // passes, plan, accuracy, timed turn by turn, export
  kGraph,        // the graph, the source and what inputs would be given; nothing is run
  kPasses,       // names and summaries of all passes
  kSample,       // writes a small model to kEngineExportFd; the result has its "model_bytes"
  kVerify,       // results of the second model against those of the first
  kCalibrate,    // runs data through the model; the result is a recipe
  kBisect,       // the first node at which the optimized model is wrong, and what is to blame
  kBisectFiles,  // the first node at which the second model differs from the first
  kValues,       // what one value of the model holds
  kBatchSizes,   // which batch sizes of `curves.batch` the model takes, with their inputs
  kGenerate,     // decodes a text
  kTrain,        // trains the module; checkpoints and the result go to kEngineExportFd
  kSearch,       // finds the fastest precisions within a budget; the result is a recipe and what was tried
};

// The job of one engine process. Paths are as the engine sees them: descriptors as /proc/self/fd/N.
// `optimize.dump_directory` lies in the job's folder, `data.metric` is readable if it is a file.
struct EngineJob : Request {
  JobKind kind = JobKind::kOptimize;
  std::string model_name;            // as the user wrote it, for messages
  std::string other_name;            // of the file at kEngineOtherFd; empty: of no interest
  std::vector<std::string> guessed;  // inputs that were guessed for this model before; used when `inputs` is empty
  bool optimize_only = false;        // kOptimize: the result comes after the passes; nothing is run
  // True (kOptimize): the engine loads and freezes the model, computes reference results, and waits for another job, of
  // which only `optimize`, `measure` and `tune_budget_s` count.
  bool wait = false;
  double tune_budget_s = 0;     // kOptimize: approximate limit for measuring kernels; 0: as the mode says
  std::string job_folder;       // the only folder the engine may write to
  std::string device_programs;  // folder of the compiled programs of optimize.device; empty for "cpu"
  std::string node;             // kValues: a node's name, or "#17" for an origin
  std::string state;            // kCalibrate, kSearch: state to resume from; empty: none

  EngineJob() = default;
  explicit EngineJob(const Request& request) : Request(request) {}
};

struct Turn {
  std::int32_t index = 0;
  double seconds = 0.3;
  std::int64_t iterations = 0;  // > 0: exactly that many runs; `seconds` is ignored
  // Instances of so many threads in the place of the job's; 0: as the job says.
  std::int32_t threads = 0;
  std::int32_t instances = 0;
};

struct RoundResult {
  std::int32_t index = 0;
  std::vector<std::int64_t> latency_ns;
  std::int64_t begin_ns = 0;  // begin of the first run, on the steady clock
  std::int64_t wall_ns = 0;
  std::int64_t cpu_ns = 0;
  NoiseRecord noise;              // what else the machine did
  std::int64_t memory_bytes = 0;  // resident memory at the end
};

struct FinishRequest {
  std::int32_t profile_iterations = 0;    // 0: no per-step times
  std::optional<ExportForm> export_form;  // form to write to kEngineExportFd; the result has its "model_bytes"
  bool prepared = false;                  // true: writes its weights right behind it (core/plan/prepared_weights.h)
  bool evaluate = false;                  // true: adds metrics on the data, and the size of the compiled form
  bool compare_nodes = false;             // true: adds the error of each operation in FP32, too
  bool find_fault = false;                // true: if results are wrong the result says what to leave out, as "fault"
  bool stay = false;                      // true: the engine answers, then waits for more requests
};

nlohmann::json toJson(const EngineJob& job);
nlohmann::json toJson(const Turn& turn);
nlohmann::json toJson(const RoundResult& result);
nlohmann::json toJson(const FinishRequest& request);
// Read what toJson() writes; throw Error(kFailure) when malformed.
EngineJob engineJobFromJson(const nlohmann::json& json);
Turn turnFromJson(const nlohmann::json& json);
RoundResult turnResultFromJson(const nlohmann::json& json);
FinishRequest finishRequestFromJson(const nlohmann::json& json);

// Writes one frame to a socket or pipe; false when the other side is gone or does not read.
bool writeFrame(int fd, const nlohmann::json& message);

// Cuts a byte stream into frames. Not thread-safe.
class FrameReader {
 public:
  explicit FrameReader(std::uint32_t max_bytes = kMaxFrameBytes) : max_bytes_(max_bytes) {}
  void append(const char* bytes, std::size_t count) { buffer_.append(bytes, count); }
  // The next whole frame, or nothing yet. Throws Error(kFailure) on a frame that is too large or no JSON object.
  std::optional<nlohmann::json> next();
  // True if part of a frame has arrived, but not all of it.
  bool hasPartial() const { return begin_ < buffer_.size(); }

 private:
  std::uint32_t max_bytes_;
  std::string buffer_;
  std::size_t begin_ = 0;
};

// Blocks for the next frame of `fd`; nothing at the end of the stream. Throws like FrameReader::next.
std::optional<nlohmann::json> readFrame(int fd, FrameReader& reader);

// Typed reads of one member that throw Error(kFailure, "The engine sent a malformed message: …").
std::string messageText(const nlohmann::json& message, const char* name, std::size_t max_bytes = 1 << 20);
std::int64_t messageInteger(const nlohmann::json& message, const char* name, std::int64_t low, std::int64_t high);
double messageNumber(const nlohmann::json& message, const char* name);
bool messageBool(const nlohmann::json& message, const char* name);
std::vector<std::string> messageTexts(const nlohmann::json& message, const char* name);

}  // namespace ipex_studio
