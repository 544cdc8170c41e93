// A walk from the wrong results back to where everything is right.
#include "core/compare/first_wrong_node.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "core/compare/graph_values.h"
#include "core/compare/wrong_inside.h"

namespace ipex_studio {
namespace {

using torch::jit::Node;
using torch::jit::Value;

constexpr std::size_t kMaxTries = 16;  // values that are replaced by right ones, each a run of both graphs

// The names of one difference with the numbers of another.
ValueDifference withNames(const ValueDifference& names, std::string other, ValueDifference difference) {
  difference.name = names.name;
  difference.source = names.source;
  difference.origins = names.origins;
  difference.other = std::move(other);
  return difference;
}

class WrongNodeSearch {
 public:
  WrongNodeSearch(const Lockstep& graphs, const std::vector<ValuePair>& pairs, const NodeNames& names)
      : graphs_(graphs), pairs_(pairs), names_(names) {
    for (std::size_t p = 0; p < pairs.size(); ++p) pair_of_[pairs[p].other] = p;
  }

  FirstWrongNode find(bool pairs_are_sure) {
    found_ = graphs_.run(pairs_);
    FirstWrongNode first;
    first.results = found_.results;
    for (const auto& difference : found_.differences) first.compared += difference.has_value() ? 1 : 0;
    if (found_.failed != nullptr) {
      describeFailure(&first);
      return first;
    }
    const std::vector<std::size_t> wrong = wrongBehindResults();
    if (found_.results.pass && pairs_are_sure) {
      if (const auto hidden = firstBehindRight()) describe(*hidden, &first);
      return first;
    }
    if (found_.results.pass || wrong.empty()) return first;
    const auto chosen = mending(wrong);
    first.alone = chosen.has_value();
    describe(chosen ? earliestMending(*chosen) : wrong.front(), &first);
    return first;
  }

 private:
  const std::optional<ValueDifference>* differenceOfValue(const Value* value) const {
    const auto found = pair_of_.find(value);
    return found == pair_of_.end() ? nullptr : &found_.differences[found->second];
  }

  bool isRight(const Value* value) const {
    const auto* difference = differenceOfValue(value);
    return difference != nullptr && difference->has_value() && (*difference)->accuracy.pass;
  }

  bool isWrong(const Value* value) const {
    const auto* difference = differenceOfValue(value);
    return difference != nullptr && difference->has_value() && !(*difference)->accuracy.pass;
  }

  // Wrong pairs that lead to the results through values that are not known to be right, in order of the graph.
  std::vector<std::size_t> wrongBehindResults() {
    std::unordered_set<const Value*> reached;
    std::vector<const Value*> open;
    for (const Value* output : graphs_.otherGraph().outputs()) open.push_back(output);
    while (!open.empty()) {
      const Value* value = open.back();
      open.pop_back();
      if (!isComputed(value) || isRight(value) || !reached.insert(value).second) continue;
      for (const Value* input : value->node()->inputs()) open.push_back(input);
    }
    std::vector<std::size_t> wrong;
    for (Node* node : graphs_.otherGraph().nodes()) {
      for (const Value* output : node->outputs()) {
        if (reached.count(output) != 0 && isWrong(output)) wrong.push_back(pair_of_.at(output));
      }
    }
    return wrong;
  }

  // The first wrong pair of which all operands are right, as far as they are known.
  std::optional<std::size_t> firstBehindRight() const {
    for (Node* node : graphs_.otherGraph().nodes()) {
      const bool right = std::none_of(node->inputs().begin(), node->inputs().end(),
                                      [this](const Value* input) { return isWrong(input); });
      for (const Value* output : node->outputs()) {
        if (right && isWrong(output)) return pair_of_.at(output);
      }
    }
    return std::nullopt;
  }

  // The first of them that makes results right when it is right itself.
  std::optional<std::size_t> mending(const std::vector<std::size_t>& wrong) const {
    for (std::size_t w = 0; w < std::min(wrong.size(), kMaxTries); ++w) {
      if (graphs_.run({pairs_[wrong[w]]}, 0).results.pass) return wrong[w];
    }
    return std::nullopt;
  }

