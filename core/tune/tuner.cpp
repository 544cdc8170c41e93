// The tuner: measures the distinct steps of a plan, chooses among their candidates, and compares the chosen plan with
// the default one. One file over 400 lines, because these stages share one state (the store, the limits, the distinct
// steps) that nothing else needs; each stage that stands alone has a file of its own (tuner_*.h).
#include "core/tune/tuner.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/base/clock.h"
#include "core/base/freed_memory.h"
#include "core/op/layout_text.h"
#include "core/op/prepare.h"
#include "core/op/shape_rules.h"
#include "core/plan/batch_independence.h"
#include "core/plan/plan_concat.h"
#include "core/plan/plan_pointwise_depthwise.h"
#include "core/tune/tuner_bench.h"
#include "core/tune/tuner_compare.h"
#include "core/tune/tuner_graph.h"
#include "core/tune/tuner_key.h"
#include "core/tune/tuner_micro_batches.h"
#include "core/tune/tuner_pointwise_depthwise.h"

namespace ipex_studio {
namespace {

// A kernel other than the default one has to gain this much of a step.
constexpr double kMinGain = 0.02;
// A choice has to gain this much of the whole plan.
constexpr double kMinPlanGain = 0.005;
// Weights up to this stay in the caches from run to run.
constexpr std::size_t kCachedWeightBytes = std::size_t{4} << 20;
// No two prepared plans are compared beyond this: beside the model they would take too much memory.
constexpr std::size_t kMaxComparedWeightBytes = std::size_t{2} << 30;
// Share of the time budget for choosing micro-batches.
constexpr double kSliceShare = 0.25;
// Time for measuring two steps that one kernel might compute.
constexpr std::int64_t kPairBudget_ns = 40'000'000;
// Cost of a conversion into a layout that only a view can have, which no kernel writes; above that of any conversion.
constexpr double kForbidden_ns = 1e13;

std::int32_t effortOf(const TuneOptions& options) { return options.mode == TuneMode::kFull ? 2 : 1; }

std::size_t constantBytes(const PlanSpec& spec) {
  std::size_t total = 0;
  for (const TensorDesc& constant : spec.constants) total += constant.bytes();
  return total;
}

class Tuner {
 public:
  Tuner(const PlanSpec& spec, const PlanRequest& request, const KernelList& kernels, TuningStore& store,
        WeightCache& weights, const TuneOptions& options, const TuneClock& clock, const TuningKey& key,
        std::int64_t deadline_ns)
      : spec_(spec),
        request_(request),
        kernels_(kernels),
        store_(store),
        weights_(weights),
        options_(options),
        clock_(clock),
        key_(key),
        effort_(effortOf(options)),
        deadline_ns_(deadline_ns) {
    limits_.least_rounds = effort_ == 2 ? 6 : 3;
    limits_.most_rounds = effort_ == 2 ? 40 : 10;
    limits_.cold_weights = constantBytes(spec) > kCachedWeightBytes;
    limits_.clock = clock_;
    limits_.deadline_ns = deadline_ns_;
  }

  // Measures and chooses, unless the store knows the plan. `name`: planText() of the request.
  TunedPlan run(const std::string& name) {
    const auto known = store_.find(key_, name, effort_);
    if (!known && options_.mode == TuneMode::kOff) return {nullptr, nullptr, key_, {}};
    steps_ = tracePlan(spec_, request_);
    pairs_ = std::make_unique<PairTuner>(spec_, steps_);
    if (known) return {fromEntry(*known), nullptr, key_, {*known}};
    findLayouts();
    measureSteps();
    auto choices = choose();
    returnFreedMemory();
    const TuningEntry entry = planEntry(name, *choices);
    store_.put(key_, entry);
    if (choices->empty()) choices = nullptr;
    return {std::move(choices), nullptr, key_, {entry}};
  }

 private:
  // Steps with equal keys, which are measured once.
  struct Distinct {
    std::size_t step = 0;  // the first of them
    double work = 0;       // approximate work of all such steps
    TuningEntry entry;
  };

  // --- measuring ---

  bool isTuned(const TracedStep& step) const { return step.whole && !isView(step.op.kind) && isMeasurable(step.args); }

