// ipex_studio::feature_interaction: DLRM's interaction with its gradient, for training and for Python.
//
//   feature_interaction(Tensor[] features) -> Tensor
//
// features: N tensors [B, D] of one floating type. Result: [B, D + N·(N-1)/2], the values of the first feature and
// behind them the products of features i and j for j < i, row by row. FP32 is computed by plans
// (kernels/torch/ops/interaction.cpp), other types by operators of PyTorch; second derivatives in FP32 are not
// implemented and said so.
#include <torch/library.h>
#include <torch/script.h>

#include "core/torch/second_derivative.h"
#include "kernels/torch/ops/planned_call.h"

namespace ipex_studio {
namespace {

using Tensors = std::vector<at::Tensor>;

constexpr char kForm[] = "{dense=1,triangle=lower}";

void check(at::TensorList features) {
  TORCH_CHECK(!features.empty(), "interaction: there are no features");
  for (const at::Tensor& feature : features) {
    TORCH_CHECK(feature.dim() == 2 && feature.sizes() == features[0].sizes(),
                "interaction: features are matrices [B, D] of one size, not ", feature.sizes(), " beside ",
                features[0].sizes());
    TORCH_CHECK(feature.scalar_type() == features[0].scalar_type() && feature.is_floating_point(),
                "interaction: features are of one floating type, not ", feature.scalar_type(), " beside ",
                features[0].scalar_type());
  }
}

at::Tensor byStockOperators(at::TensorList features) {
  const auto count = static_cast<std::int64_t>(features.size());
  const at::Tensor x = at::stack(features, 1), places = at::tril_indices(count, count, -1);
  const at::Tensor products = at::bmm(x, x.transpose(1, 2)).flatten(1);
  return at::cat({features[0], products.index_select(1, places[0] * count + places[1])}, 1);
}

// `features`: FP32, and checked.
at::Tensor byPlan(at::TensorList features) {
  static const PlannedCall forward("interaction", std::string("interaction") + kForm);
  return forward({c10::List<at::Tensor>(features.vec())});
}

at::Tensor featureInteraction(at::TensorList features) {
  check(features);
  return features[0].scalar_type() == at::kFloat ? byPlan(features) : byStockOperators(features);
}

at::Tensor featureInteractionMeta(at::TensorList features) {
  const auto count = static_cast<std::int64_t>(features.size());
  return at::empty({features[0].size(0), features[0].size(1) + count * (count - 1) / 2}, features[0].options());
}

class FeatureInteraction : public torch::autograd::Function<FeatureInteraction> {
 public:
  static at::Tensor forward(torch::autograd::AutogradContext* context, at::TensorList features) {
    at::AutoDispatchBelowADInplaceOrView below;
    context->save_for_backward(features.vec());
    return byPlan(features);
  }

  static Tensors backward(torch::autograd::AutogradContext* context, const Tensors& gradients) {
    refuseSecondDerivative("interaction");
    static const PlannedCall backward("interaction_backward", std::string("interaction_backward") + kForm);
    const c10::List<at::Tensor> features(context->get_saved_variables());
    return backward({gradients[0].contiguous(), features}).unbind(1);
  }
};

at::Tensor featureInteractionAutograd(at::TensorList features) {
  check(features);
  if (features[0].scalar_type() != at::kFloat) return byStockOperators(features);
  return FeatureInteraction::apply(features);
}

}  // namespace

TORCH_LIBRARY_FRAGMENT(ipex_studio, m) { m.def("feature_interaction(Tensor[] features) -> Tensor"); }
TORCH_LIBRARY_IMPL(ipex_studio, CPU, m) { m.impl("feature_interaction", featureInteraction); }
TORCH_LIBRARY_IMPL(ipex_studio, Meta, m) { m.impl("feature_interaction", featureInteractionMeta); }
TORCH_LIBRARY_IMPL(ipex_studio, Autograd, m) { m.impl("feature_interaction", featureInteractionAutograd); }

}  // namespace ipex_studio