  // Large elements that are right, those of a mask for example, hide errors that the tolerance measures by the largest.
  // Values before `chosen` that differ at all by more than FP32 rounds are therefore tried, too, the nearest first.
  std::size_t earliestMending(std::size_t chosen) const {
    constexpr int kMaxMisses = 3;
    if (graphs_.tolerance().rule.precision != Precision::kFp32) return chosen;
    const std::vector<const Value*> candidates = differingBehind(pairs_[chosen].other);
    const std::unordered_set<const Value*> differing(candidates.begin(), candidates.end());
    int misses = 0;
    for (std::size_t c = candidates.size(); c-- > 0 && misses < kMaxMisses;) {
      if (!allErrorsPass(candidates[c], pairs_[chosen].other, differing)) continue;
      const std::size_t pair = pair_of_.at(candidates[c]);
      const bool mends = graphs_.run({pairs_[pair]}, 0).results.pass;
      if (mends) chosen = pair;
      misses = mends ? 0 : misses + 1;
    }
    return chosen;
  }

  // In order of the graph.
  std::vector<const Value*> differingBehind(const Value* value) const {
    constexpr double kRounding = 1e-6;
    const std::unordered_set<const Value*> before = allBehind(value);
    std::vector<const Value*> differing;
    for (Node* node : graphs_.otherGraph().nodes()) {
      for (const Value* output : node->outputs()) {
        const auto* difference = before.count(output) != 0 ? differenceOfValue(output) : nullptr;
        if (difference != nullptr && difference->has_value() && !((*difference)->accuracy.max_rel <= kRounding))
          differing.push_back(output);
      }
    }
    return differing;
  }

  // True if no error reaches `end` beside `value`: what differs and reaches it another way depends on `value`. A value
  // on one of two branches that carry an error mends nothing.
  static bool allErrorsPass(const Value* value, const Value* end, const std::unordered_set<const Value*>& differing) {
    const std::unordered_set<const Value*> readers = allReading(value);
    std::unordered_set<const Value*> met{value};
    std::vector<const Value*> open;
    for (const Value* input : end->node()->inputs()) open.push_back(input);
    while (!open.empty()) {
      const Value* next = open.back();
      open.pop_back();
      if (!isComputed(next) || !met.insert(next).second) continue;
      if (differing.count(next) != 0 && readers.count(next) == 0) return false;
      open.insert(open.end(), next->node()->inputs().begin(), next->node()->inputs().end());
    }
    return true;
  }

  // The values that a value depends on.
  static std::unordered_set<const Value*> allBehind(const Value* value) {
    std::unordered_set<const Value*> behind;
    std::vector<const Value*> open(value->node()->inputs().begin(), value->node()->inputs().end());
    while (!open.empty()) {
      const Value* next = open.back();
      open.pop_back();
      if (!isComputed(next) || !behind.insert(next).second) continue;
      open.insert(open.end(), next->node()->inputs().begin(), next->node()->inputs().end());
    }
    return behind;
  }

  // The values that depend on a value.
  static std::unordered_set<const Value*> allReading(const Value* value) {
    std::unordered_set<const Value*> reading;
    std::vector<const Value*> open{value};
    while (!open.empty()) {
      const Value* next = open.back();
      open.pop_back();
      for (const auto& use : next->uses()) {
        for (const Value* output : use.user->outputs()) {
          if (reading.insert(output).second) open.push_back(output);
        }
      }
    }
    return reading;
  }

  void describe(std::size_t p, FirstWrongNode* first) const {
    first->pair = pairs_[p];
    first->wrong = named(p);
    AccuracyRecord& accuracy = first->wrong->accuracy;
    if (accuracy.pass)
      accuracy.text += "; within the tolerance by its largest element, but all that is wrong comes from it";
    accuracy.pass = false;
    std::unordered_set<const Value*> met;
    addFeeds(pairs_[p].other->node(), &met, &first->feeds);
  }

