// ipex_studio::nonzero: the indices of all that is not zero, a row for each.
#include <torch/library.h>

#include <ATen/Parallel.h>

#include "core/torch/torch_compat.h"
#include "kernels/index/chosen_places.h"

namespace ipex_studio {
namespace {

std::vector<std::int64_t> placesIn(const at::Tensor& dense) {
  const std::int32_t threads = at::get_num_threads();
  if (dense.scalar_type() == at::kFloat) return nonzeroPlaces(dense.data_ptr<float>(), dense.numel(), threads);
  if (dense.scalar_type() == at::kLong) return nonzeroPlaces(dense.data_ptr<std::int64_t>(), dense.numel(), threads);
  if (dense.scalar_type() == at::kInt) return nonzeroPlaces(dense.data_ptr<std::int32_t>(), dense.numel(), threads);
  return chosenPlaces(static_cast<const std::uint8_t*>(dense.data_ptr()), dense.numel(), threads);
}

at::Tensor nonzero(const at::Tensor& x) {
  const bool known = x.scalar_type() == at::kFloat || x.scalar_type() == at::kLong || x.scalar_type() == at::kInt ||
                     x.scalar_type() == at::kBool || x.scalar_type() == at::kByte;
  if (!known || x.dim() == 0) return at::nonzero(x);
  const std::vector<std::int64_t> places = placesIn(x.contiguous());
  const auto rank = static_cast<std::size_t>(x.dim());
  at::Tensor result = at::empty({static_cast<std::int64_t>(places.size()), x.dim()}, x.options().dtype(at::kLong));
  auto* to = result.data_ptr<std::int64_t>();
  // Places ascend, so that most rows differ from the one before in their last index alone.
  std::int64_t line = 0;
  std::vector<std::int64_t> index(rank, 0);
  const std::int64_t length = x.sizes().back();
  for (const std::int64_t place : places) {
    if (place - line >= length) {
      line = place - place % length;
      std::int64_t rest = place / length;
      for (std::size_t axis = rank - 1; axis-- > 0; rest /= x.size(static_cast<std::int64_t>(axis)))
        index[axis] = rest % x.size(static_cast<std::int64_t>(axis));
    }
    index[rank - 1] = place - line;
    to = std::copy(index.begin(), index.end(), to);
  }
  return result;
}

}  // namespace

TORCH_LIBRARY_FRAGMENT(ipex_studio, m) { m.def("nonzero(Tensor x) -> Tensor"); }
TORCH_LIBRARY_IMPL(ipex_studio, CPU, m) { m.impl("nonzero", nonzero); }

}  // namespace ipex_studio
