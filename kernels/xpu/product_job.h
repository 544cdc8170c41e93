// A product of matrices as kernels/xpu/programs/product.cl takes it.
#pragma once

#include <cstdint>

#include "kernels/xpu/device_op.h"

namespace ipex_studio {

struct ProductJob {
  static constexpr int kMaxBatchLoops = 4, kRows = 6, kColumns = 16;
  std::int32_t rows = 0, columns = 0, depth = 0, padded = 0;  // padded: columns of b that may be read
  std::int32_t a_row = 0, a_depth = 1, b_depth = 0, b_column = 1;
  std::int32_t batch_loops = 0, unused[3] = {};
  std::int32_t batch_size[kMaxBatchLoops] = {}, a_batch[kMaxBatchLoops] = {}, b_batch[kMaxBatchLoops] = {};
};

class ProductOp final : public ChainOp {
 public:
  explicit ProductOp(OpenClDevice& device) : ChainOp(device, "product", "product", {4, 4, 1}) {}

  ProductJob product;
  WeightCache::Packed weights;  // b where it is constant; null: source 1

  void setSize() {
    std::int64_t batch = 1;
    for (int loop = 0; loop < product.batch_loops; ++loop) batch *= product.batch_size[loop];
    setItems((std::int64_t{product.columns} + ProductJob::kColumns - 1) / ProductJob::kColumns,
             (std::int64_t{product.rows} + ProductJob::kRows - 1) / ProductJob::kRows, batch);
    flops = 2 * batch * product.rows * product.columns * product.depth;
  }

 protected:
  void setOwn(OpenClKernel& kernel, const void* const* src) const override {
    kernel.pointer(src[0]);
    kernel.pointer(weights ? weights->data() : src[1]);
    kernel.value(product);
  }
};

}  // namespace ipex_studio
