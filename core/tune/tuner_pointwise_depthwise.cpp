// Finds, measures and offers pairs of convolutions that one kernel computes.
#include "core/tune/tuner_pointwise_depthwise.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <set>

#include "core/op/layout_text.h"
#include "core/plan/plan_pointwise_depthwise.h"
#include "core/tune/tuner_key.h"

namespace ipex_studio {
namespace {

constexpr std::size_t kExpandSources = 3;

std::string namesOf(const TuningCandidate& first, const TuningCandidate& second) {
  return first.kernel + " + " + second.kernel;
}

std::optional<CandidatePart> conversionPart(const TensorDesc& from, const TensorDesc& to, const Target& target,
                                            const KernelList& kernels) {
  const PrepareArgs args = conversionArgs(from, to, target);
  const CandidateSet set = prepareCandidates(args, kernels, {}, true);
  if (set.defaults == 0) return std::nullopt;
  return CandidatePart{set.candidates[0].parts[0].op, {-1}, {false}};
}

// The two steps one after the other, as they were chosen, with the conversion between them.
std::optional<Candidate> bothApart(Candidate first, Candidate second, const PrepareArgs& args,
                                   const KernelList& kernels) {
  Candidate both;
  both.record.kernel = namesOf(first.record, second.record);
  both.weights = std::make_shared<WeightCache>();
  for (const Candidate* each : {&first, &second}) {
    for (const WeightCache::Entry& entry : each->weights->entries())
      both.weights->put(entry.source, entry.form, entry.buffer);
  }
  both.parts = std::move(first.parts);
  const TensorDesc &made = both.parts.back().op->dst[0], &wanted = second.parts[0].op->src[0];
  if (!made.sameLayout(wanted)) {
    auto conversion = conversionPart(made, wanted, args.target, kernels);
    if (!conversion) return std::nullopt;
    both.parts.push_back(std::move(*conversion));
  }
  for (CandidatePart& part : second.parts) {
    for (std::int32_t& source : part.src) {
      if (source >= 0) source = source == 0 ? -1 : source + static_cast<std::int32_t>(kExpandSources) - 1;
    }
    both.parts.push_back(std::move(part));
  }
  both.src.assign(args.src.size(), TensorDesc());
  both.src[0] = first.src[0];
  both.dst = second.dst;
  for (const TensorDesc& read : both.src) both.record.src.push_back(layoutText(read));
  both.record.dst = layoutText(both.dst);
  return both;
}

bool isPinned(const TuningEntry& entry) { return entry.effort >= kPinnedEffort; }

}  // namespace

PairTuner::PairTuner(const PlanSpec& spec, const std::vector<TracedStep>& steps) : steps_(steps) {
  const std::vector<std::int32_t> joinable = joinableReaders(spec);
  std::map<std::int32_t, std::size_t> step_of;
  for (std::size_t s = 0; s < steps.size(); ++s) {
    if (steps[s].whole) step_of[steps[s].node] = s;
  }
  for (const auto& [node, s] : step_of) {
    const auto reader = step_of.find(joinable[static_cast<std::size_t>(node)]);
    const PrepareArgs& first = steps[s].args;
    if (reader == step_of.end() || first.constant[0] != nullptr || !isMeasurable(first)) continue;
    const PrepareArgs& second = steps[reader->second].args;
    Pair pair{s, reader->second, first};
    pair.args.spec =
        joinNodes(spec.nodes[static_cast<std::size_t>(node)], spec.nodes[static_cast<std::size_t>(reader->first)]).op;
    pair.args.src.insert(pair.args.src.end(), second.src.begin() + 1, second.src.end());
    pair.args.constant.insert(pair.args.constant.end(), second.constant.begin() + 1, second.constant.end());
    pair.args.src_dies.assign(pair.args.src.size(), false);
    pair.args.dst = second.dst;
    pairs_.push_back(std::move(pair));
  }
}

std::int64_t PairTuner::distinctPairs() const {
  std::set<std::string> texts;
  for (const Pair& pair : pairs_) texts.insert(stepText(pair.args));
  return static_cast<std::int64_t>(texts.size());
}

std::string PairTuner::textOf(std::size_t step) const {
  const auto found = std::find_if(pairs_.begin(), pairs_.end(), [&](const Pair& pair) { return pair.first == step; });
  return found == pairs_.end() ? "" : stepText(found->args);
}

bool PairTuner::anyPinned() const {
  return std::any_of(entries_.begin(), entries_.end(), [](const auto& known) { return isPinned(known.second); });
}

TuningEntry PairTuner::measure(const Bench& bench, const Pair& pair, const TuningCandidate& first,
                               const TuningCandidate& second) const {
  TuningEntry entry{stepText(pair.args), bench.effort, {}};
  auto expand = prepareAgain(steps_[pair.first].args, bench.kernels, first);
  auto depthwise = prepareAgain(steps_[pair.second].args, bench.kernels, second);
  CandidateSet set = prepareCandidates(pair.args, bench.kernels, {"channels-last"}, true);
  auto apart = expand && depthwise ? bothApart(std::move(*expand), std::move(*depthwise), pair.args, bench.kernels)
                                   : std::nullopt;
  if (!apart || set.candidates.empty()) return entry;
  set.candidates.insert(set.candidates.begin(), std::move(*apart));
  BenchData data(pair.args, bench.kernels);
  // Every pair that is begun gets all rounds: one round cannot tell ways apart that are nearly as fast, and is wrong if
  // another process took the processor.
  BenchLimits limits = bench.limits;
  limits.drops_slower = false;
  limits.deadline_ns = std::numeric_limits<std::int64_t>::max();
  measureCandidates(set.candidates, data, bench.tolerance, limits);
  for (Candidate& candidate : set.candidates) entry.candidates.push_back(std::move(candidate.record));
  return entry;
}

bool PairTuner::offer(const Bench& bench, const ChosenSteps& chosen, const ConversionCost& conversion,
                      std::vector<std::vector<StepAlternative>>* alternatives) {
  bool any = false;
  for (const Pair& pair : pairs_) {
    const StepAlternative first = (*alternatives)[pair.first][static_cast<std::size_t>(chosen.alternative[pair.first])];
    const StepAlternative second =
        (*alternatives)[pair.second][static_cast<std::size_t>(chosen.alternative[pair.second])];
    const TuningEntry *first_entry = bench.entryOf(pair.first), *second_entry = bench.entryOf(pair.second);
    if (first.candidate < 0 || second.candidate < 0 || first_entry == nullptr || second_entry == nullptr) continue;
    const TuningCandidate& expand = first_entry->candidates[static_cast<std::size_t>(first.candidate)];
    const TuningCandidate& depthwise = second_entry->candidates[static_cast<std::size_t>(second.candidate)];
    const std::string text = stepText(pair.args);
    if (entries_.count(text) == 0) {
      auto known = bench.store.find(bench.key, text, bench.effort);
      // A measurement of both does not undo a kernel that a person pinned for one of the two.
      if (!(known && isPinned(*known)) && (isPinned(*first_entry) || isPinned(*second_entry))) continue;
      const bool compares = known && !known->candidates.empty() &&
                            (isPinned(*known) || known->candidates[0].kernel == namesOf(expand, depthwise));
      if (!compares) {
        if (bench.limits.clock.spent_ns() > bench.limits.deadline_ns) continue;
        known = measure(bench, pair, expand, depthwise);
        bench.store.put(bench.key, *known);
      }
      entries_[text] = std::move(*known);
    }
    const TuningEntry& entry = entries_.at(text);
    const double apart_ns = first.cost_ns + second.cost_ns + conversion(first.dst, second.src[0]);
    for (std::size_t c = 1; c < entry.candidates.size(); ++c) {
      const TuningCandidate &apart = entry.candidates[0], &joined = entry.candidates[c];
      if (!joined.reason.empty() || joined.elapsed_ns == 0 || joined.src.size() != pair.args.src.size()) continue;
      const auto read = descInLayout(joined.src[0], pair.args.src[0].dtype, pair.args.src[0].dims);
      const auto written = descInLayout(joined.dst, pair.args.dst[0].dtype, pair.args.dst[0].dims);
      if (!read || !written) continue;
      StepAlternative both = first, nothing = second;
      both.src[0] = *read;
      both.candidate = static_cast<std::int32_t>(c);
      both.joined = Joined::kWithReader;
      // Both ways ran interleaved, so the difference between them counts, not what each takes in this run. A pinned
      // choice costs nothing.
      const double gain =
          static_cast<double>(apart.elapsed_ns) - static_cast<double>(joined.elapsed_ns) / (1 - bench.least_gain);
      both.cost_ns = apart.reason.empty() ? std::max(0.0, apart_ns - gain) : 0;
      nothing.dst = *written;
      nothing.cost_ns = 0;
      nothing.candidate = -1;
      nothing.joined = Joined::kWithSource;
      (*alternatives)[pair.first].push_back(std::move(both));
      (*alternatives)[pair.second].push_back(std::move(nothing));
      any = true;
    }
  }
  return any;
}

}  // namespace ipex_studio
