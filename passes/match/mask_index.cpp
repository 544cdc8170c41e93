#include "passes/match/mask_index.h"

#include <algorithm>

#include "core/graph/elementwise.h"

namespace ipex_studio {

std::optional<MaskIndex> readMaskIndex(const torch::jit::Node* node) {
  const auto indices = decidedElements(node->input(1));
  const auto x = knownSizes(node->input(0));
  if (!indices || !x) return std::nullopt;
  std::optional<std::size_t> axis;
  for (std::size_t i = 0; i < indices->size(); ++i) {
    if (isNone((*indices)[i])) continue;
    if (axis) return std::nullopt;
    axis = i;
  }
  if (!axis) return std::nullopt;
  torch::jit::Value* mask = node->input(1)->node()->input(*axis);
  const auto sizes = knownSizes(mask);
  if (knownDtype(mask) != at::kBool || !sizes || sizes->empty() || *axis + sizes->size() > x->size())
    return std::nullopt;
  if (!std::equal(sizes->begin(), sizes->end(), x->begin() + static_cast<std::ptrdiff_t>(*axis))) return std::nullopt;
  return MaskIndex{mask, *axis, sizes->size(), x->size() - *axis - sizes->size()};
}

bool holdsMaskedRows(const torch::jit::Value* value, const torch::jit::Value* x, const MaskIndex& index) {
  const auto sizes = knownSizes(value), whole = knownSizes(x);
  if (!sizes || !whole || sizes->size() != index.axis + 1 + index.inner) return false;
  // A single row may be one for all that another mask chooses.
  if ((*sizes)[index.axis] == 1) return false;
  return std::equal(sizes->begin(), sizes->begin() + static_cast<std::ptrdiff_t>(index.axis), whole->begin()) &&
         std::equal(sizes->rbegin(), sizes->rbegin() + static_cast<std::ptrdiff_t>(index.inner), whole->rbegin());
}

bool isOneForAllRows(const torch::jit::Value* value, const torch::jit::Value* x, const MaskIndex& index) {
  const auto sizes = knownSizes(value), whole = knownSizes(x);
  return sizes && whole && sizes->size() <= index.inner && broadcastsTo(*sizes, *whole);
}

}  // namespace ipex_studio
