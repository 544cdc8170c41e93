// ipex_studio::left_aligned: true if what a mask keeps of each row of x stands at its beginning. Takes and refuses what
// aten::_nested_tensor_from_mask_left_aligned does.
#include <torch/library.h>

#include <cstring>

#include "core/torch/torch_compat.h"

namespace ipex_studio {
namespace {

bool isLeftAligned(const bool* row, std::size_t length) {
  const void* gap = std::memchr(row, 0, length);
  if (gap == nullptr) return true;
  const auto before = static_cast<std::size_t>(static_cast<const bool*>(gap) - row);
  return std::memchr(gap, 1, length - before) == nullptr;
}

bool leftAligned(const at::Tensor& x, const at::Tensor& mask) {
  const bool fits = x.dim() == 3 && mask.dim() == 2 && mask.scalar_type() == at::kBool && mask.numel() > 0 &&
                    x.sizes().slice(0, 2) == mask.sizes();
  if (!fits) return at::_nested_tensor_from_mask_left_aligned(x, mask);
  const at::Tensor dense = mask.contiguous();
  const bool* rows = dense.data_ptr<bool>();
  const auto length = static_cast<std::size_t>(mask.size(1));
  for (std::int64_t row = 0; row < mask.size(0); ++row) {
    if (!isLeftAligned(rows + static_cast<std::size_t>(row) * length, length)) return false;
  }
  return true;
}

}  // namespace

TORCH_LIBRARY_FRAGMENT(ipex_studio, m) { m.def("left_aligned(Tensor x, Tensor mask) -> bool"); }
TORCH_LIBRARY_IMPL(ipex_studio, CPU, m) { m.impl("left_aligned", leftAligned); }

}  // namespace ipex_studio
