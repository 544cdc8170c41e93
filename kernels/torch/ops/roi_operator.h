// What operators on regions of interest share: their arguments, checks, and the node of autograd.
#pragma once

#include <torch/csrc/autograd/custom_function.h>

#include <string>
#include <vector>

#include "kernels/torch/ops/vision_operator.h"
#include "kernels/vision/roi_align.h"

namespace ipex_studio {

// Arguments behind `input` and `rois`; an operator has some of them.
struct RoiArguments {
  double scale = 1;
  std::int64_t height = 1, width = 1;  // of the result
  std::int64_t sampling = 0;
  bool aligned = false;
};

// Throws c10::Error for an input that is no batch of feature maps, results without a size, and regions of images that
// are not there. `rois`: contiguous.
RoiAlignJob roiJob(const char* name, at::IntArrayRef input, const at::Tensor& rois, const RoiArguments& arguments);

// Throws c10::Error for a region that asks for more samples than the kernels take. `rois`: contiguous.
void checkRoiSamples(const char* name, const RoiAlignJob& job, const at::Tensor& rois);

// The channels of a result whose bins have channels of the input of their own. Throws c10::Error where these are no
// multiple of the bins.
std::int64_t positionSensitiveChannels(const char* name, const RoiAlignJob& job);

// The channel of the input that each element of such a result [rois, channels, height, width] reads, int32.
at::Tensor channelMapping(const RoiAlignJob& job, at::IntArrayRef result);

// The node of autograd. Operator::forward(input, rois, arguments) calls the operator below autograd and returns its
// result, with a second one that only the gradient reads or an undefined tensor; Operator::backward(grad, rois, second,
// arguments, sizes of the input) returns the gradient of the input.
template <typename Operator>
class RoiFunction : public torch::autograd::Function<RoiFunction<Operator>> {
 public:
  using Tensors = torch::autograd::variable_list;

  static Tensors forward(torch::autograd::AutogradContext* context, const at::Tensor& input, const at::Tensor& rois,
                         RoiArguments arguments) {
    context->saved_data["scale"] = arguments.scale;
    context->saved_data["whole"] = std::vector<std::int64_t>{arguments.height, arguments.width, arguments.sampling};
    context->saved_data["aligned"] = arguments.aligned;
    context->saved_data["sizes"] = input.sizes().vec();
    const at::AutoDispatchBelowADInplaceOrView below;
    const auto [result, second] = Operator::forward(input, rois, arguments);
    context->save_for_backward({rois, second});
    if (!second.defined()) return {result};
    context->mark_non_differentiable({second});
    return {result, second};
  }

  static Tensors backward(torch::autograd::AutogradContext* context, const Tensors& grads) {
    auto& saved = context->saved_data;
    const std::vector<std::int64_t> whole = saved["whole"].toIntVector();
    const RoiArguments arguments{saved["scale"].toDouble(), whole[0], whole[1], whole[2], saved["aligned"].toBool()};
    const Tensors tensors = context->get_saved_variables();
    return {Operator::backward(grads[0], tensors[0], tensors[1], arguments, saved["sizes"].toIntVector()), {}, {}};
  }
};

}  // namespace ipex_studio
