// See snapshot_index.h.
#include "studio/snapshot/snapshot_index.h"

#include <algorithm>
#include <cmath>

#include "profiler/summary.h"
#include "studio/snapshot/snapshot_advice.h"

namespace ipex_studio {
namespace {

std::string withoutNamespace(const std::string& kind) {
  const std::size_t colon = kind.rfind("::");
  return displayText(colon == std::string::npos ? kind : kind.substr(colon + 2), 48);
}

GraphIndex indexGraph(std::shared_ptr<const GraphSnapshot> graph) {
  GraphIndex index;
  index.users_of_value.assign(graph->values.size(), 0);
  for (std::size_t n = 0; n < graph->nodes.size(); ++n) {
    const GraphNode& node = graph->nodes[n];
    for (const OriginId origin : node.origins) index.nodes_of_origin[origin].push_back(static_cast<std::int32_t>(n));
    for (const std::int32_t value : node.inputs) {
      if (value >= 0 && static_cast<std::size_t>(value) < index.users_of_value.size()) ++index.users_of_value[value];
    }
  }
  index.graph = std::move(graph);
  return index;
}

void indexStages(const JobRecord& job, JobIndex* index) {
  std::int32_t current = -1;
  if (job.frozen) {
    index->graphs.push_back(indexGraph(job.frozen));
    current = 0;
  }
  if (!job.frozen && job.passes.empty()) return;
  index->stages.push_back({-1, "frozen", current});
  for (std::size_t p = 0; p < job.passes.size(); ++p) {
    if (job.passes[p].snapshot) {
      index->graphs.push_back(indexGraph(job.passes[p].snapshot));
      current = static_cast<std::int32_t>(index->graphs.size()) - 1;
    }
    index->stages.push_back({static_cast<std::int32_t>(p), displayText(job.passes[p].name, 64), current});
  }
}

bool hasRegions(const GraphSnapshot& graph) {
  return std::any_of(graph.nodes.begin(), graph.nodes.end(),
                     [](const GraphNode& node) { return node.kind.find("::region") != std::string::npos; });
}

std::int32_t defaultStage(const JobIndex& index) {
  for (auto s = static_cast<std::int32_t>(index.stages.size()) - 1; s >= 0; --s) {
    const std::int32_t graph = index.stages[s].graph;
    if (graph >= 0 && !hasRegions(*index.graphs[graph].graph)) return s;
  }
  return static_cast<std::int32_t>(index.stages.size()) - 1;
}

std::string layoutText(const StepRecord& step) {
  if (step.src_layout.empty() || step.src_layout == step.dst_layout) return displayText(step.dst_layout, 32);
  if (step.dst_layout.empty()) return displayText(step.src_layout, 32);
  return displayText(step.src_layout, 32) + "→" + displayText(step.dst_layout, 32);
}

OperationRow rowOfStep(const StepRecord& step, std::int32_t position) {
  OperationRow row;
  row.step = position;
  row.name = displayText(step.name);
  row.kind = withoutNamespace(step.kind);
  row.group = kindGroup(step.kind);
  row.kernel = displayText(step.implementation.empty() ? step.kernel : step.implementation, 64);
  row.device = displayText(step.device, 16);
  row.place = placeOf(step);
  row.layout = layoutText(step);
  row.output = shapeText(formatShape(step.dst_shape), step.micro_batches, step.runs);
  row.precision = displayText(step.precision, 16);
  row.origins = step.origins;
  return row;
}

OperationRow rowOfInterpreter(const StepTime& time, const std::string& precision) {
  OperationRow row;
  row.name = displayText(time.name);
  row.kind = withoutNamespace(time.kind);
  row.group = kindGroup(time.kind);
  row.kernel = "interpreter";
  row.precision = displayText(precision, 16);
  row.origins = time.origins;
  row.time = timeStatistics(time.elapsed_ns);
  return row;
}

void finishRow(const RunRecord& run, double latency_ns, OperationRow* row) {
  std::sort(row->origins.begin(), row->origins.end());
  if (latency_ns > 0) row->share = row->time.p50_ns / latency_ns;
  if (row->step < 0 || row->time.p50_ns <= 0) return;
  row->gflops_per_s = static_cast<double>(run.steps[row->step].flops) / row->time.p50_ns;
}

// Interpreter nodes that ran before the first step come first; the engine reports both in order.
RunIndex indexRun(const RunRecord& run) {
  RunIndex index;
  index.run = &run;
  index.latency = timeStatistics(run.latency_ns);
  std::unordered_map<std::int32_t, std::int32_t> row_of_step;
  for (std::size_t s = 0; s < run.steps.size(); ++s) {
    row_of_step[run.steps[s].index] = static_cast<std::int32_t>(index.rows.size());
    index.rows.push_back(rowOfStep(run.steps[s], static_cast<std::int32_t>(s)));
  }
  std::unordered_map<std::int32_t, std::vector<std::int64_t>> samples_of_row;
  std::vector<std::int32_t> row_of_time;
  for (const StepTime& time : run.step_times) {
    const auto row = row_of_step.find(time.step);
    row_of_time.push_back(-1);
    if (time.step < 0) {
      row_of_time.back() = static_cast<std::int32_t>(index.rows.size());
      index.rows.push_back(rowOfInterpreter(time, run.precision));
    } else if (row != row_of_step.end()) {
      row_of_time.back() = row->second;
      auto& samples = samples_of_row[row->second];
      samples.insert(samples.end(), time.elapsed_ns.begin(), time.elapsed_ns.end());
    }
  }
  for (auto& [row, samples] : samples_of_row) {
    TimeStatistics& time = index.rows[row].time;
    time = timeStatistics(std::move(samples));
    time.p50_ns *= run.steps[index.rows[row].step].runs;
    time.half_width_ns *= run.steps[index.rows[row].step].runs;
  }
  double profiled_ns = 0;
  for (const OperationRow& row : index.rows) profiled_ns += row.time.p50_ns;
  index.step_scale = stepScale(profiled_ns, index.latency.p50_ns);
  for (std::size_t r = 0; r < index.rows.size(); ++r) {
    OperationRow& row = index.rows[r];
    row.time.p50_ns *= index.step_scale;
    row.time.half_width_ns *= index.step_scale;
    finishRow(run, index.latency.p50_ns, &row);
    index.steps_ns += row.time.p50_ns;
    for (const OriginId origin : row.origins) index.rows_of_origin[origin].push_back(static_cast<std::int32_t>(r));
  }
  index.unattributed_ns = std::max(0.0, index.latency.p50_ns - index.steps_ns);
  index.tracks = timelineTracks(run, row_of_time);
  return index;
}

// Adds baseline times by origin. A reorder has the origins of the step that asked for it, but no share of the
// baseline's time.
void compareWithBaseline(const RunIndex& baseline, RunIndex* optimized) {
  for (OperationRow& row : optimized->rows) {
    if (row.group == KindGroup::kReorder) continue;
    for (const std::int32_t r : rowsOf(baseline, row.origins)) row.baseline_ns += baseline.rows[r].time.p50_ns;
  }
}

template <class Table>
std::vector<std::int32_t> lookUp(const Table& table, const std::vector<OriginId>& origins) {
  std::vector<std::int32_t> found;
  for (const OriginId origin : origins) {
    const auto entry = table.find(origin);
    if (entry != table.end()) found.insert(found.end(), entry->second.begin(), entry->second.end());
  }
  std::sort(found.begin(), found.end());
  found.erase(std::unique(found.begin(), found.end()), found.end());
  return found;
}

}  // namespace

std::shared_ptr<const JobIndex> buildJobIndex(const JobRecord& job) {
  auto index = std::make_shared<JobIndex>();
  indexStages(job, index.get());
  index->default_stage = defaultStage(*index);
  for (const RunRecord& run : job.runs) {
    if (run.variant == "baseline") index->baseline = indexRun(run);
    if (run.variant == "optimized") index->optimized = indexRun(run);
  }
  compareWithBaseline(index->baseline, &index->optimized);
  if (index->baseline.run != nullptr && index->optimized.run != nullptr) {
    const RunRecord& before = *index->baseline.run;
    const RunRecord& after = *index->optimized.run;
    index->speedup = medianRatio({before.latency_ns, before.turn}, {after.latency_ns, after.turn});
  }
  index->noise = judgeNoise(job);
  for (std::size_t r = 0; r < job.remarks.size(); ++r) {
    for (const OriginId origin : job.remarks[r].origins) {
      index->remarks_of_origin[origin].push_back(static_cast<std::int32_t>(r));
    }
  }
  for (std::size_t o = 0; o < job.model.origins.size(); ++o) {
    index->origin_by_id.emplace(job.model.origins[o].id, static_cast<std::int32_t>(o));
  }
  index->waterfall = waterfallOf(job);
  index->devices = compareDevices(job);
  index->advice = makeAdvice(job, *index);
  return index;
}

std::vector<std::int32_t> rowsOf(const RunIndex& run, const std::vector<OriginId>& origins) {
  return lookUp(run.rows_of_origin, origins);
}

std::vector<std::int32_t> nodesOf(const GraphIndex& graph, const std::vector<OriginId>& origins) {
  return lookUp(graph.nodes_of_origin, origins);
}

std::vector<std::int32_t> remarksOf(const JobIndex& index, const std::vector<OriginId>& origins) {
  return lookUp(index.remarks_of_origin, origins);
}

}  // namespace ipex_studio
