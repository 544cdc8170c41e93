// See waterfall.h. Each bar is a weighted sum of times of nodes and steps, which gives its interval, too.
#include "profiler/waterfall.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "core/base/string_util.h"
#include "profiler/summary.h"
#include "profiler/text.h"

namespace ipex_studio {
namespace {

constexpr std::size_t kMaxReplicates = 400, kMinReplicates = 40;
constexpr std::size_t kMaxWork = 20'000'000;  // samples times replicates, which takes some tenths of a second

struct CauseWords {
  GainCause cause;
  const char* name;
  const char* title;
  const char* meaning;
};

constexpr CauseWords kCauseWords[] = {
    {GainCause::kFolded, "folded", "Folded into weights",
     "Norms and constants that are computed once, not in each run."},
    {GainCause::kRemoved, "removed", "Removed operations", "Operations that the result does not need."},
    {GainCause::kFused, "fused", "Fused operations", "Operations that the step before does in passing."},
    {GainCause::kKernels, "kernels", "Kernels", "The same computation by another kernel."},
    {GainCause::kLayouts, "layouts", "Layouts",
     "The layout in memory, against the fastest kernel that was timed for a plain one."},
    {GainCause::kPrecision, "precision", "Precision", "Steps below FP32."},
    {GainCause::kReorders, "reorders", "Lost to reorders", "Changes of layout between steps."},
    {GainCause::kCasts, "casts", "Lost to casts", "Changes of precision between steps."},
    {GainCause::kAdded, "added", "Added steps", "Steps that stand for nothing that was timed before."},
    {GainCause::kInterpreter, "interpreter", "Left to the interpreter", "Nodes that no plan computes."},
    {GainCause::kOutside, "outside", "Between operations", "Time of a run that belongs to no operation."},
};

const CauseWords& wordsOf(GainCause cause) { return kCauseWords[static_cast<std::size_t>(cause)]; }

// A node or step of one run with its times.
struct TimedItem {
  const StepSummary* summary = nullptr;
  const StepRecord* step = nullptr;  // null: a node of the interpreter
  std::vector<std::int64_t> elapsed_ns;
};

struct TimedRun {
  const RunRecord* run = nullptr;
  RunDigest digest;
  std::vector<TimedItem> items;
  std::unordered_map<OriginId, std::vector<std::size_t>> items_of_origin;  // without conversions
};

bool isConversion(const TimedItem& item) {
  return item.step != nullptr && (item.summary->kind == "reorder" || item.summary->kind == "cast");
}

// `timed` keeps its address: its items point into it.
void readRun(const RunRecord& run, TimedRun* timed) {
  timed->run = &run;
  timed->digest = digestOf(run);
  std::unordered_map<std::int32_t, const StepRecord*> steps;
  for (const StepRecord& step : run.steps) steps.emplace(step.index, &step);
  std::vector<StepSamples> samples = stepSamples(run);
  for (std::size_t i = 0; i < samples.size(); ++i) {
    const StepSummary& summary = timed->digest.steps[i];
    const auto step = steps.find(summary.step);
    timed->items.push_back({&summary, step == steps.end() ? nullptr : step->second, std::move(samples[i].elapsed_ns)});
    if (isConversion(timed->items.back())) continue;
    for (const OriginId origin : summary.origins) timed->items_of_origin[origin].push_back(i);
  }
}

// The items of `run` that share an origin with `origins`; unique.
std::vector<std::size_t> itemsOf(const TimedRun& run, const std::vector<OriginId>& origins) {
  std::vector<std::size_t> found;
  for (const OriginId origin : origins) {
    const auto at = run.items_of_origin.find(origin);
    if (at != run.items_of_origin.end()) found.insert(found.end(), at->second.begin(), at->second.end());
  }
  std::sort(found.begin(), found.end());
  found.erase(std::unique(found.begin(), found.end()), found.end());
  return found;
}

// The item that took longest.
std::size_t longestOf(const TimedRun& run, const std::vector<std::size_t>& items) {
  return *std::max_element(items.begin(), items.end(), [&](std::size_t a, std::size_t b) {
    return run.items[a].summary->p50_ns < run.items[b].summary->p50_ns;
  });
}

// The pass that first folded, removed or fused the node of each origin.
std::unordered_map<OriginId, std::string_view> absorbingPasses(const JobRecord& job) {
  std::unordered_map<OriginId, std::string_view> passes;
  for (const Remark& remark : job.remarks) {
    const std::string_view pass = remark.pass;
    if (remark.kind != RemarkKind::kApplied) continue;
    if (!startsWith(pass, "fold-") && !startsWith(pass, "fuse-") && !startsWith(pass, "eliminate-")) continue;
    for (const OriginId origin : remark.origins) passes.emplace(origin, pass);
  }
  return passes;
}

// True for nodes that a step is named by: products of matrices and what is made of them.
bool isProduct(const std::string& kind) {
  static constexpr std::string_view kWords[] = {"conv", "linear", "mm",  "matmul",   "einsum",
                                                "lstm", "gru",    "rnn", "attention"};
  return std::any_of(std::begin(kWords), std::end(kWords),
                     [&](std::string_view word) { return kind.find(word) != std::string::npos; });
}

// Nodes of the baseline and our steps that stand for the same.
struct JoinedItems {
  std::vector<std::size_t> before;
  std::vector<std::size_t> after;
};

class WaterfallBuilder {
 public:
  WaterfallBuilder(const JobRecord& job, const RunRecord& before, const RunRecord& after)
      : passes_(absorbingPasses(job)) {
    readRun(before, &before_);
    readRun(after, &after_);
    readLayouts();
    for (const RunRecord& run : job.runs) {
      if (run.variant == "optimized" && run.precision == "fp32" && &run != &after) fp32_run_ = &run;
    }
    if (fp32_run_ != nullptr) readRun(*fp32_run_, &fp32_);
  }

