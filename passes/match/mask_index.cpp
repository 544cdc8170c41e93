#include "passes/match/mask_index.h"

#include <algorithm>
#include <string>
#include <unordered_set>

#include "core/graph/elementwise.h"

namespace ipex_studio {

using torch::jit::Value;

namespace {

// True if the mask has the sizes of x in every call: it compares x with a number.
bool isComparisonOf(const Value* mask, const Value* x) {
  const torch::jit::Node* node = mask->node();
  if (!isComparison(node) || node->input(0) != x) return false;
  return node->inputs().size() == 1 || !node->input(1)->type()->isSubtypeOf(*c10::TensorType::get());
}

}  // namespace

bool isComparison(const torch::jit::Node* node) {
  static const std::unordered_set<std::string> kinds = {"aten::lt", "aten::le", "aten::gt",    "aten::ge",
                                                        "aten::eq", "aten::ne", "aten::isnan", "aten::isinf"};
  return kinds.count(node->kind().toQualString()) != 0;
}

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

Value* maskOfRows(NodeWriter& masks, const MaskIndex& index) {
  Value *const x = masks.node()->input(0), *mask = index.mask;
  std::vector<std::int64_t> sizes = *knownSizes(mask);
  if (index.inner == 0 && isComparisonOf(mask, x)) return mask;
  std::vector<Value*> of_x, rows;
  for (std::size_t axis = 0; axis < index.axes; ++axis) {
    of_x.push_back(masks.size(x, index.axis + axis));
    rows.push_back(index.axes == 1 ? of_x.back() : masks.size(mask, axis));
  }
  // Expanding takes no other sizes than 1, and the reshape behind it none but the mask's own.
  if (index.axes > 1) mask = masks.make("aten::expand", {mask, masks.list(of_x), masks.no()}, sizes);
  for (std::size_t axis = 0; axis < index.inner; ++axis) {
    sizes.push_back(1);
    rows.push_back(masks.number(1));
  }
  return masks.make("aten::reshape", {mask, masks.list(rows)}, sizes);
}

}  // namespace ipex_studio
