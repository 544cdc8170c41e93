#include "passes/norm/norm_forms.h"

#include <algorithm>
#include <string>

#include "core/graph/elementwise.h"
#include "core/graph/node_facts.h"

namespace ipex_studio {

using torch::jit::Node;
using torch::jit::Value;

std::optional<Mean> readMean(Value* value) {
  Node* node = value->node();
  if (!isKind(node, "aten::mean") || node->inputs().size() != 4 || !isNone(node->input(3))) return std::nullopt;
  const auto axes = constantInts(node->input(1));
  if (!axes || axes->empty() || constantBool(node->input(2)) != true) return std::nullopt;
  return Mean{node->input(0), *axes};
}

std::optional<Deviation> readDeviation(Value* value, bool inverse, std::vector<Node*>* nodes) {
  nodes->push_back(value->node());
  if (inverse && isKind(value->node(), "aten::reciprocal")) {
    value = value->node()->input(0);
    nodes->push_back(value->node());
    inverse = false;
  }
  if (!isKind(value->node(), inverse ? "aten::rsqrt" : "aten::sqrt")) return std::nullopt;
  const Affine affine = readAffine(value->node()->input(0));
  if (affine.nodes.empty() || affine.scale != 1) return std::nullopt;
  nodes->insert(nodes->end(), affine.nodes.begin(), affine.nodes.end());
  return Deviation{affine.value, affine.offset};
}

bool isSquareOf(Value* value, const Value* x, std::vector<Node*>* nodes) {
  const Product product = readProduct(value);
  nodes->insert(nodes->end(), product.nodes.begin(), product.nodes.end());
  return product.coefficient == 1 && product.factors.size() == 2 && product.factors[0] == x && product.factors[1] == x;
}

std::optional<at::Tensor> takeAffine(const char* kind, Node** last, std::vector<Node*>* nodes) {
  Value* value = (*last)->output();
  if (value->uses().size() != 1) return std::nullopt;
  Node* user = value->uses()[0].user;
  if (std::string(kind) != user->kind().toQualString()) return std::nullopt;
  const auto elementwise = readElementwise(user, user->input(0) == value ? 0 : 1);
  if (!elementwise || !elementwise->operand || elementwise->post_ops.size() != 1) return std::nullopt;
  const PostOp& op = elementwise->post_ops[0];
  const auto constant = constantTensor(elementwise->operand);
  if (!constant || (op.kind == PostOpKind::kAdd && op.alpha != 1)) return std::nullopt;
  nodes->push_back(user);
  *last = user;
  return constant;
}

bool areTrailing(std::vector<std::int64_t> axes, std::size_t rank) {
  const auto ranks = static_cast<std::int64_t>(rank);
  for (std::int64_t& axis : axes) axis = axis < 0 ? axis : axis - ranks;
  std::sort(axes.begin(), axes.end());
  for (std::size_t i = 0; i < axes.size(); ++i) {
    if (axes[i] != static_cast<std::int64_t>(i) - static_cast<std::int64_t>(axes.size())) return false;
  }
  return true;
}

bool trimAffine(std::optional<at::Tensor>* tensor, const std::vector<std::int64_t>& sizes, std::size_t rank) {
  if (!*tensor) return true;
  if (static_cast<std::size_t>((*tensor)->dim()) > rank || (*tensor)->numel() != c10::multiply_integers(sizes))
    return false;
  std::vector<std::int64_t> own = (*tensor)->sizes().vec();
  while (own.size() > sizes.size() && own.front() == 1) own.erase(own.begin());
  if (own != sizes) return false;
  *tensor = (*tensor)->detach().reshape(sizes);
  return true;
}

}  // namespace ipex_studio
