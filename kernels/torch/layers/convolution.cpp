// ipex_studio::conv1d, conv2d and conv3d: those of aten with their gradients, by kernels/training.
//
//   conv2d(Tensor x, Tensor w, Tensor? b, int[2] stride, int[2] padding, int[2] dilation, int groups) -> Tensor
//
// conv1d and conv3d take one number and three where conv2d takes two; conv1d is conv2d on images of one line.
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

// A convolution that we compute.
struct Prepared {
  ConvolutionProblem problem;
  KeptConvolution operation;  // null: it is none
};

Prepared prepared(const at::Tensor& x, const at::Tensor& w, const c10::optional<at::Tensor>& b,
                  const ConvolutionNumbers& numbers) {
  const std::int64_t rank = x.dim();
  if ((rank != 4 && rank != 5) || !isPlainImage(x, rank) || !isPlainOfRank(w, rank) || numbers.groups < 1) return {};
  if (!isPlainBias(b, w.size(0))) return {};
  for (const auto* list : {&numbers.stride, &numbers.padding, &numbers.dilation}) {
    if (!isForAxes(*list, rank - 2)) return {};
  }
  if (x.size(1) != w.size(1) * numbers.groups || w.size(0) % numbers.groups != 0) return {};
  ConvolutionProblem problem;
  problem.images = x.size(0);
  problem.channels = x.size(1);
  problem.outputs = w.size(0);
  problem.groups = numbers.groups;
  problem.size = {x.size(-2), x.size(-1)};
  problem.kernel = {w.size(-2), w.size(-1)};
  problem.stride = pairOf(numbers.stride);
  problem.padding = pairOf(numbers.padding);
  problem.dilation = pairOf(numbers.dilation);
  problem.volume = rank == 5;
  if (problem.volume) {
    problem.depth = {x.size(2), w.size(2), numbers.stride.front(), numbers.padding.front(), numbers.dilation.front()};
    const ConvolutionProblem::Depth& depth = problem.depth;
    if (depth.stride < 1 || depth.padding < 0 || depth.dilation < 1 || depth.out() < 1) return {};
  }
  problem.threads = at::get_num_threads();
  problem.bf16 = isBf16(x);
  for (const std::size_t axis : {0, 1}) {
    if (problem.stride[axis] < 1 || problem.padding[axis] < 0 || problem.dilation[axis] < 1) return {};
    if (problem.out(axis) < 1) return {};
  }
  return {problem, convolutionFor(problem)};
}

at::Tensor computeForward(const Prepared& convolution, const at::Tensor& x, const at::Tensor& w,
                          const c10::optional<at::Tensor>& b) {
  const at::MemoryFormat order = pixelOrderOf(x);
  const at::Tensor image = x.contiguous(order), weights = w.contiguous(order);
  const at::Tensor bias = b && b->defined() ? b->contiguous() : at::Tensor();
  const ConvolutionProblem& problem = convolution.problem;
  std::vector<std::int64_t> sizes{problem.images, problem.outputs, problem.out(0), problem.out(1)};
  if (problem.volume) sizes.insert(sizes.begin() + 2, problem.depth.out());
  const at::Tensor y = at::empty(sizes, x.options().memory_format(order));
  convolution.operation->forward(image.data_ptr(), floatsOf(weights), floatsOf(bias), y.data_ptr());
  return y;
}

using Gradients = std::array<at::Tensor, 3>;  // of x, w and b; undefined if not asked for

Gradients computeGradients(const ConvolutionTraining& convolution, const at::Tensor& x, const at::Tensor& w,
                           const at::Tensor& dy, std::array<bool, 3> wanted) {
  const at::MemoryFormat order = pixelOrderOf(x);
  const at::Tensor image = x.contiguous(order), weights = w.contiguous(order);
  const at::Tensor gradient = dy.contiguous(order);
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

class Convolution : public torch::autograd::Function<Convolution> {
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
    return computeForward(prepared(x, w, b, numbers), x, w, b);
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const at::Tensor x = context->get_saved_variables()[0], w = context->get_saved_variables()[1];
    auto& data = context->saved_data;
    const ConvolutionNumbers numbers{data["stride"].toIntVector(), data["padding"].toIntVector(),
                                     data["dilation"].toIntVector(), data["groups"].toInt()};
    const c10::List<bool> asked = data["wanted"].toBoolList();
    const std::array<bool, 3> wanted{asked[0], asked[1], asked[2]};
    const KeptConvolution convolution = at::GradMode::is_enabled() ? nullptr : prepared(x, w, {}, numbers).operation;
    if (convolution && isPlainGradient(gradients[0], x)) {
      const Gradients result = computeGradients(*convolution, x, w, gradients[0], wanted);
      return {result[0], result[1], result[2], at::Tensor()};
    }
    auto [dx, dw, db] = at::convolution_backward(
        gradients[0], x, inTypeOf(x, w), at::IntArrayRef(w.size(0)), numbers.stride, numbers.padding, numbers.dilation,
        false, std::vector<std::int64_t>(numbers.stride.size()), numbers.groups, wanted);
    return {dx, inTypeOf(w, dw), inTypeOf(w, db), at::Tensor()};
  }
};

