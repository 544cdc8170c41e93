// See snapshot_tables.h.
#include "studio/snapshot/snapshot_tables.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <unordered_map>

#include "core/base/error.h"
#include "profiler/statistics.h"
#include "profiler/text.h"
#include "studio/snapshot/snapshot_memory.h"
#include "studio/snapshot/snapshot_precision.h"

namespace ipex_studio {
namespace {

constexpr double kNotMeasured = std::numeric_limits<double>::quiet_NaN();

double ms(double ns) { return ns / 1e6; }
double whole(std::int64_t number) { return static_cast<double>(number); }
// Zero means that it was not measured.
double orUnknown(double number) { return number > 0 ? number : kNotMeasured; }

std::string originsText(const std::vector<OriginId>& origins) {
  std::string text;
  for (const OriginId origin : origins) text += (text.empty() ? "" : " ") + std::to_string(origin);
  return text;
}

std::vector<std::pair<const char*, const RunIndex*>> runsOf(const JobIndex& index) {
  std::vector<std::pair<const char*, const RunIndex*>> runs;
  if (index.baseline.run != nullptr) runs.emplace_back("baseline", &index.baseline);
  if (index.optimized.run != nullptr) runs.emplace_back("optimized", &index.optimized);
  return runs;
}

void fillRun(const StudioSnapshot& snapshot, PanelTable* table) {
  table->columns = {"variant", "precision",      "threads",         "instances", "p50_ms",  "half_width_ms",
                    "speedup", "speedup_low_95", "speedup_high_95", "sqnr_db",   "accurate"};
  for (const auto& [variant, run] : runsOf(*snapshot.index)) {
    const RunRecord& record = *run->run;
    const Interval& speedup = snapshot.index->speedup;
    const bool optimized = run == &snapshot.index->optimized;
    const bool known = optimized && speedup.value > 0;
    table->rows.push_back({std::string(variant), record.precision, whole(record.threads), whole(record.instances),
                           ms(run->latency.p50_ns), ms(run->latency.half_width_ns),
                           known ? speedup.value : kNotMeasured, known ? speedup.low : kNotMeasured,
                           known ? speedup.high : kNotMeasured, optimized ? record.accuracy.sqnr_db : kNotMeasured,
                           std::string(!optimized             ? ""
                                       : record.accuracy.pass ? "yes"
                                                              : "no")});
  }
}

void fillPasses(const StudioSnapshot& snapshot, PanelTable* table) {
  table->columns = {"position", "pass", "changed", "done", "missed", "time_ms", "nodes_after", "summary"};
  for (const PassRecord& pass : snapshot.job->passes) {
    table->rows.push_back({whole(pass.index), pass.name, std::string(pass.changed ? "yes" : "no"), whole(pass.rewrites),
                           whole(pass.missed), ms(whole(pass.elapsed_ns)), whole(pass.nodes_after), pass.summary});
  }
}

void fillGraph(const StudioSnapshot& snapshot, PanelTable* table) {
  table->columns = {"node", "name", "kind", "module", "inputs", "outputs", "time_ms", "origins"};
  const JobIndex& index = *snapshot.index;
  const std::int32_t g =
      index.default_stage < 0 ? -1 : index.stages[static_cast<std::size_t>(index.default_stage)].graph;
  if (g < 0) return;
  for (const GraphNode& node : index.graphs[static_cast<std::size_t>(g)].graph->nodes) {
    double ns = 0;
    for (const std::int32_t r : rowsOf(index.optimized, node.origins))
      ns += index.optimized.rows[static_cast<std::size_t>(r)].time.p50_ns;
    table->rows.push_back(
        {whole(node.id), node.name, node.kind, node.scope, whole(static_cast<std::int64_t>(node.inputs.size())),
         whole(static_cast<std::int64_t>(node.outputs.size())), orUnknown(ms(ns)), originsText(node.origins)});
  }
}

void fillInspector(const StudioSnapshot& snapshot, PanelTable* table) {
  table->columns = {"what", "value"};
  const JobRecord& job = *snapshot.job;
  const auto add = [&](const char* what, TableCell value) {
    table->rows.push_back({std::string(what), std::move(value)});
  };
  add("model", job.model.path);
  add("sha256", job.model.sha256);
  add("file_bytes", whole(job.model.file_bytes));
  add("nodes", whole(job.model.nodes));
  for (const InputRecord& input : job.model.inputs) add("input", input.name + " " + input.description);
  add("cpu", job.machine.cpu);
  add("isa", job.machine.isa);
  add("cores", whole(job.machine.cores));
  add("libtorch", job.machine.libtorch);
  add("onednn", job.machine.onednn);
}

void fillOperations(const StudioSnapshot& snapshot, PanelTable* table) {
  table->columns = {"variant", "operation",     "kind",  "kernel",      "layout",      "output", "precision",
                    "time_ms", "half_width_ms", "share", "gflop_per_s", "baseline_ms", "origins"};
  for (const auto& [variant, run] : runsOf(*snapshot.index)) {
    for (const OperationRow& row : run->rows) {
      table->rows.push_back({std::string(variant), row.name, row.kind, row.kernel, row.layout, row.output,
                             row.precision, ms(row.time.p50_ns), ms(row.time.half_width_ns), row.share,
                             orUnknown(row.gflops_per_s), orUnknown(ms(row.baseline_ns)), originsText(row.origins)});
    }
  }
}

void fillTimeline(const StudioSnapshot& snapshot, PanelTable* table) {
  table->columns = {"variant", "instance", "operation", "begin_us", "time_us"};
  for (const auto& [variant, run] : runsOf(*snapshot.index)) {
    for (const TimelineTrack& track : run->tracks) {
      for (const TimeSlice& slice : track.slices) {
        table->rows.push_back({std::string(variant), whole(track.thread),
                               run->rows[static_cast<std::size_t>(slice.row)].name, whole(slice.begin_ns) / 1e3,
                               whole(slice.end_ns - slice.begin_ns) / 1e3});
      }
    }
  }
}

void fillMemory(const StudioSnapshot& snapshot, PanelTable* table) {
  table->columns = {"operation", "offset_bytes", "bytes", "begin_ms", "end_ms"};
  const RunIndex& run = snapshot.index->optimized;
  for (const ArenaTensor& tensor : arenaUse(run).tensors) {
    table->rows.push_back({run.rows[static_cast<std::size_t>(tensor.row)].name, whole(tensor.offset),
                           whole(tensor.bytes), ms(tensor.begin_ns), ms(tensor.end_ns)});
  }
}

void fillRoofline(const StudioSnapshot& snapshot, PanelTable* table) {
  table->columns = {"operation", "precision", "flop", "bytes", "flop_per_byte", "gflop_per_s", "roof_gflop_per_s"};
  const RunIndex& run = snapshot.index->optimized;
  const MachinePeaks& peaks = snapshot.peaks;
  for (const OperationRow& row : run.rows) {
    if (row.step < 0 || row.time.p50_ns <= 0) continue;
    const StepRecord& step = run.run->steps[static_cast<std::size_t>(row.step)];
    if (step.flops <= 0 || step.bytes <= 0) continue;
    const double intensity = whole(step.flops) / whole(step.bytes);
    const double roof =
        peaks.known() ? std::min(peaks.roof(row.precision), intensity * peaks.memory_gb_s) : kNotMeasured;
    table->rows.push_back({row.name, row.precision, whole(step.flops), whole(step.bytes), intensity,
                           whole(step.flops) / row.time.p50_ns, roof});
  }
}

void fillLatency(const StudioSnapshot& snapshot, PanelTable* table) {
  table->columns = {"variant", "runs", "min_ms", "mean_ms", "p50_ms", "p90_ms", "p95_ms", "p99_ms", "max_ms", "per_s"};
  for (const auto& [variant, run] : runsOf(*snapshot.index)) {
    const LatencyStats stats = latencyStats(run->run->latency_ns);
    table->rows.push_back({std::string(variant), whole(stats.samples), ms(stats.min_ns), ms(stats.mean_ns),
                           ms(stats.p50_ns), ms(stats.p90_ns), ms(stats.p95_ns), ms(stats.p99_ns), ms(stats.max_ns),
                           stats.mean_ns > 0 ? run->run->instances * 1e9 / stats.mean_ns : kNotMeasured});
  }
}

void fillKernels(const StudioSnapshot& snapshot, PanelTable* table) {
  table->columns = {"operation", "kernel", "layout", "chosen", "time_ms", "max_error", "reason", "spec", "output"};
  const RunRecord* run = snapshot.index->optimized.run;
  if (run == nullptr) return;
  std::unordered_map<std::int32_t, const StepRecord*> steps;
  for (const StepRecord& step : run->steps) steps.emplace(step.index, &step);
  for (const DispatchRecord& dispatch : run->dispatches) {
    const auto step = steps.find(dispatch.step);
    if (step == steps.end()) continue;
    table->rows.push_back({step->second->name, dispatch.kernel, dispatch.layout,
                           std::string(dispatch.chosen ? "yes" : "no"), orUnknown(ms(whole(dispatch.elapsed_ns))),
                           orUnknown(dispatch.max_error), dispatch.reason, step->second->spec,
                           step->second->dst_shape});
  }
}

void fillCompare(const StudioSnapshot& snapshot, PanelTable* table) {
  if (!snapshot.comparison) {
    table->columns = {"job", "run", "when", "model", "variant", "precision", "threads", "instances", "p50_ms"};
    for (const JobSummary& job : snapshot.history->jobs) {
      for (const RunSummary& run : job.runs) {
        table->rows.push_back({whole(job.id), whole(run.id), dateText(run.started_unix_ns), run.model_path, run.variant,
                               run.precision, whole(run.threads), whole(run.instances), ms(whole(run.p50_ns))});
      }
    }
    return;
  }
  const RunSet& set = *snapshot.comparison;
  table->columns = {"operation", "kind"};
  for (std::size_t r = 0; r < set.runs.size(); ++r)
    table->columns.push_back(fmt::format("{}_{}_ms", static_cast<char>('a' + r % 26), set.runs[r].id));
  table->columns.insert(table->columns.end(), {"delta_ms", "ratio"});
  for (const RunSetRow& row : set.rows) {
    std::vector<TableCell> cells = {row.name, row.kind};
    for (std::size_t r = 0; r < set.runs.size(); ++r)
      cells.push_back(row.steps[r] > 0 ? ms(whole(row.p50_ns[r])) : kNotMeasured);
    const double first = whole(row.p50_ns.front()), last = whole(row.p50_ns.back());
    cells.push_back(ms(last - first));
    cells.push_back(first > 0 && last > 0 ? first / last : kNotMeasured);
    table->rows.push_back(std::move(cells));
  }
}

// Assignments of a search, then what was tried by hand.
PanelTable triedTable(const StudioSnapshot& snapshot) {
  constexpr std::size_t kMaxDecisions = 1000;
  PanelTable table;
  table.panel = "tried";
  table.columns = {"name",    "time_ms",  "delta_ms",        "delta_low_95_ms", "delta_high_95_ms",
                   "sqnr_db", "metric",   "int8_operations", "bf16_operations", "fp32_operations",
                   "allowed", "on_front", "chosen",          "decisions"};
  const auto yes = [](bool value) { return std::string(value ? "yes" : "no"); };
  const auto& tradeoffs = snapshot.job->tradeoffs;
  for (std::size_t t = 0; t < tradeoffs.size(); ++t) {
    const TradeoffRecord& tried = tradeoffs[t];
    const auto decisions = overridesOf(snapshot, t);
    table.rows.push_back({tried.name, ms(whole(tried.elapsed_ns)), kNotMeasured, kNotMeasured, kNotMeasured,
                          tried.sqnr_db, tried.metric, whole(tried.int8_nodes), whole(tried.bf16_nodes),
                          whole(tried.fp32_nodes), yes(tried.allowed), yes(tried.on_front), yes(tried.chosen),
                          decisions ? decisionsText(*decisions, kMaxDecisions) : std::string()});
  }
  for (std::size_t t = 0; t < snapshot.tries->size(); ++t) {
    const WhatIf& tried = (*snapshot.tries)[t];
    table.rows.push_back({fmt::format("try {}", t + 1), ms(tried.after_ns), ms(tried.delta_ns), ms(tried.delta_low_ns),
                          ms(tried.delta_high_ns), tried.after_db, kNotMeasured, kNotMeasured, kNotMeasured,
                          kNotMeasured, yes(tried.accurate), std::string(), std::string(),
                          decisionsText(tried.tried, kMaxDecisions)});
  }
  return table;
}

void fillPrecision(const StudioSnapshot& snapshot, PanelTable* table) {
  table->columns = {"operation", "kind",     "module",      "now",    "fp32_ms", "bf16_ms",      "fp16_ms",
                    "int8_ms",   "alone_db", "together_db", "cosine", "max_abs", "why_not_lower"};
  for (const PrecisionRow& row : precisionRows(snapshot)) {
    table->rows.push_back({row.name, row.kind, row.module, row.now, orUnknown(ms(row.time_ns[0])),
                           orUnknown(ms(row.time_ns[1])), orUnknown(ms(row.time_ns[2])), orUnknown(ms(row.time_ns[3])),
                           row.alone_db, row.together_db, row.cosine, row.max_abs, row.why});
  }
  table->more.push_back(triedTable(snapshot));
}

void fillRemarks(const StudioSnapshot& snapshot, PanelTable* table) {
  table->columns = {"pass", "kind", "reason", "text", "origins"};
  for (const Remark& remark : snapshot.job->remarks) {
    table->rows.push_back({remark.pass, std::string(remark.kind == RemarkKind::kMissed ? "missed" : "done"),
                           remark.reason, remark.text, originsText(remark.origins)});
  }
}

void fillText(const StudioSnapshot& snapshot, PanelTable* table) {
  table->columns = {"line", "text"};
  const JobIndex& index = *snapshot.index;
  const std::int32_t g =
      index.default_stage < 0 ? -1 : index.stages[static_cast<std::size_t>(index.default_stage)].graph;
  if (g < 0) return;
  const std::string& text = index.graphs[static_cast<std::size_t>(g)].graph->text;
  double line = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    table->rows.push_back({++line, text.substr(at, end - at)});
    at = end + 1;
  }
}

void fillLog(const StudioSnapshot& snapshot, PanelTable* table) {
  table->columns = {"time_s", "level", "text"};
  constexpr const char* kLevels[] = {"info", "warning", "error"};
  for (const LogLine& line : *snapshot.log)
    table->rows.push_back({line.time_s, std::string(kLevels[static_cast<std::size_t>(line.level)]), line.text});
}

struct Filler {
  const char* panel;
  void (*fill)(const StudioSnapshot& snapshot, PanelTable* table);
};

constexpr Filler kFillers[] = {
    {"run", fillRun},
    {"passes", fillPasses},
    {"graph", fillGraph},
    {"inspector", fillInspector},
    {"operations", fillOperations},
    {"timeline", fillTimeline},
    {"memory", fillMemory},
    {"roofline", fillRoofline},
    {"latency", fillLatency},
    {"kernels", fillKernels},
    {"compare", fillCompare},
    {"precision", fillPrecision},
    {"remarks", fillRemarks},
    {"text", fillText},
    {"log", fillLog},
};

std::string csvText(const std::string& raw) {
  std::string text = printable(raw);
  const bool formula = !text.empty() && std::string("=+-@\t\r").find(text[0]) != std::string::npos;
  if (formula) text.insert(0, "'");
  if (text.find_first_of(",\"\n\r") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + "\"";
}

}  // namespace

PanelTable panelTable(const std::string& panel, const StudioSnapshot& snapshot) {
  std::string names;
  for (const Filler& filler : kFillers) {
    if (panel == filler.panel) {
      PanelTable table;
      table.panel = panel;
      filler.fill(snapshot, &table);
      return table;
    }
    names += (names.empty() ? "" : ", ") + std::string(filler.panel);
  }
  throw Error(ExitCode::kUsage,
              fmt::format("There is no panel '{}'; choose one of: {}.", displayText(panel, 40), names));
}

std::string tableCsv(const PanelTable& table) {
  std::string text;
  for (std::size_t c = 0; c < table.columns.size(); ++c) text += (c > 0 ? "," : "") + table.columns[c];
  text += "\r\n";
  for (const auto& row : table.rows) {
    for (std::size_t c = 0; c < row.size(); ++c) {
      if (c > 0) text += ',';
      if (!row[c].is_number) {
        text += csvText(row[c].text);
      } else if (std::isfinite(row[c].number)) {
        text += fmt::format("{:.9g}", row[c].number);
      }
    }
    text += "\r\n";
  }
  for (const PanelTable& more : table.more) text += "\r\n" + tableCsv(more);
  return text;
}

namespace {

nlohmann::json rowsJson(const PanelTable& table) {
  nlohmann::json rows = nlohmann::json::array();
  for (const auto& row : table.rows) {
    nlohmann::json object = nlohmann::json::object();
    for (std::size_t c = 0; c < row.size() && c < table.columns.size(); ++c) {
      nlohmann::json& value = object[table.columns[c]];
      if (!row[c].is_number) {
        value = printable(row[c].text);
      } else if (std::isfinite(row[c].number)) {
        value = row[c].number;
      }
    }
    rows.push_back(std::move(object));
  }
  return rows;
}

}  // namespace

nlohmann::json tableJson(const PanelTable& table) {
  nlohmann::json all = {{"schema", 1}, {"panel", table.panel}, {"rows", rowsJson(table)}};
  for (const PanelTable& more : table.more) all[more.panel] = rowsJson(more);
  return all;
}

std::string tableFileName(const StudioSnapshot& snapshot, const std::string& panel) {
  std::string name = fileName(snapshot.job->model.path);
  name = name.substr(0, name.rfind('.'));
  // Only what no shell and no file system minds.
  for (char& c : name) {
    const bool plain =
        (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '_';
    if (!plain) c = '-';
  }
  if (name.size() > 80) name.resize(80);
  return (name.empty() ? "studio" : name) + "-" + panel;
}

}  // namespace ipex_studio
