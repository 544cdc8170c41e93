// See snapshot_advice.h. One file in spite of its length: each function is one piece of advice from the same index.
#include "studio/snapshot/snapshot_advice.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>

#include "core/record/double_operations.h"
#include "core/record/slow_reasons.h"
#include "core/record/warning_reasons.h"
#include "core/runtime/machine_facts.h"
#include "profiler/causes/slow_causes.h"

namespace ipex_studio {
namespace {

constexpr std::size_t kMaxAdvice = 8;
// Smallest shares of a run's time that are worth a sentence.
constexpr double kMinShare = 0.005;
constexpr double kMinUnattributed = 0.05;
constexpr std::size_t kMaxCauses = 2;    // told of, the largest first
constexpr double kMinMemoryShare = 0.4;  // of a run's time, for memory to be its limit
constexpr double kFewFlopsPerByte = 4;   // of a product that waits for its weights
constexpr std::int64_t kManyBytes = 1'000'000;
constexpr double kMaxSpread = 0.1;  // half of the median's interval over the median: more is noise

struct RowGroup {
  std::int32_t count = 0;
  double total_ns = 0;
  std::vector<OriginId> origins;

  void add(const OperationRow& row) {
    ++count;
    total_ns += row.time.p50_ns;
    origins.insert(origins.end(), row.origins.begin(), row.origins.end());
  }
};

std::string percent(double share) { return fmt::format("{:.1f} %", share * 100); }

const char* plural(std::int32_t count) { return count == 1 ? "" : "s"; }

void adviseOnAccuracy(const JobIndex& index, std::vector<Advice>* advice) {
  if (index.optimized.run == nullptr || index.optimized.run->accuracy.pass) return;
  const AccuracyRecord& accuracy = index.optimized.run->accuracy;
  std::string text = accuracy.text.empty() ? fmt::format("max relative error {:.2g}", accuracy.max_rel)
                                           : displayText(accuracy.text, 200);
  advice->push_back({Advice::Tone::kWarning,
                     "Results differ from the original: " + text,
                     "Show log",
                     {},
                     "log",
                     {},
                     "verify.first-wrong",
                     "First wrong node"});
}

void adviseOnPasses(const JobRecord& job, std::vector<Advice>* advice) {
  for (const Remark& remark : job.remarks) {
    if (remark.reason != kLeftOutReason) continue;
    advice->push_back({Advice::Tone::kWarning,
                       displayText(remark.text, 200),
                       "Show",
                       {},
                       "remarks",
                       {},
                       "verify.first-wrong",
                       "First wrong node"});
  }
}

// Warns if other work ran meanwhile, which makes all figures less certain.
void adviseOnNoise(const JobIndex& index, std::vector<Advice>* advice) {
  if (index.noise.disturbed()) {
    advice->push_back({Advice::Tone::kWarning,
                       fmt::format("The machine was {}.", noiseSentence(index.noise)),
                       "Show",
                       {},
                       "latency",
                       {},
                       "run.optimize",
                       "Measure again"});
    return;
  }
  const TimeStatistics& latency = index.optimized.latency;
  if (latency.samples < 2 || latency.p50_ns <= 0) return;
  const double spread = latency.half_width_ns / latency.p50_ns;
  if (spread < kMaxSpread) return;
  advice->push_back(
      {Advice::Tone::kWarning,
       fmt::format("Times are uncertain by ±{:.0f} %: something else used the machine. Close it and measure again.",
                   spread * 100),
       "Show",
       {},
       "latency",
       {},
       "run.optimize",
       "Measure again"});
}

// Warns of more threads than there are cores, which wait for each other.
void adviseOnThreads(const JobRecord& job, const JobIndex& index, std::vector<Advice>* advice) {
  const RunRecord* run = index.optimized.run != nullptr ? index.optimized.run : index.baseline.run;
  if (run == nullptr || job.machine.cores <= 0 || run->threads * run->instances <= job.machine.cores) return;
  Advice fewer{Advice::Tone::kWarning,
               fmt::format("{} threads share {} core{} and wait for each other.", run->threads * run->instances,
                           job.machine.cores, job.machine.cores == 1 ? "" : "s"),
               "Show",
               {},
               "latency",
               {},
               "",
               fmt::format("Use {} thread{}", job.machine.cores, job.machine.cores == 1 ? "" : "s")};
  fewer.threads = job.machine.cores;
  advice->push_back(std::move(fewer));
}

// Tells what was seen while the model was loaded and run that makes it slow as it was saved.
void adviseOnLoad(const JobRecord& job, std::vector<Advice>* advice) {
  for (const Remark& remark : job.remarks) {
    if (remark.pass != kLoadedModel) continue;
    const bool slow_still = remark.reason == kDenormalsReason;
    advice->push_back({slow_still ? Advice::Tone::kWarning : Advice::Tone::kGood,
                       displayText(remark.text, 300),
                       "Show",
                       remark.origins,
                       slow_still ? "operations" : "remarks",
                       {},
                       "",
                       ""});
  }
}

std::string causeText(const SlowCause& cause) {
  const std::string before = fmt::format("{}: {} before ({} of the operations' time)", causeSentence(cause),
                                         formatTime(cause.before_ns), percent(cause.share));
  if (cause.remains()) return fmt::format("{}, still {}. {}", before, formatTime(cause.after_ns), cause.rule->advice);
  return before + (cause.after_ns > 0 ? fmt::format(", now {}.", formatTime(cause.after_ns))
                                      : std::string("; now gone, or done in passing."));
}

// Tells what made the model slow as it was saved, and what is to be done where that costs time still.
void adviseOnCauses(const JobRecord& job, std::vector<Advice>* advice) {
  std::vector<SlowCause> causes = slowCauses(job);
  if (causes.size() > kMaxCauses) causes.resize(kMaxCauses);
  for (SlowCause& cause : causes) {
    Advice told{cause.remains() ? Advice::Tone::kWarning : Advice::Tone::kGood,
                causeText(cause),
                "Show",
                std::move(cause.origins),
                "waterfall",
                {},
                "",
                ""};
    if (cause.remains() && cause.rule->remedy == CauseRemedy::kSinglePrecision) {
      told.try_it.precisions.push_back({kDoubleOperations, "fp32"});
      told.offer = "Try FP32";
    }
    if (cause.remains() && cause.rule->remedy == CauseRemedy::kEvaluation) {
      told.action = "tune.evaluation";
      told.offer = "Run in evaluation mode";
    }
    advice->push_back(std::move(told));
  }
}

// Advises on products that wait for their weights: few rows, many weights.
void adviseOnMemory(const JobIndex& index, std::vector<Advice>* advice) {
  const RunIndex& run = index.optimized;
  if (run.run == nullptr || run.latency.p50_ns <= 0) return;
  RowGroup group;
  std::int64_t bytes = 0;
  for (const OperationRow& row : run.rows) {
    if (row.step < 0 || (row.group != KindGroup::kLinear && row.group != KindGroup::kConvolution)) continue;
    const StepRecord& step = run.run->steps[static_cast<std::size_t>(row.step)];
    const std::int64_t once = step.bytes / std::max(1, step.micro_batches);  // the weights stay in the cache
    if (once < kManyBytes || static_cast<double>(step.flops) > kFewFlopsPerByte * static_cast<double>(once)) continue;
    group.add(row);
    bytes += once;
  }
  if (group.total_ns < kMinMemoryShare * run.latency.p50_ns) return;
  advice->push_back({Advice::Tone::kHint,
                     fmt::format("{} product{} wait{} for memory: {} of weights for a few rows ({}). Weights in INT8 "
                                 "or BF16 are less to read.",
                                 group.count, plural(group.count), group.count == 1 ? "s" : "", formatBytes(bytes),
                                 percent(group.total_ns / run.latency.p50_ns)),
                     "Show",
                     std::move(group.origins),
                     "roofline",
                     {},
                     "tune.quantize",
                     "Tune…"});
}

void adviseOnInterpreter(const JobIndex& index, std::vector<Advice>* advice) {
  RowGroup group;
  for (const OperationRow& row : index.optimized.rows) {
    if (row.step < 0) group.add(row);
  }
  const double latency_ns = index.optimized.latency.p50_ns;
  if (group.count == 0 || latency_ns <= 0 || group.total_ns / latency_ns < kMinShare) return;
  advice->push_back({Advice::Tone::kWarning,
                     fmt::format("{} node{} stayed with the interpreter: {} ({}).", group.count, plural(group.count),
                                 formatTime(group.total_ns), percent(group.total_ns / latency_ns)),
                     "Show",
                     std::move(group.origins),
                     "operations",
                     {},
                     "",
                     ""});
}

void adviseOnConversions(const JobIndex& index, std::vector<Advice>* advice) {
  RowGroup group;
  for (const OperationRow& row : index.optimized.rows) {
    if (row.step >= 0 && row.group == KindGroup::kReorder) group.add(row);
  }
  const double latency_ns = index.optimized.latency.p50_ns;
  if (group.count == 0 || latency_ns <= 0 || group.total_ns / latency_ns < kMinShare) return;
  advice->push_back(
      {Advice::Tone::kWarning,
       fmt::format("{} conversion{} cost{} {} ({}).", group.count, plural(group.count), group.count == 1 ? "s" : "",
                   formatTime(group.total_ns), percent(group.total_ns / latency_ns)),
       "Show",
       std::move(group.origins),
       "operations",
       {},
       "",
       ""});
}

// The plans' name of a layout that measuring tries: "nhwc" of "channels-last".
std::string planLayout(const std::string& layout) {
  if (layout == "channels-last") return "nhwc";
  if (layout == "row-major") return "nchw";
  return layout.compare(0, 8, "blocked-") == 0 ? "nChw" + layout.substr(8) + "c" : layout;
}

struct StepCandidates {
  const StepRecord* step = nullptr;
  const DispatchRecord* chosen = nullptr;
  std::vector<const DispatchRecord*> timed;
};

std::map<std::int32_t, StepCandidates> candidatesOf(const RunRecord& run) {
  std::map<std::int32_t, StepCandidates> all;
  for (const StepRecord& step : run.steps) all[step.index].step = &step;
  for (const DispatchRecord& dispatch : run.dispatches) {
    const auto at = all.find(dispatch.step);
    if (at == all.end() || dispatch.elapsed_ns <= 0) continue;
    at->second.timed.push_back(&dispatch);
    if (dispatch.chosen) at->second.chosen = &dispatch;
  }
  return all;
}

// Another kernel for a step, to be pinned and measured.
Advice pinAdvice(const StepCandidates& at, const DispatchRecord& other, double saved_ns, std::string text) {
  Advice advice{Advice::Tone::kHint, std::move(text), "Show", at.step->origins, "kernels", {}, "", "Try it", saved_ns};
  advice.try_it.pins.push_back(
      {at.step->spec, at.step->dst_shape, other.kernel, other.layout, displayText(at.step->name, 80)});
  return advice;
}

// Advises on the costliest reorder whose reader has a kernel for the existing layout that costs less than reorder and
// kernel together.
void adviseOnLayouts(const JobIndex& index, std::vector<Advice>* advice) {
  const RunIndex& run = index.optimized;
  if (run.run == nullptr || run.latency.p50_ns <= 0) return;
  const auto candidates = candidatesOf(*run.run);
  double most_ns = kMinShare * run.latency.p50_ns;
  std::optional<Advice> best;
  for (const OperationRow& row : run.rows) {
    if (row.step < 0 || row.group != KindGroup::kReorder) continue;
    const StepRecord& reorder = run.run->steps[static_cast<std::size_t>(row.step)];
    if (reorder.src_layout == reorder.dst_layout) continue;  // converts dtypes alone, which no other layout spares
    const auto reader = candidates.find(reorder.last_use);
    if (reader == candidates.end() || reader->second.chosen == nullptr) continue;
    for (const DispatchRecord* other : reader->second.timed) {
      if (other->chosen || planLayout(other->layout) != reorder.src_layout) continue;
      const double saved_ns =
          row.time.p50_ns + static_cast<double>(reader->second.chosen->elapsed_ns - other->elapsed_ns);
      if (saved_ns <= most_ns) continue;
      most_ns = saved_ns;
      best = pinAdvice(reader->second, *other, saved_ns,
                       fmt::format("{} in {} would need no reorder before it: about {} less ({}).",
                                   displayText(reader->second.step->name, 48), displayText(reorder.src_layout, 24),
                                   formatTime(saved_ns), percent(saved_ns / run.latency.p50_ns)));
    }
  }
  if (best) advice->push_back(std::move(*best));
}

// Advises on the step where another kernel, measured alone, saves the most time: the steps around it decided
// otherwise.
void adviseOnKernels(const JobIndex& index, std::vector<Advice>* advice) {
  const RunIndex& run = index.optimized;
  if (run.run == nullptr || run.latency.p50_ns <= 0) return;
  double most_ns = kMinShare * run.latency.p50_ns;
  std::optional<Advice> best;
  for (const auto& [number, at] : candidatesOf(*run.run)) {
    if (at.chosen == nullptr || at.step->kind == "reorder") continue;
    for (const DispatchRecord* other : at.timed) {
      const auto saved_ns = static_cast<double>(at.chosen->elapsed_ns - other->elapsed_ns);
      if (saved_ns <= most_ns) continue;
      most_ns = saved_ns;
      best =
          pinAdvice(at, *other, saved_ns,
                    fmt::format("Alone, {} is {} faster on {} than what the plan took.", displayText(other->kernel, 40),
                                formatTime(saved_ns), displayText(at.step->name, 48)));
    }
  }
  if (best) advice->push_back(std::move(*best));
}

// Advises on precisions that this machine computes natively and that were not tried.
void adviseOnPrecision(const JobRecord& job, const JobIndex& index, std::vector<Advice>* advice) {
  const RunRecord* run = index.optimized.run;
  if (run == nullptr || run->precision != "fp32" || !run->accuracy.pass) return;
  const auto& features = job.machine.features;
  const auto has = [&](const char* word) {
    return std::any_of(features.begin(), features.end(),
                       [&](const std::string& name) { return name.find(word) != std::string::npos; });
  };
  if (hasBf16(job.machine.isa)) {
    Advice bf16{Advice::Tone::kGood, "This CPU computes BF16 natively; it was not tried.", "", {}, "", {}, "",
                "Try BF16"};
    bf16.try_it.precisions.push_back({"*", "bf16"});
    advice->push_back(std::move(bf16));
  }
  if (job.sensitivities.empty()) {
    advice->push_back({Advice::Tone::kGood,
                       has("vnni") ? "INT8 is native here (VNNI) and needs data to calibrate on."
                                   : "INT8 needs data to calibrate on; without VNNI it gains less here.",
                       "",
                       {},
                       "",
                       {},
                       "tune.quantize",
                       "Tune…"});
  }
}

// Tells of a device whose copies take more than it gains over the CPU, or a large part of its time.
void adviseOnCopies(const JobIndex& index, std::vector<Advice>* advice) {
  constexpr double kMinCopies = 0.2;
  for (const DeviceComparison& comparison : index.devices) {
    const DeviceRun& first = comparison.runs.front();
    for (const DeviceRun& run : comparison.runs) {
      const auto copies_ns = static_cast<double>(run.copy_ns);
      if (run.copies == 0 || run.p50_ns <= 0) continue;
      const bool eats_gain = &run != &first && run.p50_ns > first.p50_ns && run.p50_ns - copies_ns < first.p50_ns;
      if (!eats_gain && copies_ns < kMinCopies * run.p50_ns) continue;
      std::string text =
          fmt::format("{} {} to and from {} {} {} ({} of its time)", run.copies, run.copies == 1 ? "copy" : "copies",
                      displayText(run.device, 24), run.copies == 1 ? "takes" : "take", formatTime(copies_ns),
                      percent(copies_ns / run.p50_ns));
      if (eats_gain)
        text +=
            fmt::format(", more than it gains: without them it would be faster than {}", displayText(first.device, 24));
      advice->push_back({Advice::Tone::kHint,
                         text + ". Give it larger inputs, or keep the model on one device.",
                         "Show",
                         {},
                         "devices",
                         {},
                         "",
                         ""});
    }
  }
}

void adviseOnSlowest(const JobIndex& index, std::vector<Advice>* advice) {
  const RunIndex& run = index.optimized.run != nullptr ? index.optimized : index.baseline;
  std::vector<const OperationRow*> rows;
  for (const OperationRow& row : run.rows) {
    if (row.time.p50_ns > 0) rows.push_back(&row);
  }
  if (rows.size() < 4 || run.latency.p50_ns <= 0) return;
  std::partial_sort(rows.begin(), rows.begin() + 3, rows.end(), [](const OperationRow* a, const OperationRow* b) {
    return a->time.p50_ns != b->time.p50_ns ? a->time.p50_ns > b->time.p50_ns : a < b;
  });
  double total_ns = 0;
  for (std::size_t i = 0; i < 3; ++i) total_ns += rows[i]->time.p50_ns;
  advice->push_back({Advice::Tone::kHint,
                     fmt::format("The slowest three operations take {} of the run, first {} with {}.",
                                 percent(total_ns / run.latency.p50_ns), displayText(rows[0]->name, 48),
                                 formatTime(rows[0]->time.p50_ns)),
                     "Show",
                     rows[0]->origins,
                     "operations",
                     {},
                     "",
                     ""});
}

struct Declines {
  std::int32_t count = 0;
  const Remark* first = nullptr;
};

void adviseOnDeclines(const JobRecord& job, std::vector<Advice>* advice) {
  std::map<std::pair<std::string, std::string>, Declines> groups;
  for (const Remark& remark : job.remarks) {
    if (remark.kind != RemarkKind::kMissed || remark.reason == "decided-by-hand" || remark.reason == kLeftOutReason ||
        remark.pass == kLoadedModel)
      continue;
    Declines& group = groups[{remark.pass, remark.reason}];
    if (group.count++ == 0) group.first = &remark;
  }
  std::vector<const Declines*> order;
  for (const auto& [key, group] : groups) order.push_back(&group);
  std::stable_sort(order.begin(), order.end(),
                   [](const Declines* a, const Declines* b) { return a->count > b->count; });
  if (order.size() > 2) order.resize(2);
  for (const Declines* group : order) {
    std::string why = displayText(group->first->text.empty() ? group->first->reason : group->first->text, 140);
    if (!why.empty() && why.back() != '.') why += '.';
    const std::string often = group->count > 1 ? fmt::format(" {} times", group->count) : std::string();
    advice->push_back({Advice::Tone::kHint,
                       fmt::format("{} declined{}: {}", displayText(group->first->pass, 48), often, why),
                       "Show",
                       group->first->origins,
                       "remarks",
                       {},
                       "",
                       ""});
  }
}

void adviseOnInputs(const JobRecord& job, std::vector<Advice>* advice) {
  std::string guessed, open;
  for (const InputRecord& input : job.model.inputs) {
    if (input.description.empty() && open.size() < 80) open += (open.empty() ? "" : ", ") + displayText(input.name, 24);
    if (!input.guessed || guessed.size() > 80) continue;
    guessed += (guessed.empty() ? "" : ", ") + displayText(input.name, 24) + " " + formatShape(input.description);
  }
  if (guessed.empty() && open.empty()) return;
  advice->push_back({open.empty() ? Advice::Tone::kHint : Advice::Tone::kWarning,
                     open.empty() ? fmt::format("The inputs are a guess ({}).", guessed)
                                  : fmt::format("The model does not show what to run it with: {}.", open),
                     "",
                     {},
                     "",
                     {},
                     "run.inputs",
                     "Set them…"});
}

void adviseOnUnattributed(const JobIndex& index, std::vector<Advice>* advice) {
  const RunIndex& run = index.optimized;
  if (run.rows.empty() || run.latency.p50_ns <= 0) return;
  const double share = run.unattributed_ns / run.latency.p50_ns;
  if (share < kMinUnattributed) return;
  advice->push_back(
      {Advice::Tone::kWarning,
       fmt::format("{} of the run ({}) belong to no operation.", formatTime(run.unattributed_ns), percent(share)),
       "Show",
       {},
       "operations",
       {},
       "",
       ""});
}

}  // namespace

const Advice* recommendedAdvice(const std::vector<Advice>& advice) {
  const Advice* best = nullptr;
  for (const Advice& one : advice) {
    if (one.offer.empty()) continue;
    if (best == nullptr || one.gain_ns > best->gain_ns) best = &one;
  }
  return best;
}

std::vector<Advice> makeAdvice(const JobRecord& job, const JobIndex& index) {
  std::vector<Advice> advice;
  adviseOnAccuracy(index, &advice);
  adviseOnPasses(job, &advice);
  adviseOnThreads(job, index, &advice);
  adviseOnLoad(job, &advice);
  adviseOnCauses(job, &advice);
  adviseOnMemory(index, &advice);
  adviseOnNoise(index, &advice);
  adviseOnInterpreter(index, &advice);
  adviseOnConversions(index, &advice);
  adviseOnLayouts(index, &advice);
  adviseOnKernels(index, &advice);
  adviseOnCopies(index, &advice);
  adviseOnSlowest(index, &advice);
  adviseOnPrecision(job, index, &advice);
  adviseOnDeclines(job, &advice);
  adviseOnUnattributed(index, &advice);
  adviseOnInputs(job, &advice);
  if (advice.size() > kMaxAdvice) advice.resize(kMaxAdvice);
  return advice;
}

}  // namespace ipex_studio
