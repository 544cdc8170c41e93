// ipex_studio::deform_conv2d: torchvision::deform_conv2d, a convolution whose weights read at places of their own, with
// its gradients.
#include <torch/csrc/autograd/custom_function.h>
#include <torch/library.h>

#include <ATen/Parallel.h>

#include "kernels/torch/ops/vision_operator.h"
#include "kernels/vision/deform_columns.h"

namespace ipex_studio {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

// The whole numbers of the schema.
struct DeformArguments {
  std::int64_t stride_h, stride_w, pad_h, pad_w, dilation_h, dilation_w, groups, offset_groups;
  bool use_mask;
};

using DeformGradients = std::tuple<at::Tensor, at::Tensor, at::Tensor, at::Tensor, at::Tensor>;
using DeformForward = at::Tensor(const at::Tensor&, const at::Tensor&, const at::Tensor&, const at::Tensor&,
                                 const at::Tensor&, std::int64_t, std::int64_t, std::int64_t, std::int64_t,
                                 std::int64_t, std::int64_t, std::int64_t, std::int64_t, bool);
using DeformBackward = DeformGradients(const at::Tensor&, const at::Tensor&, const at::Tensor&, const at::Tensor&,
                                       const at::Tensor&, const at::Tensor&, std::int64_t, std::int64_t, std::int64_t,
                                       std::int64_t, std::int64_t, std::int64_t, std::int64_t, std::int64_t, bool);

// The operands in one dtype, contiguous, and what is known of them.
struct DeformOperands {
  at::Tensor input, weight, offset, mask, bias;
  DeformJob job;
  std::int64_t groups = 1;
};

std::int64_t outSize(std::int64_t size, std::int64_t pad, std::int64_t dilation, std::int64_t kernel,
                     std::int64_t stride) {
  return (size + 2 * pad - (dilation * (kernel - 1) + 1)) / stride + 1;
}

// Words as torchvision's, which scripts look for.
void checkDeformShape(const char* name, const at::Tensor& tensor, at::IntArrayRef expected) {
  TORCH_CHECK(tensor.dim() == 4, "deform_conv2d: ", name, " must have 4 axes, not ", tensor.dim(), ".");
  for (std::size_t axis = 0; axis < expected.size(); ++axis) {
    TORCH_CHECK(tensor.sizes()[axis] == expected[axis], "deform_conv2d: ", name, ".shape[", axis,
                "] is not valid: got ", tensor.sizes()[axis], ", expected ", expected[axis], ".");
  }
}

void checkDeformSizes(const DeformOperands& of, bool use_mask) {
  const DeformJob& job = of.job;
  const std::int64_t taps = job.kernel_height * job.kernel_width, images = of.input.size(0);
  TORCH_CHECK(of.weight.size(1) * of.groups == job.channels && of.weight.size(0) % of.groups == 0,
              "deform_conv2d: weights of sizes ", of.weight.sizes(), " do not fit ", job.channels, " channels in ",
              of.groups, " groups.");
  TORCH_CHECK(job.channels % job.offset_groups == 0, "deform_conv2d: ", job.channels, " channels are no multiple of ",
              job.offset_groups, " offset groups.");
  TORCH_CHECK(job.out_height > 0 && job.out_width > 0, "deform_conv2d: the result would have no size, ", job.out_height,
              " x ", job.out_width, ".");
  checkDeformShape("offset", of.offset, {images, 2 * job.offset_groups * taps, job.out_height, job.out_width});
  if (use_mask) checkDeformShape("mask", of.mask, {images, job.offset_groups * taps, job.out_height, job.out_width});
  TORCH_CHECK(of.bias.sizes() == at::IntArrayRef({of.weight.size(0)}), "deform_conv2d: the bias has sizes ",
              of.bias.sizes(), ", not [", of.weight.size(0), "].");
}

DeformOperands deformOperands(const at::Tensor& input, const at::Tensor& weight, const at::Tensor& offset,
                              const at::Tensor& mask, const at::Tensor& bias, const DeformArguments& with) {
  TORCH_CHECK(input.dim() == 4 && weight.dim() == 4, "deform_conv2d: input and weight must have 4 axes.");
  TORCH_CHECK(with.stride_h > 0 && with.stride_w > 0 && with.dilation_h > 0 && with.dilation_w > 0 && with.pad_h >= 0 &&
                  with.pad_w >= 0 && with.groups > 0 && with.offset_groups > 0,
              "deform_conv2d: strides, dilations and groups must be positive, paddings not negative.");
  const at::ScalarType dtype = visionDtype("deform_conv2d", input);
  const auto dense = [&](const at::Tensor& tensor) { return tensor.to(dtype).contiguous(); };
  DeformOperands of{dense(input), dense(weight), dense(offset), with.use_mask ? dense(mask) : at::Tensor(), dense(bias),
                    {},           with.groups};
  DeformJob& job = of.job;
  job.channels = input.size(1);
  job.height = input.size(2);
  job.width = input.size(3);
  job.kernel_height = weight.size(2);
  job.kernel_width = weight.size(3);
  job.stride_height = with.stride_h;
  job.stride_width = with.stride_w;
  job.pad_height = with.pad_h;
  job.pad_width = with.pad_w;
  job.dilation_height = with.dilation_h;
  job.dilation_width = with.dilation_w;
  job.out_height = outSize(job.height, with.pad_h, with.dilation_h, job.kernel_height, with.stride_h);
  job.out_width = outSize(job.width, with.pad_w, with.dilation_w, job.kernel_width, with.stride_w);
  job.offset_groups = with.offset_groups;
  job.threads = at::get_num_threads();
  checkDeformSizes(of, with.use_mask);
  return of;
}

// A row of a tensor as the kernels take it; null for an absent tensor.
template <typename T>
T* imageOf(const at::Tensor& tensor, std::int64_t image) {
  return tensor.defined() ? tensor.data_ptr<T>() + image * (tensor.numel() / tensor.size(0)) : nullptr;
}

void fillColumns(const DeformOperands& of, std::int64_t image, const at::Tensor& columns) {
  if (columns.scalar_type() == at::kDouble) {
    deformColumns<double>(of.job, imageOf<double>(of.input, image), imageOf<double>(of.offset, image),
                          imageOf<double>(of.mask, image), columns.data_ptr<double>());
  } else {
    deformColumns<float>(of.job, imageOf<float>(of.input, image), imageOf<float>(of.offset, image),
                         imageOf<float>(of.mask, image), columns.data_ptr<float>());
  }
}

template <typename T>
void spreadOf(const DeformOperands& of, std::int64_t image, const at::Tensor& grad_columns, const at::Tensor& grad_x,
              const at::Tensor& grad_offset, const at::Tensor& grad_mask) {
  deformColumnsBackward<T>(of.job, grad_columns.data_ptr<T>(), imageOf<T>(of.input, image),
                           imageOf<T>(of.offset, image), imageOf<T>(of.mask, image), imageOf<T>(grad_x, image),
                           imageOf<T>(grad_offset, image), imageOf<T>(grad_mask, image));
}

// [groups][channels of a group × taps][places]
at::Tensor emptyColumns(const DeformOperands& of) {
  const DeformJob& job = of.job;
  return at::empty(
      {of.groups, job.channels / of.groups * job.kernel_height * job.kernel_width, job.out_height * job.out_width},
      of.input.options());
}

at::Tensor deformOnCpu(const at::Tensor& input, const at::Tensor& weight, const at::Tensor& offset,
                       const at::Tensor& mask, const at::Tensor& bias, std::int64_t stride_h, std::int64_t stride_w,
                       std::int64_t pad_h, std::int64_t pad_w, std::int64_t dilation_h, std::int64_t dilation_w,
                       std::int64_t groups, std::int64_t offset_groups, bool use_mask) {
  const DeformOperands of =
      deformOperands(input, weight, offset, mask, bias,
                     {stride_h, stride_w, pad_h, pad_w, dilation_h, dilation_w, groups, offset_groups, use_mask});
  const std::int64_t results = of.weight.size(0);
  const at::Tensor y = at::empty({input.size(0), results, of.job.out_height, of.job.out_width}, of.input.options());
  const at::Tensor columns = emptyColumns(of), matrix = of.weight.reshape({groups, results / groups, -1});
  for (std::int64_t image = 0; image < input.size(0); ++image) {
    fillColumns(of, image, columns);
    y[image].copy_(at::bmm(matrix, columns).reshape({results, of.job.out_height, of.job.out_width}));
  }
  return y.add_(of.bias.reshape({1, -1, 1, 1})).to(input.scalar_type());
}

DeformGradients deformBackwardOnCpu(const at::Tensor& grad, const at::Tensor& input, const at::Tensor& weight,
                                    const at::Tensor& offset, const at::Tensor& mask, const at::Tensor& bias,
                                    std::int64_t stride_h, std::int64_t stride_w, std::int64_t pad_h,
                                    std::int64_t pad_w, std::int64_t dilation_h, std::int64_t dilation_w,
                                    std::int64_t groups, std::int64_t offset_groups, bool use_mask) {
  const DeformOperands of =
      deformOperands(input, weight, offset, mask, bias,
                     {stride_h, stride_w, pad_h, pad_w, dilation_h, dilation_w, groups, offset_groups, use_mask});
  const std::int64_t results = of.weight.size(0);
  TORCH_CHECK(grad.sizes() == at::IntArrayRef({input.size(0), results, of.job.out_height, of.job.out_width}),
              "_deform_conv2d_backward: the gradient has sizes ", grad.sizes(), ".");
  const at::Tensor y = grad.to(of.input.scalar_type()).contiguous();
  const at::Tensor grad_x = at::empty_like(of.input), grad_offset = at::empty_like(of.offset),
                   grad_mask = use_mask ? at::empty_like(of.mask) : at::Tensor();
  const at::Tensor columns = emptyColumns(of), matrix = of.weight.reshape({groups, results / groups, -1});
  at::Tensor grad_weight = at::zeros_like(matrix);
  for (std::int64_t image = 0; image < input.size(0); ++image) {
    const at::Tensor of_image = y[image].reshape({groups, results / groups, -1});
    fillColumns(of, image, columns);
    grad_weight += at::bmm(of_image, columns.transpose(1, 2));
    const at::Tensor grad_columns = at::bmm(matrix.transpose(1, 2), of_image).contiguous();
    (y.scalar_type() == at::kDouble ? spreadOf<double> : spreadOf<float>)(of, image, grad_columns, grad_x, grad_offset,
                                                                          grad_mask);
  }
  return {grad_x.to(input.scalar_type()), grad_weight.reshape(weight.sizes()).to(weight.scalar_type()),
          grad_offset.to(offset.scalar_type()), use_mask ? grad_mask.to(mask.scalar_type()) : at::zeros_like(mask),
          y.sum(at::IntArrayRef({0, 2, 3})).to(bias.scalar_type())};
}

at::Tensor callDeform(const at::Tensor& input, const at::Tensor& weight, const at::Tensor& offset,
                      const at::Tensor& mask, const at::Tensor& bias, const DeformArguments& a) {
  static const auto op = operatorNamed<DeformForward>("ipex_studio::deform_conv2d");
  return op.call(input, weight, offset, mask, bias, a.stride_h, a.stride_w, a.pad_h, a.pad_w, a.dilation_h,
                 a.dilation_w, a.groups, a.offset_groups, a.use_mask);
}

class DeformFunction : public torch::autograd::Function<DeformFunction> {
 public:
  static at::Tensor forward(AutogradContext* context, const at::Tensor& input, const at::Tensor& weight,
                            const at::Tensor& offset, const at::Tensor& mask, const at::Tensor& bias,
                            DeformArguments a) {
    context->save_for_backward({input, weight, offset, mask, bias});
    context->saved_data["whole"] = std::vector<std::int64_t>{a.stride_h,   a.stride_w,   a.pad_h,  a.pad_w,
                                                             a.dilation_h, a.dilation_w, a.groups, a.offset_groups};
    context->saved_data["use_mask"] = a.use_mask;
    const at::AutoDispatchBelowADInplaceOrView below;
    return callDeform(input, weight, offset, mask, bias, a);
  }

