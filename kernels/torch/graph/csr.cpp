// ipex_studio::csr_from_index and csr_transpose: sparse matrices from the ends of edges, and transposed.
//
//   csr_from_index(Tensor index, int rows) -> (Tensor rowptr, Tensor place)
//
// index: [E], int64 or int32: the row of each edge, in any order. place: [E]: the edges row by row, those of one row in
// their order; rowptr: [rows + 1]: where each row begins there.
//
//   csr_transpose(Tensor rowptr, Tensor col, Tensor? place, int columns) -> (Tensor, Tensor, Tensor)
//
// rowptr, col and place of the transposed matrix, which has `columns` rows. Values of its entries stand where the
// matrix has them. Both throw c10::IndexError that names position and value of what is in no row.
#include "kernels/torch/graph/graph_operands.h"

namespace ipex_studio {
namespace {

std::tuple<at::Tensor, at::Tensor> csrFromIndex(const at::Tensor& index, std::int64_t rows) {
  const CsrTensors csr = CsrTensors::ofIndex("csr_from_index", index, rows);
  return {csr.rowptr(), csr.place()};
}

std::tuple<at::Tensor, at::Tensor, at::Tensor> csrTranspose(const at::Tensor& rowptr, const at::Tensor& col,
                                                            const c10::optional<at::Tensor>& place,
                                                            std::int64_t columns) {
  const CsrTensors csr("csr_transpose", rowptr, col, place.value_or(at::Tensor()), columns);
  const std::vector<at::Tensor> transposed = csr.transposed(columns);
  return {transposed[0], transposed[1], transposed[2]};
}

std::tuple<at::Tensor, at::Tensor> csrFromIndexOnMeta(const at::Tensor& index, std::int64_t rows) {
  const auto options = index.options().dtype(at::kLong);
  return {at::empty({rows + 1}, options), at::empty({index.size(0)}, options)};
}

std::tuple<at::Tensor, at::Tensor, at::Tensor> csrTransposeOnMeta(const at::Tensor&, const at::Tensor& col,
                                                                  const c10::optional<at::Tensor>&,
                                                                  std::int64_t columns) {
  const auto options = col.options().dtype(at::kLong);
  return {at::empty({columns + 1}, options), at::empty({col.size(0)}, options), at::empty({col.size(0)}, options)};
}

}  // namespace

TORCH_LIBRARY_FRAGMENT(ipex_studio, m) {
  m.def("csr_from_index(Tensor index, int rows) -> (Tensor, Tensor)");
  m.def("csr_transpose(Tensor rowptr, Tensor col, Tensor? place, int columns) -> (Tensor, Tensor, Tensor)");
}
TORCH_LIBRARY_IMPL(ipex_studio, CPU, m) {
  m.impl("csr_from_index", csrFromIndex);
  m.impl("csr_transpose", csrTranspose);
}
TORCH_LIBRARY_IMPL(ipex_studio, Meta, m) {
  m.impl("csr_from_index", csrFromIndexOnMeta);
  m.impl("csr_transpose", csrTransposeOnMeta);
}

}  // namespace ipex_studio
