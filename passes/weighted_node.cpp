// Convolution and linear with constant weights: reading them and folding a scale and shift per channel into them.
#include "passes/weighted_node.h"

#include <algorithm>
#include <cmath>

#include "core/plan/error.h"
#include "passes/aliasing.h"

namespace ipex_studio {

using torch::jit::Node;
using torch::jit::Value;
namespace aten = torch::jit::aten;

namespace {

bool isFoldable(const at::Tensor& tensor) {
  return (tensor.scalar_type() == at::kFloat || tensor.scalar_type() == at::kDouble) && tensor.device().is_cpu() &&
         tensor.layout() == at::kStrided;
}

// The scale in the shape that multiplies the weights along their result channels.
at::Tensor alongChannels(const WeightedNode& weighted, const at::Tensor& scale) {
  if (scale.numel() == 1) return scale.reshape({});
  std::vector<std::int64_t> shape(static_cast<std::size_t>(weighted.weight.dim()), 1);
  if (!weighted.transposed) {
    shape[0] = scale.numel();
    return scale.reshape(shape);
  }
  // [C, O/groups, …]: input channel i belongs to group i / (C/groups), whose result channels are its own.
  const std::int64_t per_group = weighted.weight.size(1);
  shape[0] = weighted.weight.size(0);
  shape[1] = per_group;
  return scale.reshape({weighted.groups, per_group})
      .repeat_interleave(weighted.weight.size(0) / weighted.groups, 0)
      .reshape(shape);
}

}  // namespace

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
    return std::all_of(first, first + dense.numel(), [](double value) { return std::abs(value) < kLargest; });  // nor NaN
  };
  if (moderate(scale) && moderate(shift)) return {};
  return {reasons::kUnsupportedAttribute, "The folded weights would not be finite."};
}

void foldAffine(const WeightedNode& weighted, Node* user, const at::Tensor& scale, const at::Tensor& shift,
                Rewriter& rewriter, const std::string& text) {
  at::NoGradGuard no_gradients;
  IPEX_CHECK(scale.scalar_type() == at::kDouble && shift.scalar_type() == at::kDouble, "fold in float64");
  Node* node = weighted.node;
  const auto dtype = weighted.weight.scalar_type();
  const at::Tensor weight = weighted.weight.detach().to(at::kDouble) * alongChannels(weighted, scale);
  at::Tensor bias = shift.expand({weighted.channels()});
  if (weighted.bias) bias = bias + weighted.bias->detach().to(at::kDouble) * scale;

  std::vector<Value*> inputs(node->inputs().begin(), node->inputs().end());
  inputs[1] = rewriter.constant(weight.to(dtype).contiguous(), node);
  inputs[2] = rewriter.constant(bias.to(dtype).contiguous(), node);
  Node* folded = rewriter.create(node->kind().toQualString(), inputs, node);
  folded->output()->setType(user->output(0)->type());
  rewriter.replace({node, user}, user->output(0), folded->output(), text);
}

}  // namespace ipex_studio
