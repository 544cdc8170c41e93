// ipex_studio::scatter_rows: the sum, mean or extreme of the rows that an unsorted index sends to the same place, with
// its gradient; and gather_rows, which picks rows and whose gradient is that sum.
//
//   scatter_rows(Tensor src, Tensor index, int rows, str reduce) -> Tensor
//
// src: [E, …], floating; float32 and float64 are computed in themselves, others in float32. index: [E], int64 or int32.
// reduce: "sum", "mean", "max" or "min", as in spmm. Result: [rows, …]; rows that nothing is sent to are 0.
// The bits are the same for any number of threads. Throws c10::IndexError that names position and value of an index
// that is in no row.
#include <ATen/Parallel.h>

#include "kernels/torch/graph/graph_operands.h"

namespace ipex_studio {
namespace {

constexpr char kScatterRows[] = "scatter_rows";

at::Tensor scatter(const CsrTensors& csr, const at::Tensor& src, Aggregation aggregation, at::Tensor* winners) {
  TORCH_CHECK(src.dim() >= 1 && src.size(0) == csr.entries(), "scatter_rows: src has a row for each of ", csr.entries(),
              " indices, not ", src.sizes());
  const at::Tensor dense = src.detach().contiguous();
  at::Tensor out = at::empty(sizesWithRows(src, csr.rows()), dense.options());
  if (winners != nullptr) *winners = at::empty(out.sizes(), at::kInt);
  if (out.numel() == 0) return out;
  AT_DISPATCH_FLOATING_TYPES(out.scalar_type(), kScatterRows, [&] {
    aggregateNeighbors<scalar_t>(
        csr.view(), aggregation, dense.data_ptr<scalar_t>(), rowWidth(dense), {}, out.data_ptr<scalar_t>(),
        winners != nullptr ? winners->data_ptr<std::int32_t>() : nullptr, at::get_num_threads());
  });
  return out;
}

at::Tensor scatterOnCpu(const at::Tensor& src, const at::Tensor& index, std::int64_t rows, c10::string_view reduce) {
  const at::ScalarType type = computedType(kScatterRows, src);
  const CsrTensors csr = CsrTensors::ofIndex(kScatterRows, index, rows);
  return scatter(csr, src.to(type), aggregationOf(kScatterRows, reduce), nullptr).to(src.scalar_type());
}

at::Tensor scatterOnMeta(const at::Tensor& src, const at::Tensor&, std::int64_t rows, c10::string_view) {
  return at::empty(sizesWithRows(src, rows), src.options());
}

// Row counts as a tensor that divides rows of as many axes as `like` has.
at::Tensor countsFor(const CsrTensors& csr, const at::Tensor& like) {
  std::vector<std::int64_t> sizes(static_cast<std::size_t>(like.dim()), 1);
  sizes[0] = csr.rows();
  return csr.counts(like.scalar_type()).view(sizes);
}

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

class ScatterRows : public torch::autograd::Function<ScatterRows> {
 public:
  static at::Tensor forward(AutogradContext* context, const at::Tensor& src, const at::Tensor& index, std::int64_t rows,
                            const std::string& reduce) {
    at::AutoDispatchBelowADInplaceOrView below;
    const Aggregation aggregation = aggregationOf(kScatterRows, reduce);
    const CsrTensors csr = CsrTensors::ofIndex(kScatterRows, index, rows);
    at::Tensor winners;
    at::Tensor out = scatter(csr, src, aggregation, isExtreme(aggregation) ? &winners : nullptr);
    const at::Tensor counts = aggregation == Aggregation::kMean ? countsFor(csr, src) : at::Tensor();
    context->save_for_backward({checkedIndex(kScatterRows, "index", index, rows), winners, counts});
    return out;
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    refuseSecondDerivative(kScatterRows);
    const variable_list saved = context->get_saved_variables();
    const at::Tensor &index = saved[0], &winners = saved[1], &counts = saved[2];
    const at::Tensor gradient = (counts.defined() ? gradients[0] / counts : gradients[0]).contiguous();
    if (!winners.defined()) return {gradient.index_select(0, index), {}, {}, {}};
    // Each edge is a row with one entry of the transposed matrix.
    const std::int64_t edges = index.numel();
    const CsrTensors transposed(kScatterRows, at::arange(edges + 1, at::kLong), index, at::Tensor(), gradient.size(0));
    at::Tensor out = at::empty(sizesWithRows(gradient, edges), gradient.options());
    if (out.numel() == 0) return {out, {}, {}, {}};
    AT_DISPATCH_FLOATING_TYPES(out.scalar_type(), kScatterRows, [&] {
      gradientOfExtremes<scalar_t>(transposed.view(), gradient.data_ptr<scalar_t>(), rowWidth(gradient), {},
                                   winners.data_ptr<std::int32_t>(), out.data_ptr<scalar_t>(), at::get_num_threads());
    });
    return {out, {}, {}, {}};
  }
};

at::Tensor scatterWithGradient(const at::Tensor& src, const at::Tensor& index, std::int64_t rows,
                               c10::string_view reduce) {
  const at::ScalarType type = computedType(kScatterRows, src);
  return ScatterRows::apply(src.to(type), index, rows, std::string(reduce)).to(src.scalar_type());
}

}  // namespace

TORCH_LIBRARY_FRAGMENT(ipex_studio, m) {
  m.def("scatter_rows(Tensor src, Tensor index, int rows, str reduce) -> Tensor");
}
TORCH_LIBRARY_IMPL(ipex_studio, CPU, m) { m.impl("scatter_rows", scatterOnCpu); }
TORCH_LIBRARY_IMPL(ipex_studio, Meta, m) { m.impl("scatter_rows", scatterOnMeta); }
TORCH_LIBRARY_IMPL(ipex_studio, Autograd, m) { m.impl("scatter_rows", scatterWithGradient); }

}  // namespace ipex_studio