  Waterfall build() {
    Waterfall waterfall;
    waterfall.before_ns = static_cast<std::int64_t>(before_.digest.latency.p50_ns);
    waterfall.after_ns = static_cast<std::int64_t>(after_.digest.latency.p50_ns);
    if (before_.items.empty() || after_.items.empty()) return waterfall;
    const Interval ratio =
        medianRatio({before_.run->latency_ns, before_.run->turn}, {after_.run->latency_ns, after_.run->turn});
    waterfall.gain_low_ns = (ratio.low - 1) * static_cast<double>(waterfall.after_ns);
    waterfall.gain_high_ns = (ratio.high - 1) * static_cast<double>(waterfall.after_ns);
    for (std::size_t i = 0; i < after_.items.size(); ++i) {
      if (isConversion(after_.items[i])) addConversion(i);
    }
    for (const JoinedItems& joined : join()) addJoined(joined);
    addOutside();
    before_medians_ = replicatesOf(before_, 1);
    after_medians_ = replicatesOf(after_, 3);
    for (auto& [cause, sum] : bars_) waterfall.bars.push_back(finished(cause, &sum));
    return waterfall;
  }

 private:
  // A bar in the making: the share of each item's time in it.
  struct BarSum {
    WaterfallBar bar;
    std::vector<std::pair<std::size_t, double>> before, after;
  };

  // Each node belongs to the longest of our steps with an origin of it; steps without nodes of their own stand with
  // that of the node that took longest.
  std::vector<JoinedItems> join() const {
    std::map<std::size_t, JoinedItems> by_step;
    std::vector<JoinedItems> joined;
    std::unordered_map<std::size_t, std::size_t> step_of_node;
    for (std::size_t b = 0; b < before_.items.size(); ++b) {
      const auto steps = itemsOf(after_, before_.items[b].summary->origins);
      if (steps.empty()) {
        joined.push_back({{b}, {}});
        continue;
      }
      step_of_node[b] = longestOf(after_, steps);
      by_step[step_of_node[b]].before.push_back(b);
    }
    for (std::size_t s = 0; s < after_.items.size(); ++s) {
      if (isConversion(after_.items[s])) continue;
      const auto nodes = itemsOf(before_, after_.items[s].summary->origins);
      const bool has_own = by_step.count(s) > 0;
      by_step[has_own || nodes.empty() ? s : step_of_node.at(longestOf(before_, nodes))].after.push_back(s);
    }
    for (auto& entry : by_step) joined.push_back(std::move(entry.second));
    return joined;
  }

