// Boxes that stay in a suppression, one array for each coordinate: what nms_simd.cpp hands to one instruction set.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace ipex_studio {

template <typename T>
struct NmsBox {
  T x1, y1, x2, y2, area;
};

template <typename T>
struct NmsBoxes {
  // Behind the boxes there is room for a vector more, of areas that are no number.
  explicit NmsBoxes(std::int64_t most) {
    for (std::vector<T>* all : {&x1, &y1, &x2, &y2}) all->resize(static_cast<std::size_t>(most + kMaxLanes));
    area.resize(x1.size(), std::numeric_limits<T>::quiet_NaN());
  }

  void add(const NmsBox<T>& box) {
    const auto at = static_cast<std::size_t>(count++);
    x1[at] = box.x1;
    y1[at] = box.y1;
    x2[at] = box.x2;
    y2[at] = box.y2;
    area[at] = box.area;
  }

  static constexpr std::int64_t kMaxLanes = 64;
  std::int64_t count = 0;
  std::vector<T> x1, y1, x2, y2, area;
};

}  // namespace ipex_studio
