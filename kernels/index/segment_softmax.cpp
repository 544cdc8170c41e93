// Softmax over the entries of each row. Rows are short, so the exponentials of many are taken together.
#include "kernels/index/segment_softmax.h"

#include <algorithm>
#include <cmath>
#include <type_traits>

#include "core/runtime/machine_facts.h"
#include "kernels/index/row_shares.h"

namespace ipex_studio {
namespace {

constexpr std::int64_t kScoresTogether = 2048;

template <typename T>
void takeExponentials(T* values, std::int64_t count) {
  if constexpr (std::is_same_v<T, float>) {
    static const ExpInPlace simd = expInPlaceSimd(machineFacts().isa);
    simd(values, count);
  } else {
    for (std::int64_t i = 0; i < count; ++i) values[i] = std::exp(values[i]);
  }
}

// Scores of some rows on their way to a softmax.
template <typename T>
class SoftmaxOfRows {
 public:
  SoftmaxOfRows(const SparseRows& rows, std::int64_t groups, const T* scores, T* out)
      : rows_(rows), groups_(groups), scores_(scores), out_(out), maxima_(static_cast<std::size_t>(groups)) {}

  void run(std::int64_t begin, std::int64_t end) {
    while (begin < end) {
      std::int64_t next = begin + 1;
      while (next < end && (rows_.begins[next + 1] - rows_.begins[begin]) * groups_ <= kScoresTogether) ++next;
      const std::int64_t count = (rows_.begins[next] - rows_.begins[begin]) * groups_;
      if (static_cast<std::int64_t>(room_.size()) < count) room_.resize(static_cast<std::size_t>(count));
      T* to = room_.data();
      for (std::int64_t row = begin; row < next; ++row) to = subtractMaxima(row, to);
      takeExponentials(room_.data(), count);
      to = room_.data();
      for (std::int64_t row = begin; row < next; ++row) to = divide(row, to);
      begin = next;
    }
  }

 private:
  // Writes the scores less the row's maxima; returns the end of them.
  T* subtractMaxima(std::int64_t row, T* to) {
    const std::int64_t first = rows_.begins[row], last = rows_.begins[row + 1];
    for (std::int64_t e = first; e < last; ++e) {
      const T* const from = scores_ + rows_.placeOf(e) * groups_;
      for (std::int64_t g = 0; g < groups_; ++g) {
        T& most = maxima_[static_cast<std::size_t>(g)];
        if (e == first || from[g] > most || std::isnan(from[g])) most = from[g];
      }
    }
    for (std::int64_t e = first; e < last; ++e) {
      const T* const from = scores_ + rows_.placeOf(e) * groups_;
      for (std::int64_t g = 0; g < groups_; ++g) *to++ = from[g] - maxima_[static_cast<std::size_t>(g)];
    }
    return to;
  }

  T* divide(std::int64_t row, T* from) {
    const std::int64_t first = rows_.begins[row], last = rows_.begins[row + 1];
    std::vector<T>& sums = maxima_;  // not needed any more
    std::fill(sums.begin(), sums.end(), T(0));
    const T* value = from;
    for (std::int64_t e = first; e < last; ++e) {
      for (std::int64_t g = 0; g < groups_; ++g) sums[static_cast<std::size_t>(g)] += *value++;
    }
    for (T& sum : sums) sum = T(1) / sum;
    for (std::int64_t e = first; e < last; ++e) {
      T* const to = out_ + rows_.placeOf(e) * groups_;
      for (std::int64_t g = 0; g < groups_; ++g) to[g] = *from++ * sums[static_cast<std::size_t>(g)];
    }
    return from;
  }

  const SparseRows& rows_;
  const std::int64_t groups_;
  const T* const scores_;
  T* const out_;
  std::vector<T> room_, maxima_;
};

}  // namespace

template <typename T>
void segmentSoftmax(const SparseRows& rows, std::int64_t groups, const T* scores, T* out, std::int32_t threads) {
  shareRows(rows, 16 * groups, threads,
            [&](std::int64_t begin, std::int64_t end) { SoftmaxOfRows<T>(rows, groups, scores, out).run(begin, end); });
}

template <typename T>
void segmentSoftmaxGradient(const SparseRows& rows, std::int64_t groups, const T* softmax, const T* gradient, T* out,
                            std::int32_t threads) {
  shareRows(rows, 4 * groups, threads, [&](std::int64_t begin, std::int64_t end) {
    std::vector<T> sums(static_cast<std::size_t>(groups));
    for (std::int64_t row = begin; row < end; ++row) {
      std::fill(sums.begin(), sums.end(), T(0));
      for (std::int64_t e = rows.begins[row]; e < rows.begins[row + 1]; ++e) {
        const std::int64_t at = rows.placeOf(e) * groups;
        for (std::int64_t g = 0; g < groups; ++g)
          sums[static_cast<std::size_t>(g)] += gradient[at + g] * softmax[at + g];
      }
      for (std::int64_t e = rows.begins[row]; e < rows.begins[row + 1]; ++e) {
        const std::int64_t at = rows.placeOf(e) * groups;
        for (std::int64_t g = 0; g < groups; ++g)
          out[at + g] = softmax[at + g] * (gradient[at + g] - sums[static_cast<std::size_t>(g)]);
      }
    }
  });
}

#define IPEX_SEGMENT_SOFTMAX(T)                                                                 \
  template void segmentSoftmax<T>(const SparseRows&, std::int64_t, const T*, T*, std::int32_t); \
  template void segmentSoftmaxGradient<T>(const SparseRows&, std::int64_t, const T*, const T*, T*, std::int32_t);
IPEX_SEGMENT_SOFTMAX(float)
IPEX_SEGMENT_SOFTMAX(double)
#undef IPEX_SEGMENT_SOFTMAX

}  // namespace ipex_studio
