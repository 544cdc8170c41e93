// Sizes of an embedding bag, for the code of one instruction set, and whether its ids and offsets fit.
#pragma once

#include <algorithm>

#include "core/op/tensor_view.h"

namespace ipex_studio {

constexpr std::int64_t kBagIdsAhead = 16;  // ids whose rows are fetched before they are read

struct EmbeddingBagJob {
  DType index_type = DType::kS64;
  std::int64_t ids = 0, offsets = 0;  // how many
  std::int64_t rows = 0, width = 0;   // of the table
  bool mean = false;
};

template <class Index>
bool bagsFit(const EmbeddingBagJob& job, const Index* ids, const Index* offsets, std::int64_t begin, std::int64_t end) {
  if (begin >= end || end > job.offsets || offsets[begin] < 0) return false;
  std::int64_t last = offsets[begin];
  bool fit = true;
  for (std::int64_t bag = begin; bag < end; ++bag) {
    const std::int64_t next = bag + 1 < job.offsets ? offsets[bag + 1] : job.ids;
    fit &= next >= last;
    last = next;
  }
  if (!fit || last > job.ids) return false;
  const std::int64_t fetched = std::min(job.ids, last + kBagIdsAhead);
  for (std::int64_t i = offsets[begin]; i < fetched; ++i) fit &= ids[i] >= 0 && ids[i] < job.rows;
  return fit;
}

// True if there are bags [begin, end), their offsets do not decrease and end within the ids, and their ids and the
// kBagIdsAhead after them name rows of the table. One pass, whose loops leave nothing early.
inline bool bagsFit(const EmbeddingBagJob& job, const void* ids, const void* offsets, std::int64_t begin,
                    std::int64_t end) {
  if (job.index_type == DType::kS64) {
    using Index = std::int64_t;
    return bagsFit(job, static_cast<const Index*>(ids), static_cast<const Index*>(offsets), begin, end);
  }
  using Index = std::int32_t;
  return bagsFit(job, static_cast<const Index*>(ids), static_cast<const Index*>(offsets), begin, end);
}

}  // namespace ipex_studio
