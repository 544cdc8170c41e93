// Convolution and linear with constant weights: reading them and folding a scale and shift per channel into them.
#include "passes/match/weighted_node.h"

#include <algorithm>
#include <cmath>

#include "core/base/error.h"
#include "passes/match/aliasing.h"

namespace ipex_studio {

using torch::jit::Node;
using torch::jit::Value;
namespace aten = torch::jit::aten;

namespace {

bool isFoldable(const at::Tensor& tensor) {
  return (tensor.scalar_type() == at::kFloat || tensor.scalar_type() == at::kDouble) && tensor.device().is_cpu() &&
         tensor.layout() == at::kStrided;
}

// The weights times the scale of their result channels. Plain loops: a graph may have thousands of small weights, and
// each operation on tensors costs as much as hundreds of numbers.
template <typename T>
at::Tensor scaledWeights(const WeightedNode& weighted, const at::Tensor& scale) {
  const at::Tensor given = weighted.weight.detach().contiguous();
  at::Tensor made = at::empty(given.sizes(), given.options());
  const T* from = given.data_ptr<T>();
  T* to = made.data_ptr<T>();
  const double* factors = scale.data_ptr<double>();
  // [O, …], or [C, O/groups, …], where input channel i belongs to group i / (C/groups), whose result channels are its
  // own.
  const std::int64_t per_group = weighted.transposed ? given.size(1) : 1;
  const std::int64_t rows = given.size(0) * per_group;
  const std::int64_t length = rows == 0 ? 0 : given.numel() / rows;
  for (std::int64_t row = 0; row < rows; ++row) {
    const std::int64_t channel =
        weighted.transposed ? row / per_group / (given.size(0) / weighted.groups) * per_group + row % per_group : row;
    const double factor = factors[scale.numel() == 1 ? 0 : channel];
    for (std::int64_t i = row * length; i < (row + 1) * length; ++i) to[i] = static_cast<T>(from[i] * factor);
  }
  return made;
}

template <typename T>
at::Tensor scaledBias(const WeightedNode& weighted, const at::Tensor& scale, const at::Tensor& shift) {
  at::Tensor made = at::empty({weighted.channels()}, weighted.weight.options().requires_grad(false));
  const at::Tensor given = weighted.bias ? weighted.bias->detach().contiguous() : at::Tensor();
  const T* from = given.defined() ? given.data_ptr<T>() : nullptr;
  T* to = made.data_ptr<T>();
  const double *factors = scale.data_ptr<double>(), *addends = shift.data_ptr<double>();
  for (std::int64_t c = 0; c < made.numel(); ++c) {
    const double addend = addends[shift.numel() == 1 ? 0 : c];
    to[c] = static_cast<T>(from == nullptr ? addend : addend + from[c] * factors[scale.numel() == 1 ? 0 : c]);
  }
  return made;
}

}  // namespace

std::vector<double> doublesOf(const at::Tensor& tensor) {
  const at::Tensor given = tensor.detach().contiguous();
  const auto count = static_cast<std::size_t>(given.numel());
  std::vector<double> values(count);
  if (given.scalar_type() == at::kFloat) {
    std::copy_n(given.data_ptr<float>(), count, values.begin());
  } else {
    std::copy_n(given.data_ptr<double>(), count, values.begin());
  }
  return values;
}

std::int64_t WeightedNode::channels() const { return transposed ? weight.size(1) * groups : weight.size(0); }

bool isWeightedNode(const Node* node) {
  return (node->kind() == aten::convolution && node->inputs().size() == 9) ||
         (node->kind() == aten::linear && node->inputs().size() == 3);
}

Decline readWeightedNode(Node* node, PassContext& context, WeightedNode& result) {
  const auto weight = constantTensor(node->input(1));
  const auto bias = constantTensor(node->input(2));
  if (!weight || (!bias && !isNone(node->input(2)))) {
    return {reasons::kWeightsNotConstant, "The weights are not constant."};
  }
  if (!isFoldable(*weight) || (bias && bias->scalar_type() != weight->scalar_type())) {
    return {reasons::kUnsupportedDtype, "Only float32 and float64 weights on the CPU are folded."};
  }
  result.node = node;
  result.weight = *weight;
  if (bias) result.bias = *bias;
  if (node->kind() == aten::convolution) {
    const auto transposed = constantBool(node->input(kConvolutionTransposed));
    const auto groups = constantInt(node->input(kConvolutionGroups));
    if (!transposed || !groups || *groups < 1 || weight->size(0) % *groups != 0) {
      return {reasons::kUnsupportedAttribute, "An attribute of the convolution is not constant."};
    }
    result.transposed = *transposed;
    result.groups = *groups;
  } else if (weight->dim() != 2) {
    return {reasons::kUnsupportedAttribute, "A linear with a weight vector has no channels."};
  }
  if (context.mayBeWritten(node->input(1)) || context.mayBeWritten(node->input(2))) {
    return {reasons::kAliased, "The graph writes to the weights."};
  }
  return {};
}

Decline checkOnlyUse(const Node* node, const Node* user) {
  if (isGraphOutput(node->output(0))) return {reasons::kGraphOutput, "The value in between is a result itself."};
  if (node->output(0)->uses().size() != 1) return {reasons::kOtherUses, "The value in between is used elsewhere too."};
  if (node->owningBlock() != user->owningBlock()) {
    return {reasons::kControlFlow, "The two operations are in different blocks."};
  }
  return {};
}

Decline checkFinite(const at::Tensor& scale, const at::Tensor& shift) {
  constexpr double kLargest = 1e18;  // far above any trained value, far below what float32 times a weight can hold
  const auto moderate = [](const at::Tensor& tensor) {
    const at::Tensor dense = tensor.contiguous();
    const double* first = dense.data_ptr<double>();
    return std::all_of(first, first + dense.numel(),
                       [](double value) { return std::abs(value) < kLargest; });  // nor NaN
  };
  if (moderate(scale) && moderate(shift)) return {};
  return {reasons::kUnsupportedAttribute, "The folded weights would not be finite."};
}

void foldAffine(const WeightedNode& weighted, Node* user, const at::Tensor& scale, const at::Tensor& shift,
                Rewriter& rewriter, const std::string& text) {
  at::NoGradGuard no_gradients;
  IPEX_CHECK(scale.scalar_type() == at::kDouble && shift.scalar_type() == at::kDouble, "fold in float64");
  Node* node = weighted.node;
  const bool is_float = weighted.weight.scalar_type() == at::kFloat;
  const at::Tensor factors = scale.contiguous(), addends = shift.contiguous();
  std::vector<Value*> inputs(node->inputs().begin(), node->inputs().end());
  inputs[1] = rewriter.constant(
      is_float ? scaledWeights<float>(weighted, factors) : scaledWeights<double>(weighted, factors), node);
  inputs[2] = rewriter.constant(
      is_float ? scaledBias<float>(weighted, factors, addends) : scaledBias<double>(weighted, factors, addends), node);
  Node* folded = rewriter.create(node->kind().toQualString(), inputs, node);
  folded->output()->setType(user->output(0)->type());
  rewriter.replace({node, user}, user->output(0), folded->output(), text);
}

}  // namespace ipex_studio
