// Operators as TorchScript in other operators, and the search for those that a target has.
#include "core/export/fit_target.h"

#include <torch/csrc/jit/runtime/operator.h>
#include <torch/jit.h>

#include <map>
#include <set>
#include <unordered_set>
#include <utility>

#include "core/graph/fused_op.h"
#include "core/graph/origins.h"

namespace ipex_studio {

using torch::jit::Node;
using torch::jit::Value;

namespace {

// Whether a way fits the operands of a node.
using Applies = bool (*)(const Node*);

bool always(const Node*) { return true; }

template <std::size_t kOperand>
bool isNoneAt(const Node* node) {
  return isNone(node->input(kOperand));
}
// True where the operand is given: an optional that is not known to be given or not fits neither way.
template <std::size_t kOperand>
bool isTensorAt(const Node* node) {
  return node->input(kOperand)->type()->isSubtypeOf(*c10::TensorType::get());
}
template <std::size_t kOperand, bool kValue>
bool isFlagAt(const Node* node) {
  return constantBool(node->input(kOperand)) == kValue;
}
template <std::size_t kOperand, std::size_t kLength>
bool hasLengthAt(const Node* node) {
  const auto list = constantInts(node->input(kOperand));
  return list && list->size() == kLength;
}
// A factor of 0 leaves NaN out of a product.
template <std::size_t kOperand>
bool isNotZeroAt(const Node* node) {
  const auto factor = constantNumber(node->input(kOperand));
  return factor && *factor != 0;
}
// True for constants of two axes, also behind a change of type.
template <std::size_t kOperand>
bool isMatrixAt(const Node* node) {
  const Value* value = node->input(kOperand);
  if (value->node()->kind() == c10::Symbol::fromQualString("aten::to")) value = value->node()->input(0);
  const auto matrix = constantTensor(value);
  return matrix && matrix->dim() == 2;
}
template <bool kTanh>
bool isGelu(const Node* node) {
  const auto how = torch::jit::toIValue(node->input(1));
  return how && how->isString() && (how->toStringRef() == "tanh") == kTanh;
}
template <Applies... kEach>
bool all(const Node* node) {
  return (kEach(node) && ...);
}
template <std::size_t kAxes, bool kTransposed>
bool isConvolution(const Node* node) {
  return hasLengthAt<3, kAxes>(node) && isFlagAt<6, kTransposed>(node);
}

struct Way {
  const char* kind;
  Applies applies;
  const char* source;  // TorchScript; its function is called `written` and takes the operands of the node
};

// Bodies have no branches, so that what they need is plain.
constexpr Way kWays[] = {
    {"aten::silu", always, "def written(x: Tensor):\n  return torch.mul(x, torch.sigmoid(x))\n"},
    {"aten::mish", always, "def written(x: Tensor):\n  return torch.mul(x, torch.tanh(torch.log1p(torch.exp(x))))\n"},
    {"aten::gelu", all<isGelu<false>>,
     "def written(x: Tensor, how: str):\n"
     "  return torch.mul(torch.mul(x, 0.5), torch.add(torch.erf(torch.mul(x, 0.7071067811865476)), 1))\n"},
    {"aten::gelu", all<isGelu<true>>,
     "def written(x: Tensor, how: str):\n"
     "  cube = torch.mul(torch.mul(torch.mul(x, x), x), 0.044715)\n"
     "  inner = torch.mul(torch.add(x, cube), 0.7978845608028654)\n"
     "  return torch.mul(torch.mul(x, 0.5), torch.add(torch.tanh(inner), 1))\n"},
    {"aten::hardswish", always,
     "def written(x: Tensor):\n  return torch.div(torch.mul(x, torch.clamp(torch.add(x, 3), 0, 6)), 6)\n"},
    {"aten::hardsigmoid", always,
     "def written(x: Tensor):\n  return torch.div(torch.clamp(torch.add(x, 3), 0, 6), 6)\n"},
    {"aten::relu6", always, "def written(x: Tensor):\n  return torch.clamp(x, 0, 6)\n"},
    {"aten::hardtanh", always,
     "def written(x: Tensor, low: number, high: number):\n  return torch.clamp(x, low, high)\n"},
    {"aten::relu", always, "def written(x: Tensor):\n  return torch.clamp_min(x, 0)\n"},
    {"aten::clamp_min", always, "def written(x: Tensor, low: number):\n  return torch.clamp(x, low)\n"},
    {"aten::clamp_max", always, "def written(x: Tensor, high: number):\n  return torch.clamp(x, None, high)\n"},
    {"aten::leaky_relu", always,
     "def written(x: Tensor, slope: number):\n  return torch.where(torch.gt(x, 0), x, torch.mul(x, slope))\n"},
    {"aten::sigmoid", always,
     "def written(x: Tensor):\n  return torch.reciprocal(torch.add(torch.exp(torch.neg(x)), 1))\n"},
    {"aten::neg", always, "def written(x: Tensor):\n  return torch.mul(x, -1)\n"},
    {"aten::rsqrt", always, "def written(x: Tensor):\n  return torch.reciprocal(torch.sqrt(x))\n"},
    {"aten::addcmul", always,
     "def written(x: Tensor, a: Tensor, b: Tensor, by: number):\n"
     "  return torch.add(x, torch.mul(torch.mul(a, b), by))\n"},
    {"aten::linear", all<isMatrixAt<1>, isNoneAt<2>>,
     "def written(x: Tensor, w: Tensor, b: Optional[Tensor]):\n"
     "  return torch.matmul(x, torch.transpose(w, 0, 1))\n"},
    {"aten::linear", all<isMatrixAt<1>, isTensorAt<2>>,
     "def written(x: Tensor, w: Tensor, b: Tensor):\n"
     "  return torch.add(torch.matmul(x, torch.transpose(w, 0, 1)), b)\n"},
    {"aten::addmm", isNotZeroAt<3>,
     "def written(x: Tensor, a: Tensor, b: Tensor, beta: number, alpha: number):\n"
     "  return torch.add(torch.mul(torch.matmul(a, b), alpha), torch.mul(x, beta))\n"},
    {"aten::baddbmm", isNotZeroAt<3>,
     "def written(x: Tensor, a: Tensor, b: Tensor, beta: number, alpha: number):\n"
     "  return torch.add(torch.mul(torch.matmul(a, b), alpha), torch.mul(x, beta))\n"},
    {"aten::mm", always, "def written(a: Tensor, b: Tensor):\n  return torch.matmul(a, b)\n"},
    {"aten::bmm", always, "def written(a: Tensor, b: Tensor):\n  return torch.matmul(a, b)\n"},
    {"aten::softmax", isNoneAt<2>,
     "def written(x: Tensor, axis: int, dtype: Optional[int]):\n"
     "  e = torch.exp(torch.sub(x, torch.amax(x, [axis], True)))\n"
     "  return torch.div(e, torch.sum(e, [axis], True))\n"},
    {"aten::log_softmax", isNoneAt<2>,
     "def written(x: Tensor, axis: int, dtype: Optional[int]):\n"
     "  d = torch.sub(x, torch.amax(x, [axis], True))\n"
     "  return torch.sub(d, torch.log(torch.sum(torch.exp(d), [axis], True)))\n"},
    {"aten::layer_norm", all<hasLengthAt<1, 1>, isTensorAt<2>, isTensorAt<3>>,
     "def written(x: Tensor, sizes: List[int], w: Tensor, b: Tensor, eps: float, cudnn: bool):\n"
     "  d = torch.sub(x, torch.mean(x, [-1], True))\n"
     "  y = torch.mul(d, torch.rsqrt(torch.add(torch.mean(torch.mul(d, d), [-1], True), eps)))\n"
     "  return torch.add(torch.mul(y, w), b)\n"},
    {"aten::layer_norm", all<hasLengthAt<1, 1>, isNoneAt<2>, isNoneAt<3>>,
     "def written(x: Tensor, sizes: List[int], w: Optional[Tensor], b: Optional[Tensor], eps: float, cudnn: bool):\n"
     "  d = torch.sub(x, torch.mean(x, [-1], True))\n"
     "  return torch.mul(d, torch.rsqrt(torch.add(torch.mean(torch.mul(d, d), [-1], True), eps)))\n"},
    {"aten::convolution", isConvolution<1, false>,
     "def written(x: Tensor, w: Tensor, b: Optional[Tensor], stride: List[int], pad: List[int], dilation: List[int],"
     " transposed: bool, more: List[int], groups: int):\n"
     "  return torch.conv1d(x, w, b, stride, pad, dilation, groups)\n"},
    {"aten::convolution", isConvolution<2, false>,
     "def written(x: Tensor, w: Tensor, b: Optional[Tensor], stride: List[int], pad: List[int], dilation: List[int],"
     " transposed: bool, more: List[int], groups: int):\n"
     "  return torch.conv2d(x, w, b, stride, pad, dilation, groups)\n"},
    {"aten::convolution", isConvolution<3, false>,
     "def written(x: Tensor, w: Tensor, b: Optional[Tensor], stride: List[int], pad: List[int], dilation: List[int],"
     " transposed: bool, more: List[int], groups: int):\n"
     "  return torch.conv3d(x, w, b, stride, pad, dilation, groups)\n"},
    {"aten::convolution", isConvolution<1, true>,
     "def written(x: Tensor, w: Tensor, b: Optional[Tensor], stride: List[int], pad: List[int], dilation: List[int],"
     " transposed: bool, more: List[int], groups: int):\n"
     "  return torch.conv_transpose1d(x, w, b, stride, pad, more, groups, dilation)\n"},
    {"aten::convolution", isConvolution<2, true>,
     "def written(x: Tensor, w: Tensor, b: Optional[Tensor], stride: List[int], pad: List[int], dilation: List[int],"
     " transposed: bool, more: List[int], groups: int):\n"
     "  return torch.conv_transpose2d(x, w, b, stride, pad, more, groups, dilation)\n"},
    {"aten::convolution", isConvolution<3, true>,
     "def written(x: Tensor, w: Tensor, b: Optional[Tensor], stride: List[int], pad: List[int], dilation: List[int],"
     " transposed: bool, more: List[int], groups: int):\n"
     "  return torch.conv_transpose3d(x, w, b, stride, pad, more, groups, dilation)\n"}};

// Nodes that code writes as syntax: x[0], int(x), if, for.
bool isSyntax(const Node* node) {
  static const std::unordered_set<std::string> kinds = {
      "prim::Constant",      "prim::ListConstruct", "prim::TupleConstruct",
      "prim::DictConstruct", "prim::ListUnpack",    "prim::TupleUnpack",
      "prim::TupleIndex",    "prim::TupleSlice",    "prim::If",
      "prim::Loop",          "prim::Return",        "prim::Param",
      "prim::GetAttr",       "prim::SetAttr",       "prim::CallFunction",
      "prim::CallMethod",    "prim::CreateObject",  "prim::unchecked_cast",
      "prim::Uninitialized", "prim::isinstance",    "prim::Print",
      "prim::fork",          "prim::tolist",        "prim::EnumName",
      "prim::EnumValue",     "prim::HasAttr",       "aten::Int",
      "aten::Float",         "aten::Bool",          "prim::ImplicitTensorToNum",
      "prim::RaiseException"};
  return kinds.count(node->kind().toQualString()) != 0;
}

class TargetFitter {
 public:
  explicit TargetFitter(const std::vector<std::string>& only) : only_(only.begin(), only.end()) {}

