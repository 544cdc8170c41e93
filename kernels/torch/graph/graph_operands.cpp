// Checks of the operands of graph networks' operators.
#include "kernels/torch/graph/graph_operands.h"

#include <ATen/Parallel.h>

#include <algorithm>
#include <limits>

namespace ipex_studio {
namespace {

at::Tensor asTensor(const std::vector<std::int64_t>& numbers) {
  at::Tensor tensor = at::empty({static_cast<std::int64_t>(numbers.size())}, at::kLong);
  std::copy(numbers.begin(), numbers.end(), tensor.data_ptr<std::int64_t>());
  return tensor;
}

at::Tensor denseIndex(const char* op, const char* name, const at::Tensor& index) {
  TORCH_CHECK(index.dim() == 1 && index.device().is_cpu() &&
                  (index.scalar_type() == at::kLong || index.scalar_type() == at::kInt),
              op, ": ", name, " is int64 or int32 of one axis on the CPU, not ", index.scalar_type(), " ",
              index.sizes());
  TORCH_CHECK(index.numel() <= std::numeric_limits<std::int32_t>::max(), op, ": ", name, " has more than 2^31 entries");
  return index.detach().to(at::kLong).contiguous();
}

}  // namespace

Aggregation aggregationOf(const char* op, c10::string_view reduce) {
  if (reduce == "sum") return Aggregation::kSum;
  if (reduce == "mean") return Aggregation::kMean;
  if (reduce == "max") return Aggregation::kMax;
  TORCH_CHECK_VALUE(reduce == "min", op, ": reduce '", reduce, "' is none of sum, mean, max and min");
  return Aggregation::kMin;
}

at::Tensor checkedIndex(const char* op, const char* name, const at::Tensor& index, std::int64_t rows) {
  at::Tensor dense = denseIndex(op, name, index);
  const std::string fault = checkIndex(dense.data_ptr<std::int64_t>(), dense.numel(), rows, at::get_num_threads());
  TORCH_CHECK_INDEX(fault.empty(), op, ": ", name, ": ", fault);
  return dense;
}

at::ScalarType computedType(const char* op, const at::Tensor& values) {
  TORCH_CHECK(values.is_floating_point() && values.device().is_cpu() && values.layout() == at::kStrided, op,
              ": values are dense floats on the CPU, not ", values.scalar_type());
  return values.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
}

std::int64_t rowWidth(const at::Tensor& x) {
  std::int64_t width = 1;
  for (const std::int64_t size : x.sizes().slice(1)) width *= size;
  return width;
}

std::vector<std::int64_t> sizesWithRows(const at::Tensor& x, std::int64_t rows) {
  std::vector<std::int64_t> sizes = x.sizes().vec();
  sizes[0] = rows;
  return sizes;
}

CsrTensors::CsrTensors(const char* op, const at::Tensor& rowptr, const at::Tensor& col, const at::Tensor& place,
                       std::int64_t columns)
    : rowptr_(denseIndex(op, "rowptr", rowptr)), col_(checkedIndex(op, "col", col, columns)) {
  TORCH_CHECK(rowptr_.numel() > 0, op, ": rowptr has one number more than there are rows, and is empty");
  const std::string fault = checkBegins(rowptr_.data_ptr<std::int64_t>(), rows(), entries());
  TORCH_CHECK_INDEX(fault.empty(), op, ": numbers of rowptr: ", fault);
  if (!place.defined()) return;
  TORCH_CHECK(place.numel() == entries(), op, ": place and col differ in size: ", place.numel(), " and ", entries());
  place_ = checkedIndex(op, "place", place, entries());
}

CsrTensors CsrTensors::ofIndex(const char* op, const at::Tensor& index, std::int64_t rows) {
  TORCH_CHECK(rows >= 0, op, ": the number of rows is negative: ", rows);
  const at::Tensor dense = checkedIndex(op, "index", index, rows);
  const GroupedEdges grouped = groupByRow(dense.data_ptr<std::int64_t>(), dense.numel(), rows);
  CsrTensors csr;
  csr.rowptr_ = asTensor(grouped.begins);
  csr.col_ = csr.place_ = asTensor(grouped.places);
  return csr;
}

std::vector<at::Tensor> CsrTensors::transposed(std::int64_t columns) const {
  const TransposedRows transposed = transposeRows(view(), columns);
  return {asTensor(transposed.begins), asTensor(transposed.rows), asTensor(transposed.places)};
}

SparseRows CsrTensors::view() const {
  return {rows(), rowptr_.data_ptr<std::int64_t>(), col_.data_ptr<std::int64_t>(),
          place_.defined() ? place_.data_ptr<std::int64_t>() : nullptr};
}

at::Tensor CsrTensors::counts(at::ScalarType type) const { return rowptr_.diff().clamp_min_(1).to(type); }

}  // namespace ipex_studio
