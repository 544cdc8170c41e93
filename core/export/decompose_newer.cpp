// Bodies in TorchScript of operators that an older libtorch lacks, and their inlining.
#include "core/export/decompose_newer.h"

#include <torch/csrc/jit/passes/inliner.h>
#include <torch/jit.h>

#include <map>
#include <string>

#include "core/graph/origins.h"
#include "core/torch/stft_version.h"

namespace ipex_studio {
namespace {

struct NewerOperator {
  bool is_ours;
  const char* kind;
  const char* source;        // TorchScript; its function is called `written`
  std::size_t operands = 0;  // of the form that is newer; 0: all forms are
};

// The bodies compute the same as the shims; the shims refuse dropout. dtype 6, 7, 11: float, double, bool.
constexpr NewerOperator kNewerOperators[] = {{IPEX_NEEDS_SDPA_SHIM, "aten::scaled_dot_product_attention", R"(
def additive(mask: Tensor, like: Tensor) -> Tensor:
    if mask.dtype == 11:
        mask = torch.zeros(mask.size(), dtype=like.dtype, device=like.device).masked_fill(torch.logical_not(mask), -float('inf'))
    return mask

def written(query: Tensor, key: Tensor, value: Tensor, mask: Optional[Tensor], dropout: float, causal: bool, scale: Optional[float], in_groups: bool) -> Tensor:
    if in_groups:
        key = torch.repeat_interleave(key, query.size(-3) // key.size(-3), -3)
        value = torch.repeat_interleave(value, query.size(-3) // value.size(-3), -3)
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
)"},
                                             {IPEX_NEEDS_RMS_NORM_SHIM, "aten::rms_norm", R"(
def written(input: Tensor, normalized_shape: List[int], weight: Optional[Tensor], eps: Optional[float]) -> Tensor:
    axes = [-1 - i for i in range(len(normalized_shape))]
    if eps is not None:
        least = eps
    elif input.dtype == 7:
        least = 2.220446049250313e-16
    else:
        least = 1.1920928955078125e-07
    y = torch.mul(input, torch.rsqrt(torch.add(torch.mean(torch.pow(input, 2), axes, True), least)))
    if weight is not None:
        y = torch.mul(y, weight)
    return y
)"},
                                             {IPEX_NEEDS_STFT_SHIM, "aten::stft", R"(
def written(x: Tensor, n_fft: int, hop: Optional[int], win: Optional[int], window: Optional[Tensor], normalized: bool, onesided: Optional[bool], return_complex: Optional[bool], align: Optional[bool]) -> Tensor:
    return torch.stft(x, n_fft, hop, win, window, normalized, onesided, return_complex)
)",
                                              9},
                                             {IPEX_NEEDS_STFT_SHIM, "aten::stft", R"(
def written(x: Tensor, n_fft: int, hop: Optional[int], win: Optional[int], window: Optional[Tensor], center: bool, pad: str, normalized: bool, onesided: Optional[bool], return_complex: Optional[bool], align: Optional[bool]) -> Tensor:
    return torch.stft(x, n_fft, hop, win, window, center, pad, normalized, onesided, return_complex)
)",
                                              11}};

// Graphs of the operators that this libtorch lacks, by name and number of operands (0: any).
using WrittenGraphs = std::map<std::pair<std::string, std::size_t>, std::shared_ptr<torch::jit::Graph>>;

const WrittenGraphs& writtenGraphs() {
  static const auto graphs = [] {
    WrittenGraphs written;
    for (const NewerOperator& newer : kNewerOperators) {
      if (!newer.is_ours) continue;
      const auto unit = torch::jit::compile(newer.source);  // owns the called functions until they are inlined
      const auto graph = torch::jit::toGraphFunction(unit->get_function("written")).graph()->copy();
      torch::jit::Inline(*graph);
      written[{newer.kind, newer.operands}] = graph;
    }
    return written;
  }();
  return graphs;
}

}  // namespace

void decomposeNewerOperators(torch::jit::Graph& graph) {
  for (torch::jit::Node* node : allNodes(graph)) {
    const std::string kind = node->kind().toQualString();
    auto written = writtenGraphs().find({kind, node->inputs().size()});
    if (written == writtenGraphs().end()) written = writtenGraphs().find({kind, 0});
    if (written == writtenGraphs().end()) continue;
    const torch::jit::WithInsertPoint at(node);
    torch::jit::Value* result = torch::jit::insertGraph(graph, *written->second, node->inputs()).at(0);
    result->setType(node->output()->type());
    node->output()->replaceAllUsesWith(result);
    node->destroy();
  }
}

}  // namespace ipex_studio
