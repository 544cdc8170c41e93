// Takes a size for known behind a check that lets one size through.
//   before  %n = aten::size(%x, 2)   %c = aten::eq(%n, 256)   prim::If(%c) … else prim::RaiseException()
//           %m = aten::size(%x, -1)
//   after   the same, where all that read %n or %m behind the check read 256
// Scripted attention checks its width and splits its weights by it. The check itself stays: other sizes are refused as
// before.
// Declines: nothing with a remark. Runs before fold-constants, which runs it again behind every branch it takes.
// Numerics: none.
#include <algorithm>
#include <optional>
#include <vector>

#include "core/graph/node_facts.h"
#include "core/graph/pass.h"
#include "passes/pass_list.h"

namespace ipex_studio {
namespace {

using torch::jit::Block;
using torch::jit::Node;
using torch::jit::Value;

bool refuses(const Block* block) {
  return std::any_of(block->nodes().begin(), block->nodes().end(),
                     [](const Node* node) { return isKind(node, "prim::RaiseException"); });
}

// The axis of aten::size(x, axis), counted from the front.
std::optional<std::int64_t> askedAxis(const Node* node) {
  if (!isKind(node, "aten::size") || node->inputs().size() != 2) return std::nullopt;
  const auto axis = constantInt(node->input(1));
  const auto sizes = knownSizes(node->input(0));
  if (!axis || (*axis < 0 && !sizes)) return std::nullopt;
  return *axis < 0 ? *axis + static_cast<std::int64_t>(sizes->size()) : *axis;
}

struct Check {
  Value* size = nullptr;    // nullptr: not one of these
  Value* number = nullptr;  // what it is behind the check
};

// prim::If(size == number) that goes on only where it holds.
Check readCheck(const Node* node) {
  const Node* condition = node->input(0)->node();
  const bool equal = isKind(condition, "aten::eq"), unequal = isKind(condition, "aten::ne");
  if ((!equal && !unequal) || node->blocks().size() != 2) return {};
  const Block *holds = node->blocks()[equal ? 0 : 1], *fails = node->blocks()[equal ? 1 : 0];
  if (!refuses(fails) || refuses(holds)) return {};
  Value *a = condition->input(0), *b = condition->input(1);
  if (constantInt(a)) std::swap(a, b);
  return askedAxis(a->node()) && constantInt(b) ? Check{a, b} : Check{};
}

// The same size, however it is asked for.
std::vector<Value*> sameSizes(const Value* size) {
  std::vector<Value*> same;
  for (const torch::jit::Use& use : size->node()->input(0)->uses()) {
    if (use.offset == 0 && askedAxis(use.user) && askedAxis(use.user) == askedAxis(size->node()))
      same.push_back(use.user->output());
  }
  return same;
}

bool propagateChecks(torch::jit::Graph& graph, PassContext& context) {
  bool changed = false;
  for (Node* node : context.nodes({"prim::If"})) {
    if (!context.rewriter.alive(node)) continue;
    const Check check = readCheck(node);
    if (check.size == nullptr) continue;
    for (Value* size : sameSizes(check.size)) {
      const std::vector<torch::jit::Use> uses = size->uses();
      for (const torch::jit::Use& use : uses) {
        if (!use.user->isDominatedBy(node)) continue;
        if (!context.rewriter.permit()) return changed;
        context.rewriter.replaceInput(use.user, use.offset, check.number);
        context.rewriter.finish(use.user, "a size that a check lets through");
        changed = true;
      }
    }
  }
  return changed;
}

}  // namespace

const Pass kPropagateChecks = {"propagate-checks",
                               "Takes a size for known behind a check that lets one size through.",
                               &propagateChecks,
                               {"prim::RaiseException"}};

}  // namespace ipex_studio
