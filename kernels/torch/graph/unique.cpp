// ipex_studio::unique: the values of a tensor, ascending, where each element's stands, and how many have it.
#include <torch/library.h>

#include <algorithm>
#include <tuple>

#include "core/torch/torch_compat.h"
#include "kernels/index/unique_integers.h"

namespace ipex_studio {
namespace {

at::Tensor tensorOf(const std::vector<std::int64_t>& numbers, at::IntArrayRef sizes) {
  at::Tensor tensor = at::empty(sizes, at::kLong);
  std::copy(numbers.begin(), numbers.end(), tensor.data_ptr<std::int64_t>());
  return tensor;
}

std::tuple<at::Tensor, at::Tensor, at::Tensor> unique(const at::Tensor& x, bool inverse, bool counts) {
  const auto dtype = x.scalar_type();
  if (dtype != at::kLong && dtype != at::kInt) return at::_unique2(x, true, inverse, counts);
  const at::Tensor dense = x.to(at::kLong).contiguous();
  const UniqueIntegers found = uniqueIntegers(dense.data_ptr<std::int64_t>(), dense.numel(), inverse);
  const auto count = static_cast<std::int64_t>(found.values.size());
  return {tensorOf(found.values, {count}).to(dtype), inverse ? tensorOf(found.places, x.sizes()) : tensorOf({}, {0}),
          counts ? tensorOf(found.counts, {count}) : tensorOf({}, {0})};
}

}  // namespace

TORCH_LIBRARY_FRAGMENT(ipex_studio, m) {
  m.def("unique(Tensor x, bool return_inverse, bool return_counts) -> (Tensor, Tensor, Tensor)");
}
TORCH_LIBRARY_IMPL(ipex_studio, CPU, m) { m.impl("unique", unique); }

}  // namespace ipex_studio
