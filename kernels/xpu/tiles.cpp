#include "kernels/xpu/tiles.h"

#include <algorithm>
#include <iterator>

namespace ipex_studio {
namespace {

constexpr TileShape kTiles[] = {{16, 8, 1, "convolution_128", "product_128"},
                                {16, 4, 1, "convolution_64", "product_64"},
                                {8, 4, 4, "convolution_32", "product_32"}};

}  // namespace

const TileShape& tileFor(const OpenClDevice& device, std::int64_t rows, std::int64_t columns, std::int64_t batch) {
  const auto found = std::find_if(std::begin(kTiles), std::prev(std::end(kTiles)), [&](const TileShape& shape) {
    return shape.groups(rows, columns, batch) >= device.units();
  });
  return *found;
}

}  // namespace ipex_studio
