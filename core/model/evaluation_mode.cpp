#include "core/model/evaluation_mode.h"

#include <string>

#include "core/graph/graph_index.h"
#include "core/torch/module_graphs.h"

namespace ipex_studio {

using torch::jit::Graph;
using torch::jit::Node;
using torch::jit::Value;

namespace {

std::optional<std::size_t> argument(const Node* node, const char* name) {
  const c10::FunctionSchema* schema = node->maybeSchema();
  const auto at = schema == nullptr ? c10::nullopt : schema->argumentIndexWithName(name);
  return at && static_cast<std::size_t>(*at) < node->inputs().size() ? std::optional<std::size_t>(*at) : std::nullopt;
}

bool isConstantNone(const Value* value) { return value->type()->kind() == c10::TypeKind::NoneType; }

// True if the operator has nothing else to go by than the batch.
bool lacksStatistics(const Node* node) {
  const auto mean = argument(node, "running_mean");
  return mean && isConstantNone(node->input(*mean));
}

void replaceInput(Node* node, std::size_t at, const torch::jit::IValue& value) {
  const torch::jit::WithInsertPoint point(node);
  node->replaceInput(at, node->owningGraph()->insertConstant(value));
}

// The argument that says whether the operator trains, where it does.
std::optional<std::size_t> trainingArgument(const Node* node) {
  for (const char* name : {"train", "training", "use_input_stats"}) {
    const auto at = argument(node, name);
    const auto given = at ? torch::jit::toIValue(node->input(*at)) : c10::nullopt;
    if (given && given->isBool() && given->toBool()) return at;
  }
  return std::nullopt;
}

bool evaluate(Node* node) {
  if (const auto at = trainingArgument(node); at && !lacksStatistics(node)) {
    replaceInput(node, *at, false);
    return true;
  }
  const auto dropped = argument(node, "dropout_p");
  const auto share = dropped ? torch::jit::toIValue(node->input(*dropped)) : c10::nullopt;
  if (!share || !share->isDouble() || share->toDouble() == 0) return false;
  replaceInput(node, *dropped, 0.0);
  return true;
}

// The sum by which a norm counts the batches that it has seen.
bool countsBatches(const Node* node) {
  if (node->kind() != c10::Symbol::fromQualString("aten::add_") || node->hasUses()) return false;
  const Node* from = node->input(0)->node();
  return from->kind() == c10::prim::GetAttr && from->s(c10::attr::name) == "num_batches_tracked";
}

}  // namespace

int bringIntoEvaluation(const torch::jit::Module& module) {
  int changed = 0;
  forEachGraph(module, [&](Graph& graph) {
    for (Node* node : allNodes(graph)) {
      if (countsBatches(node)) {
        node->destroy();
      } else {
        changed += evaluate(node) ? 1 : 0;
      }
    }
  });
  return changed;
}

}  // namespace ipex_studio
