// The order in which libtorch's topk and sort leave equal values: their own algorithms for the CPU on pairs of a value
// and its place (aten/src/ATen/native/TopKImpl.h and cpu/SortingKernel.cpp), since the order is a property of
// partial_sort, nth_element and sort.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>

namespace ipex_studio {

// Equal values stand in their original order, or where an algorithm of libtorch leaves them; a topk that is not sorted
// leaves all values so.
enum class Ties { kInOrder, kAsTopK, kAsUnsortedTopK, kAsSort };

// Reads attribute `ties` of a sort.
inline Ties tiesNamed(const std::string& name) {
  if (name == "unsorted_topk") return Ties::kAsUnsortedTopK;
  return name == "topk" ? Ties::kAsTopK : name == "sort" ? Ties::kAsSort : Ties::kInOrder;
}

template <typename T>
using Placed = std::pair<T, std::int64_t>;

// Moves the first k of `size` pairs, which come in the order of their places, to the front and sorts them, as topk or,
// if k is `size`, as sort; an unsorted topk may leave them as it found them.
template <typename T>
void orderAs(Ties ties, Placed<T>* pairs, std::int64_t size, std::int64_t k, bool descending) {
  if (k == 0) return;
  const auto isNan = [](T value) { return value != value; };
  const auto isBefore = [&](const Placed<T>& x, const Placed<T>& y) {
    return descending ? (isNan(x.first) && !isNan(y.first)) || x.first > y.first
                      : (!isNan(x.first) && isNan(y.first)) || x.first < y.first;
  };
  if (ties == Ties::kAsSort) {
    std::sort(pairs, pairs + size, isBefore);
  } else if (k * 64 <= size) {
    std::partial_sort(pairs, pairs + k, pairs + size, isBefore);
  } else {
    std::nth_element(pairs, pairs + k - 1, pairs + size, isBefore);
    if (ties == Ties::kAsTopK) std::sort(pairs, pairs + k - 1, isBefore);
  }
}

}  // namespace ipex_studio
