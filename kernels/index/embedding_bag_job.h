// Sizes of an embedding bag, for the code of one instruction set.
#pragma once

#include "core/op/tensor_view.h"

namespace ipex_studio {

struct EmbeddingBagJob {
  DType index_type = DType::kS64;
  std::int64_t ids = 0, offsets = 0;  // how many
  std::int64_t rows = 0, width = 0;   // of the table
  bool mean = false;
};

}  // namespace ipex_studio
