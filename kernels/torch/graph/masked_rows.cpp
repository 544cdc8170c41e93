// ipex_studio::masked_rows: x[:, …, mask], the rows of x from `axis` on that a mask chooses; axis -1: of masked_select,
// for which both are broadcast.
#include <torch/library.h>

#include <ATen/Parallel.h>

#include "core/torch/torch_compat.h"
#include "kernels/index/chosen_places.h"

namespace ipex_studio {
namespace {

at::Tensor maskedRows(const at::Tensor& x, const at::Tensor& mask, std::int64_t axis) {
  const bool selects = axis < 0;
  const std::int64_t first = selects ? 0 : axis;
  const bool fits =
      first + mask.dim() <= x.dim() && mask.dim() > 0 && (!selects || mask.dim() == x.dim()) &&
      x.sizes().slice(static_cast<std::size_t>(first), static_cast<std::size_t>(mask.dim())) == mask.sizes() &&
      mask.scalar_type() == at::kBool;
  if (!fits) {
    if (selects) return at::masked_select(x, mask);
    c10::List<c10::optional<at::Tensor>> indices;
    for (std::int64_t before = 0; before < first; ++before) indices.push_back(c10::nullopt);
    indices.push_back(mask);
    return at::index(x, indices);
  }
  const at::Tensor dense_mask = mask.contiguous(), dense = x.contiguous();
  const std::int32_t threads = at::get_num_threads();
  const std::vector<std::int64_t> places =
      chosenPlaces(static_cast<const std::uint8_t*>(dense_mask.data_ptr()), dense_mask.numel(), threads);
  std::vector<std::int64_t> sizes = x.sizes().slice(0, static_cast<std::size_t>(first)).vec();
  ChosenRows rows{places, c10::multiply_integers(sizes), dense_mask.numel(), 1, threads};
  sizes.push_back(static_cast<std::int64_t>(places.size()));
  const at::IntArrayRef inner = x.sizes().slice(static_cast<std::size_t>(first + mask.dim()));
  sizes.insert(sizes.end(), inner.begin(), inner.end());
  rows.row_bytes = c10::multiply_integers(inner) * static_cast<std::int64_t>(x.element_size());
  at::Tensor result = at::empty(sizes, x.options());
  if (result.numel() > 0) readChosenRows(rows, dense.data_ptr(), result.data_ptr());
  return result;
}

}  // namespace

TORCH_LIBRARY_FRAGMENT(ipex_studio, m) { m.def("masked_rows(Tensor x, Tensor mask, int axis) -> Tensor"); }
TORCH_LIBRARY_IMPL(ipex_studio, CPU, m) { m.impl("masked_rows", maskedRows); }

}  // namespace ipex_studio
