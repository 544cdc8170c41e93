// Bars, histograms, strips and histories as SVG.
#include "profiler/export/html_charts.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "profiler/text.h"

namespace ipex_studio {
namespace {

constexpr double kChartWidth = 1116;  // viewBox units; equals pixels in the widest layout

// A round distance of ticks, of which about `count` fit into `range`.
double tickStep(double range, int count) {
  const double raw = range / count;
  const double power = std::pow(10.0, std::floor(std::log10(raw)));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (factor * power >= raw) return factor * power;
  }
  return 10 * power;
}

std::string tickText(double value, double step) {
  const int decimals = std::clamp(static_cast<int>(std::ceil(-std::log10(step) - 1e-9)), 0, 6);
  return fmt::format("{:.{}f}", value, decimals);
}

struct Axis {
  double begin_ms = 0;
  double end_ms = 1;
  double x(double ms) const { return (ms - begin_ms) / (end_ms - begin_ms) * kChartWidth; }
};

Axis histogramAxis(const std::vector<const RunRecord*>& runs) {
  Axis axis = {INFINITY, 0};
  for (const RunRecord* run : runs) {
    std::vector<std::int64_t> sorted = run->latency_ns;
    std::sort(sorted.begin(), sorted.end());
    axis.begin_ms = std::min(axis.begin_ms, static_cast<double>(sorted.front()) / 1e6);
    axis.end_ms = std::max(axis.end_ms, static_cast<double>(percentile(sorted, 99)) / 1e6);
  }
  const double margin = std::max(0.04 * (axis.end_ms - axis.begin_ms), 0.01 * axis.end_ms + 1e-6);
  return {std::max(0.0, axis.begin_ms - margin), axis.end_ms + margin};
}

constexpr std::size_t kBins = 124;
constexpr double kPlotTop = 22;
constexpr double kPlotBottom = 150;

std::string histogramBars(const RunRecord& run, const Axis& axis, const char* css_class, std::size_t& beyond) {
  std::array<int, kBins> counts{};
  for (const std::int64_t ns : run.latency_ns) {
    const double place = axis.x(static_cast<double>(ns) / 1e6) / kChartWidth * static_cast<double>(kBins);
    if (place >= static_cast<double>(kBins)) {
      ++beyond;
    } else {
      ++counts[static_cast<std::size_t>(std::max(0.0, place))];
    }
  }
  const double tallest = *std::max_element(counts.begin(), counts.end());
  const double bin_width = kChartWidth / static_cast<double>(kBins);
  std::string out;
  for (std::size_t bin = 0; bin < kBins; ++bin) {
    if (counts[bin] == 0) continue;
    const double height = (kPlotBottom - kPlotTop) * counts[bin] / tallest;
    out += fmt::format(
        "<rect class=\"{}\" opacity=\"0.85\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\">"
        "<title>{} of {}</title></rect>",
        css_class, static_cast<double>(bin) * bin_width + 0.5, kPlotBottom - height, bin_width - 1, height, counts[bin],
        run.latency_ns.size());
  }
  return out;
}

std::string medianMark(const RunRecord& run, const Axis& axis, const char* css_class) {
  const double ms = static_cast<double>(median(run.latency_ns)) / 1e6;
  const double x = axis.x(ms);
  const bool at_right = x > kChartWidth - 180;
  return fmt::format(
      "<line class=\"median {}\" x1=\"{:.1f}\" x2=\"{:.1f}\" y1=\"4\" y2=\"{}\"/><text class=\"strong\" "
      "x=\"{:.1f}\" y=\"13\" text-anchor=\"{}\">{} p50 {} ms</text>",
      css_class, x, x, kPlotBottom, at_right ? x - 6 : x + 6, at_right ? "end" : "start", htmlText(run.variant),
      msText(ms * 1e6));
}

std::string axisSvg(const Axis& axis) {
  std::string out = fmt::format("<line class=\"axis\" x1=\"0\" x2=\"{}\" y1=\"{}\" y2=\"{}\"/>", kChartWidth,
                                kPlotBottom, kPlotBottom);
  const double step = tickStep(axis.end_ms - axis.begin_ms, 9);
  for (double tick = std::ceil(axis.begin_ms / step) * step; tick < axis.end_ms; tick += step) {
    const double x = axis.x(tick);
    if (x < 12 || x > kChartWidth - 34) continue;
    out += fmt::format(
        "<line class=\"axis\" x1=\"{0:.1f}\" x2=\"{0:.1f}\" y1=\"{1}\" y2=\"{2}\"/><text x=\"{0:.1f}\" "
        "y=\"{3}\" text-anchor=\"middle\">{4}</text>",
        x, kPlotBottom, kPlotBottom + 4, kPlotBottom + 18, tickText(tick, step));
  }
  return out + fmt::format("<text x=\"{}\" y=\"{}\" text-anchor=\"end\">ms</text>", kChartWidth, kPlotBottom + 18);
}

}  // namespace

