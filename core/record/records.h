// All records that leave the engine: results of passes, costs of kernels, measurements of runs.
//
// Records are values without behaviour. They cross the pipe between the engine and the studio as JSON
// (records_json.h), become rows of profile.db (profiler/database.h) and are drawn by the panels. Nothing here
// knows libtorch, sqlite or ImGui. Times are nanoseconds, sizes are bytes unless the name says otherwise.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/record/training_record.h"

namespace ipex_studio {

// Identity of one node of the frozen graph, given once at load and never reused. Every later node carries the
// union of the ids of the nodes it came from; before/after views and per-node columns align on them.
using OriginId = std::int32_t;

// The place of an origin in the model. Across runs, machines and library versions origins align on (module_path, kind,
// ordinal).
struct Origin {
  OriginId id = 0;
  std::string module_path;   // "layer1.0.conv3"; empty when the graph does not tell
  std::string kind;          // "aten::conv2d"
  std::int32_t ordinal = 0;  // 0-based count of this kind within this module path
  std::string source;        // "file.py:12" of the model's author; may be empty
};

enum class RemarkKind { kApplied, kMissed };

// The reason why a rewrite happened or did not. `reason` is a kebab-case code from core/graph/reasons.h, `text` a
// sentence.
struct Remark {
  std::string pass;
  RemarkKind kind = RemarkKind::kApplied;
  std::string reason;
  std::string text;
  std::vector<OriginId> origins;
};

struct GraphValue {
  std::int32_t id = 0;         // index into GraphSnapshot::values
  std::string name;            // debug name without '%'
  std::string type;            // "Float(1, 64, 56, 56)", "int[]"
  std::int32_t producer = -1;  // node id; -1: graph input
  std::string constant;        // printed value when produced by prim::Constant; empty otherwise
};

struct GraphNode {
  std::int32_t id = 0;                // index into GraphSnapshot::nodes; topological, nested blocks after their owner
  std::int32_t parent = -1;           // node that owns the block this node sits in; -1: top level
  std::string kind;                   // "aten::conv2d", "ipex_studio::convolution", "prim::If"
  std::string name;                   // short human label: "layer1.0.conv3 + relu"
  std::string scope;                  // module path, '.'-separated; empty when unknown
  std::vector<OriginId> origins;      // sorted, unique
  std::vector<std::int32_t> inputs;   // value ids, in operand order
  std::vector<std::int32_t> outputs;  // value ids
  std::vector<std::pair<std::string, std::string>> attributes;  // printed: {"stride","2, 2"}
};

// The graph after one pass. Snapshot 0 is the frozen graph before any pass.
struct GraphSnapshot {
  std::int32_t pass_index = 0;
  std::string after_pass;  // "frozen" for snapshot 0
  std::vector<GraphValue> values;
  std::vector<GraphNode> nodes;       // prim::Constant nodes are left out; their values carry `constant`
  std::vector<std::int32_t> inputs;   // value ids
  std::vector<std::int32_t> outputs;  // value ids
  std::string text;                   // canonical IR text, large constants elided
};

struct PassRecord {
  std::int32_t index = 0;  // 1-based position in the pipeline
  std::string name;        // "fold-batch-norm"
  std::string summary;
  bool changed = false;
  std::int32_t rewrites = 0;  // Applied remarks
  std::int32_t missed = 0;    // Missed remarks
  std::int64_t elapsed_ns = 0;
  std::uint64_t hash_before = 0;
  std::uint64_t hash_after = 0;
  std::int32_t nodes_after = 0;                   // without constants
  std::shared_ptr<const GraphSnapshot> snapshot;  // null when nothing changed
};

// One step of a compiled plan.
struct StepRecord {
  std::int32_t index = 0;      // unique within a run, in execution order
  std::int32_t region = 0;     // which region node of the graph
  std::string name;            // "layer1.0.conv3 + add + relu"
  std::string kind;            // OpSpec kind: "convolution", "reorder", "pointwise"
  std::string spec;            // OpSpec text
  std::string kernel;          // "convolution_onednn"
  std::string implementation;  // "brgconv:avx512_core" as the library reports it; "" for own kernels
  std::string device = "cpu";  // where it ran: "cpu", "opencl:0"; of a copy the one that is not the host
  std::string src_layout;      // "nChw16c", "nchw", "nhwc", "ab"
  std::string dst_layout;
  std::string dst_shape;  // "1x256x56x56"
  // "fp32", "bf16", "fp16", "int8": what products are computed in; of a reorder or cast that of its result, "int8" if
  // either side holds integers.
  std::string precision = "fp32";
  std::vector<OriginId> origins;
  std::int32_t micro_batches = 1;  // runs of the step per run of the plan, each on as many samples as `dst_shape` has
  double runs = 1;         // of the step per run of the model: more in loops, less where a branch is taken at times
  std::int64_t flops = 0;  // of all micro-batches and runs; multiply and add count as two
  std::int64_t bytes = 0;  // of all micro-batches and runs; least traffic: sources + weights + destinations
  std::int64_t arena_begin = 0;  // destination's place in the arena; -1: not in the arena
  std::int64_t arena_size = 0;
  std::int32_t last_use = 0;  // index of the last step that reads the destination
};

// One kernel that was considered for a step.
struct DispatchRecord {
  std::int32_t step = 0;  // StepRecord::index
  std::string kernel;
  std::string layout;
  bool chosen = false;
  std::string reason;           // why refused, or "chosen", or "slower"
  std::int64_t elapsed_ns = 0;  // 0: not timed
  double max_error = 0;         // against ref; 0 when not checked
};

// Raw samples of one step, or of one interpreter node (step < 0 and origins tell which).
struct StepTime {
  std::int32_t step = 0;
  std::string name;                      // used when step < 0
  std::string kind;                      // used when step < 0
  std::vector<OriginId> origins;         // used when step < 0
  std::int32_t thread = 0;               // instance that ran it
  std::vector<std::int64_t> begin_ns;    // since the begin of the run's first timed iteration
  std::vector<std::int64_t> elapsed_ns;  // one per profiled iteration, without the steps that ran inside
  std::vector<std::int64_t> whole_ns;    // with those, such as the taken branch of a prim::If; empty: there were none
};

struct MachineFacts {
  std::string cpu;                    // "AMD EPYC"
  std::string isa;                    // "avx512_core_bf16": highest tier usable for kernels
  std::vector<std::string> features;  // "avx2", "avx512f", "avx512_vnni", "avx512_bf16", "amx_int8" …
  std::int32_t cores = 0;             // usable: affinity mask and cgroup quota
  std::string libtorch;               // "1.13.1"; empty before the engine told
  std::string onednn;                 // "2.6.3"
  std::string os;                     // "Linux 6.1 Debian 12"
  std::string governor;               // "performance"; empty when unreadable
  std::int64_t memory_bytes = 0;
};

constexpr double kSqnrOfEqual = 999;  // dB, of results that do not differ at all

// Distance of results from their reference, per output of a model, or per node if `origins` is set.
struct AccuracyRecord {
  std::vector<OriginId> origins;  // empty: a model output
  std::int32_t output = 0;        // which output; -1: worst over all outputs
  std::string reference;          // "fp64", "eager"
  double max_abs = 0;
  double max_rel = 0;  // max |Δ| / max |ref|
  double sqnr_db = 0;  // 10·log10(Σref² / ΣΔ²); kSqnrOfEqual when Δ is zero everywhere
  double cosine = 1;
  bool pass = true;
  std::string text;  // the rule and its bound, as a sentence
};

// A metric of results on a data set.
struct MetricRecord {
  std::string name;  // "top-1", "top-5", "mse", "cosine", "sqnr", or "metric": the user's own
  double value = 0;  // shares are 0..1, sqnr is dB
  bool higher_is_better = true;
  std::int64_t samples = 0;  // samples that it was computed over
};

// One operation that a lower precision was tried for.
struct SensitivityRecord {
  std::string key;   // key of the operation in a recipe
  std::string name;  // "layer1.0.conv1 convolution"
  std::vector<OriginId> origins;
  std::string precision;     // precision that was tried: "int8", "bf16"
  double sqnr_db = 0;        // of the model's results with this operation alone in that precision
  double cumulative_db = 0;  // with this and all less sensitive operations in it; NaN: not tried
  std::int64_t fp32_ns = 0;  // measured in the FP32 plan
  std::int64_t low_ns = 0;   // measured in the lower precision, casts and reorders it brings included
  std::string chosen;        // precision in the end
  std::string reason;        // why, as a clause
};

// One assignment of precisions that was built, timed and judged.
struct TradeoffRecord {
  std::string name;             // "fp32", "int8", "6 operations in fp32"
  std::int64_t elapsed_ns = 0;  // median of a forward
  double metric = 0;            // as MetricRecord::value of the same data
  double sqnr_db = 0;           // of the results against FP32
  std::int32_t fp32_nodes = 0, bf16_nodes = 0, int8_nodes = 0;
  bool allowed = false;   // within the budget
  bool on_front = false;  // nothing else is both faster and better
  bool chosen = false;
  // Precisions, one digit per JobRecord::sensitivities: '0' FP32, '1' INT8, '2' BF16; or "bf16" for all. Empty:
  // unknown.
  std::string assignment;
};

// A user's decision against the optimizer: a precision, or a kernel if `precision` is empty.
struct DecisionRecord {
  std::string what;       // module, "kind:convolution", "*" or one operation; of a kernel: the step's name
  std::string precision;  // "fp32", "bf16", "int8"
  std::string spec;       // of the step, as StepRecord has it
  std::string dst_shape;
  std::string kernel;
  std::string layout;  // empty: any
};

struct Coverage {
  double nodes = 0;  // share of graph nodes inside regions, 0..1
  double time = 0;   // share of time inside regions, 0..1, of the run in the middle
};

// What else the machine did while a run was timed.
struct NoiseRecord {
  std::int64_t wall_ns = 0;           // time that was watched; 0: nobody looked
  std::int32_t cpus = 0;              // CPUs that the run could use
  double others = 0;                  // CPUs of these that other programs used, on average
  double stolen = 0;                  // share of these that a hypervisor gave to others, 0..1
  double preempted_per_s = 0;         // how often a thread of the run lost its CPU to another
  double throttled = 0;               // share of the time that a CPU quota held threads back, 0..1
  std::int64_t fastest_chain_ns = 0;  // a fixed chain of multiplications, at the fastest and the slowest clock
  std::int64_t slowest_chain_ns = 0;
};

// One measured variant.
struct RunRecord {
  std::string variant;         // "baseline", "optimized"
  std::string device = "cpu";  // "cpu", "xpu:0"
  std::string precision = "fp32";
  std::int32_t threads = 1;
  std::int32_t instances = 1;
  std::int32_t warmup_iterations = 0;
  std::vector<std::int64_t> latency_ns;  // raw, in order of measurement
  std::vector<std::int32_t> turn;        // round of the interleaving that each sample belongs to
  std::int64_t load_ns = 0;              // file to frozen module
  std::int64_t compile_ns = 0;           // passes and plan
  std::int64_t tune_ns = 0;
  std::int64_t first_run_ns = 0;
  std::int64_t peak_rss_bytes = 0;
  double cpu_per_wall = 0;  // CPU seconds / wall seconds of the timed part
  NoiseRecord noise;
  AccuracyRecord accuracy;  // worst output
  Coverage coverage;
  std::vector<StepRecord> steps;
  std::vector<DispatchRecord> dispatches;
  std::vector<StepTime> step_times;
  std::vector<AccuracyRecord> node_accuracy;
  std::vector<MetricRecord> metrics;  // on the data of --data; empty without
  std::int64_t export_bytes = 0;      // of the `compiled` form; 0: not written
};

// One tensor argument or scalar argument of forward, as used.
struct InputRecord {
  std::string name;
  std::string description;  // "1x3x224x224:float32", "16000"
  bool guessed = false;
};

struct ModelRecord {
  std::string path;
  std::string sha256;  // lower-case hex
  std::int64_t file_bytes = 0;
  std::int32_t nodes = 0;  // of the frozen graph, without constants
  std::vector<InputRecord> inputs;
  std::vector<Origin> origins;
};

// Everything one `run`, `bench` or studio job recorded: one row tree of profile.db.
struct JobRecord {
  std::string command;  // "run", "bench", "train", "studio"
  std::string options;  // the options as one JSON object
  std::int64_t started_unix_ns = 0;
  ModelRecord model;
  MachineFacts machine;
  std::shared_ptr<const GraphSnapshot> frozen;  // snapshot 0
  std::vector<PassRecord> passes;
  std::vector<Remark> remarks;
  std::vector<RunRecord> runs;
  std::vector<SensitivityRecord> sensitivities;  // of a search over precisions; else empty
  std::vector<TradeoffRecord> tradeoffs;
  std::vector<DecisionRecord> decisions;           // in force in the last run; of contradicting ones the last holds
  std::shared_ptr<const TrainingRecord> training;  // of `train`; else null
};

// Receives the engine's reports while it works. The default does nothing, so an observer that is off costs nothing.
// Called on the working thread; must not throw.
class Observer {
 public:
  virtual ~Observer() = default;
  virtual void onPass(const PassRecord&) {}
  virtual void onRemark(const Remark&) {}
  virtual void onDispatch(const DispatchRecord&) {}
  virtual void onStep(const StepRecord&) {}
  virtual void onRun(const RunRecord&) {}
};

}  // namespace ipex_studio
