// Helpers of kernels for images on an OpenCL device. Channels lie side by side, and 16 of them are computed at once.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "core/op/tensor_view.h"
#include "kernels/common/convolution_geometry.h"
#include "kernels/common/layer_operands.h"
#include "kernels/xpu/device_chain.h"

namespace ipex_studio {

constexpr std::int64_t kLanes = 16;

inline std::int32_t narrowed(std::int64_t value) { return static_cast<std::int32_t>(value); }
inline std::int64_t wholeLanes(std::int64_t count) { return (count + kLanes - 1) / kLanes * kLanes; }

// The image as a kernel reads it: as it lies if channels lie side by side.
inline TensorDesc channelsSideBySide(const TensorDesc& x) {
  const bool as_given = x.block == 0 && (x.dims[1] == 1 || x.strides[1] == 1);
  return as_given ? x : channelsLastDesc(x.dtype, x.dims);
}

// Sets the sizes of the result, and where pixels of the source lie: those of the last two axes, of a sequence as of an
// image of one row.
template <typename Job>
void describeImage(const TensorDesc& x, const Dims& y, Job* job) {
  const int last = y.rank - 1;
  job->width = narrowed(y[last]);
  job->pixels = narrowed(y.count() / y[1]);
  job->x_width = narrowed(x.dims[last]);
  job->x_image = narrowed(x.strides[0]);
  job->x_pixel = narrowed(x.strides[last]);
  job->height = last > 2 ? narrowed(y[last - 1]) : 1;
  job->x_height = last > 2 ? narrowed(x.dims[last - 1]) : 1;
  job->x_row = last > 2 ? narrowed(x.strides[last - 1]) : 0;
  job->x_type = deviceType(x.dtype);
}

// The operands and the result of an operation on images, channels side by side, and the chain behind it.
struct ImageOperands {
  PrepareArgs args;
  TensorDesc dst;
  ChainJob chain;

  template <typename Op>
  void moveTo(Op* op) && {
    op->job = std::move(chain);
    op->src = args.src;
    op->dst = {dst};
    op->packed.assign(args.src.size(), false);
  }
};

// Returns those of an operation whose first operand is the image; the others stay as they are. Returns nullopt, with
// the reason, where the device cannot compute it.
inline std::optional<ImageOperands> operandsOfImage(const PrepareArgs& given, std::string* reason,
                                                    int first_post_operand = 1) {
  ImageOperands operands{given, channelsLastDesc(given.dst[0].dtype, given.dst[0].dims), {}};
  TensorDesc& image = operands.args.src[0];
  image = channelsSideBySide(image);
  ChainBuilder chain(operands.dst);
  chain.applyPostOps(operands.args, first_post_operand);
  if (!chain.finish(&operands.chain, reason)) return std::nullopt;
  if (fitsDevice(image)) return operands;
  *reason = "size";
  return std::nullopt;
}

// Bias, one for each channel, and the post-operations of a layer with weights.
inline bool describeImageChain(const PrepareArgs& args, const TensorDesc& dst, ChainJob* job, std::string* reason) {
  ChainBuilder chain(dst);
  if (!args.src[kBias].absent()) {
    TensorDesc bias = args.src[kBias];
    Dims channels = dst.dims;
    for (int axis = 0; axis < channels.rank; ++axis) channels[axis] = axis == kChannelAxis ? bias.dims[0] : 1;
    const TensorDesc per_channel = contiguousDesc(bias.dtype, channels);
    const std::int64_t step = bias.strides[0];
    bias.dims = per_channel.dims;
    bias.strides = per_channel.strides;
    bias.strides[kChannelAxis] = step;
    chain.apply(binaryPostOp(PostOpKind::kAdd, 0), chain.walk(kBias, bias));
  }
  chain.applyPostOps(args, kFirstPostOperand);
  return chain.finish(job, reason);
}

// The same of a layer with weights, without a look at the sizes.
inline std::optional<ImageOperands> operandsOfLayer(const PrepareArgs& given, std::string* reason) {
  ImageOperands operands{given, channelsLastDesc(given.dst[0].dtype, given.dst[0].dims), {}};
  auto& src = operands.args.src;
  src[kSrc] = channelsSideBySide(src[kSrc]);
  for (std::size_t s = kBias; s < src.size(); ++s) {
    if (src[s].block > 0) src[s] = contiguousDesc(src[s].dtype, src[s].dims);
  }
  if (!describeImageChain(operands.args, operands.dst, &operands.chain, reason)) return std::nullopt;
  return operands;
}

// A layer with weights under a window that moves over the image, as programs read it.
struct WindowJob {
  std::int32_t pixels = 0, height = 0, width = 0;
  std::int32_t x_height = 0, x_width = 0, x_image = 0, x_row = 0, x_pixel = 0, x_type = 0;
  std::int32_t kernel[2] = {}, stride[2] = {}, padding[2] = {}, dilation[2] = {};
  // The axis before these, which volumes have.
  std::int32_t depth = 1, x_depth = 1, x_plane = 0, kernel_z = 1, stride_z = 1, padding_z = 0, dilation_z = 1;
  std::int32_t groups = 1, inputs = 0, outputs = 0, padded = 0;  // channels of a group; padded: up to whole vectors

