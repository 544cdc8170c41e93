// See curves_table.h.
#include "profiler/curves/curves_table.h"

#include <fmt/format.h>

#include <cmath>

#include "profiler/curves/curve_choice.h"
#include "profiler/text.h"

namespace ipex_studio {
namespace {

std::string curveRow(const CurvePoint& point, const std::string& marks) {
  const bool known = point.measured();
  const auto text = [known](const std::string& value) { return known ? value : std::string("–"); };
  return fmt::format(
      "{:<9} {:>5} {:>9} {:>7}  {:>9} {:>9} {:>10} {:>9} {:>9}  {:<14}{}\n", point.precision, point.batch,
      point.instances, point.threads, text(msText(point.p50_ns)), text(msText(point.p99_ns)),
      text(fmt::format("{:.4g}", requestsPerSecond(point))), text(fmt::format("{:.4g}", samplesPerSecond(point))),
      point.memory_bytes > 0 ? fmt::format("{:.0f}", static_cast<double>(point.memory_bytes) / 1e6) : "–",
      point.accurate ? accuracyText(point.sqnr_db) : "wrong", marks.empty() ? "" : "◀ " + marks);
}

nlohmann::json orNull(double value) { return std::isfinite(value) ? nlohmann::json(value) : nlohmann::json(); }

nlohmann::json pointJson(const CurvePoint& point) {
  const bool known = point.measured();
  const auto measured = [known](double value) { return known ? orNull(value) : nlohmann::json(); };
  return {{"precision", point.precision},
          {"batch", point.batch},
          {"threads", point.threads},
          {"instances", point.instances},
          {"inputs", point.inputs},
          {"flags", pointFlags(point)},
          {"requests", point.requests},
          {"p50_ms", measured(point.p50_ns / 1e6)},
          {"p99_ms", measured(point.p99_ns / 1e6)},
          {"requests_per_s", measured(requestsPerSecond(point))},
          {"samples_per_s", measured(samplesPerSecond(point))},
          {"memory_bytes", point.memory_bytes > 0 ? nlohmann::json(point.memory_bytes) : nlohmann::json()},
          {"sqnr_db", orNull(point.sqnr_db)},
          {"accurate", point.accurate},
          {"noise", point.noise}};
}

nlohmann::json indexJson(const std::optional<std::size_t>& index) {
  return index ? nlohmann::json(*index) : nlohmann::json();
}

void addMark(const std::optional<std::size_t>& best, std::size_t point, const std::string& text, std::string* marks) {
  if (best && *best == point) *marks += (marks->empty() ? "" : ", ") + text;
}

}  // namespace

std::string curveMarks(const CurvesRecord& curves, double limit_ms, std::size_t point) {
  const CurveChoice choice = chooseCurvePoints(curves, limit_ms);
  std::string marks;
  addMark(choice.throughput, point, "most samples/s", &marks);
  addMark(choice.latency, point, "least latency", &marks);
  addMark(choice.within_limit, point, fmt::format("most within {:g} ms", limit_ms), &marks);
  return marks;
}

std::string curvesTable(const CurvesRecord& curves, double limit_ms, bool color) {
  const char* const strong = color ? "\x1b[1m" : "";
  const char* const plain = color ? "\x1b[0m" : "";
  std::string text = fmt::format("{}{:<9} {:>5} {:>9} {:>7}  {:>9} {:>9} {:>10} {:>9} {:>9}  {:<14}{}\n", strong,
                                 "precision", "batch", "instances", "threads", "p50 ms", "p99 ms", "requests/s",
                                 "samples/s", "memory MB", "accuracy", plain);
  for (std::size_t p = 0; p < curves.points.size(); ++p) {
    const std::string marks = curveMarks(curves, limit_ms, p);
    text += (marks.empty() ? "" : strong) + curveRow(curves.points[p], marks) + (marks.empty() ? "" : plain);
  }
  for (const std::string& note : curves.notes) text += printable(note) + "\n";
  const CurveChoice choice = chooseCurvePoints(curves, limit_ms);
  if (limit_ms > 0 && !choice.within_limit) text += fmt::format("No point keeps its p99 within {:g} ms.\n", limit_ms);
  const std::string sentence = curvesSentence(curves);
  if (!sentence.empty()) text += fmt::format("\n{}{}{}\n", strong, sentence, plain);
  if (!curves.noise.empty()) text += fmt::format("The machine was {}.\n", curves.noise);
  return text;
}

nlohmann::json curvesJson(const CurvesRecord& curves, double limit_ms) {
  nlohmann::json points = nlohmann::json::array();
  for (const CurvePoint& point : curves.points) points.push_back(pointJson(point));
  const CurveChoice choice = chooseCurvePoints(curves, limit_ms);
  return {{"points", points},
          {"best",
           {{"throughput", indexJson(choice.throughput)},
            {"latency", indexJson(choice.latency)},
            {"within_limit", indexJson(choice.within_limit)}}},
          {"latency_limit_ms", limit_ms > 0 ? nlohmann::json(limit_ms) : nlohmann::json()},
          {"sentence", curvesSentence(curves)},
          {"notes", curves.notes},
          {"noise", curves.noise},
          {"complete", curves.complete}};
}

}  // namespace ipex_studio
