#include "core/graph/decompose_sdpa.h"

#include <torch/csrc/jit/passes/inliner.h>
#include <torch/jit.h>

#include "core/graph/node_facts.h"
#include "core/graph/origins.h"

namespace ipex_studio {

#if IPEX_NEEDS_SDPA_SHIM

namespace {

// As sdpa_shim.cpp computes it. Dropout is refused there. 11: bool.
constexpr char kAttentionSource[] = R"(
def additive(mask: Tensor, like: Tensor) -> Tensor:
    if mask.dtype == 11:
        mask = torch.zeros(mask.size(), dtype=like.dtype, device=like.device).masked_fill(torch.logical_not(mask), -float('inf'))
    return mask

def attention(query: Tensor, key: Tensor, value: Tensor, mask: Optional[Tensor], dropout: float, causal: bool, scale: Optional[float]) -> Tensor:
    if scale is None:
        factor = 1.0 / (float(query.size(-1)) ** 0.5)
    else:
        factor = scale
    scores = torch.mul(torch.matmul(query, torch.transpose(key, -2, -1)), factor)
    if causal:
        lower = torch.tril(torch.ones([query.size(-2), key.size(-2)], dtype=11, device=scores.device))
        scores = scores + additive(lower, scores)
    if mask is not None:
        scores = scores + additive(mask, scores)
    return torch.matmul(torch.softmax(scores, -1), value)
)";

const torch::jit::Graph& attentionGraph() {
  static const std::shared_ptr<torch::jit::Graph> written = [] {
    const auto unit = torch::jit::compile(kAttentionSource);  // owns what is called until it is inlined
    auto graph = torch::jit::toGraphFunction(unit->get_function("attention")).graph()->copy();
    torch::jit::Inline(*graph);
    return graph;
  }();
  return *written;
}

}  // namespace

void decomposeAttention(torch::jit::Graph& graph) {
  for (torch::jit::Node* node : allNodes(graph)) {
    if (!isKind(node, "aten::scaled_dot_product_attention")) continue;
    const torch::jit::WithInsertPoint at(node);
    torch::jit::Value* result = torch::jit::insertGraph(graph, const_cast<torch::jit::Graph&>(attentionGraph()), node->inputs()).at(0);
    result->setType(node->output()->type());
    node->output()->replaceAllUsesWith(result);
    node->destroy();
  }
}

#else

void decomposeAttention(torch::jit::Graph&) {}

#endif

}  // namespace ipex_studio
