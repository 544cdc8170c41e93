// ipex_studio::mask_places: the places that a mask chooses, counted over all of it, a row for each. The mask has the
// sizes that are given; or, if it may repeat, it is expanded to them first.
#include <torch/library.h>

#include <ATen/Parallel.h>

#include "core/torch/torch_compat.h"
#include "kernels/index/chosen_places.h"

namespace ipex_studio {
namespace {

at::Tensor maskPlaces(const at::Tensor& mask, at::IntArrayRef sizes, bool may_repeat) {
  if (mask.sizes() != sizes || mask.scalar_type() != at::kBool || mask.dim() == 0)
    return at::nonzero((may_repeat ? mask.expand(sizes) : mask.reshape(sizes)).reshape({-1}));
  const at::Tensor dense = mask.contiguous();
  const std::vector<std::int64_t> places =
      chosenPlaces(static_cast<const std::uint8_t*>(dense.data_ptr()), dense.numel(), at::get_num_threads());
  at::Tensor result(at::detail::empty_cpu({static_cast<std::int64_t>(places.size()), 1}, at::kLong));
  std::copy(places.begin(), places.end(), result.data_ptr<std::int64_t>());
  return result;
}

}  // namespace

TORCH_LIBRARY_FRAGMENT(ipex_studio, m) { m.def("mask_places(Tensor mask, int[] sizes, bool may_repeat) -> Tensor"); }
TORCH_LIBRARY_IMPL(ipex_studio, CPU, m) { m.impl("mask_places", maskPlaces); }

}  // namespace ipex_studio
