// Layout of tables in a terminal, and the rows of `run` and `compare`.
#include "profiler/run_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/record/noise.h"
#include "profiler/summary.h"
#include "profiler/text.h"
#include "profiler/training_table.h"
#include "profiler/waterfall.h"

namespace ipex_studio {
namespace {

constexpr std::size_t kMinWidth = 60;
constexpr std::size_t kMinFirstColumn = 28;
constexpr std::size_t kTopSteps = 10;
constexpr std::size_t kTopRows = 25;
constexpr std::size_t kNamedParts = 2;
constexpr std::size_t kPartsWidth = 60;

enum class Ink { kPlain, kDim, kBold, kGood, kWarning, kBad };

class Pen {
 public:
  explicit Pen(bool color) : color_(color) {}
  std::string operator()(Ink ink, const std::string& text) const {
    static constexpr const char* kCodes[] = {"", "2", "1", "32", "33", "31"};
    const char* code = kCodes[static_cast<int>(ink)];
    if (!color_ || !*code) return text;
    return fmt::format("\x1b[{}m{}\x1b[0m", code, text);
  }

 private:
  bool color_;
};

struct Cell {
  std::string text;
  Ink ink = Ink::kPlain;
};

// Columns that are left-aligned besides the first, and columns to drop, in this order, if the line is too long.
struct Columns {
  std::vector<std::size_t> left;
  std::vector<std::size_t> optional;
};

// Columns are as wide as their widest cell; empty ones are dropped. If dropping the optional ones is not enough, the
// first column is cut.
std::string table(const std::vector<std::vector<Cell>>& rows, const Columns& columns, std::size_t width,
                  const Pen& pen) {
  const std::size_t count = rows.front().size();
  std::vector<std::size_t> widths(count, 0);
  for (std::size_t c = 0; c < count; ++c) {
    bool empty = c > 0;
    for (std::size_t r = 1; r < rows.size(); ++r) empty = empty && (rows[r][c].text == "–" || rows[r][c].text.empty());
    if (empty) continue;
    for (const auto& row : rows) widths[c] = std::max(widths[c], displayWidth(row[c].text));
  }
  const auto total = [&] {
    std::size_t sum = 0;
    for (const std::size_t w : widths) sum += w == 0 ? 0 : w + 2;
    return sum - 2;
  };
  const std::size_t least = std::min(widths[0], kMinFirstColumn);
  for (const std::size_t c : columns.optional) {
    if (total() - widths[0] + least > width) widths[c] = 0;
  }
  if (total() > width) widths[0] -= std::min(total() - width, widths[0] - 1);

  std::string out;
  for (const auto& row : rows) {
    std::string line;
    for (std::size_t c = 0; c < count; ++c) {
      if (widths[c] == 0) continue;
      const std::string text = ellipsized(row[c].text, widths[c]);
      const std::string padding(widths[c] - displayWidth(text), ' ');
      const bool is_left = c == 0 || std::count(columns.left.begin(), columns.left.end(), c) > 0;
      if (c > 0) line += "  ";
      line += is_left ? pen(row[c].ink, text) + padding : padding + pen(row[c].ink, text);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    out += line + '\n';
  }
  return out;
}

Cell head(const char* text) { return {text, Ink::kDim}; }

std::string headline(const JobRecord& job, std::size_t width, const Pen& pen) {
  const MachineFacts& m = job.machine;
  const std::int32_t threads = job.runs.empty() ? 0 : job.runs.front().threads;
  const std::string name = printable(fileName(job.model.path));
  const std::string facts = printable(
      fmt::format(" · {} nodes · {} {}, {} thread{} · libtorch {}, oneDNN {}", job.model.nodes, m.cpu, m.isa, threads,
                  threads == 1 ? "" : "s", m.libtorch.empty() ? "–" : m.libtorch, m.onednn.empty() ? "–" : m.onednn));
  const std::string shown = ellipsized(name, width);
  return pen(Ink::kBold, shown) + pen(Ink::kDim, ellipsized(facts, width - displayWidth(shown))) + '\n';
}

std::string variants(const JobRecord& job, std::size_t width, const Pen& pen) {
  std::vector<std::vector<Cell>> rows = {{head(""), head("p50 ms"), head("p99 ms"), head("per s"), head("peak MB"),
                                          head("accuracy"), head(""), head("time in plans")}};
  for (const RunRecord& run : job.runs) {
    const RunDigest digest = digestOf(run);
    const bool compared = !run.accuracy.reference.empty();  // the others are compared with the baseline
    const bool ok = run.accuracy.pass;
    rows.push_back({{runName(run.variant, run.precision, run.device)},
                    {msText(digest.latency.p50_ns)},
                    {msText(digest.latency.p99_ns)},
                    {digest.throughput_per_s > 0
                         ? fmt::format("{:.{}f}", digest.throughput_per_s, digest.throughput_per_s >= 100 ? 0 : 1)
                         : "–"},
                    {megabytes(run.peak_rss_bytes)},
                    {compared ? accuracyText(run.accuracy.sqnr_db) : "–"},
                    {!compared ? ""
                     : ok      ? "ok"
                               : "too far off",
                     ok ? Ink::kGood : Ink::kBad},
                    {run.coverage.time > 0 ? shareText(run.coverage.time) : "–"}});
  }
  return table(rows, {{6}, {7, 4}}, width, pen);
}

// Whether the machine was quiet, as it stands beside a ratio.
std::string lamp(const NoiseVerdict& noise, const Pen& pen) {
  if (noise.level == NoiseLevel::kUnknown) return pen(Ink::kDim, "○ measured too briefly to see other programs");
  return pen(noise.disturbed() ? Ink::kBad : Ink::kGood, "● " + noiseSentence(noise));
}

std::string speedupLine(const JobRecord& job, const Pen& pen) {
  const Interval speedup = speedupOf(job);
  if (speedup.value <= 0) return {};
  const bool faster = speedup.low > 1;
  const bool slower = speedup.high < 1;
  const NoiseVerdict noise = judgeNoise(job);
  const bool disturbed = noise.disturbed();
  return fmt::format("{}  {}  {}\n",
                     pen(Ink::kBold, pen(disturbed ? Ink::kWarning
                                         : faster  ? Ink::kGood
                                         : slower  ? Ink::kBad
                                                   : Ink::kWarning,
                                         ratioText(speedup.value) + (faster   ? " faster"
                                                                     : slower ? " as fast: slower than before"
                                                                              : ": no clear difference"))),
                     pen(Ink::kDim, fmt::format("95 % interval {:.2f}–{:.2f}", speedup.low, speedup.high)),
                     lamp(noise, pen));
}

std::string slowest(const JobRecord& job, std::size_t width, const Pen& pen) {
  const RunRecord* run = findRun(job, "optimized");
  if (!run && !job.runs.empty()) run = &job.runs.back();
  if (!run) return {};
  const RunDigest digest = digestOf(*run);
  if (digest.steps.empty()) return {};
  std::vector<std::vector<Cell>> rows = {
      {head("slowest steps"), head("kernel"), head("shape"), head("ms"), head("share"), head("GFLOP/s")}};
  std::vector<std::size_t> order = slowestFirst(digest.steps);
  order.resize(std::min(order.size(), kTopSteps));
  for (const std::size_t i : order) {
    const StepSummary& s = digest.steps[i];
    rows.push_back({{printable(s.name)},
                    {ellipsized(printable(s.implementation.empty() ? s.kernel : s.implementation), 24), Ink::kDim},
                    {ellipsized(printable(shapeText(s.dst_shape, s.micro_batches, s.runs)), 20), Ink::kDim},
                    {msText(static_cast<double>(s.p50_ns))},
                    {shareText(s.share)},
                    {s.gflops_per_s > 0 ? fmt::format("{:.0f}", s.gflops_per_s) : "–"}});
  }
  const double share =
      digest.latency.p50_ns > 0 ? static_cast<double>(digest.unattributed_ns) / digest.latency.p50_ns : 0;
  return '\n' + table(rows, {{1, 2}, {2, 1, 5}}, width, pen) +
         pen(Ink::kDim, fmt::format("{} steps, {} ms in steps, {} ms ({}) unattributed{}{}", digest.steps.size(),
                                    msText(static_cast<double>(digest.steps_p50_ns)),
                                    msText(static_cast<double>(digest.unattributed_ns)), shareText(share),
                                    digest.step_scale < 1 ? "; " : "", stepScaleText(digest.step_scale))) +
         '\n';
}

// Names of the largest parts of a bar.
std::string partNames(const WaterfallBar& bar) {
  std::string text;
  for (std::size_t i = 0; i < std::min(bar.parts.size(), kNamedParts); ++i)
    text += (text.empty() ? "" : ", ") + printable(bar.parts[i].name);
  return bar.parts.size() > kNamedParts ? fmt::format("{} and {} more", text, bar.parts.size() - kNamedParts) : text;
}

std::string causes(const JobRecord& job, std::size_t width, const Pen& pen) {
  const Waterfall waterfall = waterfallOf(job);
  if (waterfall.bars.empty()) return {};
  std::vector<std::vector<Cell>> rows = {{head("from before to now"), head("ms"), head("±"), head("most of it")}};
  rows.push_back({{"baseline"}, {msText(static_cast<double>(waterfall.before_ns))}, {""}, {""}});
  for (const WaterfallBar& bar : waterfall.bars) {
    rows.push_back({{std::string("  ") + causeTitle(bar.cause)},
                    {changeText(bar.gain_ns), bar.gain_ns >= 0 ? Ink::kGood : Ink::kBad},
                    {msText(bar.half_width_ns), Ink::kDim},
                    {ellipsized(partNames(bar), kPartsWidth), Ink::kDim}});
  }
  rows.push_back({{"optimized"}, {msText(static_cast<double>(waterfall.after_ns))}, {""}, {""}});
  return '\n' + table(rows, {{3}, {3, 2}}, width, pen);
}

std::string missed(const JobRecord& job, std::size_t width, const Pen& pen) {
  const std::vector<MissedReason> reasons = missedReasons(job);
  if (reasons.empty()) return {};
  std::string out = '\n' + pen(Ink::kDim, "not rewritten") + '\n';
  for (const MissedReason& entry : reasons) {
    const std::string start = fmt::format("{:>4} × {}", entry.remarks.size(), printable(entry.reason));
    const std::string text = "  " + printable(entry.remarks.front()->text);
    const std::string shown = ellipsized(start, width);
    out += pen(Ink::kWarning, shown) + ellipsized(text, width - displayWidth(shown)) + '\n';
  }
  return out;
}

}  // namespace

std::string runTable(const JobRecord& job, std::size_t width, bool color) {
  const Pen pen(color);
  width = std::max(width, kMinWidth);
  return headline(job, width, pen) + '\n' + variants(job, width, pen) + '\n' + speedupLine(job, pen) +
         causes(job, width, pen) + slowest(job, width, pen) + missed(job, width, pen);
}

namespace {

std::string nameOfModel(const JobSummary& job) {
  const std::string file = fileName(job.model_path);
  return printable(job.model_name.empty() ? file : fmt::format("{} ({})", job.model_name, file));
}

std::string pinText(const JobSummary& job) { return job.model_pinned ? "model" : job.pinned ? "job" : ""; }

}  // namespace

std::string jobTable(const std::vector<JobSummary>& jobs, std::size_t width, bool color) {
  const Pen pen(color);
  std::vector<std::vector<Cell>> rows = {{head("model"), head("name"), head("variant"), head("run"), head("job"),
                                          head("pinned"), head("recorded"), head("command"), head("threads"),
                                          head("p50 ms")}};
  const auto add = [&](const JobSummary& job, const std::string& variant, const std::string& run, std::int32_t threads,
                       std::int64_t ns) {
    rows.push_back({{nameOfModel(job)},
                    {printable(job.name), Ink::kBold},
                    {variant},
                    {run, Ink::kBold},
                    {std::to_string(job.id)},
                    {pinText(job)},
                    {dateText(job.started_unix_ns)},
                    {printable(job.command)},
                    {std::to_string(threads)},
                    {msText(static_cast<double>(ns))}});
  };
  for (const JobSummary& job : jobs) {
    for (const RunSummary& run : job.runs)
      add(job, runName(run.variant, run.precision, run.device), std::to_string(run.id), run.threads, run.p50_ns);
    if (job.training) add(job, trainingName(*job.training), "–", job.training->threads, job.training->step_ns);
  }
  return table(rows, {{1, 2, 5, 6, 7}, {8, 7, 6}}, std::max(width, kMinWidth), pen);
}

std::string comparisonTable(const RunComparison& comparison, std::size_t width, bool color) {
  const Pen pen(color);
  width = std::max(width, kMinWidth);
  std::string out;
  std::vector<std::vector<Cell>> runs = {
      {head("run"), head("model"), head("variant"), head("threads"), head("p50 ms"), head("samples")}};
  for (const RunSummary* run : {&comparison.a, &comparison.b}) {
    runs.push_back({{std::to_string(run->id)},
                    {ellipsized(printable(fileName(run->model_path)), 24)},
                    {runName(run->variant, run->precision, run->device)},
                    {std::to_string(run->threads)},
                    {msText(static_cast<double>(run->p50_ns))},
                    {std::to_string(run->samples)}});
  }
  out += table(runs, {{1, 2}, {5, 3}}, width, pen);
  const Interval& ratio = comparison.ratio;
  const Ink ink = ratio.low > 1 ? Ink::kGood : ratio.high < 1 ? Ink::kBad : Ink::kWarning;
  const NoiseVerdict& noise = worseNoise(comparison.a.noise, comparison.b.noise);
  out += fmt::format(
      "\n{}  {}  {}\n", pen(noise.disturbed() ? Ink::kWarning : ink, ratioText(ratio.value) + " of run a over run b"),
      pen(Ink::kDim, fmt::format("95 % interval {:.2f}–{:.2f}", ratio.low, ratio.high)), lamp(noise, pen));
  if (!comparison.same_model) out += pen(Ink::kWarning, "The runs are of different models.") + '\n';
  if (!comparison.same_machine)
    out += pen(Ink::kWarning, "The runs were made on different machines or libraries.") + '\n';
  if (comparison.rows.empty()) return out;

  std::vector<std::vector<Cell>> rows = {
      {head("largest changes"), head("a"), head("b"), head("a ms"), head("b ms"), head("b - a"), head("a / b")}};
  for (std::size_t i = 0; i < std::min(comparison.rows.size(), kTopRows); ++i) {
    const ComparedRow& row = comparison.rows[i];
    const double quotient = row.b_ns > 0 ? static_cast<double>(row.a_ns) / static_cast<double>(row.b_ns) : NAN;
    rows.push_back({{printable(row.name)},
                    {ellipsized(printable(row.a_kernels), 20), Ink::kDim},
                    {ellipsized(printable(row.b_kernels), 20), Ink::kDim},
                    {msText(static_cast<double>(row.a_ns))},
                    {msText(static_cast<double>(row.b_ns))},
                    {msText(static_cast<double>(row.delta_ns())), row.delta_ns() < 0 ? Ink::kGood : Ink::kBad},
                    {ratioText(quotient)}});
  }
  rows.push_back({{"unattributed", Ink::kDim},
                  {},
                  {},
                  {msText(static_cast<double>(comparison.a_unattributed_ns))},
                  {msText(static_cast<double>(comparison.b_unattributed_ns))},
                  {msText(static_cast<double>(comparison.b_unattributed_ns - comparison.a_unattributed_ns))},
                  {"–"}});
  return out + '\n' + table(rows, {{1, 2}, {2, 1}}, width, pen);
}

}  // namespace ipex_studio