  bool has(const Node* node) const { return isSyntax(node) || only_.count(node->kind().toQualString()) != 0; }

  // Replaces the node if a way leads to operators of the target, and fits the nodes of the way in turn.
  void fit(torch::jit::Graph& graph, Node* node) {
    if (has(node)) return;
    const Way* way = wayOf(node);
    if (way == nullptr) return;
    const torch::jit::WithInsertPoint at(node);
    Node* before = node->prev();
    Value* result = torch::jit::insertGraph(graph, *written(*way), node->inputs()).at(0);
    result->setType(node->output()->type());
    if (node->output()->hasDebugName()) result->setDebugName(node->output()->debugNameBase());
    node->output()->replaceAllUsesWith(result);
    std::vector<Node*> made;
    for (Node* next = before->next(); next != node; next = next->next()) made.push_back(next);
    node->destroy();
    for (Node* next : made) fit(graph, next);
  }

 private:
  // A way whose operators the target has, at once or by further ways. Inner nodes of ways have no operands that tell
  // more than their kind, so a kind inside counts if one of its ways does.
  const Way* wayOf(const Node* node) {
    for (const Way& way : kWays) {
      const bool same = node->kind() == c10::Symbol::fromQualString(way.kind) && node->outputs().size() == 1;
      if (!same || !takes(*written(way), node) || !way.applies(node)) continue;
      std::set<std::string> open = {way.kind};
      if (leadsThere(way, &open)) return &way;
    }
    return nullptr;
  }

