// See curve_choice.h.
#include "profiler/curves/curve_choice.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>

namespace ipex_studio {
namespace {

constexpr double kAlikePoints = 0.01;

double medianOf(std::vector<double> values) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

// True if `a` takes less of the machine.
bool isMoreModest(const CurvePoint& a, const CurvePoint& b) {
  const int cores_a = a.threads * a.instances, cores_b = b.threads * b.instances;
  return cores_a != cores_b ? cores_a < cores_b : a.batch < b.batch;
}

// The point of least cost among those that count.
std::optional<std::size_t> leastCost(const std::vector<CurvePoint>& points,
                                     const std::function<bool(const CurvePoint&)>& counts,
                                     const std::function<double(const CurvePoint&)>& cost) {
  double least = INFINITY;
  for (const CurvePoint& point : points) {
    if (counts(point)) least = std::min(least, cost(point));
  }
  std::optional<std::size_t> best;
  for (std::size_t p = 0; p < points.size(); ++p) {
    if (!counts(points[p]) || cost(points[p]) > least * (1 + kAlikePoints)) continue;
    if (!best || isMoreModest(points[p], points[*best])) best = p;
  }
  return best;
}

const CurvePoint* wholeMachine(const CurvesRecord& curves, const CurvePoint& like) {
  const CurvePoint* whole = nullptr;
  for (const CurvePoint& point : curves.points) {
    const bool same = point.batch == like.batch && point.precision == like.precision && point.instances == 1;
    if (same && point.measured() && (whole == nullptr || point.threads > whole->threads)) whole = &point;
  }
  return whole;
}

std::string countText(std::int64_t count, const char* what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

}  // namespace

double requestsPerSecond(const CurvePoint& point) { return medianOf(point.rate_per_s); }

double samplesPerSecond(const CurvePoint& point) { return requestsPerSecond(point) * static_cast<double>(point.batch); }

CurveChoice chooseCurvePoints(const CurvesRecord& curves, double limit_ms) {
  const auto counts = [](const CurvePoint& point) { return point.measured() && point.accurate; };
  const auto slowness = [](const CurvePoint& point) { return 1 / std::max(samplesPerSecond(point), 1e-9); };
  CurveChoice choice;
  choice.throughput = leastCost(curves.points, counts, slowness);
  choice.latency = leastCost(curves.points, counts, [](const CurvePoint& point) { return point.p50_ns; });
  if (limit_ms <= 0) return choice;
  choice.within_limit = leastCost(
      curves.points, [&](const CurvePoint& point) { return counts(point) && point.p99_ns <= limit_ms * 1e6; },
      slowness);
  return choice;
}

Interval rateRatio(const CurvePoint& a, const CurvePoint& b) {
  const std::size_t rounds = std::min(a.rate_per_s.size(), b.rate_per_s.size());
  std::vector<double> ratios;
  for (std::size_t r = 0; r < rounds; ++r) {
    if (b.rate_per_s[r] > 0) ratios.push_back(a.rate_per_s[r] / b.rate_per_s[r]);
  }
  if (ratios.empty()) return {};
  std::sort(ratios.begin(), ratios.end());
  const auto count = static_cast<double>(ratios.size());
  // Order statistics that hold 95 %; with few rounds all of them.
  const auto outside = static_cast<std::size_t>(std::max(0.0, std::floor(count / 2 - 0.98 * std::sqrt(count))));
  return {medianOf(ratios), ratios[outside], ratios[ratios.size() - 1 - outside]};
}

std::string splitText(const CurvePoint& point) {
  return fmt::format("{} of {}", countText(point.instances, "instance"), countText(point.threads, "thread"));
}

std::string pointText(const CurvePoint& point) {
  return fmt::format("{} at batch {}{}", splitText(point), point.batch,
                     point.precision == "fp32" ? "" : " in " + point.precision);
}

std::string pointFlags(const CurvePoint& point) {
  std::string flags =
      fmt::format("--threads {} --instances {} --precision {}", point.threads, point.instances, point.precision);
  for (const std::string& input : point.inputs) {
    // Words of a shell.
    const bool plain = input.find_first_of(" \t[]{}()*?;&|<>$'\"\\`") == std::string::npos;
    std::string quoted;
    for (const char c : input) quoted += c == '\'' ? "'\\''" : std::string(1, c);
    flags += " --input " + (plain ? input : "'" + quoted + "'");
  }
  return flags;
}

std::string curvesSentence(const CurvesRecord& curves) {
  const CurveChoice choice = chooseCurvePoints(curves);
  if (!choice.throughput) return "";
  const CurvePoint& best = curves.points[*choice.throughput];
  const CurvePoint* whole = wholeMachine(curves, best);
  const bool is_whole = whole == nullptr || (whole->threads == best.threads && best.instances == 1);
  if (is_whole) {
    return fmt::format("{}: {:.4g} samples/s; no other split of the cores computes more.", pointText(best),
                       samplesPerSecond(best));
  }
  const Interval ratio = rateRatio(best, *whole);
  return fmt::format("{}: {:.2f} x the requests/s of {} (95 % {:.2f} to {:.2f}{}).", pointText(best), ratio.value,
                     splitText(*whole), ratio.low, ratio.high,
                     ratio.low <= 1 && ratio.high >= 1 ? ": no clear difference" : "");
}

}  // namespace ipex_studio