  // Layouts other than row-major arise around convolutions.
  void findLayouts() {
    const int block = request_.target.isa.rfind("avx512", 0) == 0 || request_.target.isa.rfind("amx", 0) == 0 ? 16 : 8;
    for (const TracedStep& step : steps_) {
      if (step.op.kind != OpKind::kConvolution && step.op.kind != OpKind::kDeconvolution) continue;
      layouts_[step.args.dst[0].dims.rank] = {"row-major", "channels-last", fmt::format("blocked-{}", block)};
    }
  }

  std::vector<std::string> layoutsFor(const PrepareArgs& args) const {
    for (const TensorDesc& src : args.src) {
      const auto found = src.absent() ? layouts_.end() : layouts_.find(src.dims.rank);
      if (found == layouts_.end()) continue;
      if (isOfIntegers(args)) return {"row-major", "channels-last"};  // nothing writes integers blocked
      return found->second;
    }
    return {"row-major"};
  }

  // True if the entry considered every kernel that could do the step now.
  bool isComplete(const TuningEntry& entry, OpKind kind) const {
    for (const Kernel* kernel : kernels_.candidates(kind, request_.target.device->id().kind)) {
      TuningCandidate probe;
      probe.kernel = kernel->name();
      if (isReference(probe.kernel) || (!options_.allow_winograd && isWinograd(probe))) continue;
      const bool found =
          std::any_of(entry.candidates.begin(), entry.candidates.end(),
                      [&](const TuningCandidate& candidate) { return candidate.kernel == probe.kernel; });
      if (!found) return false;
    }
    return true;
  }

  void measureSteps() {
    std::vector<Distinct*> open;
    for (std::size_t s = 0; s < steps_.size(); ++s) {
      if (!isTuned(steps_[s])) continue;
      const PrepareArgs& args = steps_[s].args;
      const auto [at, fresh] = distinct_.emplace(stepText(args), Distinct{});
      Distinct& own = at->second;
      if (fresh) own.step = s;
      const bool weighted =
          args.src.size() > 1 && args.constant[1] != nullptr && args.src[1].dims.rank > 0 && args.src[1].dims[0] > 0;
      own.work +=
          static_cast<double>(args.dst[0].dims.count()) *
          (weighted ? static_cast<double>(args.src[1].dims.count()) / static_cast<double>(args.src[1].dims[0]) : 1.0);
      if (!fresh) continue;
      own.entry.spec = at->first;
      const auto known = store_.find(key_, at->first, effort_);
      if (known && isComplete(*known, args.spec.kind)) {
        own.entry = *known;
      } else {
        open.push_back(&own);
      }
    }
    // The most expensive steps come first, while there is time.
    std::stable_sort(open.begin(), open.end(), [](const Distinct* a, const Distinct* b) { return a->work > b->work; });
    // A part of the time is kept for the work after them.
    const std::int64_t now_ns = clock_.spent_ns(),
                       kept_ns = std::min(pairs_->distinctPairs() * 2 * kPairBudget_ns, (deadline_ns_ - now_ns) / 5);
    limits_.deadline_ns = deadline_ns_ - kept_ns;
    for (std::size_t done = 0; done < open.size(); ++done) {
      if (options_.progress) options_.progress(static_cast<int>(done), static_cast<int>(open.size()));
      const std::int64_t left = limits_.deadline_ns - clock_.spent_ns();
      if (left <= 0) break;
      limits_.budget_ns = left / static_cast<std::int64_t>(open.size() - done);
      measure(*open[done]);
    }
    limits_.deadline_ns = deadline_ns_;
  }

  void measure(Distinct& own) {
    const PrepareArgs& args = steps_[own.step].args;
    CandidateSet set = prepareCandidates(args, kernels_, layoutsFor(args), options_.allow_winograd);
    own.entry.effort = effort_;
    own.entry.candidates.clear();
    if (set.candidates.size() > 1) {
      BenchData data(args, kernels_);
      measureCandidates(set.candidates, data, options_.tolerance, limits_);
    }
    for (Candidate& candidate : set.candidates) own.entry.candidates.push_back(std::move(candidate.record));
    for (TuningCandidate& declined : set.declined) {
      if (declined.reason.empty()) declined.reason = "declined";
      own.entry.candidates.push_back(std::move(declined));
    }
    store_.put(key_, own.entry);
  }

