// ipex_studio::spmm: the sum, mean or extreme of the features of each node's neighbours, a sparse matrix times a dense
// one, with gradients (kernels/index/neighbors.h).
//
//   spmm(Tensor rowptr, Tensor col, Tensor? place, Tensor? value, Tensor x, str reduce, Tensor[] transpose) -> Tensor
//
// rowptr: [rows + 1], col: [E], int64 or int32 (CSR). place: [E]: where in `value` each entry's value stands; None: in
// the order of the entries. value: [E], or [E, H] for x [columns, H, D]; None: all 1. x: [columns, …], floating;
// float32 and float64 are computed in themselves, others in float32. reduce: "sum", "mean", "max" or "min"; rows
// without entries give 0, NaN is the extreme, and the first of equal entries is the one with the gradient. transpose:
// what csr_transpose gives, to be used by gradients; [] to make it each time. Result: [rows, …].
//
// The bits are the same for any number of threads. Throws c10::IndexError that names position and value of an index
// that is in no row.
#include <ATen/Parallel.h>

#include "kernels/torch/graph/graph_operands.h"

namespace ipex_studio {
namespace {

constexpr char kSpmm[] = "spmm";

// Dense features and values of one floating type.
struct Operands {
  at::Tensor x, value;
  std::int64_t groups = 1;

  Operands(const at::Tensor& features, const at::Tensor& values, std::int64_t entries) {
    TORCH_CHECK(features.dim() >= 1, "spmm: x is a number instead of rows");
    x = features.detach().contiguous();
    if (!values.defined()) return;
    const bool grouped = values.dim() == 2 && features.dim() >= 3 && values.size(1) == features.size(1);
    TORCH_CHECK((values.dim() == 1 || grouped) && values.size(0) == entries && values.scalar_type() == x.scalar_type(),
                "spmm: value is [", entries, "], or [", entries, ", H] for x [columns, H, D], in the type of x, not ",
                values.scalar_type(), " ", values.sizes(), " for x ", features.sizes());
    value = values.detach().contiguous();
    if (grouped) groups = values.size(1);
  }

  template <typename T>
  EntryValues<T> values() const {
    return {value.defined() ? value.data_ptr<T>() : nullptr, groups};
  }
};

at::Tensor aggregate(const CsrTensors& csr, const Operands& operands, Aggregation aggregation, at::Tensor* winners) {
  at::Tensor out = at::empty(sizesWithRows(operands.x, csr.rows()), operands.x.options());
  if (out.numel() == 0) return out;
  if (winners != nullptr) *winners = at::empty(out.sizes(), at::kInt);
  AT_DISPATCH_FLOATING_TYPES(out.scalar_type(), kSpmm, [&] {
    aggregateNeighbors<scalar_t>(csr.view(), aggregation, operands.x.data_ptr<scalar_t>(), rowWidth(out),
                                 operands.values<scalar_t>(), out.data_ptr<scalar_t>(),
                                 winners != nullptr ? winners->data_ptr<std::int32_t>() : nullptr,
                                 at::get_num_threads());
  });
  return out;
}

at::Tensor spmmOnCpu(const at::Tensor& rowptr, const at::Tensor& col, const c10::optional<at::Tensor>& place,
                     const c10::optional<at::Tensor>& value, const at::Tensor& x, c10::string_view reduce,
                     at::TensorList) {
  const at::ScalarType type = computedType(kSpmm, x);
  const CsrTensors csr(kSpmm, rowptr, col, place.value_or(at::Tensor()), x.size(0));
  const at::Tensor values = value.has_value() && value->defined() ? value->to(type) : at::Tensor();
  const Operands operands(x.to(type), values, csr.entries());
  return aggregate(csr, operands, aggregationOf(kSpmm, reduce), nullptr).to(x.scalar_type());
}

at::Tensor spmmOnMeta(const at::Tensor& rowptr, const at::Tensor&, const c10::optional<at::Tensor>&,
                      const c10::optional<at::Tensor>&, const at::Tensor& x, c10::string_view, at::TensorList) {
  return at::empty(sizesWithRows(x, rowptr.size(0) - 1), x.options());
}

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

// spmm of features and values that have one type, float32 or float64.
class Spmm : public torch::autograd::Function<Spmm> {
 public:
  static at::Tensor forward(AutogradContext* context, const at::Tensor& rowptr, const at::Tensor& col,
                            const c10::optional<at::Tensor>& given_place, const c10::optional<at::Tensor>& given_value,
                            const at::Tensor& x, const std::string& reduce, at::TensorList transpose) {
    at::AutoDispatchBelowADInplaceOrView below;
    const at::Tensor place = given_place.value_or(at::Tensor()), value = given_value.value_or(at::Tensor());
    const CsrTensors csr(kSpmm, rowptr, col, place, x.size(0));
    const Aggregation aggregation = aggregationOf(kSpmm, reduce);
    at::Tensor winners;
    at::Tensor out =
        aggregate(csr, Operands(x, value, csr.entries()), aggregation, isExtreme(aggregation) ? &winners : nullptr);
    TORCH_CHECK(transpose.empty() || transpose.size() == 3, "spmm: transpose is rowptr, col and place, or empty");
    variable_list saved{rowptr, col, place, value, x, winners};
    saved.insert(saved.end(), transpose.begin(), transpose.end());
    context->save_for_backward(saved);
    context->saved_data["reduce"] = reduce;
    return out;
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    refuseSecondDerivative(kSpmm);
    const variable_list saved = context->get_saved_variables();
    const at::Tensor &rowptr = saved[0], &col = saved[1], &place = saved[2], &value = saved[3], &x = saved[4],
                     &winners = saved[5];
    const CsrTensors csr(kSpmm, rowptr, col, place, x.size(0));
    at::Tensor gradient = gradients[0];
    if (context->saved_data["reduce"].toStringRef() == "mean") {
      std::vector<std::int64_t> column(static_cast<std::size_t>(x.dim()), 1);
      column[0] = csr.rows();
      gradient = gradient / csr.counts(x.scalar_type()).view(column);
    }
    const Operands operands(gradient, value, csr.entries());
    at::Tensor of_value, of_x;
    if (value.defined() && value.requires_grad()) of_value = gradientOfValue(csr, operands, x, value, winners);
    if (x.requires_grad()) {
      const variable_list transpose =
          saved.size() > 6 ? variable_list(saved.begin() + 6, saved.end()) : variable_list(csr.transposed(x.size(0)));
      const CsrTensors transposed(kSpmm, transpose[0], transpose[1], transpose[2], csr.rows());
      of_x = gradientOfX(transposed, operands, winners);
    }
    variable_list results{{}, {}, {}, of_value, of_x, {}};
    results.resize(results.size() + saved.size() - 6);
    return results;
  }