  // True if the operands are of the way's types: an operator may have forms of other operands.
  static bool takes(torch::jit::Graph& graph, const Node* node) {
    if (graph.inputs().size() != node->inputs().size()) return false;
    for (std::size_t i = 0; i < node->inputs().size(); ++i) {
      if (!node->input(i)->type()->isSubtypeOf(*graph.inputs()[i]->type())) return false;
    }
    return true;
  }

  bool leadsThere(const Way& way, std::set<std::string>* open) {
    for (const Node* inner : written(way)->nodes()) {
      if (has(inner)) continue;
      const std::string kind = inner->kind().toQualString();
      if (!open->insert(kind).second) return false;
      bool any = false;
      for (const Way& next : kWays)
        any =
            any || (kind == next.kind && takes(*written(next), inner) && next.applies(inner) && leadsThere(next, open));
      open->erase(kind);
      if (!any) return false;
    }
    return true;
  }

  std::shared_ptr<torch::jit::Graph> written(const Way& way) {
    auto& graph = graphs_[&way];
    if (graph == nullptr) {
      const auto unit = torch::jit::compile(way.source);
      graph = torch::jit::toGraphFunction(unit->get_function("written")).graph()->copy();
    }
    return graph;
  }

  std::set<std::string> only_;
  std::map<const Way*, std::shared_ptr<torch::jit::Graph>> graphs_;
};

}  // namespace

void fitToTarget(torch::jit::Graph& graph, const std::vector<std::string>& only) {
  TargetFitter fitter(only);
  for (Node* node : allNodes(graph)) fitter.fit(graph, node);
}

std::vector<const Node*> nodesOutside(torch::jit::Graph& graph, const std::vector<std::string>& only) {
  const TargetFitter fitter(only);
  std::vector<const Node*> outside;
  for (const Node* node : allNodes(graph)) {
    if (!fitter.has(node)) outside.push_back(node);
  }
  return outside;
}

}  // namespace ipex_studio
