// Indexes over a JobRecord, so that drawing a frame only looks things up.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/record/noise.h"
#include "core/record/records.h"
#include "core/record/step_place.h"
#include "profiler/device_comparison.h"
#include "profiler/statistics.h"
#include "profiler/waterfall.h"
#include "studio/snapshot/kind_group.h"
#include "studio/snapshot/overrides.h"
#include "studio/snapshot/snapshot_timeline.h"

namespace ipex_studio {

// One row of the operations table: a plan step, or a node that stayed with the interpreter.
struct OperationRow {
  std::int32_t step = -1;  // index into RunRecord::steps; -1: interpreter
  std::string name;
  std::string kind;  // without namespace
  KindGroup group = KindGroup::kOther;
  std::string kernel;          // name of what ran: implementation, else kernel, else "interpreter"
  std::string device = "cpu";  // StepRecord::device
  StepPlace place = StepPlace::kHost;
  std::string layout;  // layouts of input and result: "nchw→nChw16c", or one name if both are the same
  std::string output;  // sizes of the result: "1x256x56x56"
  std::string precision;
  std::vector<OriginId> origins;
  TimeStatistics time;
  double share = 0;         // share of the whole run's time, 0..1
  double gflops_per_s = 0;  // speed of the operation; 0: unknown
  double baseline_ns = 0;   // the same origins in the baseline run; 0: unknown

  bool isOnHost() const { return place == StepPlace::kHost; }
};

// Index over one measured variant.
struct RunIndex {
  const RunRecord* run = nullptr;  // the run in the JobRecord that the index was made of
  TimeStatistics latency;
  std::vector<OperationRow> rows;  // in order of execution
  std::unordered_map<OriginId, std::vector<std::int32_t>> rows_of_origin;
  double steps_ns = 0;                // sum of medians
  double step_scale = 1;              // stepScale() of profiler/summary.h, which all times of rows contain
  double unattributed_ns = 0;         // latency minus steps_ns
  std::vector<TimelineTrack> tracks;  // one track per instance; empty if no begins were recorded
};

// One graph that was recorded, with its nodes by origin.
struct GraphIndex {
  std::shared_ptr<const GraphSnapshot> graph;
  std::unordered_map<OriginId, std::vector<std::int32_t>> nodes_of_origin;
  std::vector<std::int32_t> users_of_value;  // number of readers of each value
};

// One position of the pass history: the frozen graph (position 0) and each pass after it.
struct Stage {
  std::int32_t pass = -1;   // index into JobRecord::passes; -1: frozen
  std::string name;         // "frozen", "fold-batch-norm"
  std::int32_t graph = -1;  // index into JobIndex::graphs: the graph as it stands then; -1: none
};

// A sentence for "What to do next".
struct Advice {
  enum class Tone { kGood, kHint, kWarning };
  Tone tone = Tone::kHint;
  std::string text;
  std::string link;               // text of the link; empty: none
  std::vector<OriginId> origins;  // origins that the link selects
  std::string tab;                // panel that the link brings to the front; empty: none
  Overrides try_it;               // decisions that follow the advice, to be added to those in force; empty: none
  std::string action;             // action (Action::name) that the window offers instead; empty: none
  std::string offer;              // text of the link that tries the decisions or starts the action
  double gain_ns = 0;             // time that measurements of kernels let expect from the offer; 0: not measured
  std::int32_t threads = 0;       // number of threads that the offer optimizes with; 0: it is another offer
};

struct JobIndex {
  std::vector<GraphIndex> graphs;
  std::vector<Stage> stages;        // empty when no graph was recorded
  std::int32_t default_stage = -1;  // index of the last stage that shows operations, not whole regions; -1: none
  RunIndex baseline;                // run is null when not measured
  RunIndex optimized;
  Interval speedup;     // speed of optimized over baseline; its value is 0 if not measured
  NoiseVerdict noise;   // whether the machine was quiet meanwhile
  Waterfall waterfall;  // where the difference between baseline and optimized comes from; without bars: not known
  std::vector<DeviceComparison> devices;  // the optimized runs of several devices, per precision
  std::vector<Advice> advice;
  std::unordered_map<OriginId, std::vector<std::int32_t>> remarks_of_origin;
  std::unordered_map<OriginId, std::int32_t> origin_by_id;  // index into ModelRecord::origins
};

// Builds the index; `job` must outlive it.
std::shared_ptr<const JobIndex> buildJobIndex(const JobRecord& job);

// The rows of `run` that share an origin with `origins`; unique, in order of execution.
std::vector<std::int32_t> rowsOf(const RunIndex& run, const std::vector<OriginId>& origins);
// The nodes of `graph` that share an origin with `origins`; unique, ascending.
std::vector<std::int32_t> nodesOf(const GraphIndex& graph, const std::vector<OriginId>& origins);
// The remarks that share an origin with `origins`; unique, in order.
std::vector<std::int32_t> remarksOf(const JobIndex& index, const std::vector<OriginId>& origins);

// A time for display, with three significant figures: "12.3 ms", "870 µs", "1.24 s".
std::string formatTime(double ns);
// A median and half of its interval in one unit: "2.17 ± 0.01 ms".
std::string formatSpread(const TimeStatistics& time);
// The part of `of_ns` that no operation explains: "0.8 ms unattributed (1.2 %)". Timing each operation costs a
// little, so all together can take longer than a run; then the text says by what their times were multiplied.
std::string unattributedText(double ns, double of_ns, double step_scale = 1);
// Words for the code of the reason why a kernel was declined: "the library has no fast one for this" for
// "no-fast-implementation". Unknown codes only lose their hyphens.
std::string kernelReason(const std::string& code);
// A number of bytes for display: "97.5 MB", "12.4 kB", "1.20 GB".
std::string formatBytes(std::int64_t bytes);
// Sizes for display: "1×64×56×56" for "1x64x56x56" and for "Float(1, 64, 56, 56)"; other text is unchanged.
std::string formatShape(const std::string& text);
// Description of an input for display: "1×3×224×224 f32" for "1x3x224x224:float32".
std::string formatInput(const std::string& description);
// Text for display: control characters become spaces; at most `max_bytes` bytes, cut between characters and ended
// with "…".
std::string displayText(const std::string& text, std::size_t max_bytes = 160);
// The text with ASCII letters in lower case, for searching.
std::string lowered(std::string text);

}  // namespace ipex_studio
