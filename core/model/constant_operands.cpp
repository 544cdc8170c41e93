#include "core/model/constant_operands.h"

#include "core/graph/fused_op.h"
#include "core/graph/graph_index.h"

namespace ipex_studio {

using torch::jit::Node;
namespace aten = torch::jit::aten;

namespace {

bool isArithmetic(const Node* node) {
  const auto kind = node->kind();
  const std::size_t inputs = node->inputs().size();
  return ((kind == aten::add || kind == aten::sub) && inputs == 3) ||
         ((kind == aten::mul || kind == aten::div) && inputs == 2);
}

std::optional<torch::jit::IValue> numberOf(const torch::jit::Value* operand) {
  const auto tensor = constantTensor(operand);
  if (!tensor || tensor->dim() != 0) return std::nullopt;
  if (at::isFloatingType(tensor->scalar_type())) return torch::jit::IValue(tensor->item<double>());
  if (at::isIntegralType(tensor->scalar_type(), false)) return torch::jit::IValue(tensor->item<std::int64_t>());
  return std::nullopt;
}

}  // namespace

void writeConstantOperandsAsNumbers(torch::jit::Graph& graph) {
  for (Node* node : allNodes(graph)) {
    if (!isArithmetic(node) || node->input(0)->type()->kind() != c10::TypeKind::TensorType) continue;
    const auto number = numberOf(node->input(1));
    if (!number) continue;
    const torch::jit::WithInsertPoint point(node);
    node->replaceInput(1, graph.insertConstant(*number));
  }
}

}  // namespace ipex_studio
