// A tensor's leading dimensions flattened into the rows of a matrix.
#pragma once

#include "core/op/tensor_view.h"

namespace ipex_studio {

// Product of all dimensions but the last.
inline std::int64_t rowsOf(const Dims& dims) {
  std::int64_t rows = 1;
  for (int axis = 0; axis + 1 < dims.rank; ++axis) rows *= dims[axis];
  return rows;
}

// x, of rank >= 1, as a matrix of [rows, columns] where its strides allow that; row-major otherwise, so that the plan
// copies it.
inline TensorDesc asMatrix(const TensorDesc& x, bool* as_given) {
  const int last = x.dims.rank - 1;
  TensorDesc matrix = contiguousDesc(x.dtype, Dims{rowsOf(x.dims), x.dims[last]});
  *as_given = x.block == 0 && (x.strides[last] == 1 || x.dims[last] == 1);
  std::int64_t row_stride = 0, rows = 1;
  for (int axis = last - 1; axis >= 0 && *as_given; --axis) {
    if (x.dims[axis] == 1) continue;
    if (rows == 1) row_stride = x.strides[axis];
    *as_given = x.strides[axis] == row_stride * rows && row_stride >= x.dims[last];
    rows *= x.dims[axis];
  }
  if (*as_given && rows > 1) matrix.strides[0] = row_stride;
  return matrix;
}

}  // namespace ipex_studio
