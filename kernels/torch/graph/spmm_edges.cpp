// ipex_studio::spmm_edges: spmm over edges in any order, which are sorted for this call.
//
//   spmm_edges(Tensor edges, Tensor? value, Tensor x, int rows, str reduce) -> Tensor
//
// edges: [2, E], int64 or int32: the row of `x` that each edge reads, and the row of the result it is added to. value:
// [E] or [E, H], in the order of the edges; None: all 1. x, reduce and the result: as spmm has them. Throws
// c10::IndexError that names position and value of an index that is in no row.
#include "kernels/torch/graph/graph_operands.h"

namespace ipex_studio {
namespace {

at::Tensor spmmEdges(const at::Tensor& edges, const c10::optional<at::Tensor>& value, const at::Tensor& x,
                     std::int64_t rows, c10::string_view reduce) {
  static const auto csr_from_index = c10::Dispatcher::singleton()
                                         .findSchemaOrThrow("ipex_studio::csr_from_index", "")
                                         .typed<std::tuple<at::Tensor, at::Tensor>(const at::Tensor&, std::int64_t)>();
  static const auto spmm =
      c10::Dispatcher::singleton()
          .findSchemaOrThrow("ipex_studio::spmm", "")
          .typed<at::Tensor(const at::Tensor&, const at::Tensor&, const c10::optional<at::Tensor>&,
                            const c10::optional<at::Tensor>&, const at::Tensor&, c10::string_view, at::TensorList)>();
  TORCH_CHECK(edges.dim() == 2 && edges.size(0) == 2, "spmm_edges: edges are [2, E], not ", edges.sizes());
  const auto [rowptr, place] = csr_from_index.call(edges.select(0, 1), rows);
  return spmm.call(rowptr, edges.select(0, 0).index_select(0, place), place, value, x, reduce, {});
}

}  // namespace

TORCH_LIBRARY_FRAGMENT(ipex_studio, m) {
  m.def("spmm_edges(Tensor edges, Tensor? value, Tensor x, int rows, str reduce) -> Tensor", spmmEdges);
}

}  // namespace ipex_studio
