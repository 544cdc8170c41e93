// The teams and tiles by which work items compute together on a device with local memory of its own
// (kernels/xpu/programs/tiles.cl).
#pragma once

#include <cstdint>

#include "kernels/xpu/device_op.h"

namespace ipex_studio {

struct TileShape {
  std::int64_t items, item_rows, slices;
  const char* convolution;  // functions of the programs
  const char* product;

  std::int64_t rows() const { return items * item_rows; }
  std::int64_t columns() const { return items * 4; }
  WorkSize groupSize() const {
    return {static_cast<std::size_t>(items), static_cast<std::size_t>(items), static_cast<std::size_t>(slices)};
  }
  std::int64_t groups(std::int64_t row_count, std::int64_t column_count, std::int64_t batch) const {
    return (row_count + rows() - 1) / rows() * ((column_count + columns() - 1) / columns()) * batch;
  }
  // Sets the launch of `batch` products of this size.
  void setItems(DeviceOp* op, std::int64_t row_count, std::int64_t column_count, std::int64_t batch) const {
    op->setItems((column_count + columns() - 1) / columns() * items, (row_count + rows() - 1) / rows() * items,
                 batch * slices);
  }
};

// Items that take a row together (TEAM of the programs), and the work group that they stand in.
inline std::int64_t teamItems(const OpenClDevice& device) { return device.usesTiles() ? 64 : 1; }
inline WorkSize teamGroup(const OpenClDevice& device) { return {device.usesTiles() ? 64u : 16u, 1, 1}; }

// The largest that gives every unit of the device a tile; else the smallest, whose slices share the depth.
const TileShape& tileFor(const OpenClDevice& device, std::int64_t rows, std::int64_t columns, std::int64_t batch);

}  // namespace ipex_studio