  std::int64_t nsBefore(std::size_t item) const { return before_.items[item].summary->p50_ns; }
  std::int64_t nsAfter(std::size_t item) const { return after_.items[item].summary->p50_ns; }

  void addPart(GainCause cause, const StepSummary& summary, std::int64_t gain_ns) {
    BarSum& sum = bars_[cause];
    sum.bar.gain_ns += gain_ns;
    sum.bar.origins.insert(sum.bar.origins.end(), summary.origins.begin(), summary.origins.end());
    sum.bar.parts.push_back({summary.name, summary.origins, gain_ns});
  }

  void addConversion(std::size_t item) {
    const StepRecord& step = *after_.items[item].step;
    const bool reorders = step.kind == "reorder" && step.src_layout != step.dst_layout;
    addLost(reorders ? GainCause::kReorders : GainCause::kCasts, item);
  }

  void addLost(GainCause cause, std::size_t item) {
    addPart(cause, *after_.items[item].summary, -nsAfter(item));
    bars_[cause].after.emplace_back(item, 1.0);
  }

  void addGone(GainCause otherwise, std::size_t node) {
    const StepSummary& summary = *before_.items[node].summary;
    GainCause cause = otherwise;
    for (const OriginId origin : summary.origins) {
      const auto pass = passes_.find(origin);
      if (pass != passes_.end() && startsWith(pass->second, "fold-")) cause = GainCause::kFolded;
    }
    addPart(cause, summary, nsBefore(node));
    bars_[cause].before.emplace_back(node, 1.0);
  }

  void addJoined(const JoinedItems& joined) {
    if (joined.before.empty()) {
      for (const std::size_t step : joined.after) addLost(GainCause::kAdded, step);
      return;
    }
    if (joined.after.empty()) {
      for (const std::size_t node : joined.before) addGone(GainCause::kRemoved, node);
      return;
    }
    const bool planned = std::any_of(joined.after.begin(), joined.after.end(),
                                     [&](std::size_t item) { return after_.items[item].step != nullptr; });
    std::vector<std::size_t> computing = planned ? computingNodes(joined.before) : joined.before;
    for (const std::size_t node : joined.before) {
      if (std::find(computing.begin(), computing.end(), node) == computing.end()) addGone(GainCause::kFused, node);
    }
    addComputed({std::move(computing), joined.after}, planned);
  }

  // The nodes that a step has the time of: products, or else the one that took longest.
  std::vector<std::size_t> computingNodes(const std::vector<std::size_t>& nodes) const {
    std::vector<std::size_t> products;
    for (const std::size_t node : nodes) {
      if (isProduct(before_.items[node].summary->kind)) products.push_back(node);
    }
    return products.empty() ? std::vector<std::size_t>{longestOf(before_, nodes)} : products;
  }

