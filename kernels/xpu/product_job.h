// A product of matrices as kernels/xpu/programs/product.cl takes it.
#pragma once

#include <cstdint>

#include "kernels/xpu/element_bytes.h"
#include "kernels/xpu/tiles.h"

namespace ipex_studio {

struct ProductJob {
  static constexpr int kMaxBatchLoops = 4, kRows = 6;
  std::int32_t rows = 0, columns = 0, depth = 0, padded = 0;  // padded: columns of b that may be read
  std::int32_t a_row = 0, a_depth = 1, b_depth = 0, b_column = 1;
  std::int32_t batch_loops = 0, b_item = 0, unused[2] = {};  // b_item: columns of a work item to those of the next
  ElementBytes a_bytes, b_bytes;
  std::int32_t batch_size[kMaxBatchLoops] = {}, a_batch[kMaxBatchLoops] = {}, b_batch[kMaxBatchLoops] = {};

  std::int64_t batch() const {
    std::int64_t count = 1;
    for (int loop = 0; loop < batch_loops; ++loop) count *= batch_size[loop];
    return count;
  }
};

class ProductOp final : public ChainOp {
 public:
  ProductJob product;
  WeightCache::Packed weights;  // b where it is constant; null: source 1

  // `dtype`: of both operands, or of one where they are bytes.
  ProductOp(OpenClDevice& device, const ProductJob& job, DType dtype)
      : ChainOp(device, programFor("product", dtype), "product", {1, 8, 1}), product(job) {
    setItems((std::int64_t{job.columns} + device.itemColumns() - 1) / device.itemColumns(),
             (std::int64_t{job.rows} + ProductJob::kRows - 1) / ProductJob::kRows, job.batch());
    setFlops();
  }
  ProductOp(OpenClDevice& device, const ProductJob& job, DType dtype, const TileShape& tile)
      : ChainOp(device, programFor("product", dtype), tile.product, tile.groupSize()), product(job) {
    tile.setItems(this, job.rows, job.columns, job.batch());
    setFlops();
  }

 protected:
  void setOwn(OpenClKernel& kernel, const void* const* src) const override {
    kernel.pointer(src[0]);
    kernel.pointer(weights ? weights->data() : src[1]);
    kernel.value(product);
  }

 private:
  void setFlops() { flops = 2 * product.batch() * product.rows * product.columns * product.depth; }
};

inline std::unique_ptr<ProductOp> makeProduct(OpenClDevice& device, const ProductJob& job, DType dtype) {
  if (!device.usesTiles()) return std::make_unique<ProductOp>(device, job, dtype);
  return std::make_unique<ProductOp>(device, job, dtype, tileFor(device, job.rows, job.columns, job.batch()));
}

}  // namespace ipex_studio
