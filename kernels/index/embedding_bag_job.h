// Sizes of an embedding bag: what embedding_bag_simd.cpp hands to the code of one instruction set.
#pragma once

#include "core/op/tensor_view.h"

namespace ipex_studio {

struct EmbeddingBagJob {
  DType index_type = DType::kS64;
  std::int64_t ids = 0, offsets = 0, rows = 0, width = 0;
  bool mean = false;
};

}  // namespace ipex_studio