  // Nodes against the steps that compute the same.
  void addComputed(const JoinedItems& joined, bool planned) {
    std::int64_t gain_ns = 0;
    for (const std::size_t node : joined.before) gain_ns += nsBefore(node);
    for (const std::size_t step : joined.after) gain_ns -= nsAfter(step);
    GainCause cause = planned ? GainCause::kKernels : GainCause::kInterpreter;
    const std::size_t main = longestOf(after_, joined.after);
    for (const std::size_t step : joined.after) {
      const TimedItem& item = after_.items[step];
      if (item.step == nullptr) continue;
      if (item.summary->precision != "fp32") {
        const double in_fp32 = fp32Factor(item);
        if (in_fp32 == 0) cause = GainCause::kPrecision;
        if (in_fp32 > 0) gain_ns -= addShare(GainCause::kPrecision, step, in_fp32 - 1);
      } else {
        gain_ns -= addShare(GainCause::kLayouts, step, layoutShare(*item.step, gain_ns, nsAfter(step)));
      }
    }
    addPart(cause, *after_.items[main].summary, gain_ns);
    for (const std::size_t node : joined.before) bars_[cause].before.emplace_back(node, 1.0);
    for (const std::size_t step : joined.after) bars_[cause].after.emplace_back(step, 1.0 + shares_[step]);
  }

  // Gives a cause `share` times the step's own time; returns that.
  std::int64_t addShare(GainCause cause, std::size_t step, double share) {
    if (share == 0) return 0;
    const std::int64_t gain_ns = std::llround(share * static_cast<double>(nsAfter(step)));
    addPart(cause, *after_.items[step].summary, gain_ns);
    bars_[cause].after.emplace_back(step, share);
    shares_[step] = share;
    return gain_ns;
  }

  // Time of the same in FP32 over the step's; 0: not known.
  double fp32Factor(const TimedItem& item) const {
    if (fp32_run_ == nullptr || item.summary->p50_ns <= 0) return 0;
    double fp32_ns = 0;
    for (const std::size_t other : itemsOf(fp32_, item.summary->origins)) {
      if (itemsOf(after_, fp32_.items[other].summary->origins).size() != 1) return 0;
      fp32_ns += static_cast<double>(fp32_.items[other].summary->p50_ns);
    }
    return fp32_ns / static_cast<double>(item.summary->p50_ns);
  }

  // The fastest kernels of a step by the times of tuning; 0: not timed.
  struct TimedLayouts {
    std::int64_t chosen_ns = 0;
    std::int64_t plain_ns = 0;
    bool is_plain = false;  // the chosen one
  };

  void readLayouts() {
    for (const DispatchRecord& dispatch : after_.run->dispatches) {
      if (dispatch.elapsed_ns <= 0) continue;
      TimedLayouts& step = layouts_[dispatch.step];
      const bool plain = dispatch.layout == "row-major" || dispatch.layout == "nchw";
      if (dispatch.chosen) step.chosen_ns = dispatch.elapsed_ns;
      if (dispatch.chosen) step.is_plain = plain;
      if (plain && (step.plain_ns == 0 || dispatch.elapsed_ns < step.plain_ns)) step.plain_ns = dispatch.elapsed_ns;
    }
  }

  // Returns the share of the step's time that the chosen layout saved; at most `gain_ns` of it.
  double layoutShare(const StepRecord& step, std::int64_t gain_ns, std::int64_t step_ns) const {
    const auto found = layouts_.find(step.index);
    if (found == layouts_.end() || gain_ns <= 0 || step_ns <= 0) return 0;
    const TimedLayouts& times = found->second;
    if (times.is_plain || times.chosen_ns <= 0 || times.plain_ns <= times.chosen_ns) return 0;
    return std::min(static_cast<double>(times.plain_ns) / static_cast<double>(times.chosen_ns) - 1,
                    static_cast<double>(gain_ns) / static_cast<double>(step_ns));
  }

  void addOutside() {
    BarSum& sum = bars_[GainCause::kOutside];
    sum.bar.gain_ns = before_.digest.unattributed_ns - after_.digest.unattributed_ns;
    for (std::size_t i = 0; i < before_.items.size(); ++i) sum.before.emplace_back(i, -1.0);
    for (std::size_t i = 0; i < after_.items.size(); ++i) sum.after.emplace_back(i, -1.0);
    sum.before.emplace_back(before_.items.size(), 1.0);  // the whole run
    sum.after.emplace_back(after_.items.size(), 1.0);
  }

