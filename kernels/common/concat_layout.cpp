#include "kernels/common/concat_layout.h"

#include <algorithm>

#include "kernels/common/loop_nest.h"

namespace ipex_studio {
namespace {

// True if `layout`'s kind can hold all pieces along `axis`: every source must fill whole blocks.
bool holdsPieces(const std::vector<TensorDesc>& src, const TensorDesc& layout, int axis) {
  if (layout.block == 0 || axis != 1) return true;
  return std::all_of(src.begin(), src.end(), [&](const TensorDesc& x) { return x.dims[1] % layout.block == 0; });
}

}  // namespace

TensorDesc concatLayout(const std::vector<TensorDesc>& src, int axis) {
  std::vector<TensorDesc> kinds;
  for (const TensorDesc& x : src) {
    const bool known = std::any_of(kinds.begin(), kinds.end(), [&](const TensorDesc& kind) {
      return x.sameLayout(laidOutLike(kind, x.dtype, x.dims));
    });
    if (!known && isDenseLayout(x) && holdsPieces(src, x, axis)) kinds.push_back(x);
  }
  TensorDesc best = contiguousDesc(src[0].dtype, src[0].dims);
  std::size_t best_bytes = 0;
  for (const TensorDesc& candidate : kinds) {
    std::size_t bytes = 0;
    for (const TensorDesc& x : src) bytes += x.sameLayout(laidOutLike(candidate, x.dtype, x.dims)) ? x.bytes() : 0;
    if (bytes > best_bytes) {
      best = candidate;
      best_bytes = bytes;
    }
  }
  return best;
}

}  // namespace ipex_studio
