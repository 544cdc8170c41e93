// ipex_studio::conv2d: aten::conv2d with its gradients, by kernels/training.
//
//   conv2d(Tensor x, Tensor w, Tensor? b, int[2] stride, int[2] padding, int[2] dilation, int groups) -> Tensor
//
// FP32 on the CPU is computed with channels last, and so is its result, whatever order x has; w is read as it lies if
// it has channels last. x may be BF16, as it is under autocast, while w and b stay FP32: so is the result, and the
// gradients of w and b are FP32 sums. All else, empty batches, transformations of functions and groups for which there
// is only slow code go to aten::conv2d. Second derivatives are those of PyTorch.
#include <ATen/Parallel.h>
#include <torch/library.h>
#include <torch/script.h>

#include "kernels/torch/layers/image_convolution.h"

namespace ipex_studio {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

struct ConvolutionNumbers {
  std::vector<std::int64_t> stride, padding, dilation;
  std::int64_t groups;
};

// The convolution of these operands if it is one that we compute.
KeptConvolution prepared(const at::Tensor& x, const at::Tensor& w, const c10::optional<at::Tensor>& b,
                         const ConvolutionNumbers& numbers) {
  if (!isPlainImage(x) || !isPlainOfRank(w, 4) || numbers.groups < 1) return nullptr;
  if (!isPlainBias(b, w.size(0))) return nullptr;
  if (x.size(1) != w.size(1) * numbers.groups || w.size(0) % numbers.groups != 0) return nullptr;
  ConvolutionProblem problem;
  problem.images = x.size(0);
  problem.channels = x.size(1);
  problem.outputs = w.size(0);
  problem.groups = numbers.groups;
  problem.size = {x.size(2), x.size(3)};
  problem.kernel = {w.size(2), w.size(3)};
  problem.stride = pairOf(numbers.stride);
  problem.padding = pairOf(numbers.padding);
  problem.dilation = pairOf(numbers.dilation);
  problem.threads = at::get_num_threads();
  problem.bf16 = isBf16(x);
  for (const std::size_t axis : {0, 1}) {
    if (problem.stride[axis] < 1 || problem.padding[axis] < 0 || problem.dilation[axis] < 1) return nullptr;
    if (problem.out(axis) < 1) return nullptr;
  }
  return convolutionFor(problem);
}

at::Tensor computeForward(const ConvolutionTraining& convolution, const at::Tensor& x, const at::Tensor& w,
                          const c10::optional<at::Tensor>& b, const ConvolutionNumbers& numbers) {
  const at::Tensor image = x.contiguous(kPixelOrder), weights = w.contiguous(kPixelOrder);
  const at::Tensor bias = b && b->defined() ? b->contiguous() : at::Tensor();
  std::vector<std::int64_t> sizes{x.size(0), w.size(0)};
  for (const std::size_t axis : {0, 1}) {
    const std::int64_t window = pairOf(numbers.dilation)[axis] * (w.size(axis + 2) - 1) + 1;
    sizes.push_back((x.size(axis + 2) + 2 * pairOf(numbers.padding)[axis] - window) / pairOf(numbers.stride)[axis] + 1);
  }
  const at::Tensor y = at::empty(sizes, x.options().memory_format(kPixelOrder));
  convolution.forward(image.data_ptr(), floatsOf(weights), floatsOf(bias), y.data_ptr());
  return y;
}

using Gradients = std::array<at::Tensor, 3>;  // of x, w and b; undefined if not asked for

Gradients computeGradients(const ConvolutionTraining& convolution, const at::Tensor& x, const at::Tensor& w,
                           const at::Tensor& dy, std::array<bool, 3> wanted) {
  const at::Tensor image = x.contiguous(kPixelOrder), weights = w.contiguous(kPixelOrder);
  const at::Tensor gradient = dy.contiguous(kPixelOrder);
  Gradients result;
  if (wanted[0]) {
    result[0] = emptyInPixelOrder(x);
    convolution.sourceGradient(floatsOf(weights), gradient.data_ptr(), result[0].data_ptr());
  }
  if (wanted[1]) {
    result[1] = emptyInPixelOrder(w);
    convolution.weightGradient(image.data_ptr(), gradient.data_ptr(), result[1].data_ptr<float>());
  }
  if (wanted[2]) result[2] = biasGradient(gradient);
  return result;
}

class Convolution2d : public torch::autograd::Function<Convolution2d> {
 public:
  static at::Tensor forward(AutogradContext* context, const at::Tensor& x, const at::Tensor& w,
                            const c10::optional<at::Tensor>& b, const ConvolutionNumbers& numbers) {
    at::AutoDispatchBelowADInplaceOrView below;
    context->save_for_backward({x, w});
    context->saved_data["stride"] = numbers.stride;
    context->saved_data["padding"] = numbers.padding;
    context->saved_data["dilation"] = numbers.dilation;
    context->saved_data["groups"] = numbers.groups;
    const bool biased = b && b->defined();
    context->saved_data["wanted"] =
        std::vector<bool>{x.requires_grad(), w.requires_grad(), biased && b->requires_grad()};
    return computeForward(*prepared(x, w, b, numbers), x, w, b, numbers);
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const at::Tensor x = context->get_saved_variables()[0], w = context->get_saved_variables()[1];
    auto& data = context->saved_data;
    const ConvolutionNumbers numbers{data["stride"].toIntVector(), data["padding"].toIntVector(),
                                     data["dilation"].toIntVector(), data["groups"].toInt()};
    const c10::List<bool> asked = data["wanted"].toBoolList();
    const std::array<bool, 3> wanted{asked[0], asked[1], asked[2]};
    const KeptConvolution convolution = at::GradMode::is_enabled() ? nullptr : prepared(x, w, {}, numbers);
    if (convolution && isPlainGradient(gradients[0], x)) {
      const Gradients result = computeGradients(*convolution, x, w, gradients[0], wanted);
      return {result[0], result[1], result[2], at::Tensor()};
    }
    auto [dx, dw, db] =
        at::convolution_backward(gradients[0], x, inTypeOf(x, w), at::IntArrayRef(w.size(0)), numbers.stride,
                                 numbers.padding, numbers.dilation, false, {0, 0}, numbers.groups, wanted);
    return {dx, inTypeOf(w, dw), inTypeOf(w, db), at::Tensor()};
  }
};

at::Tensor stock(const at::Tensor& x, const at::Tensor& w, const c10::optional<at::Tensor>& b,
                 const ConvolutionNumbers& numbers) {
  // PyTorch 1.13 refuses empty batches with such weights.
  const at::Tensor weights = inTypeOf(x, x.numel() == 0 ? w.contiguous() : w);
  return at::conv2d(x, weights, inTypeOf(x, b), numbers.stride, numbers.padding, numbers.dilation, numbers.groups);
}

at::Tensor conv2d(const at::Tensor& x, const at::Tensor& w, const c10::optional<at::Tensor>& b, at::IntArrayRef stride,
                  at::IntArrayRef padding, at::IntArrayRef dilation, std::int64_t groups) {
  const ConvolutionNumbers numbers{stride.vec(), padding.vec(), dilation.vec(), groups};
  const KeptConvolution convolution = prepared(x, w, b, numbers);
  return convolution ? computeForward(*convolution, x, w, b, numbers) : stock(x, w, b, numbers);
}

at::Tensor conv2dAutograd(const at::Tensor& x, const at::Tensor& w, const c10::optional<at::Tensor>& b,
                          at::IntArrayRef stride, at::IntArrayRef padding, at::IntArrayRef dilation,
                          std::int64_t groups) {
  const ConvolutionNumbers numbers{stride.vec(), padding.vec(), dilation.vec(), groups};
  return prepared(x, w, b, numbers) ? Convolution2d::apply(x, w, b, numbers) : stock(x, w, b, numbers);
}

at::Tensor conv2dUnderAutocast(const at::Tensor& x, const at::Tensor& w, const c10::optional<at::Tensor>& b,
                               at::IntArrayRef stride, at::IntArrayRef padding, at::IntArrayRef dilation,
                               std::int64_t groups) {
  if (!autocastIsBf16()) return at::conv2d(x, w, b, stride, padding, dilation, groups);
  const c10::impl::ExcludeDispatchKeyGuard no_autocast(c10::DispatchKey::AutocastCPU);
  static const auto op =
      c10::Dispatcher::singleton().findSchemaOrThrow("ipex_studio::conv2d", "").typed<decltype(conv2dUnderAutocast)>();
  return op.call(autocastToBf16(x), w, b, stride, padding, dilation, groups);
}

at::Tensor conv2dMeta(const at::Tensor& x, const at::Tensor& w, const c10::optional<at::Tensor>& b,
                      at::IntArrayRef stride, at::IntArrayRef padding, at::IntArrayRef dilation, std::int64_t groups) {
  return stock(x, w, b, {stride.vec(), padding.vec(), dilation.vec(), groups});
}

}  // namespace

TORCH_LIBRARY_FRAGMENT(ipex_studio, m) {
  m.def("conv2d(Tensor x, Tensor w, Tensor? b, int[2] stride, int[2] padding, int[2] dilation, int groups) -> Tensor");
}
TORCH_LIBRARY_IMPL(ipex_studio, CPU, m) { m.impl("conv2d", conv2d); }
TORCH_LIBRARY_IMPL(ipex_studio, Meta, m) { m.impl("conv2d", conv2dMeta); }
TORCH_LIBRARY_IMPL(ipex_studio, Autograd, m) { m.impl("conv2d", conv2dAutograd); }
TORCH_LIBRARY_IMPL(ipex_studio, AutocastCPU, m) { m.impl("conv2d", conv2dUnderAutocast); }

}  // namespace ipex_studio
