// See html_waterfall.h.
#include "profiler/export/html_waterfall.h"

#include <fmt/format.h>

#include <algorithm>

#include "profiler/text.h"

namespace ipex_studio {
namespace {

constexpr std::size_t kShownParts = 12;
constexpr double kBarWidth = 400;  // viewBox units

// A bar from one time to another on the axis of the whole chart.
std::string spanSvg(double from_ns, double to_ns, double low_ns, double high_ns, const char* css_class) {
  const auto x = [&](double ns) { return high_ns > low_ns ? (ns - low_ns) / (high_ns - low_ns) * kBarWidth : 0; };
  const double left = std::min(x(from_ns), x(to_ns));
  const double width = std::max(1.0, std::max(x(from_ns), x(to_ns)) - left);
  return fmt::format(
      "<svg class=\"span\" viewBox=\"0 0 {} 12\" preserveAspectRatio=\"none\"><rect class=\"{}\" x=\"{:.2f}\" y=\"0\" "
      "width=\"{:.2f}\" height=\"12\"/></svg>",
      kBarWidth, css_class, left, width);
}

std::string partsHtml(const WaterfallBar& bar) {
  if (bar.parts.empty()) return htmlText(causeTitle(bar.cause));
  std::string text = fmt::format("<details><summary>{} <span class=\"dim\">{} place{}</span></summary><ul>",
                                 htmlText(causeTitle(bar.cause)), bar.parts.size(), bar.parts.size() == 1 ? "" : "s");
  for (std::size_t i = 0; i < std::min(bar.parts.size(), kShownParts); ++i)
    text += fmt::format("<li>{} {} ms</li>", htmlText(bar.parts[i].name), changeText(bar.parts[i].gain_ns));
  if (bar.parts.size() > kShownParts) text += fmt::format("<li>and {} more</li>", bar.parts.size() - kShownParts);
  return text + "</ul></details>";
}

std::string rowHtml(const std::string& name, const std::string& svg, const std::string& change,
                    const std::string& spread) {
  return fmt::format(
      "<tr><td>{}</td><td class=\"chart\">{}</td><td class=\"n\">{}</td><td class=\"n dim\">{}</td></tr>\n", name, svg,
      change, spread);
}

}  // namespace

std::string waterfallHtml(const Waterfall& waterfall) {
  if (waterfall.bars.empty()) return {};
  const auto before_ns = static_cast<double>(waterfall.before_ns), after_ns = static_cast<double>(waterfall.after_ns);
  const auto [low_ns, high_ns] = rangeOf(waterfall);
  std::string text =
      "<h2>From before to now<small>what the difference comes from, by measured times of nodes and steps; the parts "
      "are "
      "exactly the whole</small></h2>\n<table class=\"waterfall\"><thead><tr><th>cause</th><th></th><th "
      "class=\"n\">ms</th>"
      "<th class=\"n\">± 95 %</th></tr></thead><tbody>\n";
  text += rowHtml("<b>baseline</b>", spanSvg(0, before_ns, low_ns, high_ns, "before"), msText(before_ns), "");
  double at_ns = before_ns;
  for (const WaterfallBar& bar : waterfall.bars) {
    const double next_ns = at_ns - static_cast<double>(bar.gain_ns);
    text += rowHtml(partsHtml(bar), spanSvg(at_ns, next_ns, low_ns, high_ns, bar.gain_ns >= 0 ? "gained" : "lost"),
                    changeText(bar.gain_ns), msText(bar.half_width_ns));
    at_ns = next_ns;
  }
  text += rowHtml("<b>optimized</b>", spanSvg(0, after_ns, low_ns, high_ns, "after"), msText(after_ns), "");
  return text + "</tbody></table>\n";
}

}  // namespace ipex_studio