std::string kindClass(const std::string& kind) {
  static constexpr struct {
    const char* part;
    const char* css_class;
  } kRules[] = {{"attention", "k-attention"},
                {"softmax", "k-attention"},
                {"conv", "k-convolution"},
                {"linear", "k-linear"},
                {"matmul", "k-linear"},
                {"addmm", "k-linear"},
                {"bmm", "k-linear"},
                {"::mm", "k-linear"},
                {"pool", "k-pooling"},
                {"upsample", "k-pooling"},
                {"interpolate", "k-pooling"},
                {"resize", "k-pooling"},
                {"norm", "k-normalization"},
                {"embedding", "k-embedding"},
                {"reorder", "k-reorder"},
                {"quantize", "k-reorder"},
                {"cast", "k-reorder"},
                {"aten::to", "k-reorder"},
                {"pointwise", "k-elementwise"},
                {"relu", "k-elementwise"},
                {"gelu", "k-elementwise"},
                {"silu", "k-elementwise"},
                {"sigmoid", "k-elementwise"},
                {"tanh", "k-elementwise"},
                {"swish", "k-elementwise"},
                {"clamp", "k-elementwise"},
                {"aten::add", "k-elementwise"},
                {"aten::mul", "k-elementwise"},
                {"aten::sub", "k-elementwise"},
                {"aten::div", "k-elementwise"},
                {"binary", "k-elementwise"},
                {"eltwise", "k-elementwise"}};
  for (const auto& rule : kRules) {
    if (kind.find(rule.part) != std::string::npos) return rule.css_class;
  }
  return "k-other";
}

std::string noiseHtml(const NoiseVerdict& noise) {
  if (noise.level == NoiseLevel::kUnknown) return {};
  return fmt::format("<div class=\"interval\"><span class=\"{}\">● {}</span></div>", noise.disturbed() ? "bad" : "good",
                     htmlText(noiseSentence(noise)));
}

std::string barSvg(double share, const std::string& css_class) {
  const double percent = std::isfinite(share) ? std::clamp(100 * share, 0.0, 100.0) : 0;
  return fmt::format(
      "<svg class=\"bar\" aria-hidden=\"true\"><rect class=\"{}\" width=\"{:.2f}%\" height=\"100%\" "
      "rx=\"2\"/></svg>",
      css_class, percent);
}

std::string histogramSvg(const RunRecord* baseline, const RunRecord* optimized) {
  std::vector<const RunRecord*> runs;
  for (const RunRecord* run : {baseline, optimized}) {
    if (run && !run->latency_ns.empty()) runs.push_back(run);
  }
  if (runs.empty()) return {};
  const Axis axis = histogramAxis(runs);
  std::size_t beyond = 0;
  std::string out =
      fmt::format("<svg viewBox=\"0 0 {} 172\" role=\"img\" aria-label=\"histogram of latencies\">", kChartWidth);
  out += axisSvg(axis);
  for (const RunRecord* run : runs) out += histogramBars(*run, axis, run == optimized ? "after" : "before", beyond);
  for (const RunRecord* run : runs) out += medianMark(*run, axis, run == optimized ? "after" : "before");
  out += "</svg>";
  if (beyond > 0) {
    out +=
        fmt::format("<p class=\"dim\">{} slower iteration{} to the right of the axis; the table has the maximum.</p>",
                    beyond, beyond == 1 ? "" : "s");
  }
  return out;
}

