#include "passes/match/algebra.h"

#include <algorithm>
#include <cmath>

#include "core/graph/elementwise.h"
#include "core/graph/node_facts.h"

namespace ipex_studio {

using torch::jit::Node;
using torch::jit::Value;

namespace {

constexpr std::size_t kMaxDepth = 16;

bool readableThrough(const Value* value, const Node* root) {
  return value->uses().size() == 1 && value->node()->owningBlock() == root->owningBlock();
}

// Multiplies `product` by `value`.
void multiply(Value* value, const Node* root, std::size_t depth, Product* product) {
  Node* node = value->node();
  const bool may_read = depth == 0 || (depth < kMaxDepth && readableThrough(value, root));
  if (!may_read || node->inputs().size() > 2) {
    product->factors.push_back(value);
    return;
  }
  const std::size_t powers = isKind(node, "aten::square") ? 2 : isKind(node, "aten::neg") ? 1 : 0;
  if (powers != 0) {
    product->nodes.push_back(node);
    if (powers == 1) product->coefficient = -product->coefficient;
    for (std::size_t i = 0; i < powers; ++i) multiply(node->input(0), root, kMaxDepth, product);
    return;
  }
  const bool is_mul = isKind(node, "aten::mul");
  const bool is_div = isKind(node, "aten::div");
  const bool is_pow = isKind(node, "aten::pow");
  if ((!is_mul && !is_div && !is_pow) || node->inputs().size() != 2) {
    product->factors.push_back(value);
    return;
  }
  const auto right = scalarOperand(node->input(1), node->input(0));
  const auto left = scalarOperand(node->input(0), node->input(1));
  if (is_pow) {
    if (right != 2.0 && right != 3.0) {
      product->factors.push_back(value);
      return;
    }
    product->nodes.push_back(node);
    for (double i = 0; i < *right; ++i) multiply(node->input(0), root, kMaxDepth, product);
  } else if (right && (is_mul || *right != 0)) {
    product->nodes.push_back(node);
    product->coefficient *= is_mul ? *right : 1 / *right;
    multiply(node->input(0), root, depth + 1, product);
  } else if (is_mul && left) {
    product->nodes.push_back(node);
    product->coefficient *= *left;
    multiply(node->input(1), root, depth + 1, product);
  } else if (is_mul) {
    product->nodes.push_back(node);
    multiply(node->input(0), root, depth + 1, product);
    multiply(node->input(1), root, depth + 1, product);
  } else {
    product->factors.push_back(value);
  }
}

// The number-only post-op of a node on either side, as factor and offset.
std::optional<Elementwise> readLinearNode(Node* node) {
  for (std::size_t side : {0, 1}) {
    auto elementwise = readElementwise(node, side);
    if (!elementwise || elementwise->operand) continue;
    if (elementwise->post_ops[0].kind == PostOpKind::kNeg)
      elementwise->post_ops[0] = unaryPostOp(PostOpKind::kLinear, -1, 0);
    if (elementwise->post_ops[0].kind == PostOpKind::kLinear) return elementwise;
  }
  return std::nullopt;
}

}  // namespace

bool Product::has(const Value* value) const {
  return std::find(factors.begin(), factors.end(), value) != factors.end();
}

Value* Product::otherThan(const Value* value) const {
  if (factors.size() != 2 || factors[0] == factors[1]) return nullptr;
  if (factors[0] == value) return factors[1];
  return factors[1] == value ? factors[0] : nullptr;
}

Product readProduct(Value* value) {
  Product product;
  multiply(value, value->node(), 0, &product);
  return product;
}

Affine readAffine(Value* value) {
  Affine affine;
  affine.value = value;
  const Node* root = value->node();
  while (affine.nodes.size() < kMaxDepth && (affine.nodes.empty() || readableThrough(affine.value, root))) {
    const auto linear = readLinearNode(affine.value->node());
    if (!linear) break;
    affine.nodes.push_back(affine.value->node());
    affine.offset += affine.scale * linear->post_ops[0].beta;
    affine.scale *= linear->post_ops[0].alpha;
    affine.value = linear->data;
  }
  return affine;
}

std::optional<Sum> readSum(Value* value) {
  const auto elementwise = readElementwise(value->node(), 0);
  if (!elementwise || !elementwise->operand) return std::nullopt;
  const PostOp& op = elementwise->post_ops.back();
  if (op.kind == PostOpKind::kAdd) return Sum{elementwise->data, elementwise->operand, op.alpha, value->node()};
  if (op.kind == PostOpKind::kSub) return Sum{elementwise->data, elementwise->operand, -op.alpha, value->node()};
  return std::nullopt;
}

bool isAbout(double value, double expected) { return std::abs(value - expected) <= 1e-5 * std::abs(expected); }

bool onlyReadInside(const std::vector<Node*>& nodes, const Node* root) {
  const auto inside = [&](const Node* node) { return std::find(nodes.begin(), nodes.end(), node) != nodes.end(); };
  for (const Node* node : nodes) {
    if (node->owningBlock() != root->owningBlock()) return false;
    if (node == root) continue;
    for (const Value* output : node->outputs()) {
      for (const auto& use : output->uses()) {
        if (!inside(use.user)) return false;
      }
    }
  }
  return true;
}

}  // namespace ipex_studio