  static variable_list backward(AutogradContext* context, const variable_list& grads) {
    static const auto op = operatorNamed<DeformBackward>("ipex_studio::_deform_conv2d_backward");
    const variable_list saved = context->get_saved_variables();
    const std::vector<std::int64_t> a = context->saved_data["whole"].toIntVector();
    const auto [x, weight, offset, mask, bias] =
        op.call(grads[0], saved[0], saved[1], saved[2], saved[3], saved[4], a[0], a[1], a[2], a[3], a[4], a[5], a[6],
                a[7], context->saved_data["use_mask"].toBool());
    return {x, weight, offset, mask, bias, {}};
  }
};

at::Tensor deformWithGradient(const at::Tensor& input, const at::Tensor& weight, const at::Tensor& offset,
                              const at::Tensor& mask, const at::Tensor& bias, std::int64_t stride_h,
                              std::int64_t stride_w, std::int64_t pad_h, std::int64_t pad_w, std::int64_t dilation_h,
                              std::int64_t dilation_w, std::int64_t groups, std::int64_t offset_groups, bool use_mask) {
  return DeformFunction::apply(
      input, weight, offset, mask, bias,
      DeformArguments{stride_h, stride_w, pad_h, pad_w, dilation_h, dilation_w, groups, offset_groups, use_mask});
}

at::Tensor deformUnderAutocast(const at::Tensor& input, const at::Tensor& weight, const at::Tensor& offset,
                               const at::Tensor& mask, const at::Tensor& bias, std::int64_t stride_h,
                               std::int64_t stride_w, std::int64_t pad_h, std::int64_t pad_w, std::int64_t dilation_h,
                               std::int64_t dilation_w, std::int64_t groups, std::int64_t offset_groups,
                               bool use_mask) {
  const c10::impl::ExcludeDispatchKeyGuard no_autocast(c10::DispatchKey::AutocastCPU);
  return callDeform(autocastToFp32(input), autocastToFp32(weight), autocastToFp32(offset), autocastToFp32(mask),
                    autocastToFp32(bias),
                    {stride_h, stride_w, pad_h, pad_w, dilation_h, dilation_w, groups, offset_groups, use_mask})
      .to(input.scalar_type());
}

// Sizes alone.
at::Tensor deformOnMeta(const at::Tensor& input, const at::Tensor& weight, const at::Tensor& offset, const at::Tensor&,
                        const at::Tensor&, std::int64_t, std::int64_t, std::int64_t, std::int64_t, std::int64_t,
                        std::int64_t, std::int64_t, std::int64_t, bool) {
  return at::empty({input.size(0), weight.size(0), offset.size(2), offset.size(3)}, input.options());
}

DeformGradients deformBackwardOnMeta(const at::Tensor&, const at::Tensor& input, const at::Tensor& weight,
                                     const at::Tensor& offset, const at::Tensor& mask, const at::Tensor& bias,
                                     std::int64_t, std::int64_t, std::int64_t, std::int64_t, std::int64_t, std::int64_t,
                                     std::int64_t, std::int64_t, bool) {
  return {at::empty_like(input), at::empty_like(weight), at::empty_like(offset), at::empty_like(mask),
          at::empty_like(bias)};
}

}  // namespace

