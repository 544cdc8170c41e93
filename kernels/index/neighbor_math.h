// Arithmetic on the neighbours of some rows of a sparse matrix.
#pragma once

#include <string>

#include "kernels/index/neighbors.h"

namespace ipex_studio {

// Rows [begin, end) of a matrix and what is read and written there, as kernels/index/neighbors.h says.
template <typename T>
struct NeighborJob {
  const SparseRows* matrix = nullptr;
  std::int64_t begin = 0, end = 0;
  std::int64_t width = 0;
  EntryValues<T> values;
  const T* x = nullptr;         // what entries read: rows of features, or of gradients
  const T* gradient = nullptr;  // of the rows; only of products
  T* out = nullptr;
  std::int32_t* winners = nullptr;
  const std::int32_t* given_winners = nullptr;
  bool mean = false, minima = false;
};

template <typename T>
struct NeighborMath {
  void (*sum)(const NeighborJob<T>& job);
  void (*extremes)(const NeighborJob<T>& job);
  void (*won_sum)(const NeighborJob<T>& job);  // x where the entry is the given winner
  void (*products)(const NeighborJob<T>& job);
};

// The best one of this machine that `isa` (a machine_facts tier) allows.
NeighborMath<float> neighborMathSimd(const std::string& isa);
// The plain version, in double precision.
NeighborMath<double> neighborMathRef();

}  // namespace ipex_studio
