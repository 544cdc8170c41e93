#include "core/lower/bf16_products.h"

#include <algorithm>
#include <string>
#include <unordered_set>

#include "core/graph/node_facts.h"
#include "core/graph/origins.h"

namespace ipex_studio {

using torch::jit::Node;
using torch::jit::Value;

namespace {

bool isProduct(const Node* node) {
  static const std::unordered_set<std::string> kProducts = {"aten::conv1d",
                                                            "aten::conv2d",
                                                            "aten::conv3d",
                                                            "aten::conv_transpose1d",
                                                            "aten::conv_transpose2d",
                                                            "aten::conv_transpose3d",
                                                            "aten::convolution",
                                                            "aten::_convolution",
                                                            "aten::linear",
                                                            "aten::matmul",
                                                            "aten::mm",
                                                            "aten::bmm",
                                                            "aten::addmm",
                                                            "aten::addbmm",
                                                            "aten::baddbmm",
                                                            "aten::einsum",
                                                            "aten::mv",
                                                            "aten::scaled_dot_product_attention"};
  return kProducts.count(node->kind().toQualString()) != 0;
}

bool isRoundedAtOnce(const Value* value) {
  const auto rounds = [&](const torch::jit::Use& use) {
    return isKind(use.user, "aten::to") && use.offset == 0 && knownDtype(use.user->output()) == at::kBFloat16;
  };
  return !value->uses().empty() && std::all_of(value->uses().begin(), value->uses().end(), rounds);
}

}  // namespace

bool multipliesInBf16(torch::jit::Graph& graph) {
  bool found = false;
  for (Node* node : allNodes(graph)) {
    if (!isProduct(node)) continue;
    const auto dtype = knownDtype(node->output());
    if (!dtype) continue;
    if (dtype != at::kBFloat16 && !isRoundedAtOnce(node->output())) return false;
    found = true;
  }
  return found;
}

}  // namespace ipex_studio