  double conversion(const TensorDesc& given, const TensorDesc& wanted) {
    const TensorDesc from = plainest(given), to = plainest(wanted);
    if (from.absent() || to.absent() || from.sameLayout(to)) return 0;
    if (layoutText(to).empty()) return kForbidden_ns;
    if (!isMeasurable(from.dtype)) return 0;
    const std::string text = fmt::format("reorder{{}} : {} -> {}", operandText(from), operandText(to));
    const auto cached = conversions_.find(text);
    if (cached != conversions_.end()) return cached->second;
    auto entry = store_.find(key_, text, effort_);
    if (!entry || entry->candidates.empty()) entry = measureConversion(from, to, text);
    const double cost =
        entry->candidates.empty() ? kForbidden_ns : static_cast<double>(entry->candidates[0].elapsed_ns);
    return conversions_[text] = cost;
  }

  TuningEntry measureConversion(const TensorDesc& from, const TensorDesc& to, const std::string& text) {
    TuningEntry entry{text, effort_, {}};
    const PrepareArgs args = conversionArgs(from, to, request_.target);
    CandidateSet set = prepareCandidates(args, kernels_, {}, options_.allow_winograd);
    if (set.defaults == 0) return entry;
    set.candidates.resize(1);
    BenchData data(args, kernels_);
    BenchLimits limits = limits_;
    limits.budget_ns = 2'000'000;
    measureCandidates(set.candidates, data, options_.tolerance, limits);
    entry.candidates.push_back(set.candidates[0].record);
    store_.put(key_, entry);
    return entry;
  }

  // --- choosing ---

  // The cheapest candidate for each way to read and write.
  std::vector<StepAlternative> alternativesOf(const TracedStep& step) const {
    const auto found = isTuned(step) ? distinct_.find(stepText(step.args)) : distinct_.end();
    std::vector<StepAlternative> result;
    if (found != distinct_.end()) {
      const auto& candidates = found->second.entry.candidates;
      for (std::size_t c = 0; c < candidates.size(); ++c) {
        const TuningCandidate& record = candidates[c];
        if (!record.reason.empty() || record.src.size() != step.args.src.size()) continue;
        if (!options_.allow_winograd && isWinograd(record)) continue;
        StepAlternative alternative = alternativeFrom(record, step);
        alternative.candidate = static_cast<std::int32_t>(c);
        const bool is_default = record.kernel == candidates[0].kernel && record.kept == candidates[0].kept;
        if (!is_default) alternative.cost_ns /= 1 - kMinGain;
        const auto same = std::find_if(result.begin(), result.end(), [&](const StepAlternative& other) {
          return other.src == alternative.src && other.dst == alternative.dst;
        });
        if (same == result.end()) {
          result.push_back(std::move(alternative));
        } else if (alternative.cost_ns < same->cost_ns) {
          *same = std::move(alternative);
        }
      }
    }
    if (result.empty()) result.push_back({step.args.src, step.args.dst[0], 0, -1});
    return result;
  }

  static StepAlternative alternativeFrom(const TuningCandidate& record, const TracedStep& step) {
    StepAlternative alternative;
    const PrepareArgs& args = step.args;
    for (std::size_t s = 0; s < args.src.size(); ++s) {
      const auto dense = descInLayout(record.src[s], args.src[s].dtype, args.src[s].dims);
      alternative.src.push_back(dense ? *dense : args.src[s]);
    }
    const auto dense = descInLayout(record.dst, args.dst[0].dtype, args.dst[0].dims);
    alternative.dst = dense ? *dense : args.dst[0];
    alternative.cost_ns = static_cast<double>(record.elapsed_ns);
    if (args.spec.kind == OpKind::kConcat && fillSlices(args.spec, alternative.dst, alternative.src))
      alternative.cost_ns = 0;
    return alternative;
  }

  bool offerPairs(const ChosenSteps& chosen, const ConversionCost& between,
                  std::vector<std::vector<StepAlternative>>* alternatives) {
    const auto entryOf = [this](std::size_t step) {
      const auto found = distinct_.find(stepText(steps_[step].args));
      return found == distinct_.end() ? nullptr : &found->second.entry;
    };
    BenchLimits limits = limits_;
    limits.budget_ns = kPairBudget_ns;
    return pairs_->offer({kernels_, store_, key_, effort_, options_.tolerance, kMinGain, limits, entryOf}, chosen,
                         between, alternatives);
  }