TORCH_LIBRARY_FRAGMENT(ipex_studio, m) {
  m.def(
      "deform_conv2d(Tensor input, Tensor weight, Tensor offset, Tensor mask, Tensor bias, int stride_h, int stride_w, "
      "int pad_h, int pad_w, int dilation_h, int dilation_w, int groups, int offset_groups, bool use_mask) -> Tensor");
  m.def(
      "_deform_conv2d_backward(Tensor grad, Tensor input, Tensor weight, Tensor offset, Tensor mask, Tensor bias, "
      "int stride_h, int stride_w, int pad_h, int pad_w, int dilation_h, int dilation_w, int groups, int "
      "offset_groups, "
      "bool use_mask) -> (Tensor, Tensor, Tensor, Tensor, Tensor)");
}

TORCH_LIBRARY_IMPL(ipex_studio, CPU, m) {
  m.impl("deform_conv2d", deformOnCpu);
  m.impl("_deform_conv2d_backward", deformBackwardOnCpu);
}
TORCH_LIBRARY_IMPL(ipex_studio, Meta, m) {
  m.impl("deform_conv2d", deformOnMeta);
  m.impl("_deform_conv2d_backward", deformBackwardOnMeta);
}
TORCH_LIBRARY_IMPL(ipex_studio, Autograd, m) { m.impl("deform_conv2d", deformWithGradient); }
TORCH_LIBRARY_IMPL(ipex_studio, AutocastCPU, m) { m.impl("deform_conv2d", deformUnderAutocast); }

}  // namespace ipex_studio
