// Operands of the operators of graph networks: the tensors of a sparse matrix as kernels/index/neighbors.h sees it, and
// what they refuse.
#pragma once

#include <torch/library.h>
#include <torch/script.h>

#include "core/torch/second_derivative.h"
#include "kernels/index/neighbors.h"

namespace ipex_studio {

// Reads "sum", "mean", "max" or "min"; throws c10::ValueError otherwise.
Aggregation aggregationOf(const char* op, c10::string_view reduce);
inline bool isExtreme(Aggregation aggregation) {
  return aggregation == Aggregation::kMax || aggregation == Aggregation::kMin;
}

// An index of one axis as dense int64. Throws c10::IndexError that names position and value of one that is in no row.
at::Tensor checkedIndex(const char* op, const char* name, const at::Tensor& index, std::int64_t rows);

// The floating type in which `values` are computed: float64 for itself, float32 for itself and floats below it. Throws
// c10::Error for others.
at::ScalarType computedType(const char* op, const at::Tensor& values);

// The numbers of values in one row of `x`, all axes but the first.
std::int64_t rowWidth(const at::Tensor& x);
// `x`'s sizes with so many rows.
std::vector<std::int64_t> sizesWithRows(const at::Tensor& x, std::int64_t rows);

// The rows of a sparse matrix in tensors of int64: rowptr [rows + 1], col and place [entries].
class CsrTensors {
 public:
  // `columns`: rows that entries can read. Undefined place: values stand in the order of the entries. Throws
  // c10::IndexError for what does not fit.
  CsrTensors(const char* op, const at::Tensor& rowptr, const at::Tensor& col, const at::Tensor& place,
             std::int64_t columns);
  // Makes a matrix of edges: edge e belongs to row index[e], and reads row e.
  static CsrTensors ofIndex(const char* op, const at::Tensor& index, std::int64_t rows);

  // rowptr, col and place of the matrix with `columns` rows.
  std::vector<at::Tensor> transposed(std::int64_t columns) const;

  SparseRows view() const;
  std::int64_t rows() const { return rowptr_.numel() - 1; }
  std::int64_t entries() const { return col_.numel(); }
  const at::Tensor& rowptr() const { return rowptr_; }
  const at::Tensor& place() const { return place_; }
  // [rows]: the numbers of entries, at least 1.
  at::Tensor counts(at::ScalarType type) const;

 private:
  CsrTensors() = default;

  at::Tensor rowptr_, col_, place_;
};

}  // namespace ipex_studio