  std::shared_ptr<const PlanChoices> choose() {
    std::vector<std::vector<StepAlternative>> alternatives;
    for (const TracedStep& step : steps_) {
      alternatives.push_back(isView(step.op.kind) ? std::vector<StepAlternative>() : alternativesOf(step));
    }
    const ConversionCost between = [this](const TensorDesc& from, const TensorDesc& to) {
      return conversion(from, to);
    };
    ChosenSteps chosen = chooseSteps(spec_, request_, steps_, alternatives, between);
    if (offerPairs(chosen, between, &alternatives))
      chosen = chooseSteps(spec_, request_, steps_, alternatives, between);
    auto choices = std::make_shared<PlanChoices>();
    for (std::size_t s = 0; s < steps_.size(); ++s) {
      if (alternatives[s].empty()) continue;
      const StepAlternative& taken = alternatives[s][static_cast<std::size_t>(chosen.alternative[s])];
      const std::int32_t candidate = taken.candidate;
      if (candidate < 0) continue;
      const TuningEntry& entry =
          taken.joined == Joined::kWithReader ? pairs_->entryOf(s) : distinct_.at(stepText(steps_[s].args)).entry;
      const TuningCandidate& record = entry.candidates[static_cast<std::size_t>(candidate)];
      if (record.elapsed_ns == 0) continue;  // the only way
      if (isWinograd(record) && !isExact(steps_[s].args, entry.candidates[0], record)) continue;
      (*choices)[steps_[s].node] = choiceFrom(record, entry);
    }
    const bool pinned = pairs_->anyPinned() || std::any_of(distinct_.begin(), distinct_.end(), [](const auto& known) {
                          return known.second.entry.effort >= kPinnedEffort;
                        });
    if (choices->empty() || pinned || constantBytes(spec_) > kMaxComparedWeightBytes) return choices;
    const bool full = effort_ == 2;
    const CompareLimits limits{full ? 200 : 60, full ? 5'000'000'000 : 1'500'000'000, clock_};
    returnFreedMemory();  // before two plans stand side by side
    const PlanTimes times = comparePlans(spec_, request_, kernels_, weights_, choices, limits);
    if (times.chosen_ns >= (1 - kMinPlanGain) * times.default_ns) {
      choices->clear();
      weights_.releaseUnused();
    }
    return choices;
  }

  // True if the candidate is within the tolerance on the weights of this step. Equal steps are measured once, on the
  // weights of the first, so algorithms that round differently are checked on all.
  bool isExact(const PrepareArgs& args, const TuningCandidate& reference, const TuningCandidate& record) const {
    std::vector<Candidate> pair;
    for (const TuningCandidate* each : {&reference, &record}) {
      auto candidate = prepareAgain(args, kernels_, *each);
      if (!candidate) return false;
      pair.push_back(std::move(*candidate));
    }
    BenchData data(args, kernels_);
    BenchLimits once = limits_;
    once.most_rounds = 0;
    measureCandidates(pair, data, options_.tolerance, once);
    return pair[1].record.reason.empty();
  }

  static StepChoice choiceFrom(const TuningCandidate& record, const TuningEntry& entry) {
    StepChoice choice{record.kernel, record.kept, record.src, {}};
    for (const TuningCandidate& candidate : entry.candidates) {
      DispatchRecord dispatch;
      dispatch.kernel = candidate.kernel;
      dispatch.layout = candidate.dst;
      dispatch.chosen = candidate.kernel == record.kernel && candidate.kept == record.kept &&
                        candidate.src == record.src && candidate.dst == record.dst;
      dispatch.reason = dispatch.chosen ? "chosen" : !candidate.reason.empty() ? candidate.reason : "slower";
      dispatch.elapsed_ns = candidate.elapsed_ns;
      dispatch.max_error = candidate.max_error;
      choice.candidates.push_back(std::move(dispatch));
    }
    return choice;
  }

  // --- what is kept ---

