// Rows of softmax and layer norm as loops: what their kernels hand to the code of one instruction set.
#pragma once

#include "kernels/common/loop_nest.h"

namespace ipex_studio {

// Columns of a bundle: a multiple of any vector, a few lines of cache.
constexpr std::int64_t kSoftmaxBundle = 64;

// Tensors of `outer`: 0 is y, 1 is x, 2 is the mask (when has_mask). One row, or all columns, per position.
struct SoftmaxJob {
  LoopNest outer;
  std::int64_t size = 0;      // elements along the axis
  DType dtype = DType::kF32;  // of x and y
  bool has_mask = false;
  DType mask_dtype = DType::kF32;
  std::int64_t mask_stride = 0;  // along the axis: 1 or 0
  float scale = 1;
  bool log = false;
  // columns == 0: the axis has stride 1. Otherwise `columns` neighbours are handled together, and the axis has these
  // strides.
  std::int64_t columns = 0, y_stride = 0, x_stride = 0;

  // Parts of a position that threads may take apart.
  std::int64_t bundles() const { return columns == 0 ? 1 : (columns + kSoftmaxBundle - 1) / kSoftmaxBundle; }
};

enum class RowNorm { kDeviation, kRootMeanSquare, kLength };  // the number whose inverse a row is multiplied by

// Tensors of `rows`: 0 is y, 1 is x; one row per position. gamma, beta, residual and sum lie as y does.
struct LayerNormJob {
  RowNorm norm = RowNorm::kDeviation;
  LoopNest rows;
  std::int64_t size = 0;  // elements of a row
  float eps = 0;
};

}  // namespace ipex_studio
