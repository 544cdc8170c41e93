// Answers whether a value is quantized where what made it tells.
//   before  %b = prim::is_quantized(%x)   %y = prim::If(%b) …
//   after   %y = prim::If(true) …         which fold-constants decides
// PyTorch's functional forms ask this to choose an operator or to refuse. Declines: unknown-shape (an argument of the
// model, or what an operator that has both forms gives). Runs before fold-constants. Numerics: none.
#include <string>

#include "core/graph/rewrite_matches.h"
#include "passes/pass_list.h"

namespace ipex_studio {
namespace {

using torch::jit::Node;
using torch::jit::Value;

// True if the value is quantized, found through operators that hand their input on; nullopt if it is not known.
std::optional<bool> isQuantizedValue(const Value* value) {
  for (int depth = 0; depth < 1000; ++depth) {
    const Node* node = value->node();
    const std::string kind = node->kind().toQualString();
    if (kind == "aten::quantize_per_tensor" || kind == "aten::quantize_per_channel") return true;
    if (kind == "aten::dequantize" || kind == "aten::convolution" || kind == "aten::_convolution" ||
        kind == "aten::linear" || kind == "aten::int_repr")
      return false;
    if (kind.compare(0, 11, "quantized::") == 0) return kind.find("_dynamic") == std::string::npos;
    static const char* const kSame[] = {"aten::relu",
                                        "aten::relu_",
                                        "aten::hardtanh",
                                        "aten::hardtanh_",
                                        "aten::max_pool2d",
                                        "aten::avg_pool2d",
                                        "aten::adaptive_avg_pool2d",
                                        "aten::flatten",
                                        "aten::view",
                                        "aten::reshape",
                                        "aten::permute",
                                        "aten::transpose",
                                        "aten::contiguous",
                                        "aten::dropout",
                                        "aten::sigmoid",
                                        "aten::hardsigmoid",
                                        "aten::tanh",
                                        "aten::mean"};
    bool same = false;
    for (const char* name : kSame) same |= kind == name;
    if (!same) return std::nullopt;
    value = node->input(0);
  }
  return std::nullopt;
}

std::optional<bool> matchQuestion(PassContext&, const Node* node, Decline* why) {
  if (node->kind() != c10::Symbol::fromQualString("prim::is_quantized")) return std::nullopt;
  const auto answer = isQuantizedValue(node->input(0));
  if (!answer) *why = {reasons::kUnknownShape, "It is not known whether the value is quantized."};
  return answer;
}

void rewriteQuestion(Rewriter& rewriter, Node* node, bool answer) {
  rewriter.replace({node}, node->output(), rewriter.constant(answer, node),
                   answer ? "it is quantized" : "it is not quantized");
}

bool foldIsQuantized(torch::jit::Graph& graph, PassContext& context) {
  return rewriteMatches(context, context.nodes(kFoldIsQuantized.needs), matchQuestion, rewriteQuestion);
}

}  // namespace

const Pass kFoldIsQuantized = {"fold-is-quantized",
                               "Answers whether a value is quantized where that is known.",
                               &foldIsQuantized,
                               {"prim::is_quantized"}};

}  // namespace ipex_studio
