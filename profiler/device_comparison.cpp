#include "profiler/device_comparison.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "core/record/original_code_step.h"
#include "core/record/shared_origins.h"
#include "profiler/aligned_rows.h"
#include "profiler/comparison.h"
#include "profiler/text.h"

namespace ipex_studio {
namespace {

constexpr double kClearlyFaster = 0.05;   // medians of steps that are closer than that say nothing
constexpr char kAlone[] = "fp32, alone";  // reference of errors that operations before this one have no part in

// The greatest error of the run's operations at these nodes; negative: none was compared.
double errorOf(const RunRecord& run, const std::vector<OriginId>& origins) {
  double error = -1;
  for (const AccuracyRecord& record : run.node_accuracy) {
    if (record.reference == kAlone && shareOrigin(record.origins, origins)) error = std::max(error, record.max_rel);
  }
  return error;
}

// The place of the device whose time is less than all others'; -1: none is clearly, or not all have a time.
std::int32_t fastestOf(const std::vector<DeviceShare>& shares) {
  std::vector<double> times;
  for (const DeviceShare& share : shares) times.push_back(static_cast<double>(share.p50_ns));
  const auto least = std::min_element(times.begin(), times.end());
  if (*least <= 0) return -1;
  const bool clearly = std::none_of(times.begin(), times.end(), [&](const double& time) {
    return &time != &*least && time < *least * (1 + kClearlyFaster);
  });
  return clearly ? static_cast<std::int32_t>(least - times.begin()) : -1;
}

// True if the node is computed by the same code of the host in all runs: what differs is noise.
bool staysOnTheHost(const std::vector<DeviceShare>& shares, const std::vector<const RunRecord*>& runs) {
  const std::string& kernels = shares[0].kernels;
  const bool same =
      std::all_of(shares.begin(), shares.end(), [&](const DeviceShare& share) { return share.kernels == kernels; });
  const bool with_host =
      std::any_of(runs.begin(), runs.end(), [](const RunRecord* run) { return run->device == "cpu"; });
  return same && (with_host || kernels == kOriginalCodeKernel);
}

DeviceRow rowOf(const RunSetRow& row, const std::vector<const RunRecord*>& runs) {
  DeviceRow result;
  result.name = row.name;
  result.kind = row.kind;
  for (std::size_t r = 0; r < runs.size(); ++r)
    result.shares.push_back(
        {row.p50_ns[r] - row.copy_ns[r], row.copy_ns[r], row.kernels[r], errorOf(*runs[r], row.origins)});
  result.fastest = staysOnTheHost(result.shares, runs) ? -1 : fastestOf(result.shares);
  return result;
}

std::int64_t slowest(const DeviceRow& row) {
  std::int64_t most = 0;
  for (const DeviceShare& share : row.shares) most = std::max(most, share.p50_ns + share.copy_ns);
  return most;
}

DeviceComparison compare(const JobRecord& job, const std::vector<std::size_t>& places) {
  std::vector<std::pair<const JobRecord*, std::size_t>> compared;
  std::vector<const RunRecord*> runs;
  for (const std::size_t place : places) {
    compared.emplace_back(&job, place);
    runs.push_back(&job.runs[place]);
  }
  const RunSet set = compareRunSet(compared);
  DeviceComparison result;
  result.precision = runs[0]->precision;
  for (const RunSetRow& row : set.rows) result.rows.push_back(rowOf(row, runs));
  std::stable_sort(result.rows.begin(), result.rows.end(),
                   [](const DeviceRow& a, const DeviceRow& b) { return slowest(a) > slowest(b); });
  for (std::size_t r = 0; r < runs.size(); ++r) {
    DeviceRun run{runs[r]->device, static_cast<double>(set.runs[r].p50_ns), set.ratio[r], 0, 0, 0, runs[r]->accuracy};
    for (const RunSetRow& row : set.rows) {
      run.copies += row.copies[r];
      run.copy_ns += row.copy_ns[r];
    }
    for (const DeviceRow& row : result.rows) run.wins += row.fastest == static_cast<std::int32_t>(r) ? 1 : 0;
    result.runs.push_back(std::move(run));
  }
  return result;
}

std::string errorText(double error) { return error < 0 ? "–" : fmt::format("{:.1e}", error); }

std::string winnerText(const DeviceComparison& comparison, const DeviceRow& row) {
  if (row.fastest < 0) return "–";
  const auto best = static_cast<std::size_t>(row.fastest);
  std::int64_t next = 0;
  for (std::size_t r = 0; r < row.shares.size(); ++r) {
    if (r != best && (next == 0 || row.shares[r].p50_ns < next)) next = row.shares[r].p50_ns;
  }
  return fmt::format("{} {}", printable(comparison.runs[best].device),
                     ratioText(static_cast<double>(next) / static_cast<double>(row.shares[best].p50_ns)));
}

// "opencl: 0.589 ms, 0.70× as fast as cpu [0.66, 0.74]; 2 copies take 0.031 ms (5.3 %); 133.4 dB, ok; wins 3 nodes".
std::string sentenceOf(const DeviceComparison& comparison, const DeviceRun& run) {
  std::string text = fmt::format("{}: {} ms", printable(run.device), msText(run.p50_ns));
  if (&run != &comparison.runs.front() && run.ratio.value > 0)
    text += fmt::format(", {} as fast as {} [{:.2f}, {:.2f}]", ratioText(run.ratio.value),
                        printable(comparison.runs.front().device), run.ratio.low, run.ratio.high);
  if (run.copies > 0)
    text += fmt::format("; {} {} {} ms ({})", run.copies, run.copies == 1 ? "copy takes" : "copies take",
                        msText(static_cast<double>(run.copy_ns)),
                        shareText(run.p50_ns > 0 ? static_cast<double>(run.copy_ns) / run.p50_ns : 0));
  if (!run.accuracy.reference.empty())
    text += fmt::format("; {}, {}", accuracyText(run.accuracy.sqnr_db), run.accuracy.pass ? "ok" : "too far off");
  return text + fmt::format("; wins {} of {} nodes\n", run.wins, comparison.rows.size());
}

std::string textOf(const DeviceComparison& comparison) {
  std::vector<std::string> heads{"node"};
  std::vector<std::size_t> left{0};
  for (const DeviceRun& run : comparison.runs) {
    left.push_back(heads.size() + 1);
    heads.insert(heads.end(), {printable(run.device) + " ms", "kernel", "error"});
  }
  heads.insert(heads.end(), {"copies ms", "fastest"});
  TextRows rows{heads};
  for (const DeviceRow& row : comparison.rows) {
    rows.push_back({ellipsized(printable(row.name), 40)});
    std::int64_t copy_ns = 0;
    for (const DeviceShare& share : row.shares) {
      copy_ns += share.copy_ns;
      rows.back().insert(rows.back().end(), {share.p50_ns > 0 ? msText(static_cast<double>(share.p50_ns)) : "–",
                                             ellipsized(printable(share.kernels), 28), errorText(share.error)});
    }
    rows.back().push_back(copy_ns > 0 ? msText(static_cast<double>(copy_ns)) : "–");
    rows.back().push_back(winnerText(comparison, row));
  }
  std::string text = fmt::format("devices side by side, {}\n", printable(comparison.precision));
  for (const DeviceRun& run : comparison.runs) text += sentenceOf(comparison, run);
  return text + '\n' + alignedRows(rows, left);
}

double inMs(double ns) { return ns / 1e6; }

}  // namespace

std::vector<DeviceComparison> compareDevices(const JobRecord& job) {
  std::vector<std::string> precisions;
  for (const RunRecord& run : job.runs) {
    if (run.variant == "optimized" && std::count(precisions.begin(), precisions.end(), run.precision) == 0)
      precisions.push_back(run.precision);
  }
  std::vector<DeviceComparison> comparisons;
  for (const std::string& precision : precisions) {
    std::vector<std::size_t> places;
    for (std::size_t r = 0; r < job.runs.size(); ++r) {
      if (job.runs[r].variant == "optimized" && job.runs[r].precision == precision) places.push_back(r);
    }
    const bool several = std::any_of(places.begin(), places.end(), [&](std::size_t place) {
      return job.runs[place].device != job.runs[places[0]].device;
    });
    if (several) comparisons.push_back(compare(job, places));
  }
  return comparisons;
}

std::string deviceTable(const JobRecord& job) {
  std::string text;
  for (const DeviceComparison& comparison : compareDevices(job))
    text += (text.empty() ? "" : "\n") + textOf(comparison);
  return text;
}

nlohmann::json toJson(const DeviceComparison& comparison) {
  nlohmann::json runs = nlohmann::json::array(), rows = nlohmann::json::array();
  for (const DeviceRun& run : comparison.runs)
    runs.push_back({{"device", run.device},
                    {"p50_ms", inMs(run.p50_ns)},
                    {"ratio", run.ratio.value},
                    {"ratio_ci95", {run.ratio.low, run.ratio.high}},
                    {"copies", run.copies},
                    {"copies_ms", inMs(static_cast<double>(run.copy_ns))},
                    {"nodes_won", run.wins}});
  for (const DeviceRow& row : comparison.rows) {
    nlohmann::json shares = nlohmann::json::array();
    for (const DeviceShare& share : row.shares)
      shares.push_back({{"ms", inMs(static_cast<double>(share.p50_ns))},
                        {"copies_ms", inMs(static_cast<double>(share.copy_ns))},
                        {"kernels", share.kernels},
                        {"error", share.error < 0 ? nlohmann::json() : nlohmann::json(share.error)}});
    const bool won = row.fastest >= 0;
    rows.push_back({{"name", row.name},
                    {"kind", row.kind},
                    {"on", std::move(shares)},
                    {"fastest", won ? nlohmann::json(comparison.runs[static_cast<std::size_t>(row.fastest)].device)
                                    : nlohmann::json()}});
  }
  return {{"precision", comparison.precision}, {"runs", std::move(runs)}, {"nodes", std::move(rows)}};
}

}  // namespace ipex_studio