  TuningEntry planEntry(const std::string& name, const PlanChoices& choices) const {
    TuningEntry entry{name, effort_, {}};
    for (const auto& [node, choice] : choices) {
      TuningCandidate record;
      record.node = node;
      record.kernel = choice.kernel;
      record.kept = choice.kept;
      record.src = choice.src_layouts;
      entry.candidates.push_back(std::move(record));
    }
    return entry;
  }

  std::shared_ptr<const PlanChoices> fromEntry(const TuningEntry& entry) const {
    auto choices = std::make_shared<PlanChoices>();
    std::map<std::int32_t, const TuningCandidate*> by_node;
    for (const TuningCandidate& record : entry.candidates) by_node[record.node] = &record;
    for (std::size_t s = 0; s < steps_.size(); ++s) {
      const TracedStep& step = steps_[s];
      const auto found = by_node.find(step.node);
      if (found == by_node.end() || !isTuned(step)) continue;
      const TuningCandidate& record = *found->second;
      const auto measured =
          store_.find(key_,
                      computesBoth(kernels_, request_.target.device->id().kind, record.kernel) ? pairs_->textOf(s)
                                                                                               : stepText(step.args),
                      1);
      TuningEntry known = measured ? *measured : TuningEntry{"", 1, {record}};
      for (TuningCandidate& candidate : known.candidates) {
        const bool same =
            candidate.kernel == record.kernel && candidate.kept == record.kept && candidate.src == record.src;
        if (same && candidate.reason.empty()) {
          (*choices)[step.node] = choiceFrom(candidate, known);
          break;
        }
      }
    }
    return choices->empty() ? nullptr : choices;
  }

  const PlanSpec& spec_;
  const PlanRequest& request_;
  const KernelList& kernels_;
  TuningStore& store_;
  WeightCache& weights_;
  TuneOptions options_;
  TuneClock clock_;
  TuningKey key_;
  std::int32_t effort_;
  BenchLimits limits_;
  std::int64_t deadline_ns_;
  std::vector<TracedStep> steps_;
  std::map<int, std::vector<std::string>> layouts_;  // by rank
  std::unique_ptr<PairTuner> pairs_;
  std::map<std::string, Distinct> distinct_;
  std::map<std::string, double> conversions_;
};

}  // namespace

TunedPlan tunePlan(const PlanSpec& spec, const PlanRequest& request, const KernelList& kernels, TuningStore& store,
                   WeightCache& weights, const TuneOptions& options) {
  TuneClock clock{options.clock_ns, options.clock_ns};
  if (!options.clock_ns) clock = {nowNs, [work = WorkTime()] { return work.ns(); }};
  const double budget_s = options.budget_s > 0 ? options.budget_s : effortOf(options) == 2 ? 50 : 8;
  const std::int64_t deadline_ns = clock.spent_ns() + static_cast<std::int64_t>(budget_s * 1e9);
  const TuningKey key{"cpu", request.target.isa, options.libraries, request.target.threads};
  // Where weights are large, two prepared plans beside the model take too much memory, and reading weights dominates
  // the time anyway.
  const bool may_measure = options.mode != TuneMode::kOff && constantBytes(spec) <= kMaxComparedWeightBytes;
  const SliceSearch search{may_measure, effortOf(options), static_cast<std::int64_t>(budget_s * 1e9 * kSliceShare),
                           clock};
  const auto textOf = [&](const PlanRequest& asked) {
    return planText(spec, asked, kernels, options.allow_winograd, options.spec_digest);
  };
  const std::string name = textOf(request);
  const MicroBatchChoice sliced = chooseMicroBatches(spec, request, kernels, store, weights, key, name, search);
  const PlanRequest part = sliced.micro_batches
                               ? withSamples(request, sliced.micro_batches->inputs, sliced.micro_batches->samples)
                               : request;
  TunedPlan tuned = Tuner(spec, part, kernels, store, weights, options, clock, key, deadline_ns)
                        .run(sliced.micro_batches ? textOf(part) : name);
  tuned.micro_batches = sliced.micro_batches;
  if (!tuned.entries.empty() && sliced.entry) tuned.entries.push_back(*sliced.entry);
  return tuned;
}

}  // namespace ipex_studio
