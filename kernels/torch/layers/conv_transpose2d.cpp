// ipex_studio::conv_transpose2d: aten::conv_transpose2d with its gradients, by kernels/training.
//
//   conv_transpose2d(Tensor x, Tensor w, Tensor? b, int[2] stride, int[2] padding, int[2] output_padding, int groups,
//                    int[2] dilation) -> Tensor
//
// It is the gradient of a convolution with the same weights with respect to its image: the convolution's own forward
// pass gives the gradient of x. Types, orders of memory and what goes to PyTorch instead are those of conv2d.
#include <ATen/Parallel.h>
#include <torch/library.h>
#include <torch/script.h>

#include "kernels/torch/layers/image_convolution.h"

namespace ipex_studio {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;
using TransposedBias = c10::optional<at::Tensor>;

struct TransposedNumbers {
  std::vector<std::int64_t> stride, padding, output_padding;
  std::int64_t groups;
  std::vector<std::int64_t> dilation;
};

// The convolution whose result has the sizes of x.
ConvolutionProblem problemOf(const at::Tensor& x, const at::Tensor& w, const TransposedNumbers& numbers) {
  ConvolutionProblem problem;
  problem.images = x.size(0);
  problem.channels = w.size(1) * numbers.groups;
  problem.outputs = x.size(1);
  problem.groups = numbers.groups;
  problem.kernel = {w.size(2), w.size(3)};
  problem.stride = pairOf(numbers.stride);
  problem.padding = pairOf(numbers.padding);
  problem.dilation = pairOf(numbers.dilation);
  problem.threads = at::get_num_threads();
  problem.bf16 = isBf16(x);
  for (const std::size_t axis : {0, 1}) {
    problem.size[axis] = (x.size(static_cast<std::int64_t>(axis) + 2) - 1) * problem.stride[axis] -
                         2 * problem.padding[axis] + problem.dilation[axis] * (problem.kernel[axis] - 1) +
                         pairOf(numbers.output_padding)[axis] + 1;
  }
  return problem;
}

// The convolution of these operands if it is one that we compute.
KeptConvolution transposedFor(const at::Tensor& x, const at::Tensor& w, const TransposedBias& b,
                              const TransposedNumbers& numbers) {
  if (!isPlainImage(x) || !isPlainOfRank(w, 4) || numbers.groups < 1) return nullptr;
  if (x.size(1) != w.size(0) || x.size(1) % numbers.groups != 0) return nullptr;
  if (!isPlainBias(b, w.size(1) * numbers.groups)) return nullptr;
  for (const auto* list : {&numbers.stride, &numbers.padding, &numbers.output_padding, &numbers.dilation}) {
    if (!isForAxes(*list, 2)) return nullptr;
  }
  const ConvolutionProblem problem = problemOf(x, w, numbers);
  for (const std::size_t axis : {0, 1}) {
    const std::int64_t more = pairOf(numbers.output_padding)[axis];
    if (problem.stride[axis] < 1 || problem.padding[axis] < 0 || problem.dilation[axis] < 1) return nullptr;
    if (more < 0 || more >= problem.stride[axis] || problem.size[axis] < 1) return nullptr;
  }
  return convolutionFor(problem);
}

at::Tensor runTransposed(const ConvolutionTraining& convolution, const at::Tensor& x, const at::Tensor& w,
                         const TransposedBias& b, const TransposedNumbers& numbers) {
  const at::Tensor image = x.contiguous(kPixelOrder), weights = w.contiguous(kPixelOrder);
  const ConvolutionProblem problem = problemOf(x, w, numbers);
  at::Tensor y = at::empty({x.size(0), problem.channels, problem.size[0], problem.size[1]},
                           x.options().memory_format(kPixelOrder));
  convolution.sourceGradient(floatsOf(weights), image.data_ptr(), y.data_ptr());
  if (b && b->defined()) y.add_(b->view({1, -1, 1, 1}));
  return y;
}

class ConvolutionTransposed2d : public torch::autograd::Function<ConvolutionTransposed2d> {
 public:
  static at::Tensor forward(AutogradContext* context, const at::Tensor& x, const at::Tensor& w, const TransposedBias& b,
                            const TransposedNumbers& numbers) {
    at::AutoDispatchBelowADInplaceOrView below;
    context->save_for_backward({x, w});
    auto& data = context->saved_data;
    data["stride"] = numbers.stride;
    data["padding"] = numbers.padding;
    data["output_padding"] = numbers.output_padding;
    data["groups"] = numbers.groups;
    data["dilation"] = numbers.dilation;
    const bool biased = b && b->defined();
    data["wanted"] = std::vector<bool>{x.requires_grad(), w.requires_grad(), biased && b->requires_grad()};
    return runTransposed(*transposedFor(x, w, b, numbers), x, w, b, numbers);
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const at::Tensor x = context->get_saved_variables()[0], w = context->get_saved_variables()[1];
    auto& data = context->saved_data;
    const TransposedNumbers numbers{data["stride"].toIntVector(), data["padding"].toIntVector(),
                                    data["output_padding"].toIntVector(), data["groups"].toInt(),
                                    data["dilation"].toIntVector()};
    const c10::List<bool> asked = data["wanted"].toBoolList();
    const std::array<bool, 3> wanted{asked[0], asked[1], asked[2]};
    const KeptConvolution convolution = at::GradMode::is_enabled() ? nullptr : transposedFor(x, w, {}, numbers);
    if (!convolution || !isPlainGradient(gradients[0], x)) {
      auto [dx, dw, db] = at::convolution_backward(
          gradients[0], x, inTypeOf(x, w), at::IntArrayRef(w.size(1) * numbers.groups), numbers.stride, numbers.padding,
          numbers.dilation, true, numbers.output_padding, numbers.groups, wanted);
      return {dx, inTypeOf(w, dw), inTypeOf(w, db), at::Tensor()};
    }
    const at::Tensor dy = gradients[0].contiguous(kPixelOrder);
    at::Tensor dx, dw, db;
    if (wanted[0]) {
      dx = emptyInPixelOrder(x);
      convolution->forward(dy.data_ptr(), floatsOf(w.contiguous(kPixelOrder)), nullptr, dx.data_ptr());
    }
    if (wanted[1]) {
      dw = emptyInPixelOrder(w);
      convolution->weightGradient(dy.data_ptr(), x.contiguous(kPixelOrder).data_ptr(), dw.data_ptr<float>());
    }
    if (wanted[2]) db = biasGradient(dy);
    return {dx, dw, db, at::Tensor()};
  }
};

at::Tensor stockTransposed(const at::Tensor& x, const at::Tensor& w, const TransposedBias& b,
                           const TransposedNumbers& n) {
  return at::conv_transpose2d(x, inTypeOf(x, w), inTypeOf(x, b), n.stride, n.padding, n.output_padding, n.groups,
                              n.dilation);
}

at::Tensor convTranspose2d(const at::Tensor& x, const at::Tensor& w, const TransposedBias& b, at::IntArrayRef stride,
                           at::IntArrayRef padding, at::IntArrayRef output_padding, std::int64_t groups,
                           at::IntArrayRef dilation) {
  const TransposedNumbers numbers{stride.vec(), padding.vec(), output_padding.vec(), groups, dilation.vec()};
  const KeptConvolution convolution = transposedFor(x, w, b, numbers);
  return convolution ? runTransposed(*convolution, x, w, b, numbers) : stockTransposed(x, w, b, numbers);
}

at::Tensor convTranspose2dAutograd(const at::Tensor& x, const at::Tensor& w, const TransposedBias& b,
                                   at::IntArrayRef stride, at::IntArrayRef padding, at::IntArrayRef output_padding,
                                   std::int64_t groups, at::IntArrayRef dilation) {
  const TransposedNumbers numbers{stride.vec(), padding.vec(), output_padding.vec(), groups, dilation.vec()};
  return transposedFor(x, w, b, numbers) ? ConvolutionTransposed2d::apply(x, w, b, numbers)
                                         : stockTransposed(x, w, b, numbers);
}

at::Tensor convTranspose2dUnderAutocast(const at::Tensor& x, const at::Tensor& w, const TransposedBias& b,
                                        at::IntArrayRef stride, at::IntArrayRef padding, at::IntArrayRef output_padding,
                                        std::int64_t groups, at::IntArrayRef dilation) {
  if (!autocastIsBf16()) return at::conv_transpose2d(x, w, b, stride, padding, output_padding, groups, dilation);
  const c10::impl::ExcludeDispatchKeyGuard no_autocast(c10::DispatchKey::AutocastCPU);
  static const auto op = c10::Dispatcher::singleton()
                             .findSchemaOrThrow("ipex_studio::conv_transpose2d", "")
                             .typed<decltype(convTranspose2dUnderAutocast)>();
  return op.call(autocastToBf16(x), w, b, stride, padding, output_padding, groups, dilation);
}

at::Tensor convTranspose2dMeta(const at::Tensor& x, const at::Tensor& w, const TransposedBias& b,
                               at::IntArrayRef stride, at::IntArrayRef padding, at::IntArrayRef output_padding,
                               std::int64_t groups, at::IntArrayRef dilation) {
  return stockTransposed(x, w, b, {stride.vec(), padding.vec(), output_padding.vec(), groups, dilation.vec()});
}

}  // namespace

TORCH_LIBRARY_FRAGMENT(ipex_studio, m) {
  m.def(
      "conv_transpose2d(Tensor x, Tensor w, Tensor? b, int[2] stride, int[2] padding, int[2] output_padding, int "
      "groups, int[2] dilation) -> Tensor");
}
TORCH_LIBRARY_IMPL(ipex_studio, CPU, m) { m.impl("conv_transpose2d", convTranspose2d); }
TORCH_LIBRARY_IMPL(ipex_studio, Meta, m) { m.impl("conv_transpose2d", convTranspose2dMeta); }
TORCH_LIBRARY_IMPL(ipex_studio, Autograd, m) { m.impl("conv_transpose2d", convTranspose2dAutograd); }
TORCH_LIBRARY_IMPL(ipex_studio, AutocastCPU, m) { m.impl("conv_transpose2d", convTranspose2dUnderAutocast); }

}  // namespace ipex_studio
