// ipex_studio::gather_rows: rows of a matrix by an index, with a gradient that sums each row's uses in their order.
//
//   gather_rows(Tensor x, Tensor index) -> Tensor
//
// x: [rows, …], floating. index: [E], int64 or int32. Result: [E, …], as index_select(0). The bits of the gradient are
// the same for any number of threads. Throws c10::IndexError that names position and value of an index that is in no
// row.
#include "kernels/torch/graph/graph_operands.h"

namespace ipex_studio {
namespace {

at::Tensor gatherOnCpu(const at::Tensor& x, const at::Tensor& index) {
  TORCH_CHECK(x.dim() >= 1, "gather_rows: x is a number instead of rows");
  return x.index_select(0, checkedIndex("gather_rows", "index", index, x.size(0)));
}

at::Tensor gatherOnMeta(const at::Tensor& x, const at::Tensor& index) {
  return at::empty(sizesWithRows(x, index.size(0)), x.options());
}

class GatherRows : public torch::autograd::Function<GatherRows> {
 public:
  static at::Tensor forward(torch::autograd::AutogradContext* context, const at::Tensor& x, const at::Tensor& index) {
    at::AutoDispatchBelowADInplaceOrView below;
    context->save_for_backward({index});
    context->saved_data["rows"] = x.size(0);
    return gatherOnCpu(x, index);
  }

  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 const torch::autograd::variable_list& gradients) {
    refuseSecondDerivative("gather_rows");
    static const auto scatter_rows =
        c10::Dispatcher::singleton()
            .findSchemaOrThrow("ipex_studio::scatter_rows", "")
            .typed<at::Tensor(const at::Tensor&, const at::Tensor&, std::int64_t, c10::string_view)>();
    const std::int64_t rows = context->saved_data["rows"].toInt();
    return {scatter_rows.call(gradients[0], context->get_saved_variables()[0], rows, "sum"), {}};
  }
};

at::Tensor gatherWithGradient(const at::Tensor& x, const at::Tensor& index) { return GatherRows::apply(x, index); }

}  // namespace

TORCH_LIBRARY_FRAGMENT(ipex_studio, m) { m.def("gather_rows(Tensor x, Tensor index) -> Tensor"); }
TORCH_LIBRARY_IMPL(ipex_studio, CPU, m) { m.impl("gather_rows", gatherOnCpu); }
TORCH_LIBRARY_IMPL(ipex_studio, Meta, m) { m.impl("gather_rows", gatherOnMeta); }
TORCH_LIBRARY_IMPL(ipex_studio, Autograd, m) { m.impl("gather_rows", gatherWithGradient); }

}  // namespace ipex_studio
