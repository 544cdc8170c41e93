// Commands that look at a model: inspect, passes, show, verify.
#include <fmt/format.h>

#include <cmath>
#include <cstdio>

#include "core/record/records_json.h"
#include "studio/cli/commands.h"
#include "studio/cli/graph_print.h"
#include "studio/cli/interrupt.h"
#include "studio/cli/progress.h"
#include "studio/flags/job_request.h"
#include "studio/job/session_files.h"
#include "studio/job/session_precision.h"
#include "studio/snapshot/snapshot_index.h"

namespace ipex_studio {
namespace {

constexpr char kPlanPass[] = "lower-to-plan", kMeasuringPass[] = "eliminate-slow-region";

// The graph before or after a pass. Snapshots exist only after passes that changed the graph; in between the last one
// holds.
std::shared_ptr<const GraphSnapshot> graphAt(const JobRecord& job, const std::string& pass, bool before) {
  std::shared_ptr<const GraphSnapshot> graph = job.frozen;
  for (const PassRecord& record : job.passes) {
    if (before && record.name == pass) return graph;
    if (record.snapshot) graph = record.snapshot;
    if (!before && record.name == pass) return graph;
  }
  if (pass.empty()) return graph;
  if (pass == "frozen") return job.frozen;
  if (pass == kMeasuringPass) {
    throw Error(ExitCode::kUsage, fmt::format("The pass \"{}\" measures the model, which show does not run; "
                                              "`ipex-studio run` says what the pass did.",
                                              pass));
  }
  throw Error(ExitCode::kUsage, fmt::format("There is no pass \"{}\"; `ipex-studio passes` lists them.", pass));
}

}  // namespace

int inspectModel(const CommandLine& line) {
  const UniqueFd fd(openModelFile(line.model));
  PtFileReport report = inspectPtFile(fd.get(), line.model);
  if (!line.only_ops_path.empty()) addOutsideTarget(readOnlyOps(line.only_ops_path), &report);
  printText(line.json ? dumpJson(toJson(report)) + "\n" : describe(report));
  return static_cast<int>(ExitCode::kOk);
}

int printPasses(const CommandLine& line) {
  Cancellation cancellation;
  const InterruptWatch watch(cancellation);
  const auto passes = listPasses(cancellation);
  if (line.json) {
    nlohmann::json list = nlohmann::json::array();
    for (const auto& [name, summary] : passes) list.push_back({{"name", name}, {"summary", summary}});
    printText(dumpJson({{"schema", 1}, {"passes", list}}) + "\n");
    return static_cast<int>(ExitCode::kOk);
  }
  std::size_t width = 0;
  for (const auto& pass : passes) width = std::max(width, pass.first.size());
  std::string text;
  for (const auto& [name, summary] : passes) {
    text += fmt::format("{:<{}}  {}\n", displayText(name), width, displayText(summary, 400));
  }
  printText(text);
  return static_cast<int>(ExitCode::kOk);
}

int showGraph(const CommandLine& line) {
  Cancellation cancellation;
  const InterruptWatch watch(cancellation);
  JobRequest request = jobRequest(line, "show");
  // A graph with one node per plan is shown only if that stage is asked for.
  request.optimize.plan_regions = line.after == kPlanPass || line.before == kPlanPass;
  checkRequest(request);
  const CheckedModel model = checkModel(line.model);
  sayDangers(model, request);
  TerminalProgress progress;
  ModelJob job(model, request, false, progress, cancellation);
  job.optimize(true);
  progress.clear();
  const bool before = !line.before.empty();
  const auto graph = graphAt(job.job(), before ? line.before : line.after, before);
  if (!graph) throw Error(ExitCode::kFailure, "The engine sent no graph.");
  if (line.format == "json") printText(dumpJson(toJson(*graph)) + "\n");
  if (line.format == "dot") printText(graphAsDot(*graph));
  if (line.format == "svg") printText(graphAsSvg(*graph));
  if (line.format == "txt") {
    printText(graph->text);
    // Remarks on declined rewrites follow the graph.
    std::size_t missed = 0;
    for (const Remark& remark : job.job().remarks) {
      if (remark.kind != RemarkKind::kMissed) continue;
      if (missed++ == 0) printText("\n# Not done, and why:\n");
      printText(fmt::format("# {}: {} ({})\n", displayText(remark.pass), displayText(remark.text, 400),
                            displayText(remark.reason)));
    }
  }
  return static_cast<int>(ExitCode::kOk);
}

int verifyModels(const CommandLine& line) {
  Cancellation cancellation;
  const InterruptWatch watch(cancellation);
  JobRequest request = jobRequest(line, "verify");
  request.force_precision = true;  // the precision of an existing file cannot be changed
  checkRequest(request);
  const CheckedModel original = checkModel(line.model);
  const CheckedModel candidate = checkModel(line.other);
  for (const CheckedModel* model : {&original, &candidate}) sayDangers(*model, request);
  TerminalProgress progress;
  const auto records = verifyFiles(original, candidate, request, progress, cancellation).records;
  progress.clear();
  const AccuracyRecord& worst = records.front();
  if (line.json) {
    nlohmann::json outputs = nlohmann::json::array();
    for (const AccuracyRecord& record : records) outputs.push_back(toJson(record));
    printText(dumpJson({{"schema", 1}, {"pass", worst.pass}, {"accuracy", outputs}}) + "\n");
  } else {
    std::string text = fmt::format("{:<8} {:>12} {:>12} {:>10} {:>10}  {}\n", "output", "max |Δ|", "relative",
                                   "SQNR dB", "cosine", "");
    for (const AccuracyRecord& record : records) {
      const std::string distance =
          record.sqnr_db >= kSqnrOfEqual ? std::string("equal") : fmt::format("{:.1f}", record.sqnr_db);
      text += fmt::format("{:<8} {:>12.3g} {:>12.3g} {:>10} {:>10.6f}  {}\n",
                          record.output < 0 ? "worst" : std::to_string(record.output), record.max_abs, record.max_rel,
                          distance, record.cosine, record.pass ? "ok" : "outside the bound");
    }
    printText(text);
  }
  if (worst.pass) return static_cast<int>(ExitCode::kOk);
  throw Error(ExitCode::kAccuracy, fmt::format("The results of {} differ too much from those of {} ({}).", line.other,
                                               line.model, displayText(worst.text, 400)));
}

}  // namespace ipex_studio
