// Reductions, normalisations, softmax and the bare post-op chain as their definitions say.
#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/common/reference.h"

namespace ipex_studio {

void refPointwise(const RefCall& call) {
  const RefTensor &x = call.src[0], &y = call.dst[0];
  forEachIndex(y.dims, [&](const Dims& at) { y(at) = x(broadcastIndex(at, x.dims)); });
}

void refReduce(const RefCall& call) {
  const RefTensor &x = call.src[0], &y = call.dst[0];
  const std::string mode = call.spec.stringOr("mode", "mean");
  bool reduced[kMaxRank] = {};
  std::int64_t count = 1;
  for (const std::int64_t axis : call.spec.ints("axes")) {
    reduced[wrappedAxis(axis, x.dims.rank)] = true;
    count *= x.dims[wrappedAxis(axis, x.dims.rank)];
  }
  constexpr double inf = std::numeric_limits<double>::infinity();
  const double start = mode == "max" ? -inf : mode == "min" ? inf : 0;
  std::fill(y.data, y.data + y.dims.count(), start);
  Dims kept;  // x's dims with 1 where reduced: the same element order as y
  kept.rank = x.dims.rank;
  for (int axis = 0; axis < kept.rank; ++axis) kept[axis] = reduced[axis] ? 1 : x.dims[axis];
  const RefTensor out{kept, y.data};
  forEachIndex(x.dims, [&](const Dims& at) {
    double& total = out(broadcastIndex(at, kept));
    const double value = x(at);
    if (mode == "max") {
      total = std::isnan(value) || value > total ? value : total;
    } else if (mode == "min") {
      total = std::isnan(value) || value < total ? value : total;
    } else {
      total += value;
    }
  });
  if (mode != "mean") return;
  for (std::int64_t i = 0; i < y.dims.count(); ++i) y.data[i] /= static_cast<double>(count);
}

void refLayerNorm(const RefCall& call) {
  const RefTensor &x = call.src[0], &gamma = call.src[1], &beta = call.src[2], &residual = call.src[3],
                  &y = call.dst[0];
  const int axes = static_cast<int>(call.spec.intOr("axes", 1));
  const bool l2 = call.spec.intOr("l2", 0) != 0, rms = call.spec.intOr("rms", 0) != 0;
  const double eps = call.spec.floatOr("eps", 1e-5);
  std::int64_t size = 1;
  for (int axis = x.dims.rank - axes; axis < x.dims.rank; ++axis) size *= x.dims[axis];
  const std::int64_t rows = size == 0 ? 0 : x.dims.count() / size;
  for (std::int64_t r = 0; r < rows; ++r) {
    double* out = y.data + r * size;
    double mean = 0, variance = 0;
    for (std::int64_t i = 0; i < size; ++i) {
      out[i] = x.data[r * size + i] + (residual.data ? residual.data[r * size + i] : 0);
      mean += out[i] / static_cast<double>(size);
    }
    if (call.dst.size() > 1) std::copy(out, out + size, call.dst[1].data + r * size);
    if (rms || l2) mean = 0;
    for (std::int64_t i = 0; i < size; ++i)
      variance += (out[i] - mean) * (out[i] - mean) / static_cast<double>(l2 ? 1 : size);
    const double factor = 1 / (l2 ? std::max(std::sqrt(variance), eps) : std::sqrt(variance + eps));
    for (std::int64_t i = 0; i < size; ++i) {
      out[i] = (out[i] - mean) * factor * (gamma.data ? gamma.data[i] : 1) + (beta.data ? beta.data[i] : 0);
    }
  }
}

void refGroupNorm(const RefCall& call) {
  const RefTensor &x = call.src[0], &gamma = call.src[1], &beta = call.src[2], &y = call.dst[0];
  const std::int64_t groups = call.spec.intOr("groups", 1), channels = x.dims[1];
  const double eps = call.spec.floatOr("eps", 1e-5);
  if (x.dims.count() == 0) return;
  const std::int64_t pixels = x.dims.count() / (x.dims[0] * channels), size = channels / groups * pixels;
  for (std::int64_t g = 0; g < x.dims[0] * groups; ++g) {
    const double* in = x.data + g * size;
    double mean = 0, variance = 0;
    for (std::int64_t i = 0; i < size; ++i) mean += in[i] / static_cast<double>(size);
    for (std::int64_t i = 0; i < size; ++i) variance += (in[i] - mean) * (in[i] - mean) / static_cast<double>(size);
    const double factor = 1 / std::sqrt(variance + eps);
    for (std::int64_t i = 0; i < size; ++i) {
      const std::int64_t c = g % groups * (channels / groups) + i / pixels;
      y.data[g * size + i] =
          (in[i] - mean) * factor * (gamma.data ? gamma.data[c] : 1) + (beta.data ? beta.data[c] : 0);
    }
  }
}

void refSoftmax(const RefCall& call) {
  const RefTensor &x = call.src[0], &mask = call.src[1], &y = call.dst[0];
  const int axis = wrappedAxis(call.spec.intOr("axis", -1), x.dims.rank);
  const double scale = call.spec.floatOr("scale", 1);
  const bool log = call.spec.intOr("log", 0) != 0;
  Dims rows = x.dims;
  const std::int64_t size = rows[axis];
  rows[axis] = 1;
  forEachIndex(rows, [&](const Dims& row) {
    Dims at = row;
    double highest = -std::numeric_limits<double>::infinity(), sum = 0;
    for (at[axis] = 0; at[axis] < size; ++at[axis]) {
      y(at) = x(at) * scale + (mask.data ? mask(broadcastIndex(at, mask.dims)) : 0);
      highest = std::max(highest, y(at));
    }
    for (at[axis] = 0; at[axis] < size; ++at[axis]) sum += std::exp(y(at) - highest);
    for (at[axis] = 0; at[axis] < size; ++at[axis]) {
      y(at) = log ? y(at) - highest - std::log(sum) : std::exp(y(at) - highest) / sum;
    }
  });
}

}  // namespace ipex_studio
