// Non-maximum suppression in the plainest words: each box that stays is compared with all behind it.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "kernels/vision/nms.h"

namespace ipex_studio {
namespace {

template <typename T>
T areaOf(const T* box) {
  return (box[2] - box[0]) * (box[3] - box[1]);
}

template <typename T>
T overlap(const T* a, const T* b) {
  const T width = std::max(T{0}, std::min(a[2], b[2]) - std::max(a[0], b[0]));
  const T height = std::max(T{0}, std::min(a[3], b[3]) - std::max(a[1], b[1]));
  const T both = width * height;
  return both / (areaOf(a) + areaOf(b) - both);
}

}  // namespace

template <typename T>
std::vector<std::int64_t> nmsRef(const NmsJob& job, const T* boxes, const T* scores) {
  std::vector<std::int64_t> order(static_cast<std::size_t>(job.count)), kept;
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](std::int64_t a, std::int64_t b) {
    return scores[a] > scores[b] || (std::isnan(scores[a]) && !std::isnan(scores[b]));
  });
  std::vector<bool> falls(order.size());
  for (std::size_t i = 0; i < order.size(); ++i) {
    if (falls[i]) continue;
    kept.push_back(order[i]);
    for (std::size_t j = i + 1; j < order.size(); ++j)
      falls[j] = falls[j] || static_cast<double>(overlap(boxes + 4 * order[i], boxes + 4 * order[j])) > job.threshold;
  }
  return kept;
}

template std::vector<std::int64_t> nmsRef(const NmsJob&, const float*, const float*);
template std::vector<std::int64_t> nmsRef(const NmsJob&, const double*, const double*);

}  // namespace ipex_studio
