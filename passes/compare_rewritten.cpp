// The frozen graph beside the rewritten one.
#include "passes/compare_rewritten.h"

#include <fmt/format.h>

namespace ipex_studio {

using torch::jit::Node;
using torch::jit::Value;

FrozenOriginal::FrozenOriginal(const torch::jit::Module& original, const std::vector<std::string>& preserved)
    : module(freezeForPasses(original, preserved)) {
  table.assign(graph());
}

FirstWrongNode firstWrongRewritten(const FrozenOriginal& original, const OptimizedModel& optimized,
                                   const Inputs& inputs, const AccuracyRule& rule, bool results_are_wrong) {
  auto rewritten = optimized.rewritten.get_method("forward").graph();
  std::unordered_map<const Node*, std::vector<OriginId>> origins;
  std::size_t place = 0, inner = 0;
  for (const Node* node : allNodes(*rewritten)) {
    const bool top = node->owningBlock() == rewritten->block();
    const auto& ids = top ? optimized.rewritten_origins : optimized.inner_origins;
    std::size_t& next = top ? place : inner;
    if (next < ids.size()) origins[node] = ids[next++];
  }
  NodeNames names = namesOf(original.table, original.table);
  names.other = [&](const Value* value) {
    const auto found = origins.find(value->node());
    const std::string label = found == origins.end() ? "" : original.table.label(found->second);
    const std::string kind = value->node()->kind().toQualString();
    return label.empty() ? kind : fmt::format("{} ({})", label, kind);
  };
  const auto pairs =
      pairsByOrigins(original.graph(), original.table, *rewritten, optimized.rewritten_origins, optimized.divisors);
  const auto originsOf = [&](const Node* node) {
    const auto found = origins.find(node);
    return found == origins.end() ? std::vector<OriginId>() : found->second;
  };
  const Lockstep graphs(original.module, optimized.rewritten, inputs, ValueTolerance{rule});
  FirstWrongNode first = firstWrongNode(graphs, pairs, names, {results_are_wrong, false});
  if (results_are_wrong)
    lookInside(graphs, pairs, pairsInside(original.graph(), original.table, *rewritten, originsOf), names, &first);
  // All nodes of the original that the wrong node stands for.
  if (first.wrong && first.pair) {
    const auto found = origins.find(first.pair->other->node());
    if (found != origins.end()) first.wrong->origins = found->second;
  }
  return first;
}

}  // namespace ipex_studio