std::string kindStripHtml(const RunDigest& digest) {
  std::map<std::string, std::int64_t> by_class;
  for (const StepSummary& step : digest.steps) by_class[kindClass(step.kind)] += step.p50_ns;
  std::vector<std::pair<std::string, std::int64_t>> parts(by_class.begin(), by_class.end());
  std::stable_sort(parts.begin(), parts.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
  if (digest.unattributed_ns > 0) parts.emplace_back("k-unattributed", digest.unattributed_ns);
  double total = 0;
  for (const auto& part : parts) total += static_cast<double>(part.second);
  if (total <= 0) return {};

  std::string strip =
      "<svg viewBox=\"0 0 1116 26\" preserveAspectRatio=\"none\" style=\"height:26px\" role=\"img\" aria-label=\"time "
      "by "
      "kind\"><defs><pattern id=\"hatch\" width=\"6\" height=\"6\" patternUnits=\"userSpaceOnUse\"><path d=\"M-1,7 "
      "L7,-1\"/></pattern></defs>";
  std::string legend = "<div class=\"legend\">";
  double x = 0;
  for (const auto& [css_class, ns] : parts) {
    const double width = static_cast<double>(ns) / total * kChartWidth;
    const std::string name = css_class.substr(2);
    strip += fmt::format("<rect class=\"{}\" x=\"{:.1f}\" width=\"{:.1f}\" height=\"26\"><title>{}</title></rect>",
                         css_class, x, std::max(0.5, width - 1), name);
    x += width;
    legend += fmt::format("<span><span class=\"swatch {}\"></span>{} <b>{} ms</b> {}</span>", css_class, name,
                          msText(static_cast<double>(ns)), shareText(static_cast<double>(ns) / total));
  }
  return strip + "</svg>" + legend + "</div>";
}

std::string historySvg(const std::vector<JobSummary>& newest_first) {
  std::vector<const JobSummary*> jobs;
  for (const JobSummary& job : newest_first) {
    if (job.optimized_p50_ns > 0) jobs.insert(jobs.begin(), &job);
  }
  if (jobs.size() < 2) return {};
  double highest = 0;
  for (const JobSummary* job : jobs) highest = std::max(highest, static_cast<double>(job->optimized_p50_ns));
  const double step = tickStep(highest / 1e6, 3);
  const double top = std::ceil(highest / 1e6 / step) * step;
  const auto y = [&](double ms) { return 112 - ms / top * 100; };
  std::string out =
      fmt::format("<svg viewBox=\"0 0 {} 134\" role=\"img\" aria-label=\"median over time\">", kChartWidth);
  for (double tick = 0; tick <= top + step / 2; tick += step) {
    out += fmt::format(
        "<line class=\"axis\" x1=\"44\" x2=\"{0}\" y1=\"{1:.1f}\" y2=\"{1:.1f}\"/><text x=\"36\" y=\"{2:.1f}\" "
        "text-anchor=\"end\">{3}</text>",
        kChartWidth, y(tick), y(tick) + 4, tickText(tick, step));
  }
  std::string line;
  std::string dots;
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    const double x = 60 + (kChartWidth - 90) * static_cast<double>(i) / static_cast<double>(jobs.size() - 1);
    const double at = y(static_cast<double>(jobs[i]->optimized_p50_ns) / 1e6);
    line += fmt::format("{:.1f},{:.1f} ", x, at);
    dots +=
        fmt::format("<circle class=\"after\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"3.5\"><title>{}: {} ms</title></circle>",
                    x, at, dateText(jobs[i]->started_unix_ns), msText(static_cast<double>(jobs[i]->optimized_p50_ns)));
  }
  out += fmt::format("<polyline class=\"trend\" points=\"{}\"/>{}", line, dots);
  out += fmt::format("<text x=\"44\" y=\"130\">{}</text><text x=\"{}\" y=\"130\" text-anchor=\"end\">{}</text></svg>",
                     dateText(jobs.front()->started_unix_ns), kChartWidth, dateText(jobs.back()->started_unix_ns));
  return out;
}

}  // namespace ipex_studio
