// Strides, padding and weights of (transposed) convolutions as oneDNN wants them.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "core/op/op_spec.h"
#include "core/op/tensor_view.h"

namespace ipex_studio {

using Ints = std::vector<std::int64_t>;

struct ConvolutionGeometry {
  Ints stride, dilation, padding_begin, padding_end;  // dilation as oneDNN counts: 0 is dense
};

// The list attribute `name` for `spatial` dimensions; if missing, all are `otherwise`; a single value holds for all.
inline Ints spatialInts(const OpSpec& spec, const char* name, int spatial, std::int64_t otherwise) {
  const std::vector<std::int64_t> list = spec.ints(name);
  if (list.empty()) return Ints(spatial, otherwise);
  if (list.size() == 1) return Ints(spatial, list[0]);
  return Ints(list.begin(), list.end());
}

// The geometry of a convolution as oneDNN counts it, where dilation begins at 0; padding_end defaults to padding.
inline ConvolutionGeometry convolutionGeometry(const OpSpec& spec, int spatial) {
  ConvolutionGeometry g;
  g.stride = spatialInts(spec, "stride", spatial, 1);
  g.dilation = spatialInts(spec, "dilation", spatial, 1);
  for (auto& d : g.dilation) d -= 1;
  g.padding_begin = spatialInts(spec, "padding", spatial, 0);
  g.padding_end = spec.has("padding_end") ? spatialInts(spec, "padding_end", spatial, 0) : g.padding_begin;
  return g;
}

// w[O, C/g, k…] seen as [g, O/g, C/g, k…] when g > 1.
inline TensorDesc convolutionWeights(const TensorDesc& w, std::int64_t groups) {
  if (groups == 1) return w;
  TensorDesc grouped = w;
  grouped.dims.rank = grouped.strides.rank = w.dims.rank + 1;
  grouped.dims[0] = groups;
  grouped.dims[1] = w.dims[0] / groups;
  grouped.strides[0] = w.strides[0] * grouped.dims[1];
  grouped.strides[1] = w.strides[0];
  for (int axis = 1; axis < w.dims.rank; ++axis) {
    grouped.dims[axis + 1] = w.dims[axis];
    grouped.strides[axis + 1] = w.strides[axis];
  }
  return grouped;
}

// w[C, O/g, k…] seen as [O, C, k…], or as [g, O/g, C/g, k…] when g > 1.
inline TensorDesc deconvolutionWeights(const TensorDesc& w, std::int64_t groups) {
  TensorDesc seen = w;
  if (groups == 1) {
    std::swap(seen.dims[0], seen.dims[1]);
    std::swap(seen.strides[0], seen.strides[1]);
    return seen;
  }
  seen = convolutionWeights(w, groups);  // [g, C/g, O/g, k…]
  std::swap(seen.dims[1], seen.dims[2]);
  std::swap(seen.strides[1], seen.strides[2]);
  return seen;
}

}  // namespace ipex_studio