at::Tensor stock(const at::Tensor& x, const at::Tensor& w, const c10::optional<at::Tensor>& b,
                 const ConvolutionNumbers& numbers) {
  // PyTorch 1.13 refuses empty batches with such weights.
  const at::Tensor weights = inTypeOf(x, x.numel() == 0 ? w.contiguous() : w);
  const c10::optional<at::Tensor> bias = inTypeOf(x, b);
  return w.dim() == 5 ? at::conv3d(x, weights, bias, numbers.stride, numbers.padding, numbers.dilation, numbers.groups)
                      : at::conv2d(x, weights, bias, numbers.stride, numbers.padding, numbers.dilation, numbers.groups);
}

at::Tensor convolve(const at::Tensor& x, const at::Tensor& w, const c10::optional<at::Tensor>& b,
                    at::IntArrayRef stride, at::IntArrayRef padding, at::IntArrayRef dilation, std::int64_t groups) {
  const ConvolutionNumbers numbers{stride.vec(), padding.vec(), dilation.vec(), groups};
  const Prepared convolution = prepared(x, w, b, numbers);
  return convolution.operation ? computeForward(convolution, x, w, b) : stock(x, w, b, numbers);
}

at::Tensor convolveAutograd(const at::Tensor& x, const at::Tensor& w, const c10::optional<at::Tensor>& b,
                            at::IntArrayRef stride, at::IntArrayRef padding, at::IntArrayRef dilation,
                            std::int64_t groups) {
  const ConvolutionNumbers numbers{stride.vec(), padding.vec(), dilation.vec(), groups};
  return prepared(x, w, b, numbers).operation ? Convolution::apply(x, w, b, numbers) : stock(x, w, b, numbers);
}

using Convolve = at::Tensor(const at::Tensor&, const at::Tensor&, const c10::optional<at::Tensor>&, at::IntArrayRef,
                            at::IntArrayRef, at::IntArrayRef, std::int64_t);

c10::TypedOperatorHandle<Convolve> operatorNamed(const char* name) {
  return c10::Dispatcher::singleton().findSchemaOrThrow(name, "").typed<Convolve>();
}

at::Tensor convolveUnderAutocast(const at::Tensor& x, const at::Tensor& w, const c10::optional<at::Tensor>& b,
                                 at::IntArrayRef stride, at::IntArrayRef padding, at::IntArrayRef dilation,
                                 std::int64_t groups) {
  const bool volume = w.dim() == 5;
  if (!autocastIsBf16()) {
    return volume ? at::conv3d(x, w, b, stride, padding, dilation, groups)
                  : at::conv2d(x, w, b, stride, padding, dilation, groups);
  }
  const c10::impl::ExcludeDispatchKeyGuard no_autocast(c10::DispatchKey::AutocastCPU);
  static const auto image = operatorNamed("ipex_studio::conv2d"), volumes = operatorNamed("ipex_studio::conv3d");
  return (volume ? volumes : image).call(autocastToBf16(x), w, b, stride, padding, dilation, groups);
}

// Signals are images of one line. Samples without a batch are those of PyTorch.
at::Tensor conv1d(const at::Tensor& x, const at::Tensor& w, const c10::optional<at::Tensor>& b, at::IntArrayRef stride,
                  at::IntArrayRef padding, at::IntArrayRef dilation, std::int64_t groups) {
  const bool known = isForAxes(stride, 1) && isForAxes(padding, 1) && isForAxes(dilation, 1);
  if (x.dim() != 3 || w.dim() != 3 || !known) return at::conv1d(x, w, b, stride, padding, dilation, groups);
  static const auto image = operatorNamed("ipex_studio::conv2d");
  return image
      .call(x.unsqueeze(2), w.unsqueeze(2), b, {1, stride.back()}, {0, padding.back()}, {1, dilation.back()}, groups)
      .squeeze(2);
}

at::Tensor convolveMeta(const at::Tensor& x, const at::Tensor& w, const c10::optional<at::Tensor>& b,
                        at::IntArrayRef stride, at::IntArrayRef padding, at::IntArrayRef dilation,
                        std::int64_t groups) {
  return stock(x, w, b, {stride.vec(), padding.vec(), dilation.vec(), groups});
}

}  // namespace

TORCH_LIBRARY_FRAGMENT(ipex_studio, m) {
  m.def("conv1d(Tensor x, Tensor w, Tensor? b, int[1] stride, int[1] padding, int[1] dilation, int groups) -> Tensor",
        conv1d);
  m.def("conv2d(Tensor x, Tensor w, Tensor? b, int[2] stride, int[2] padding, int[2] dilation, int groups) -> Tensor");
  m.def("conv3d(Tensor x, Tensor w, Tensor? b, int[3] stride, int[3] padding, int[3] dilation, int groups) -> Tensor");
}
TORCH_LIBRARY_IMPL(ipex_studio, CPU, m) {
  for (const char* name : {"conv2d", "conv3d"}) m.impl(name, convolve);
}
TORCH_LIBRARY_IMPL(ipex_studio, Meta, m) {
  for (const char* name : {"conv2d", "conv3d"}) m.impl(name, convolveMeta);
}
TORCH_LIBRARY_IMPL(ipex_studio, Autograd, m) {
  for (const char* name : {"conv2d", "conv3d"}) m.impl(name, convolveAutograd);
}
TORCH_LIBRARY_IMPL(ipex_studio, AutocastCPU, m) {
  for (const char* name : {"conv2d", "conv3d"}) m.impl(name, convolveUnderAutocast);
}

}  // namespace ipex_studio
