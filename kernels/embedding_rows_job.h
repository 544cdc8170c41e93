// Rows of a table of u8 with a scale and an offset each (core/plan/narrow_weights.h): what embedding_rows_simd.cpp hands to
// the code of one instruction set.
#pragma once

#include "core/plan/narrow_weights.h"
#include "core/plan/tensor_view.h"

namespace ipex_studio {

struct EmbeddingRowsJob {
  DType index_type = DType::kS64;
  std::int64_t ids = 0, rows = 0, width = 0;
  std::int64_t offsets = 0;  // of bags
  bool mean = false;

  std::int64_t rowBytes() const { return width + kRowParameterBytes; }
};

}  // namespace ipex_studio
