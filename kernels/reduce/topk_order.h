// The order in which libtorch's topk leaves equal values: its own algorithm for the CPU on pairs of a value and its
// place (aten/src/ATen/native/TopKImpl.h), since the order is a property of partial_sort and nth_element.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>

namespace ipex_studio {

template <typename T>
using Placed = std::pair<T, std::int64_t>;

// Moves the first k of `size` pairs, which come in the order of their places, to the front and sorts them.
template <typename T>
void orderAsTopK(Placed<T>* pairs, std::int64_t size, std::int64_t k, bool descending) {
  if (k == 0) return;
  const auto isNan = [](T value) { return value != value; };
  const auto isBefore = [&](const Placed<T>& x, const Placed<T>& y) {
    return descending ? (isNan(x.first) && !isNan(y.first)) || x.first > y.first
                      : (!isNan(x.first) && isNan(y.first)) || x.first < y.first;
  };
  if (k * 64 <= size) {
    std::partial_sort(pairs, pairs + k, pairs + size, isBefore);
  } else {
    std::nth_element(pairs, pairs + k - 1, pairs + size, isBefore);
    std::sort(pairs, pairs + k - 1, isBefore);
  }
}

}  // namespace ipex_studio
