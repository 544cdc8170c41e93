// Shapes of operations that slide a window over spatial axes, and of those whose spatial sizes are given.
#include <algorithm>

#include "core/op/shape_rules.h"

namespace ipex_studio {
namespace {

using Ints = std::vector<std::int64_t>;

// Spatial attributes of convolutions and pools, all of the length of the spatial rank.
struct Window {
  Ints kernel, stride, padding, padding_end, dilation;
};

constexpr std::int64_t kMaxWindow = 1 << 20;

Verdict readWindow(const OpSpec& spec, const Ints& kernel, Window* window) {
  const std::size_t rank = kernel.size();
  const auto list = [&](const char* name, std::int64_t otherwise) {
    return spec.has(name) ? spec.ints(name) : Ints(rank, otherwise);
  };
  *window = {kernel, list("stride", 1), list("padding", 0), {}, list("dilation", 1)};
  window->padding_end = spec.has("padding_end") ? spec.ints("padding_end") : window->padding;
  for (const Ints* values : {&window->stride, &window->padding, &window->padding_end, &window->dilation}) {
    if (values->size() != rank) return Verdict::no("a window attribute has the wrong length");
  }
  const bool ok = inRange(kernel, 1, kMaxWindow) && inRange(window->stride, 1, kMaxWindow) &&
                  inRange(window->dilation, 1, kMaxWindow) && inRange(window->padding, 0, kMaxWindow) &&
                  inRange(window->padding_end, 0, kMaxWindow);
  return ok ? Verdict::yes() : Verdict::no("a window attribute is out of range");
}

// Size after sliding a window along one axis; < 1 when it does not fit.
std::int64_t slidSize(std::int64_t size, const Window& w, int axis, bool ceil_mode) {
  const std::int64_t span = w.dilation[axis] * (w.kernel[axis] - 1) + 1;
  const std::int64_t room = size + w.padding[axis] + w.padding_end[axis] - span;
  if (room < 0) return 0;
  std::int64_t out = room / w.stride[axis] + 1;
  if (ceil_mode && room % w.stride[axis] != 0) {
    // The last window must begin inside the source or its left padding.
    if (out * w.stride[axis] < size + w.padding[axis]) ++out;
  }
  return out;
}

// Largest given size: kernels keep a window per position of an axis.
constexpr std::int64_t kMaxGivenSize = 1 << 24;

}  // namespace

Verdict inferConvolution(const OpSpec& spec, const std::vector<TensorDesc>& src, std::vector<TensorDesc>* dst) {
  const Dims& x = src[0].dims;
  const Dims& w = src[1].dims;
  const std::int64_t groups = spec.intOr("groups", 1);
  if (x.rank < 3 || x.rank > 5 || w.rank != x.rank) return Verdict::no("convolution needs 3 to 5 dimensions");
  if (groups < 1 || groups > x[1] || x[1] % groups != 0 || w[0] % groups != 0 || w[1] != x[1] / groups) {
    return Verdict::no("channels, groups and weight do not fit");
  }
  if (!isBias(src[2], w[0])) return Verdict::no("bias does not fit the output channels");
  const Verdict product = checkProduct(spec, src[0], src[1], &src[2]);
  if (!product.ok) return product;
  Window window;
  const Verdict read = readWindow(spec, Ints(w.d.begin() + 2, w.d.begin() + w.rank), &window);
  if (!read.ok) return read;
  Dims y = x;
  y[1] = w[0];
  for (int axis = 2; axis < x.rank; ++axis) {
    y[axis] = slidSize(x[axis], window, axis - 2, false);
    if (y[axis] < 1) return Verdict::no("the kernel is larger than the padded source");
  }
  return addResult(computedDtype(spec, src[0].dtype), y, dst);
}

Verdict inferDeconvolution(const OpSpec& spec, const std::vector<TensorDesc>& src, std::vector<TensorDesc>* dst) {
  const Dims& x = src[0].dims;
  const Dims& w = src[1].dims;
  const std::int64_t groups = spec.intOr("groups", 1);
  if (x.rank < 3 || x.rank > 5 || w.rank != x.rank) return Verdict::no("convolution needs 3 to 5 dimensions");
  if (groups < 1 || groups > x[1] || w[0] != x[1] || x[1] % groups != 0 || w[1] > kMaxElements / groups) {
    return Verdict::no("channels, groups and weight do not fit");
  }
  if (!isBias(src[2], w[1] * groups)) return Verdict::no("bias does not fit the output channels");
  const Verdict product = checkProduct(spec, src[0], src[1], &src[2]);
  if (!product.ok) return product;
  Window window;
  const Verdict read = readWindow(spec, Ints(w.d.begin() + 2, w.d.begin() + w.rank), &window);
  if (!read.ok) return read;
  const Ints extra = spec.has("output_padding") ? spec.ints("output_padding") : Ints(x.rank - 2, 0);
  if (extra.size() != window.kernel.size() || !inRange(extra, 0, kMaxWindow)) {
    return Verdict::no("output_padding is wrong");
  }
  Dims y = x;
  y[1] = w[1] * groups;
  for (int axis = 2; axis < x.rank; ++axis) {
    const int s = axis - 2;
    if (x[axis] < 1 || x[axis] > kMaxElements / kMaxWindow) return Verdict::no("a spatial size is out of range");
    y[axis] = (x[axis] - 1) * window.stride[s] - window.padding[s] - window.padding_end[s] +
              window.dilation[s] * (window.kernel[s] - 1) + extra[s] + 1;
    if (y[axis] < 1) return Verdict::no("the result would be empty");
  }
  return addResult(computedDtype(spec, src[0].dtype), y, dst);
}

Verdict inferPool(const OpSpec& spec, const std::vector<TensorDesc>& src, std::vector<TensorDesc>* dst) {
  const Dims& x = src[0].dims;
  if (x.rank < 3 || x.rank > 5) return Verdict::no("pooling needs 3 to 5 dimensions");
  Window window;
  const Verdict read = readWindow(spec, spec.ints("kernel"), &window);
  if (!read.ok) return read;
  if (static_cast<int>(window.kernel.size()) != x.rank - 2) return Verdict::no("kernel has the wrong length");
  for (std::size_t s = 0; s < window.kernel.size(); ++s) {
    // A window that sees padding only has no result, and oneDNN 2.6 crashes while preparing for it.
    const std::int64_t span = window.dilation[s] * (window.kernel[s] - 1) + 1;
    if (std::max(window.padding[s], window.padding_end[s]) >= span)
      return Verdict::no("the padding is as large as the window");
  }
  Dims y = x;
  for (int axis = 2; axis < x.rank; ++axis) {
    y[axis] = slidSize(x[axis], window, axis - 2, spec.intOr("ceil_mode", 0) != 0);
    if (y[axis] < 1) return Verdict::no("the kernel is larger than the padded source");
  }
  return addResult(resultDtype(spec, src[0].dtype), y, dst);
}

Verdict inferPoolPlaces(const OpSpec& spec, const std::vector<TensorDesc>& src, std::vector<TensorDesc>* dst) {
  if (src[0].dtype != DType::kF32) return Verdict::no("the values are not f32");
  const Verdict pooled = inferPool(spec, src, dst);
  return pooled.ok ? addResult(DType::kS64, Dims(dst->back().dims), dst) : pooled;
}

Verdict inferAffineGrid(const OpSpec& spec, const std::vector<TensorDesc>& src, std::vector<TensorDesc>* dst) {
  const Dims& theta = src[0].dims;
  const Ints output = spec.ints("output");
  if (src[0].dtype != DType::kF32) return Verdict::no("theta is not f32");
  if (theta.rank != 3 || theta[1] != 2 || theta[2] != 3) return Verdict::no("theta is no list of 2x3 matrices");
  if (output.size() != 2 || !inRange(output, 1, kMaxGivenSize)) return Verdict::no("output sizes are wrong");
  return addResult(DType::kF32, Dims{theta[0], output[0], output[1], 2}, dst);
}

Verdict inferGridSample(const OpSpec& spec, const std::vector<TensorDesc>& src, std::vector<TensorDesc>* dst) {
  const Dims &x = src[0].dims, &grid = src[1].dims;
  const std::string mode = spec.stringOr("mode", "bilinear"), padding = spec.stringOr("padding", "zeros");
  if ((mode != "bilinear" && mode != "nearest") || (padding != "zeros" && padding != "border"))
    return Verdict::no("the mode is unknown");
  if (src[0].dtype != DType::kF32 || src[1].dtype != DType::kF32) return Verdict::no("image or grid are not f32");
  if (x.rank != 4 || grid.rank != 4 || grid[0] != x[0] || grid[3] != 2) return Verdict::no("image and grid do not fit");
  if (x[2] < 1 || x[3] < 1) return Verdict::no("a spatial size is zero");
  return addResult(src[0].dtype, Dims{x[0], x[1], grid[1], grid[2]}, dst);
}

Verdict inferFourier(const OpSpec& spec, const std::vector<TensorDesc>& src, std::vector<TensorDesc>* dst) {
  const Dims &x = src[0].dims, &window = src[1].dims;
  const std::string norm = spec.stringOr("norm", "backward"), result = spec.stringOr("result", "pairs");
  if ((norm != "backward" && norm != "ortho" && norm != "forward") || (result != "pairs" && result != "magnitude"))
    return Verdict::no("the norm or the result is unknown");
  if (src[0].dtype != DType::kF32) return Verdict::no("the numbers are not f32");
  const bool framed = spec.has("frame"), pairs = result == "pairs";
  if (x.rank < 1 || x.rank + (framed ? 1 : 0) + (pairs ? 1 : 0) > kMaxRank) return Verdict::no("too many dimensions");
  const std::int64_t length = x[x.rank - 1], frame = framed ? spec.intOr("frame", 0) : length;
  const std::int64_t hop = spec.intOr("hop", 1);
  if (frame < 1 || frame > kMaxGivenSize || hop < 1 || hop > kMaxGivenSize) return Verdict::no("frame or hop is wrong");
  if (frame > length) return Verdict::no("a frame is longer than its source");
  if (!src[1].absent() && (src[1].dtype != DType::kF32 || window.rank != 1 || window[0] != frame))
    return Verdict::no("the window does not fit a frame");
  Dims y = x;
  y[x.rank - 1] = frame / 2 + 1;
  if (framed) y[y.rank++] = (length - frame) / hop + 1;
  if (pairs) y[y.rank++] = 2;
  return addResult(DType::kF32, y, dst);
}

Verdict inferComplexFourier(const OpSpec& spec, const std::vector<TensorDesc>& src, std::vector<TensorDesc>* dst) {
  const std::string norm = spec.stringOr("norm", "backward"), source = spec.stringOr("source", "pairs"),
                    result = spec.stringOr("result", "pairs");
  const bool from_real = source == "real", half = result == "half", to_real = result == "real";
  if ((norm != "backward" && norm != "ortho" && norm != "forward") || (!from_real && source != "pairs") ||
      (!half && !to_real && result != "pairs"))
    return Verdict::no("the norm, the source or the result is unknown");
  if (half ? !from_real : to_real && (from_real || spec.intOr("inverse", 0) == 0))
    return Verdict::no("there is no such transform");
  if (src[0].dtype != DType::kF32) return Verdict::no("the numbers are not f32");
  Dims y = src[0].dims;
  if (!from_real && (y.rank < 1 || y[y.rank - 1] != 2)) return Verdict::no("complex numbers are not pairs");
  if (!from_real) --y.rank;
  if (y.rank >= kMaxRank && !to_real) return Verdict::no("too many dimensions");
  // Axes that count from the end would have another meaning for pairs.
  const std::int64_t axis = spec.intOr("axis", -1);
  if (axis < 0 || axis >= y.rank) return Verdict::no("the axis is out of range");
  std::int64_t& along = y[static_cast<int>(axis)];
  const std::int64_t size = spec.intOr("size", to_real ? 2 * (along - 1) : along);
  if (size < 1 || size > kMaxGivenSize) return Verdict::no("the size of a transform is out of range");
  along = half ? size / 2 + 1 : size;
  if (!to_real) y[y.rank++] = 2;
  return addResult(DType::kF32, y, dst);
}

Verdict inferComplexProduct(const OpSpec&, const std::vector<TensorDesc>& src, std::vector<TensorDesc>* dst) {
  for (const TensorDesc& pairs : src) {
    if (pairs.dtype != DType::kF32) return Verdict::no("the numbers are not f32");
    if (pairs.dims.rank < 1 || pairs.dims[pairs.dims.rank - 1] != 2)
      return Verdict::no("complex numbers are not pairs");
  }
  Dims y;
  if (!broadcastInto(src[0].dims, src[1].dims, &y)) return Verdict::no("the sizes do not broadcast");
  return addResult(DType::kF32, y, dst);
}

Verdict inferGivenSpatial(const OpSpec& spec, const std::vector<TensorDesc>& src, std::vector<TensorDesc>* dst) {
  const Dims& x = src[0].dims;
  Ints output = spec.ints("output");
  const Ints factors = spec.ints("factors");
  if (output.empty() && static_cast<int>(factors.size()) == x.rank - 2 && inRange(factors, 1, kMaxWindow)) {
    for (int axis = 2; axis < x.rank; ++axis) output.push_back(x[axis] * factors[axis - 2]);
  }
  if (x.rank < 3 || x.rank > 5 || static_cast<int>(output.size()) != x.rank - 2 || !inRange(output, 1, kMaxGivenSize)) {
    return Verdict::no("output sizes are wrong");
  }
  Dims y = x;
  for (int axis = 2; axis < x.rank; ++axis) {
    if (x[axis] < 1) return Verdict::no("a spatial size is zero");
    y[axis] = output[axis - 2];
  }
  return addResult(resultDtype(spec, src[0].dtype), y, dst);
}

}  // namespace ipex_studio