  void describeFailure(FirstWrongNode* first) const {
    ValueDifference wrong;
    if (!found_.failed->outputs().empty()) {
      const Value* output = found_.failed->output(0);
      const auto found = pair_of_.find(output);
      if (found != pair_of_.end()) {
        first->pair = pairs_[found->second];
        wrong = names_.original(pairs_[found->second].original);
      }
      wrong.other = names_.other(output);
    }
    wrong.accuracy.pass = false;
    wrong.accuracy.text = fmt::format("it fails: {}", found_.failure);
    first->wrong = wrong;
    std::unordered_set<const Value*> met;
    addFeeds(found_.failed, &met, &first->feeds);
  }

  // Values that the node reads; those that were not compared are looked through.
  void addFeeds(const Node* node, std::unordered_set<const Value*>* met, std::vector<ValueDifference>* feeds) const {
    for (const Value* input : node->inputs()) {
      if (!isComputed(input) || !met->insert(input).second) continue;
      if (isRight(input) || isWrong(input)) {
        feeds->push_back(named(pair_of_.at(input)));
      } else {
        addFeeds(input->node(), met, feeds);
      }
    }
  }

  ValueDifference named(std::size_t p) const {
    return withNames(names_.original(pairs_[p].original), names_.other(pairs_[p].other), *found_.differences[p]);
  }

  const Lockstep& graphs_;
  const std::vector<ValuePair>& pairs_;
  const NodeNames& names_;
  std::unordered_map<const Value*, std::size_t> pair_of_;
  LockstepResult found_;
};

}  // namespace

std::string nodeName(const Origin& origin) {
  return origin.module_path.empty() ? origin.kind : fmt::format("{} ({})", origin.module_path, origin.kind);
}

std::string nodeName(const OriginTable& table, const Node* node) {
  const auto ids = table.of(node);
  Origin named;
  if (!ids.empty()) named.module_path = table.origins().at(static_cast<std::size_t>(ids.back())).module_path;
  named.kind = node->kind().toQualString();
  return nodeName(named);
}

NodeNames namesOf(const OriginTable& original, const OriginTable& other) {
  NodeNames names;
  names.original = [&original](const Value* value) {
    ValueDifference difference;
    difference.name = isComputed(value) ? nodeName(original, value->node()) : "%" + value->debugName();
    difference.origins = original.of(value).vec();
    if (!difference.origins.empty())
      difference.source = original.origins().at(static_cast<std::size_t>(difference.origins.back())).source;
    return difference;
  };
  names.other = [&other](const Value* value) { return nodeName(other, value->node()); };
  return names;
}

FirstWrongNode firstWrongNode(Lockstep graphs, const std::vector<ValuePair>& pairs, const NodeNames& names,
                              const WrongNodeOptions& options) {
  constexpr double kNarrower[] = {1e-4, 2e-5, 4e-6};
  FirstWrongNode first;
  for (const double share : kNarrower) {
    ValueTolerance tolerance = graphs.tolerance();
    tolerance.share = std::min(tolerance.share, share);
    graphs.setTolerance(tolerance);
    first = WrongNodeSearch(graphs, pairs, names).find(options.pairs_are_sure);
    if (first.wrong || !options.results_are_wrong || tolerance.rule.precision != Precision::kFp32) break;
  }
  return first;
}

void lookInside(const Lockstep& graphs, const std::vector<ValuePair>& pairs, const std::vector<ValuePair>& inside,
                const NodeNames& names, FirstWrongNode* first) {
  const auto wrong = firstWrongInside(graphs, inside);
  if (!wrong) return;
  const Node* around = wrong->pair.original->node();
  while (around->owningBlock() != graphs.originalGraph().block()) around = around->owningBlock()->owningNode();
  if (first->pair && first->pair->original->node() != around) {
    // A list that the loop fills can be wrong where its own results are right.
    const bool right =
        std::any_of(pairs.begin(), pairs.end(), [&](const ValuePair& pair) { return pair.original->node() == around; });
    if ((right && !wrong->clear) || first->pair->original->node()->isBefore(around)) return;
  }
  const auto named = [&](const ValuePair& pair, const ValueDifference& difference) {
    return withNames(names.original(pair.original), names.other(pair.other), difference);
  };
  first->pair = wrong->pair;
  first->wrong = named(wrong->pair, wrong->difference);
  first->feeds.clear();
  for (const ValuePair& read : wrong->reads) first->feeds.push_back(named(read, {}));
}

}  // namespace ipex_studio
