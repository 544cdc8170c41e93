// See snapshot_report.h.
#include "studio/snapshot/snapshot_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "profiler/embedded.h"
#include "profiler/export/html_charts.h"
#include "profiler/export/html_curves.h"
#include "profiler/export/html_waterfall.h"
#include "profiler/text.h"
#include "studio/protocol/text_base64.h"
#include "studio/snapshot/snapshot_tables.h"

namespace ipex_studio {
namespace {

constexpr std::size_t kMaxRows = 1000;
constexpr std::size_t kMaxCellBytes = 400;

std::string headHtml(const StudioSnapshot& snapshot) {
  const JobRecord& job = *snapshot.job;
  std::string inputs;
  for (const InputRecord& input : job.model.inputs) {
    if (inputs.size() > 2000) break;
    inputs += fmt::format(" · <code>{} {}</code>", htmlText(displayText(input.name)),
                          htmlText(displayText(input.description)));
  }
  return fmt::format("<header><h1>{}</h1><span class=\"facts\">{} nodes{} · {} · {}</span></header>\n",
                     htmlText(fileName(job.model.path)), job.model.nodes, inputs,
                     htmlText(displayText(job.machine.cpu)), htmlText(displayText(job.machine.isa)));
}

std::string resultHtml(const JobIndex& index) {
  if (index.optimized.run == nullptr) return {};
  const AccuracyRecord& accuracy = index.optimized.run->accuracy;
  std::string text;
  if (index.speedup.value > 0) {
    text += noiseHtml(index.noise);
    text += fmt::format("<p><b>{:.2f}×</b> as fast as it was, 95 % {:.2f} to {:.2f}: {} after {} (p50).</p>\n",
                        index.speedup.value, index.speedup.low, index.speedup.high,
                        formatTime(index.optimized.latency.p50_ns), formatTime(index.baseline.latency.p50_ns));
  }
  return text + fmt::format("<p class=\"{}\">{}, {}.</p>\n", accuracy.pass ? "good" : "bad",
                            accuracy.pass ? "The results are right" : "The results are wrong",
                            accuracyText(accuracy.sqnr_db));
}

std::string adviceHtml(const JobIndex& index) {
  if (index.advice.empty()) return {};
  std::string text = "<h2>What to do next</h2>\n<ul>\n";
  for (const Advice& advice : index.advice) text += "<li>" + htmlText(advice.text) + "</li>\n";
  return text + "</ul>\n";
}

std::string gainsHtml(const StudioSnapshot& snapshot) {
  const PassGains& known = snapshot.work.pass_gains;
  if (known.gains.empty() || known.of_job != snapshot.job->started_unix_ns) return {};
  std::string text = "<h2>What passes gain</h2>\n<ul>\n";
  for (const PassGain& gain : known.gains) {
    text += fmt::format("<li>{}: {} ms, 95 % {} to {}</li>\n", htmlText(gain.pass), msText(gain.gain_ns),
                        msText(gain.low_ns), msText(gain.high_ns));
  }
  return text + "</ul>\n";
}

std::string cellHtml(const TableCell& cell) {
  if (!cell.is_number) return "<td>" + htmlText(displayText(cell.text, kMaxCellBytes)) + "</td>";
  return "<td class=\"n\">" + (std::isfinite(cell.number) ? fmt::format("{:.6g}", cell.number) : std::string("–")) +
         "</td>";
}

std::string tableHtml(const PanelTable& table) {
  std::string text =
      fmt::format("<h2>{}<small>{} rows</small></h2>\n<table><thead><tr>", htmlText(table.panel), table.rows.size());
  for (const std::string& column : table.columns) text += "<th>" + htmlText(column) + "</th>";
  text += "</tr></thead><tbody>\n";
  for (std::size_t r = 0; r < std::min(table.rows.size(), kMaxRows); ++r) {
    text += "<tr>";
    for (const TableCell& cell : table.rows[r]) text += cellHtml(cell);
    text += "</tr>\n";
  }
  text += "</tbody></table>\n";
  if (table.rows.size() > kMaxRows)
    text += fmt::format("<p class=\"dim\">The first {} rows of {}; the tab's CSV has them all.</p>\n", kMaxRows,
                        table.rows.size());
  return text;
}

}  // namespace

std::string screenReportHtml(const StudioSnapshot& snapshot, const ScreenReport& report) {
  std::string text =
      "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n<title>" +
      htmlText(fileName(snapshot.job->model.path)) + " - ipex-studio</title>\n<style>\n" + kReportCss +
      "\nimg { max-width: 100%; border: 1px solid var(--line); margin: 20px 0; }\n</style></head><body><main>\n";
  text += headHtml(snapshot) + resultHtml(*snapshot.index);
  if (!report.png.empty())
    text += "<img alt=\"the studio's window\" src=\"data:image/png;base64," + toBase64(report.png) + "\">\n";
  if (!report.selected.empty()) {
    text += "<p>Selected:";
    for (const std::string& name : report.selected) text += " <code>" + htmlText(displayText(name)) + "</code>";
    text += "</p>\n";
  }
  text += waterfallHtml(snapshot.index->waterfall) + adviceHtml(*snapshot.index) + gainsHtml(snapshot);
  if (snapshot.work.curves) text += curvesHtml(*snapshot.work.curves);
  if (report.table.fill != nullptr) text += tableHtml(filledTable(report.table, snapshot));
  return text + "</main></body></html>\n";
}

}  // namespace ipex_studio
