// ipex_studio::segment_softmax: the softmax of scores over the edges of each node, with its gradient.
//
//   segment_softmax(Tensor rowptr, Tensor? place, Tensor scores) -> Tensor
//
// rowptr: [rows + 1], place: [E] as csr_from_index gives them; place None: edges stand row by row. scores: [E] or
// [E, H], floating; float32 and float64 are computed in themselves, others in float32. Result: as scores. Throws
// c10::IndexError for a rowptr or place that does not fit.
#include <ATen/Parallel.h>

#include "kernels/index/segment_softmax.h"
#include "kernels/torch/graph/graph_operands.h"

namespace ipex_studio {
namespace {

constexpr char kSegmentSoftmax[] = "segment_softmax";

// The rows of edges; nothing is read by column.
CsrTensors rowsOfEdges(const at::Tensor& rowptr, const at::Tensor& place, const at::Tensor& scores) {
  TORCH_CHECK(scores.dim() >= 1, "segment_softmax: scores are a number instead of rows");
  const std::int64_t edges = scores.size(0);
  return CsrTensors(kSegmentSoftmax, rowptr, place.defined() ? place : at::arange(edges, at::kLong), place, edges);
}

at::Tensor softmaxOf(const CsrTensors& csr, const at::Tensor& scores) {
  const at::Tensor dense = scores.detach().contiguous();
  at::Tensor out = at::empty(dense.sizes(), dense.options());
  if (out.numel() == 0) return out;
  AT_DISPATCH_FLOATING_TYPES(out.scalar_type(), kSegmentSoftmax, [&] {
    segmentSoftmax<scalar_t>(csr.view(), rowWidth(dense), dense.data_ptr<scalar_t>(), out.data_ptr<scalar_t>(),
                             at::get_num_threads());
  });
  return out;
}

at::Tensor softmaxOnCpu(const at::Tensor& rowptr, const c10::optional<at::Tensor>& place, const at::Tensor& scores) {
  const at::ScalarType type = computedType(kSegmentSoftmax, scores);
  return softmaxOf(rowsOfEdges(rowptr, place.value_or(at::Tensor()), scores), scores.to(type)).to(scores.scalar_type());
}

at::Tensor softmaxOnMeta(const at::Tensor&, const c10::optional<at::Tensor>&, const at::Tensor& scores) {
  return at::empty(scores.sizes(), scores.options());
}

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

class SegmentSoftmax : public torch::autograd::Function<SegmentSoftmax> {
 public:
  static at::Tensor forward(AutogradContext* context, const at::Tensor& rowptr,
                            const c10::optional<at::Tensor>& given_place, const at::Tensor& scores) {
    at::AutoDispatchBelowADInplaceOrView below;
    const at::Tensor place = given_place.value_or(at::Tensor());
    at::Tensor out = softmaxOf(rowsOfEdges(rowptr, place, scores), scores);
    context->save_for_backward({rowptr, place, out});
    return out;
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    refuseSecondDerivative(kSegmentSoftmax);
    const variable_list saved = context->get_saved_variables();
    const at::Tensor& softmax = saved[2];
    const CsrTensors csr = rowsOfEdges(saved[0], saved[1], softmax);
    const at::Tensor gradient = gradients[0].contiguous();
    at::Tensor out = at::empty(softmax.sizes(), softmax.options());
    if (out.numel() == 0) return {{}, {}, out};
    AT_DISPATCH_FLOATING_TYPES(out.scalar_type(), kSegmentSoftmax, [&] {
      segmentSoftmaxGradient<scalar_t>(csr.view(), rowWidth(softmax), softmax.data_ptr<scalar_t>(),
                                       gradient.data_ptr<scalar_t>(), out.data_ptr<scalar_t>(), at::get_num_threads());
    });
    return {{}, {}, out};
  }
};

at::Tensor softmaxWithGradient(const at::Tensor& rowptr, const c10::optional<at::Tensor>& place,
                               const at::Tensor& scores) {
  const at::ScalarType type = computedType(kSegmentSoftmax, scores);
  return SegmentSoftmax::apply(rowptr, place, scores.to(type)).to(scores.scalar_type());
}

}  // namespace

TORCH_LIBRARY_FRAGMENT(ipex_studio, m) {
  m.def("segment_softmax(Tensor rowptr, Tensor? place, Tensor scores) -> Tensor");
}
TORCH_LIBRARY_IMPL(ipex_studio, CPU, m) { m.impl("segment_softmax", softmaxOnCpu); }
TORCH_LIBRARY_IMPL(ipex_studio, Meta, m) { m.impl("segment_softmax", softmaxOnMeta); }
TORCH_LIBRARY_IMPL(ipex_studio, Autograd, m) { m.impl("segment_softmax", softmaxWithGradient); }

}  // namespace ipex_studio
