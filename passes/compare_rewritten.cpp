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
  std::size_t place = 0;
  for (const Node* node : rewritten->nodes()) {
    if (node->kind() != c10::prim::Constant && place < optimized.rewritten_origins.size())
      origins[node] = optimized.rewritten_origins[place++];
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
  FirstWrongNode first = firstWrongNode(Lockstep(original.module, optimized.rewritten, inputs, ValueTolerance{rule}),
                                        pairs, names, {results_are_wrong, false});
  // All nodes of the original that the wrong node stands for.
  if (first.wrong && first.pair) {
    const auto found = origins.find(first.pair->other->node());
    if (found != origins.end()) first.wrong->origins = found->second;
  }
  return first;
}

}  // namespace ipex_studio
