// Arithmetic on rows of embedding tables: sums of rows with factors, and updates of one row.
#pragma once

#include <cstdint>
#include <string>

#include "kernels/index/embedding_bag_job.h"
#include "kernels/index/row_addends.h"

namespace ipex_studio {

template <typename T>
struct RowMath {
  // sums[e] += Σ factors[r]·rows[r][e], in the order of the rows. `fresh`: sums begin at zero, and are not read.
  void (*add_rows)(const RowAddends<T>& addends, std::int64_t width, T* sums, bool fresh);
  // Sums or means of bags [begin, end), y [bags, width]; all ids and offsets fit. Empty bags give zeros.
  void (*sum_bags)(const EmbeddingBagJob& job, const void* ids, const void* offsets, const T* table, T* y,
                   std::int64_t begin, std::int64_t end);
  // Σ a[e]·b[e].
  T (*product)(const T* a, const T* b, std::int64_t width);
  // w -= lr·(g + decay·w).
  void (*step)(T* w, const T* g, std::int64_t width, T lr, T decay);
  // With g' = g + decay·w: h += g'², w -= lr·g'/(√h + eps).
  void (*adagrad)(T* w, T* h, const T* g, std::int64_t width, T lr, T decay, T eps);
};

// The best one of this machine that `isa` (a machine_facts tier) allows.
RowMath<float> rowMathSimd(const std::string& isa);
// The plain version, in double precision.
RowMath<double> rowMathRef();

}  // namespace ipex_studio
