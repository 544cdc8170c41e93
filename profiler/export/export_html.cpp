// The sections of the report, one function each.
#include "profiler/export/export_html.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <unordered_map>

#include "profiler/comparison.h"
#include "profiler/embedded.h"
#include "profiler/export/html_charts.h"
#include "profiler/export/html_curves.h"
#include "profiler/export/html_waterfall.h"
#include "profiler/summary.h"
#include "profiler/text.h"

namespace ipex_studio {
namespace {

constexpr std::size_t kReportedSteps = 15;
constexpr std::size_t kMaxRemarksPerReason = 200;

// The data that every section reads.
struct Report {
  const JobRecord& job;
  const RunRecord* baseline;
  const RunRecord* optimized;
  const RunRecord* shown;  // the run whose steps are listed: optimized, else the last one; null if there is none
  RunDigest baseline_digest;
  RunDigest digest;  // of `shown`
  Interval speedup;
  NoiseVerdict noise;
};

Report reportOf(const JobRecord& job) {
  Report report = {
      job, findRun(job, "baseline"), findRun(job, "optimized"), nullptr, {}, {}, speedupOf(job), judgeNoise(job)};
  report.shown = report.optimized ? report.optimized : job.runs.empty() ? nullptr : &job.runs.back();
  if (report.baseline) report.baseline_digest = digestOf(*report.baseline);
  if (report.shown) report.digest = digestOf(*report.shown);
  return report;
}

std::string number(const std::string& text) { return fmt::format("<td class=\"n\">{}</td>", text); }

std::string header(const Report& r) {
  const MachineFacts& m = r.job.machine;
  std::string inputs;
  for (const InputRecord& i : r.job.model.inputs) {
    inputs += fmt::format(" · <code>{} {}</code>{}", htmlText(i.name), htmlText(i.description),
                          i.guessed ? " (guessed)" : "");
  }
  const std::string run =
      r.shown ? fmt::format(" · {} thread{} · {} · {}", r.shown->threads, r.shown->threads == 1 ? "" : "s",
                            htmlText(r.shown->precision), htmlText(r.shown->device))
              : "";
  return fmt::format(
      "<header><h1>{}</h1><span class=\"facts\">{} nodes{}{} · {}</span><span class=\"tool\">{}</span></header>\n",
      htmlText(fileName(r.job.model.path)), r.job.model.nodes, inputs, run, htmlText(m.cpu),
      dateText(r.job.started_unix_ns));
}

std::string heroNumber(const Report& r) {
  if (r.speedup.value <= 0) {
    return fmt::format(
        "<div><div class=\"number\">{}<small> ms</small></div><div class=\"interval\">median of {} "
        "iterations</div></div>",
        msText(r.digest.latency.p50_ns), r.digest.latency.samples);
  }
  const bool faster = r.speedup.low > 1;
  const bool slower = r.speedup.high < 1;
  return fmt::format(
      "<div><div class=\"number\">{}</div><div class=\"interval\"><span class=\"{}\">{}</span> · 95 % "
      "interval {:.2f}–{:.2f}</div>{}</div>",
      ratioText(r.speedup.value),
      faster   ? "good"
      : slower ? "bad"
               : "warning",
      faster   ? "▲ faster"
      : slower ? "▼ slower"
               : "≈ no clear difference",
      r.speedup.low, r.speedup.high, noiseHtml(r.noise));
}

std::string race(const Report& r) {
  double slowest = 0;
  for (const RunRecord& run : r.job.runs) slowest = std::max(slowest, static_cast<double>(median(run.latency_ns)));
  std::string out = "<div class=\"race\">";
  for (const RunRecord& run : r.job.runs) {
    const auto p50 = static_cast<double>(median(run.latency_ns));
    out += fmt::format("<span>{}</span>{}<span class=\"value\">{} <small>ms p50</small></span>", htmlText(run.variant),
                       barSvg(slowest > 0 ? p50 / slowest : 0, &run == r.optimized ? "after" : "before"), msText(p50));
  }
  return out + "</div>";
}

std::string tile(const std::string& label, const std::string& value, const std::string& beside = "") {
  return fmt::format("<div><span>{}</span><b>{}</b><small>{}</small></div>", label, value, beside);
}

std::string hero(const Report& r) {
  if (!r.shown) return "<p>Nothing was measured.</p>";
  const AccuracyRecord& accuracy = r.shown->accuracy;
  std::string tiles = tile("accuracy",
                           accuracy.reference.empty()
                               ? std::string("not judged")
                               : fmt::format("<span class=\"{}\">{}</span> {}", accuracy.pass ? "good" : "bad",
                                             accuracy.pass ? "✓" : "✗ too far off", accuracyText(accuracy.sqnr_db)),
                           htmlText(accuracy.text));
  tiles +=
      tile("throughput", fmt::format("{:.1f} / s", r.digest.throughput_per_s),
           r.baseline && r.baseline != r.shown ? fmt::format("was {:.1f}", r.baseline_digest.throughput_per_s) : "");
  tiles +=
      tile("p99", msText(r.digest.latency.p99_ns) + " ms",
           r.baseline && r.baseline != r.shown ? fmt::format("was {}", msText(r.baseline_digest.latency.p99_ns)) : "");
  tiles +=
      tile("peak memory", megabytes(r.shown->peak_rss_bytes) + " MB",
           r.baseline && r.baseline != r.shown ? fmt::format("was {}", megabytes(r.baseline->peak_rss_bytes)) : "");
  if (r.shown->coverage.time > 0) {
    tiles += tile("in compiled plans", shareText(r.shown->coverage.time) + " of time",
                  shareText(r.shown->coverage.nodes) + " of nodes");
  }
  return fmt::format("<section class=\"hero\">{}{}</section><div class=\"tiles\">{}</div>\n", heroNumber(r), race(r),
                     tiles);
}

std::string latencyTable(const Report& r) {
  std::string out = "<table><thead><tr><th>run</th>";
  for (const char* name : {"min ms", "mean", "p50", "p90", "p95", "p99", "max", "per s", "iterations"}) {
    out += fmt::format("<th class=\"n\">{}</th>", name);
  }
  out += "</tr></thead><tbody>";
  for (const RunRecord& run : r.job.runs) {
    const LatencyStats s = latencyStats(run.latency_ns);
    out += fmt::format("<tr><td>{} <span class=\"dim\">{}</span></td>", htmlText(run.variant), htmlText(run.precision));
    for (const double ns : {s.min_ns, s.mean_ns, s.p50_ns, s.p90_ns, s.p95_ns, s.p99_ns, s.max_ns})
      out += number(msText(ns));
    out += number(s.mean_ns > 0 ? fmt::format("{:.1f}", run.instances * 1e9 / s.mean_ns) : "–");
    out += number(std::to_string(s.samples)) + "</tr>";
  }
  return out + "</tbody></table>";
}

std::string costTable(const Report& r) {
  std::string out = "<table><thead><tr><th>run</th>";
  for (const char* name : {"load ms", "compile", "tune", "first run", "peak MB", "CPU / wall", "max |Δ|",
                           "max |Δ| / max |ref|", "SQNR", "cosine"}) {
    out += fmt::format("<th class=\"n\">{}</th>", name);
  }
  out += "<th>verdict</th></tr></thead><tbody>";
  for (const RunRecord& run : r.job.runs) {
    const AccuracyRecord& a = run.accuracy;
    out += fmt::format("<tr><td>{}</td>", htmlText(run.variant));
    for (const std::int64_t ns : {run.load_ns, run.compile_ns, run.tune_ns, run.first_run_ns}) {
      out += number(msText(static_cast<double>(ns)));
    }
    out += number(megabytes(run.peak_rss_bytes)) + number(fmt::format("{:.2f}", run.cpu_per_wall)) +
           number(fmt::format("{:.2g}", a.max_abs)) + number(fmt::format("{:.2g}", a.max_rel)) +
           number(accuracyText(a.sqnr_db)) + number(fmt::format("{:.7f}", a.cosine)) +
           fmt::format("<td class=\"{}\">{}</td></tr>", a.pass ? "good" : "bad", a.pass ? "✓ ok" : "✗ too far off");
  }
  return out + "</tbody></table>";
}

std::string latency(const Report& r) {
  if (!r.shown) return {};
  const char* rounds = r.baseline && r.optimized && !r.optimized->turn.empty() ? ", the two variants took turns" : "";
  return fmt::format(
      "<h2>Latency<small>each iteration{}</small></h2><div class=\"scroll plot\">{}</div><div class=\"scroll\">{}</div>"
      "<div class=\"scroll\" style=\"margin-top:18px\">{}</div>\n",
      rounds,
      histogramSvg(r.baseline, r.optimized  ? r.optimized
                               : r.baseline ? nullptr
                                            : r.shown),
      latencyTable(r), costTable(r));
}

std::string kindSwatch(const std::string& kind) {
  return fmt::format("<span class=\"swatch {}\"></span>", kindClass(kind));
}

std::string topSteps(const Report& r) {
  if (r.digest.steps.empty()) return {};
  const std::vector<std::size_t> order = slowestFirst(r.digest.steps);
  const auto longest = static_cast<double>(std::max(r.digest.steps[order[0]].p50_ns, r.digest.unattributed_ns));
  std::string out = fmt::format(
      "<h2>Where the time goes<small>{} · {} steps · {} ms in steps, {} ms unattributed of {} ms{}{}</small></h2>{}"
      "<table class=\"steps\"><tbody>",
      htmlText(r.shown->variant), r.digest.steps.size(), msText(static_cast<double>(r.digest.steps_p50_ns)),
      msText(static_cast<double>(r.digest.unattributed_ns)), msText(r.digest.latency.p50_ns),
      r.digest.step_scale < 1 ? " · " : "", stepScaleText(r.digest.step_scale), kindStripHtml(r.digest));
  for (std::size_t i = 0; i < std::min(order.size(), kReportedSteps); ++i) {
    const StepSummary& s = r.digest.steps[order[i]];
    out +=
        fmt::format("<tr><td class=\"name\">{}</td><td class=\"chart mid\">{}</td>{}{}<td class=\"mono\">{}</td></tr>",
                    htmlText(s.name), barSvg(static_cast<double>(s.p50_ns) / longest, kindClass(s.kind)),
                    number(msText(static_cast<double>(s.p50_ns)) + " ms"), number(shareText(s.share)),
                    htmlText(s.implementation.empty() ? s.kernel : s.implementation));
  }
  const double share =
      r.digest.latency.p50_ns > 0 ? static_cast<double>(r.digest.unattributed_ns) / r.digest.latency.p50_ns : 0;
  out += fmt::format(
      "<tr><td class=\"name dim\">unattributed: run median less all steps</td><td class=\"chart mid\">{}</td>{}{}"
      "<td></td></tr>",
      barSvg(static_cast<double>(r.digest.unattributed_ns) / longest, "k-unattributed"),
      number(msText(static_cast<double>(r.digest.unattributed_ns)) + " ms"), number(shareText(share)));
  return out + "</tbody></table>\n";
}

// What a pass gains in ms, with its interval; empty where it was not measured.
std::string gainText(const std::vector<PassGain>& gains, const std::string& pass) {
  for (const PassGain& gain : gains) {
    if (gain.pass == pass)
      return fmt::format("{} ({} to {})", msText(gain.gain_ns), msText(gain.low_ns), msText(gain.high_ns));
  }
  return {};
}

std::string passes(const Report& r, const std::vector<PassGain>& gains) {
  if (r.job.passes.empty()) return {};
  std::string out =
      "<h2>Passes</h2><div class=\"scroll\"><table><thead><tr><th class=\"n\">#</th><th>pass</th><th "
      "class=\"n\">done</th>"
      "<th class=\"n\">missed</th><th class=\"n\">nodes after</th><th class=\"n\">ms</th>" +
      std::string(gains.empty() ? "" : "<th class=\"n\">gains, ms</th>") + "<th>what it does</th></tr></thead><tbody>";
  for (const PassRecord& p : r.job.passes) {
    out += fmt::format(
        "<tr><td class=\"n dim\">{}</td><td>{}</td><td class=\"n {}\">{}</td><td class=\"n {}\">{}</td>{}{}{}<td "
        "class=\"dim\">{}</td></tr>",
        p.index, htmlText(p.name), p.rewrites > 0 ? "good" : "dim",
        p.rewrites > 0 ? fmt::format("+{}", p.rewrites) : "0", p.missed > 0 ? "warning" : "dim", p.missed,
        number(std::to_string(p.nodes_after)), number(msText(static_cast<double>(p.elapsed_ns))),
        gains.empty() ? "" : number(gainText(gains, p.name)), htmlText(p.summary));
  }
  return out + "</tbody></table></div>\n";
}

// The first origins of a remark as text: "layer1.0.conv3 · aten::conv2d".
std::string originNames(const Remark& remark, const std::unordered_map<OriginId, const Origin*>& origins) {
  std::string out;
  for (std::size_t i = 0; i < std::min<std::size_t>(remark.origins.size(), 3); ++i) {
    const auto found = origins.find(remark.origins[i]);
    if (found == origins.end()) continue;
    const Origin& o = *found->second;
    out += fmt::format("{}{}{}{}", out.empty() ? "" : ", ", o.module_path, o.module_path.empty() ? "" : " · ", o.kind);
  }
  return out;
}

std::string missed(const Report& r) {
  const std::vector<MissedReason> reasons = missedReasons(r.job);
  if (reasons.empty()) return {};
  std::unordered_map<OriginId, const Origin*> origins;
  for (const Origin& origin : r.job.model.origins) origins.emplace(origin.id, &origin);
  std::string out = "<h2>What was not rewritten, and why</h2>";
  for (const MissedReason& entry : reasons) {
    out += fmt::format("<details><summary><b class=\"warning\">{}</b><span class=\"mono\">{}</span>{}</summary><ul>",
                       entry.remarks.size(), htmlText(entry.reason), htmlText(entry.remarks.front()->text));
    for (std::size_t i = 0; i < std::min(entry.remarks.size(), kMaxRemarksPerReason); ++i) {
      const Remark& remark = *entry.remarks[i];
      out += fmt::format("<li><span class=\"mono\">{}</span> {} – {}</li>", htmlText(remark.pass),
                         htmlText(originNames(remark, origins)), htmlText(remark.text));
    }
    if (entry.remarks.size() > kMaxRemarksPerReason) {
      out += fmt::format("<li>and {} more</li>", entry.remarks.size() - kMaxRemarksPerReason);
    }
    out += "</ul></details>";
  }
  return out + "\n";
}

// Speed-ups against the same nodes in the baseline, for steps that are alone in their row.
std::unordered_map<std::string, double> speedupByName(const Report& r) {
  std::unordered_map<std::string, double> result;
  if (!r.baseline || !r.optimized) return result;
  const auto index = [&](const RunRecord* run) { return static_cast<std::size_t>(run - r.job.runs.data()); };
  for (const ComparedRow& row : compareRuns(r.job, index(r.baseline), r.job, index(r.optimized)).rows) {
    if (row.steps_b != 1 || row.steps_a == 0 || row.b_ns == 0) continue;
    result[row.name] = static_cast<double>(row.a_ns) / static_cast<double>(row.b_ns);
  }
  return result;
}

std::string allSteps(const Report& r) {
  if (r.digest.steps.empty()) return {};
  const auto speedups = speedupByName(r);
  std::string out =
      "<h2>All steps<small>in order of execution</small></h2><div class=\"scroll\"><table><thead><tr><th>step</th>"
      "<th>kind</th><th>kernel</th><th>layout</th><th>output</th><th>precision</th><th class=\"n\">p50 ms</th><th "
      "class=\"n\">p99</th><th class=\"n\">share</th><th class=\"n\">GFLOP/s</th><th class=\"n\">v "
      "baseline</th></tr></thead>"
      "<tbody>";
  for (const StepSummary& s : r.digest.steps) {
    const auto speedup = speedups.find(s.name);
    const bool known = speedup != speedups.end();
    const std::string layout = s.src_layout == s.dst_layout ? s.dst_layout : s.src_layout + " → " + s.dst_layout;
    fmt::format_to(std::back_inserter(out),
                   "<tr><td class=\"name\">{}{}</td><td>{}</td><td class=\"mono\">{}</td><td class=\"mono\">{}</td><td "
                   "class=\"mono\">{}</td><td>{}</td>{}{}{}{}<td class=\"n {}\">{}</td></tr>\n",
                   kindSwatch(s.kind), htmlText(s.name), htmlText(s.kind),
                   htmlText(s.implementation.empty() ? s.kernel : s.implementation), htmlText(layout),
                   htmlText(shapeText(s.dst_shape, s.micro_batches, s.runs)), htmlText(s.precision),
                   number(msText(static_cast<double>(s.p50_ns))), number(msText(static_cast<double>(s.p99_ns))),
                   number(shareText(s.share)), number(s.gflops_per_s > 0 ? fmt::format("{:.0f}", s.gflops_per_s) : "–"),
                   !known                 ? "dim"
                   : speedup->second >= 1 ? "good"
                                          : "bad",
                   known ? ratioText(speedup->second) : "–");
  }
  return out + "</tbody></table></div>\n";
}

std::string history(const std::vector<JobSummary>& jobs) {
  const std::string chart = historySvg(jobs);
  if (chart.empty()) return {};
  return "<h2>Over time<small>median of the optimized model, ms</small></h2>" + chart + "\n";
}

std::string footer(const Report& r) {
  const MachineFacts& m = r.job.machine;
  std::string features;
  for (const std::string& feature : m.features) features += (features.empty() ? "" : " ") + feature;
  return fmt::format(
      "<footer>{} · {} ({}) · {} usable cores · {:.1f} GB · {} · governor {} · libtorch {} · oneDNN {}<br>{} · {:.1f} "
      "MB · "
      "sha256 <code>{}</code><br>{} <code>{}</code><br>Percentiles are by nearest rank. The interval is a percentile "
      "bootstrap over turns. Step times are medians, so their sum and the median run differ by what is shown as "
      "unattributed.</footer>\n",
      htmlText(m.cpu), htmlText(m.isa), htmlText(features), m.cores, static_cast<double>(m.memory_bytes) / 1e9,
      htmlText(m.os), m.governor.empty() ? "unknown" : htmlText(m.governor),
      m.libtorch.empty() ? "–" : htmlText(m.libtorch), m.onednn.empty() ? "–" : htmlText(m.onednn),
      htmlText(r.job.model.path), static_cast<double>(r.job.model.file_bytes) / 1e6, htmlText(r.job.model.sha256),
      htmlText(r.job.command), htmlText(r.job.options));
}

}  // namespace

std::string htmlReport(const JobRecord& job, const std::vector<JobSummary>& jobs, const std::vector<PassGain>& gains,
                       const CurvesRecord& curves) {
  const Report r = reportOf(job);
  return fmt::format(
             "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" "
             "content=\"width=device-width, initial-scale=1\"><meta http-equiv=\"Content-Security-Policy\" "
             "content=\"default-src 'none'; style-src 'unsafe-inline'\"><meta name=\"color-scheme\" content=\"light "
             "dark\"><title>{} · ipex-studio</title>\n<style>\n",
             htmlText(fileName(job.model.path))) +
         kReportCss + "</style></head>\n<body><main>\n" + header(r) + hero(r) + waterfallHtml(waterfallOf(job)) +
         latency(r) + topSteps(r) + curvesHtml(curves) + passes(r, gains) + missed(r) + history(jobs) + allSteps(r) +
         footer(r) + "</main></body></html>\n";
}

}  // namespace ipex_studio