 private:
  static at::Tensor gradientOfValue(const CsrTensors& csr, const Operands& of_rows, const at::Tensor& x,
                                    const at::Tensor& value, const at::Tensor& winners) {
    at::Tensor out = at::zeros(value.sizes(), value.options());
    const at::Tensor features = x.detach().contiguous();
    AT_DISPATCH_FLOATING_TYPES(out.scalar_type(), kSpmm, [&] {
      gradientOfValues<scalar_t>(csr.view(), of_rows.x.data_ptr<scalar_t>(), features.data_ptr<scalar_t>(),
                                 rowWidth(features), of_rows.groups,
                                 winners.defined() ? winners.data_ptr<std::int32_t>() : nullptr,
                                 out.data_ptr<scalar_t>(), at::get_num_threads());
    });
    return out;
  }

  static at::Tensor gradientOfX(const CsrTensors& transposed, const Operands& of_rows, const at::Tensor& winners) {
    if (!winners.defined()) return aggregate(transposed, of_rows, Aggregation::kSum, nullptr);
    at::Tensor out = at::empty(sizesWithRows(of_rows.x, transposed.rows()), of_rows.x.options());
    AT_DISPATCH_FLOATING_TYPES(out.scalar_type(), kSpmm, [&] {
      gradientOfExtremes<scalar_t>(transposed.view(), of_rows.x.data_ptr<scalar_t>(), rowWidth(out),
                                   of_rows.values<scalar_t>(), winners.data_ptr<std::int32_t>(),
                                   out.data_ptr<scalar_t>(), at::get_num_threads());
    });
    return out;
  }
};

at::Tensor spmmWithGradient(const at::Tensor& rowptr, const at::Tensor& col, const c10::optional<at::Tensor>& place,
                            const c10::optional<at::Tensor>& value, const at::Tensor& x, c10::string_view reduce,
                            at::TensorList transpose) {
  const at::ScalarType type = computedType(kSpmm, x);
  c10::optional<at::Tensor> values;
  if (value.has_value() && value->defined()) values = value->to(type);
  return Spmm::apply(rowptr, col, place, values, x.to(type), std::string(reduce), transpose).to(x.scalar_type());
}

}  // namespace

TORCH_LIBRARY_FRAGMENT(ipex_studio, m) {
  m.def(
      "spmm(Tensor rowptr, Tensor col, Tensor? place, Tensor? value, Tensor x, str reduce, Tensor[] transpose) -> "
      "Tensor");
}
TORCH_LIBRARY_IMPL(ipex_studio, CPU, m) { m.impl("spmm", spmmOnCpu); }
TORCH_LIBRARY_IMPL(ipex_studio, Meta, m) { m.impl("spmm", spmmOnMeta); }
TORCH_LIBRARY_IMPL(ipex_studio, Autograd, m) { m.impl("spmm", spmmWithGradient); }

}  // namespace ipex_studio