  std::int64_t places() const { return std::int64_t{kernel_z} * kernel[0] * kernel[1]; }
};

// Sets how a window moves over the image.
template <typename Job>
void describeWindow(const ConvolutionGeometry& geometry, Job* job) {
  for (std::size_t s = 0; s < 2; ++s) {
    job->stride[s] = narrowed(geometry.stride[s]);
    job->padding[s] = narrowed(geometry.padding_begin[s]);
    job->dilation[s] = narrowed(geometry.dilation[s] + 1);
  }
}

// Sets all but the channels.
inline void describeWindowLayer(const PrepareArgs& args, WindowJob* job) {
  const Dims& w = args.src[kWeights].dims;
  const TensorDesc& x = args.src[kSrc];
  describeImage(x, args.dst[0].dims, job);
  const int axes = w.rank - 2;
  ConvolutionGeometry geometry = convolutionGeometry(args.spec, axes);
  const auto inFront = [](Ints& of, std::int64_t value) { of.insert(of.begin(), value); };
  if (axes == 1) {
    inFront(geometry.stride, 1);
    inFront(geometry.padding_begin, 0);
    inFront(geometry.dilation, 0);
  }
  if (axes == 3) {
    job->depth = narrowed(args.dst[0].dims[2]);
    job->x_depth = narrowed(x.dims[2]);
    job->x_plane = narrowed(x.strides[2]);
    job->kernel_z = narrowed(w[2]);
    job->stride_z = narrowed(geometry.stride[0]);
    job->padding_z = narrowed(geometry.padding_begin[0]);
    job->dilation_z = narrowed(geometry.dilation[0] + 1);
    for (Ints* of : {&geometry.stride, &geometry.padding_begin, &geometry.dilation}) of->erase(of->begin());
  }
  describeWindow(geometry, job);
  job->kernel[0] = axes > 1 ? narrowed(w[w.rank - 2]) : 1;
  job->kernel[1] = narrowed(w[w.rank - 1]);
  job->groups = narrowed(args.spec.intOr("groups", 1));
}

// The reason against a layer with weights, beside its types and sizes; yes if there is none.
inline Verdict supportsWindow(const PrepareArgs& args, int least_rank, int largest_rank) {
  const int rank = args.dst[0].dims.rank;
  if (rank < least_rank || rank > largest_rank) return Verdict::no("rank");
  if (args.src[kSrc].dims.count() == 0) return Verdict::no("empty");
  if (args.constant[kWeights] == nullptr) return Verdict::no("weights-not-constant");
  return args.src[kWeights].isContiguous() ? Verdict::yes() : Verdict::no("layout");
}

// True if the device can hold the image and the weights, `elements` of them once they are packed.
inline bool fitsLayer(const PrepareArgs& args, std::int64_t elements) {
  return fitsDevice(args.src[kSrc]) && fitsDevice(args.src[kWeights]) && elements <= (std::int64_t{1} << 30);
}

}  // namespace ipex_studio
