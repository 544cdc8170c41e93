// Convolution, transposed convolution, linear and matmul as their definitions say.
#include <algorithm>
#include <cmath>

#include "core/op/woq_weights.h"
#include "kernels/common/reference.h"

namespace ipex_studio {
namespace {

Dims tail(const Dims& dims, int from) {
  Dims rest;
  for (int axis = from; axis < dims.rank; ++axis) rest[rest.rank++] = dims[axis];
  return rest;
}

struct RowRange {
  double zero = 0, scale = 1;
};

// Replaces a row by the u8 integers that represent it; returns their scale and zero.
RowRange roundRow(double* x, std::int64_t count) {
  double low = 0, high = 0;
  for (std::int64_t k = 0; k < count; ++k) {
    low = std::min(low, x[k]);
    high = std::max(high, x[k]);
  }
  RowRange range;
  if (high > low) range.scale = (high - low) / 255;
  range.zero = std::nearbyint(-low / range.scale);
  for (std::int64_t k = 0; k < count; ++k)
    x[k] = std::clamp(std::nearbyint(x[k] / range.scale) + range.zero, 0.0, 255.0);
  return range;
}

// Weights with a scale per group, of 8 or 4 bits (core/op/woq_weights.h).
void refGroupedLinear(const RefCall& call, std::int64_t group) {
  const RefTensor &x = call.src[0], &w = call.src[1], &scales = call.src[2], &y = call.dst[0];
  const std::int64_t columns = w.dims[0], inner = x.dims[x.dims.rank - 1], groups = groupCount(inner, group);
  const std::int64_t rows = columns == 0 ? 0 : y.dims.count() / columns;
  const bool four_bits = call.spec.intOr("bits", 8) == 4;
  const NibbleLevels& levels = *nibbleLevels(call.spec);
  const auto weight = [&](std::int64_t c, std::int64_t k) {
    if (!four_bits) return w.data[c * w.dims[1] + k];
    const auto byte = static_cast<std::int64_t>(w.data[c * w.dims[1] + nibbleByte(k)]);
    return static_cast<double>(levels[static_cast<std::size_t>(nibbleIsHigh(k) ? byte / 16 : byte % 16)]);
  };
  for (std::int64_t r = 0; r < rows; ++r) {
    for (std::int64_t c = 0; c < columns; ++c) {
      double sum = 0;
      for (std::int64_t k = 0; k < inner; ++k)
        sum += x.data[r * inner + k] * weight(c, k) * scales.data[c * groups + k / group];
      y.data[r * columns + c] = sum;
    }
  }
}

}  // namespace

void refConvolution(const RefCall& call) {
  const RefTensor &x = call.src[0], &w = call.src[1], &b = call.src[2], &y = call.dst[0];
  const int spatial = x.dims.rank - 2;
  const auto stride = refSpatial(call.spec, "stride", spatial, 1),
             padding = refSpatial(call.spec, "padding", spatial, 0),
             dilation = refSpatial(call.spec, "dilation", spatial, 1);
  const std::int64_t out_per_group = w.dims[0] / call.spec.intOr("groups", 1), in_per_group = w.dims[1];
  const Dims kernel = tail(w.dims, 2);
  const auto zero = static_cast<double>(call.spec.intOr("src_zero", 0));
  forEachIndex(y.dims, [&](const Dims& at) {
    double sum = b.data ? b.data[at[1]] : 0;
    forEachIndex(kernel, [&](const Dims& k) {
      Dims from = at, weight = w.dims;
      for (int s = 0; s < spatial; ++s) {
        from[s + 2] = at[s + 2] * stride[s] - padding[s] + k[s] * dilation[s];
        weight[s + 2] = k[s];
        if (from[s + 2] < 0 || from[s + 2] >= x.dims[s + 2]) return;
      }
      weight[0] = at[1];
      const std::int64_t first = at[1] / out_per_group * in_per_group;
      const RefLine in = refLine(x, from, 1), weights = refLine(w, weight, 1);
      for (std::int64_t c = 0; c < in_per_group; ++c) sum += (in[first + c] - zero) * weights[c];
    });
    y(at) = sum;
  });
}

void refDeconvolution(const RefCall& call) {
  const RefTensor &x = call.src[0], &w = call.src[1], &b = call.src[2], &y = call.dst[0];
  const int spatial = x.dims.rank - 2;
  const auto stride = refSpatial(call.spec, "stride", spatial, 1),
             padding = refSpatial(call.spec, "padding", spatial, 0),
             dilation = refSpatial(call.spec, "dilation", spatial, 1);
  const std::int64_t in_per_group = w.dims[0] / call.spec.intOr("groups", 1), out_per_group = w.dims[1];
  const Dims kernel = tail(w.dims, 2);
  forEachIndex(y.dims, [&](const Dims& at) { y(at) = b.data ? b.data[at[1]] : 0; });
  forEachIndex(x.dims, [&](const Dims& at) {
    const double value = x(at) - static_cast<double>(call.spec.intOr("src_zero", 0));
    forEachIndex(kernel, [&](const Dims& k) {
      Dims to = at, weight = w.dims;
      for (int s = 0; s < spatial; ++s) {
        to[s + 2] = at[s + 2] * stride[s] - padding[s] + k[s] * dilation[s];
        weight[s + 2] = k[s];
        if (to[s + 2] < 0 || to[s + 2] >= y.dims[s + 2]) return;
      }
      weight[0] = at[1];
      const std::int64_t first = at[1] / in_per_group * out_per_group;
      const RefLine out = refLine(y, to, 1), weights = refLine(w, weight, 1);
      for (std::int64_t c = 0; c < out_per_group; ++c) out[first + c] += value * weights[c];
    });
  });
}

void refLinear(const RefCall& call) {
  const RefTensor &x = call.src[0], &w = call.src[1], &b = call.src[2], &y = call.dst[0];
  const std::int64_t group = call.spec.intOr("group", 0);
  if (group != 0) return refGroupedLinear(call, group);
  const std::int64_t columns = w.dims[0], inner = w.dims[1];
  const std::int64_t rows = columns == 0 ? 0 : y.dims.count() / columns;
  const bool dynamic = call.spec.intOr("dynamic", 0) != 0;
  for (std::int64_t r = 0; r < rows; ++r) {
    RowRange range{static_cast<double>(call.spec.intOr("src_zero", 0)), 1};
    if (dynamic) range = roundRow(x.data + r * inner, inner);
    for (std::int64_t c = 0; c < columns; ++c) {
      double sum = 0;
      for (std::int64_t k = 0; k < inner; ++k) sum += (x.data[r * inner + k] - range.zero) * w.data[c * inner + k];
      y.data[r * columns + c] = range.scale * sum + (b.data ? b.data[c] : 0);
    }
  }
}

void refMatmul(const RefCall& call) {
  const RefTensor &a = call.src[0], &b = call.src[1], &y = call.dst[0];
  const bool ta = call.spec.intOr("transpose_a", 0) != 0, tb = call.spec.intOr("transpose_b", 0) != 0;
  const double scale = call.spec.floatOr("scale", 1);
  const auto a_zero = static_cast<double>(call.spec.intOr("src_zero", 0)),
             b_zero = static_cast<double>(call.spec.intOr("weight_zero", 0));
  const std::int64_t inner = a.dims[a.dims.rank - (ta ? 2 : 1)];
  const int row = y.dims.rank - 2, column = y.dims.rank - 1;
  forEachIndex(y.dims, [&](const Dims& at) {
    Dims of_a = at, of_b = at;
    of_a[column] = at[row];
    of_b[row] = at[column];
    const RefLine left = ta ? refLine(a, of_a, row) : refLine(a, at, column);
    const RefLine right = tb ? refLine(b, of_b, column) : refLine(b, at, row);
    double sum = 0;
    for (std::int64_t k = 0; k < inner; ++k) sum += (left[k] - a_zero) * (right[k] - b_zero);
    y(at) = sum * scale;
  });
}

}  // namespace ipex_studio
