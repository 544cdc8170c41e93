#include "passes/match/permutation.h"

#include <numeric>
#include <utility>

#include "core/graph/fused_op.h"
#include "passes/match/pieces.h"

namespace ipex_studio {

using torch::jit::Node;
namespace aten = torch::jit::aten;

std::optional<Permutation> permutationOf(const Node* node) {
  if (node->kind() == aten::permute) {
    auto order = constantInts(node->input(1));
    if (!order) return std::nullopt;
    for (auto& axis : *order) axis += axis < 0 ? static_cast<std::int64_t>(order->size()) : 0;
    return order;
  }
  const bool is_t = node->kind() == aten::t;
  if (!is_t && (node->kind() != aten::transpose || node->inputs().size() != 3)) return std::nullopt;
  const auto sizes = knownSizes(node->input(0));
  if (!sizes || (is_t && sizes->size() != 2)) return std::nullopt;
  const auto a = is_t ? std::optional<std::int64_t>(0) : readAxis(node->input(1), node->input(0));
  const auto b = is_t ? std::optional<std::int64_t>(1) : readAxis(node->input(2), node->input(0));
  if (!a || !b) return std::nullopt;
  Permutation order(sizes->size());
  std::iota(order.begin(), order.end(), 0);
  std::swap(order[static_cast<std::size_t>(*a)], order[static_cast<std::size_t>(*b)]);
  return order;
}

bool isIdentityPermutation(const Permutation& order) {
  for (std::size_t i = 0; i < order.size(); ++i) {
    if (order[i] != static_cast<std::int64_t>(i)) return false;
  }
  return true;
}

}  // namespace ipex_studio