  // Medians of all items, and of whole runs behind them, in resampled runs.
  static std::vector<std::vector<double>> replicatesOf(const TimedRun& run, std::uint64_t seed) {
    std::vector<std::vector<std::int64_t>> series;
    std::size_t samples = 1;
    for (const TimedItem& item : run.items) {
      series.push_back(item.elapsed_ns);
      samples += item.elapsed_ns.size();
    }
    const std::size_t replicates = std::clamp<std::size_t>(kMaxWork / samples, kMinReplicates, kMaxReplicates);
    std::vector<std::vector<double>> medians = resampledMedians(series, replicates, seed);
    for (std::vector<double>& item : medians) {
      for (double& ns : item) ns *= run.digest.step_scale;
    }
    medians.push_back(resampledMedians({run.run->latency_ns}, replicates, seed + 1).front());
    return medians;
  }

  // Adds a weighted sum of items' times to each replicate of a bar.
  static void addWeighted(const std::vector<std::vector<double>>& medians, double sign,
                          const std::vector<std::pair<std::size_t, double>>& weights, std::vector<double>* bar) {
    for (const auto& [item, weight] : weights) {
      for (std::size_t r = 0; r < bar->size(); ++r) (*bar)[r] += sign * weight * medians[item][r];
    }
  }

  WaterfallBar finished(GainCause cause, BarSum* sum) const {
    WaterfallBar bar = std::move(sum->bar);
    bar.cause = cause;
    std::vector<double> replicates(std::min(before_medians_.back().size(), after_medians_.back().size()), 0.0);
    addWeighted(before_medians_, 1, sum->before, &replicates);
    addWeighted(after_medians_, -1, sum->after, &replicates);
    bar.half_width_ns = halfWidthOf(std::move(replicates));
    std::sort(bar.origins.begin(), bar.origins.end());
    bar.origins.erase(std::unique(bar.origins.begin(), bar.origins.end()), bar.origins.end());
    std::stable_sort(bar.parts.begin(), bar.parts.end(), [](const WaterfallPart& a, const WaterfallPart& b) {
      return std::llabs(a.gain_ns) > std::llabs(b.gain_ns);
    });
    return bar;
  }

  std::unordered_map<OriginId, std::string_view> passes_;
  TimedRun before_, after_, fp32_;
  const RunRecord* fp32_run_ = nullptr;
  std::map<GainCause, BarSum> bars_;
  std::vector<std::vector<double>> before_medians_, after_medians_;  // replicatesOf()
  std::unordered_map<std::int32_t, TimedLayouts> layouts_;           // by StepRecord::index
  std::unordered_map<std::size_t, double> shares_;                   // of a step's time that layouts or precision saved
};

}  // namespace

Waterfall waterfallOf(const JobRecord& job) {
  const RunRecord* before = findRun(job, "baseline");
  const RunRecord* after = findRun(job, "optimized");
  return before != nullptr && after != nullptr ? WaterfallBuilder(job, *before, *after).build() : Waterfall();
}

std::pair<double, double> rangeOf(const Waterfall& waterfall) {
  std::int64_t at = waterfall.before_ns, low = 0, high = std::max(at, waterfall.after_ns);
  for (const WaterfallBar& bar : waterfall.bars) {
    at -= bar.gain_ns;
    low = std::min(low, at);
    high = std::max(high, at);
  }
  return {static_cast<double>(low), static_cast<double>(high)};
}

const char* causeName(GainCause cause) { return wordsOf(cause).name; }
const char* causeTitle(GainCause cause) { return wordsOf(cause).title; }
const char* causeMeaning(GainCause cause) { return wordsOf(cause).meaning; }

std::string changeText(std::int64_t gain_ns) {
  const std::string text = msText(std::fabs(static_cast<double>(gain_ns)));
  const bool nothing = text.find_first_of("123456789") == std::string::npos;
  return nothing ? "0" : (gain_ns > 0 ? "−" : "+") + text;
}

}  // namespace ipex_studio
