// See html_curves.h.
#include "profiler/export/html_curves.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <vector>

#include "profiler/curves/curve_choice.h"
#include "profiler/curves/curves_table.h"
#include "profiler/text.h"

namespace ipex_studio {
namespace {

constexpr double kCurvesWidth = 1116, kCurvesBase = 190, kCurvesHeight = 170;  // viewBox units

// Batch sizes, ascending, each once.
std::vector<std::int64_t> batchesOf(const CurvesRecord& curves) {
  std::vector<std::int64_t> batches;
  for (const CurvePoint& point : curves.points) batches.push_back(point.batch);
  std::sort(batches.begin(), batches.end());
  batches.erase(std::unique(batches.begin(), batches.end()), batches.end());
  return batches;
}

struct CurvesPlace {
  std::vector<std::int64_t> batches;
  double most = 0;  // samples per second

  double x(const CurvePoint& point) const {
    const auto at = std::find(batches.begin(), batches.end(), point.batch) - batches.begin();
    return 80 + (kCurvesWidth - 320) * static_cast<double>(at) /
                    static_cast<double>(std::max<std::size_t>(1, batches.size() - 1));
  }
  double y(const CurvePoint& point) const {
    return kCurvesBase - kCurvesHeight * samplesPerSecond(point) / (most > 0 ? most : 1);
  }
};

std::string axesSvg(const CurvesPlace& place) {
  std::string out =
      fmt::format("<line class=\"axis\" x1=\"60\" x2=\"{0}\" y1=\"{1}\" y2=\"{1}\"/>", kCurvesWidth, kCurvesBase);
  CurvePoint at;
  for (const std::int64_t batch : place.batches) {
    at.batch = batch;
    out += fmt::format("<text x=\"{:.1f}\" y=\"{}\" text-anchor=\"middle\">{}</text>", place.x(at), kCurvesBase + 16,
                       batch);
  }
  return out + fmt::format(
                   "<text x=\"52\" y=\"{}\" text-anchor=\"end\">{:.4g}</text><text x=\"52\" y=\"{}\" "
                   "text-anchor=\"end\">0</text>",
                   kCurvesBase - kCurvesHeight + 4, place.most, kCurvesBase + 4);
}

// The points of one precision and split, with its name at the last of them.
std::string lineSvg(const std::string& name, const std::vector<const CurvePoint*>& points, const CurvesPlace& place,
                    double name_y) {
  std::string path, dots;
  for (const CurvePoint* point : points) {
    path += fmt::format("{:.1f},{:.1f} ", place.x(*point), place.y(*point));
    dots += fmt::format(
        "<circle class=\"{}\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"3.5\"><title>{}: {:.4g} samples/s, p50 {} "
        "ms</title></circle>",
        point->accurate ? "after" : "lost", place.x(*point), place.y(*point), htmlText(pointText(*point)),
        samplesPerSecond(*point), msText(point->p50_ns));
  }
  return fmt::format("<polyline class=\"trend\" points=\"{}\"/>{}<text x=\"{:.1f}\" y=\"{:.1f}\">{}</text>", path, dots,
                     place.x(*points.back()) + 10, name_y, htmlText(name));
}

std::string chartSvg(const CurvesRecord& curves) {
  CurvesPlace place{batchesOf(curves), 0};
  std::map<std::string, std::vector<const CurvePoint*>> lines;
  for (const CurvePoint& point : curves.points) {
    if (!point.measured()) continue;
    place.most = std::max(place.most, samplesPerSecond(point));
    lines[point.precision + ", " + splitText(point)].push_back(&point);
  }
  std::string out = fmt::format("<svg viewBox=\"0 0 {} {}\" role=\"img\" aria-label=\"samples per second by batch\">",
                                kCurvesWidth, kCurvesBase + 24);
  out += axesSvg(place);
  std::vector<std::pair<double, std::string>> ends;  // names, from the top
  for (auto& [name, points] : lines) {
    std::stable_sort(points.begin(), points.end(),
                     [](const CurvePoint* a, const CurvePoint* b) { return a->batch < b->batch; });
    ends.emplace_back(place.y(*points.back()), name);
  }
  std::sort(ends.begin(), ends.end());
  double free_y = 0;
  for (const auto& [y, name] : ends) {
    free_y = std::max(free_y + 14, y + 4);  // names keep a distance even if their lines do not
    out += lineSvg(name, lines[name], place, free_y);
  }
  return out + "</svg>\n";
}

std::string pointRowHtml(const CurvesRecord& curves, std::size_t index) {
  const CurvePoint& point = curves.points[index];
  const auto cell = [](const std::string& text) { return "<td class=\"n\">" + text + "</td>"; };
  const auto timed = [&](const std::string& text) { return cell(point.measured() ? text : "–"); };
  return "<tr><td>" + htmlText(point.precision) + "</td>" + cell(std::to_string(point.batch)) +
         cell(std::to_string(point.instances)) + cell(std::to_string(point.threads)) + timed(msText(point.p50_ns)) +
         timed(msText(point.p99_ns)) + timed(fmt::format("{:.4g}", requestsPerSecond(point))) +
         timed(fmt::format("{:.4g}", samplesPerSecond(point))) +
         cell(point.memory_bytes > 0 ? megabytes(point.memory_bytes) : "–") +
         fmt::format("<td class=\"{}\">{}</td><td><b>{}</b></td></tr>\n", point.accurate ? "good" : "bad",
                     point.accurate ? accuracyText(point.sqnr_db) : "wrong", curveMarks(curves, 0, index));
}

}  // namespace

std::string curvesHtml(const CurvesRecord& curves) {
  if (curves.empty()) return {};
  std::string text = "<h2>Curves<small>samples per second by batch size, all points measured in turns</small></h2>\n" +
                     chartSvg(curves);
  const std::string sentence = curvesSentence(curves);
  if (!sentence.empty()) text += "<p><b>" + htmlText(sentence) + "</b></p>\n";
  if (!curves.noise.empty()) text += "<p>The machine was " + htmlText(curves.noise) + ".</p>\n";
  text +=
      "<table><thead><tr><th>precision</th><th class=\"n\">batch</th><th class=\"n\">instances</th><th "
      "class=\"n\">threads</th><th class=\"n\">p50 ms</th><th class=\"n\">p99 ms</th><th "
      "class=\"n\">requests/s</th><th "
      "class=\"n\">samples/s</th><th class=\"n\">memory</th><th>accuracy</th><th>best</th></tr></thead><tbody>\n";
  for (std::size_t p = 0; p < curves.points.size(); ++p) text += pointRowHtml(curves, p);
  text += "</tbody></table>\n";
  for (const std::string& note : curves.notes) text += "<p class=\"dim\">" + htmlText(note) + "</p>\n";
  return text;
}

}  // namespace ipex_studio
