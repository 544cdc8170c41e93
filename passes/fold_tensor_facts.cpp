// Answers questions about tensors that the example run has answered: their dtype, whether it is of floats, where they live,
// whether they are nested or want gradients, and whether one value is another.
//   before  %d = prim::dtype(%x)   %n = prim::is_nested(%x)   %s = aten::__is__(%x, %x)   %y = prim::If(%s) …
//   after   6, false, true         which fold-constants decides
// Scripted modules of PyTorch ask these before they compute anything. Plans take the example's dtype and rank alone, and
// dense tensors of the CPU; they compute no gradients.
// Declines: nothing with a remark: what the example did not reach may never be asked.
// Runs before fold-constants, which takes the branch that the answer leaves. Numerics: none.
#include <string>

#include "core/graph/node_facts.h"
#include "passes/pass_list.h"

namespace ipex_studio {
namespace {

using torch::jit::IValue;
using torch::jit::Node;
using torch::jit::Value;

// nullopt: not one of these questions, or not answered.
std::optional<IValue> answerOf(const Node* node) {
  const std::string kind = node->kind().toQualString();
  if (kind == "aten::__is__" || kind == "aten::__isnot__") {
    // Of different values nobody knows: the caller may give one tensor twice.
    if (node->input(0) != node->input(1)) return std::nullopt;
    return IValue(kind == "aten::__is__");
  }
  const auto dtype = knownDtype(node->input(0));
  if (!dtype) return std::nullopt;
  if (kind == "prim::dtype") return IValue(static_cast<std::int64_t>(*dtype));
  if (kind == "aten::is_floating_point") return IValue(at::isFloatingType(*dtype));
  if (kind == "prim::device") return IValue(at::Device(at::kCPU));
  if (kind == "prim::is_cuda" || kind == "prim::is_nested" || kind == "prim::requires_grad") return IValue(false);
  return std::nullopt;
}

const std::vector<const char*>& questions() {
  static const std::vector<const char*> kinds = {"aten::__is__", "aten::__isnot__", "prim::dtype", "aten::is_floating_point",
                                                 "prim::device", "prim::is_cuda", "prim::is_nested", "prim::requires_grad"};
  return kinds;
}

bool foldTensorFacts(torch::jit::Graph& graph, PassContext& context) {
  bool changed = false;
  for (Node* node : context.nodes(questions())) {
    if (!context.rewriter.alive(node) || node->outputs().size() != 1 || node->inputs().empty()) continue;
    const auto answer = answerOf(node);
    if (!answer) continue;
    if (!context.rewriter.permit()) break;
    context.rewriter.replace({node}, node->output(), context.rewriter.constant(*answer, node), "answered by the example run");
    changed = true;
  }
  return changed;
}

}  // namespace

const Pass kFoldTensorFacts = {"fold-tensor-facts", "Answers questions about tensors that the example run has answered.", &foldTensorFacts, questions()};

}  // namespace ipex_studio
