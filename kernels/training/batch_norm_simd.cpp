// Rows go by once for the sums and once for the results.
#define HWY_TARGET_INCLUDE "kernels/training/batch_norm_simd.cpp"
#include "kernels/common/simd-inl.h"

#include <algorithm>

#include "kernels/training/batch_norm.h"
#include "kernels/training/elements-inl.h"

#ifndef IPEX_KERNELS_BATCH_NORM_ROWS
#define IPEX_KERNELS_BATCH_NORM_ROWS

namespace ipex_studio {

// Rows whose sums are formed in single precision, and rows that are added at once.
constexpr std::int64_t kNormRows = 64, kNormRowsAtOnce = 4;

// The sums of a pass over rows.
enum class NormSums {
  kValues,            // of x and its squares
  kGradients,         // of dy and dy · x
  kGradientsByX,      // the same where ReLU of the normalized x passed
  kGradientsByResult  // the same where y is positive; writes dy there, zeros elsewhere
};

// Rows of a pass and the numbers of channels that it reads; null what its kind of sums or results does not need.
template <typename T>
struct NormRows {
  const T *x = nullptr, *dy = nullptr, *y = nullptr;
  T* written = nullptr;
  const float* center = nullptr;                    // subtracted from x
  const float *scale = nullptr, *offset = nullptr;  // of the forward pass
  // Results are (x - center) · slope + level + dy · factor.
  const float *slope = nullptr, *level = nullptr, *factor = nullptr;

  NormRows from(std::int64_t place) const {
    NormRows rows = *this;
    if (x != nullptr) rows.x += place;
    if (dy != nullptr) rows.dy += place;
    if (y != nullptr) rows.y += place;
    if (written != nullptr) rows.written += place;
    return rows;
  }
};

}  // namespace ipex_studio

#endif  // IPEX_KERNELS_BATCH_NORM_ROWS

HWY_BEFORE_NAMESPACE();
namespace ipex_studio::HWY_NAMESPACE {

// Calls fn(channel, lanes) for all vectors of channels.
template <typename Fn>
HWY_INLINE void forEachNormVector(std::int64_t channels, const Fn& fn) {
  const auto width = static_cast<std::int64_t>(hn::Lanes(F32()));
  std::int64_t channel = 0;
  for (; channel + width <= channels; channel += width) fn(channel, width);
  if (channel < channels) fn(channel, channels - channel);
}

// The gradient where ReLU passed; NaN passes.
HWY_INLINE VF passedGradient(VF gradient, VF result) {
  return hn::IfThenZeroElse(hn::Le(result, hn::Zero(F32())), gradient);
}

// Adds over some rows the sums of a kind to sums of single precision.
template <NormSums kind, typename T>
HWY_INLINE void addNormRows(const NormRows<T>& rows, std::int64_t channels, std::int64_t count, float* sums,
                            float* products) {
  forEachNormVector(channels, [&](std::int64_t channel, std::int64_t lanes) HWY_ATTR {
    const VF center = loadElements(rows.center + channel, lanes);
    VF sum = loadElements(sums + channel, lanes), product = loadElements(products + channel, lanes);
    VF scale = center, offset = center;
    if (kind == NormSums::kGradientsByX) {
      scale = loadElements(rows.scale + channel, lanes);
      offset = loadElements(rows.offset + channel, lanes);
    }
    for (std::int64_t row = 0; row < count; ++row) {
      const std::int64_t place = row * channels + channel;
      const VF value = hn::Sub(loadElements(rows.x + place, lanes), center);
      VF other = value;
      if (kind != NormSums::kValues) other = loadElements(rows.dy + place, lanes);
      if (kind == NormSums::kGradientsByX) other = passedGradient(other, hn::MulAdd(value, scale, offset));
      if (kind == NormSums::kGradientsByResult) {
        other = passedGradient(other, loadElements(rows.y + place, lanes));
        storeElements(other, rows.written + place, lanes);
      }
      sum = hn::Add(sum, other);
      product = hn::MulAdd(value, other, product);
    }
    storeElements(sum, sums + channel, lanes);
    storeElements(product, products + channel, lanes);
  });
}

// The two sums of a kind over rows, about x - center, in `totals`, one after the other. `work`: room for three numbers
// of each channel. Sums of single precision of x alone are of distances from the first of their rows: one value far
// from all others then costs the digits of few.
template <NormSums kind, typename T>
HWY_INLINE void addNormTotals(const NormRows<T>& rows, std::int64_t channels, std::int64_t count, double* totals,
                              float* work) {
  float *const sums = work, *const products = work + channels, *const first_row = work + 2 * channels;
  std::fill_n(totals, 2 * channels, 0.0);
  for (std::int64_t first = 0; first < count; first += kNormRows) {
    std::fill_n(sums, 2 * channels, 0.0f);
    const std::int64_t end = std::min(count, first + kNormRows);
    const float* middle = rows.center;
    if (kind == NormSums::kValues) {
      forEachNormVector(channels, [&](std::int64_t channel, std::int64_t lanes) HWY_ATTR {
        storeElements(loadElements(rows.x + first * channels + channel, lanes), first_row + channel, lanes);
      });
      middle = first_row;
    }
    for (std::int64_t row = first; row < end; row += kNormRowsAtOnce) {
      NormRows<T> some = rows.from(row * channels);
      some.center = middle;
      addNormRows<kind>(some, channels, std::min(kNormRowsAtOnce, end - row), sums, products);
    }
    for (std::int64_t c = 0; c < channels; ++c) {
      const double sum = sums[c], away = static_cast<double>(middle[c]) - static_cast<double>(rows.center[c]);
      const double all_away = kind == NormSums::kValues ? static_cast<double>(end - first) * away : 0;
      totals[c] += sum + all_away;
      totals[channels + c] += static_cast<double>(products[c]) + away * (2 * sum + all_away);
    }
  }
}

template <typename T>
HWY_INLINE void normTotals(NormSums kind, const NormRows<T>& rows, std::int64_t channels, std::int64_t count,
                           double* totals, float* work) {
  switch (kind) {
    case NormSums::kValues:
      return addNormTotals<NormSums::kValues>(rows, channels, count, totals, work);
    case NormSums::kGradients:
      return addNormTotals<NormSums::kGradients>(rows, channels, count, totals, work);
    case NormSums::kGradientsByX:
      return addNormTotals<NormSums::kGradientsByX>(rows, channels, count, totals, work);
    case NormSums::kGradientsByResult:
      return addNormTotals<NormSums::kGradientsByResult>(rows, channels, count, totals, work);
  }
}

// written = relu((x - center) · scale + offset + y), where y is the addend.
template <bool adds, bool relu, typename T>
HWY_INLINE void normalizeRows(const NormRows<T>& rows, std::int64_t channels, std::int64_t count) {
  for (std::int64_t row = 0; row < count; ++row) {
    const std::int64_t begin = row * channels;
    forEachNormVector(channels, [&](std::int64_t channel, std::int64_t lanes) HWY_ATTR {
      const VF value =
          hn::Sub(loadElements(rows.x + begin + channel, lanes), loadElements(rows.center + channel, lanes));
      VF result =
          hn::MulAdd(value, loadElements(rows.scale + channel, lanes), loadElements(rows.offset + channel, lanes));
      if (adds) result = hn::Add(result, loadElements(rows.y + begin + channel, lanes));
      if (relu) result = hn::IfThenZeroElse(hn::Lt(result, hn::Zero(F32())), result);  // NaN stays
      storeElements(result, rows.written + begin + channel, lanes);
    });
  }
}

template <typename T>
HWY_INLINE void normResults(bool relu, const NormRows<T>& rows, std::int64_t channels, std::int64_t count) {
  if (rows.y != nullptr) {
    relu ? normalizeRows<true, true>(rows, channels, count) : normalizeRows<true, false>(rows, channels, count);
  } else {
    relu ? normalizeRows<false, true>(rows, channels, count) : normalizeRows<false, false>(rows, channels, count);
  }
}

// written = (x - center) · slope + level + dy · factor, with dy where ReLU of the normalized x passed.
template <bool relu, typename T>
HWY_INLINE void differentiateRows(const NormRows<T>& rows, std::int64_t channels, std::int64_t count) {
  for (std::int64_t row = 0; row < count; ++row) {
    const std::int64_t begin = row * channels;
    forEachNormVector(channels, [&](std::int64_t channel, std::int64_t lanes) HWY_ATTR {
      const auto number = [&](const float* numbers) HWY_ATTR { return loadElements(numbers + channel, lanes); };
      const VF value = hn::Sub(loadElements(rows.x + begin + channel, lanes), number(rows.center));
      VF gradient = loadElements(rows.dy + begin + channel, lanes);
      if (relu) gradient = passedGradient(gradient, hn::MulAdd(value, number(rows.scale), number(rows.offset)));
      const VF level = hn::MulAdd(value, number(rows.slope), number(rows.level));
      storeElements(hn::MulAdd(gradient, number(rows.factor), level), rows.written + begin + channel, lanes);
    });
  }
}

template <typename T>
HWY_INLINE void normGradients(bool relu, const NormRows<T>& rows, std::int64_t channels, std::int64_t count) {
  relu ? differentiateRows<true>(rows, channels, count) : differentiateRows<false>(rows, channels, count);
}

void normTotalsFp32(NormSums kind, const NormRows<float>& rows, std::int64_t channels, std::int64_t count,
                    double* totals, float* work) {
  normTotals(kind, rows, channels, count, totals, work);
}
void normTotalsBf16(NormSums kind, const NormRows<Bf16>& rows, std::int64_t channels, std::int64_t count,
                    double* totals, float* work) {
  normTotals(kind, rows, channels, count, totals, work);
}
void normResultsFp32(bool relu, const NormRows<float>& rows, std::int64_t channels, std::int64_t count) {
  normResults(relu, rows, channels, count);
}
void normResultsBf16(bool relu, const NormRows<Bf16>& rows, std::int64_t channels, std::int64_t count) {
  normResults(relu, rows, channels, count);
}
void normGradientsFp32(bool relu, const NormRows<float>& rows, std::int64_t channels, std::int64_t count) {
  normGradients(relu, rows, channels, count);
}
void normGradientsBf16(bool relu, const NormRows<Bf16>& rows, std::int64_t channels, std::int64_t count) {
  normGradients(relu, rows, channels, count);
}

}  // namespace ipex_studio::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

#include <cmath>
#include <vector>

#include "kernels/common/parallel.h"

namespace ipex_studio {
namespace {

HWY_EXPORT(normTotalsFp32);
HWY_EXPORT(normTotalsBf16);
HWY_EXPORT(normResultsFp32);
HWY_EXPORT(normResultsBf16);
HWY_EXPORT(normGradientsFp32);
HWY_EXPORT(normGradientsBf16);

float valueOf(float value) { return value; }
float valueOf(Bf16 value) { return bf16ToFloat(value.bits); }

// The code of a type of elements.
auto totalsFor(const float*, const std::string& isa) { return IPEX_SELECT_TARGET(normTotalsFp32, isa); }
auto totalsFor(const Bf16*, const std::string& isa) { return IPEX_SELECT_TARGET(normTotalsBf16, isa); }
auto resultsFor(const float*, const std::string& isa) { return IPEX_SELECT_TARGET(normResultsFp32, isa); }
auto resultsFor(const Bf16*, const std::string& isa) { return IPEX_SELECT_TARGET(normResultsBf16, isa); }
auto gradientsFor(const float*, const std::string& isa) { return IPEX_SELECT_TARGET(normGradientsFp32, isa); }
auto gradientsFor(const Bf16*, const std::string& isa) { return IPEX_SELECT_TARGET(normGradientsBf16, isa); }

// Rows in chunks of which there are few, whatever the number of threads.
struct NormChunks {
  static constexpr std::int64_t kMaxCount = 64, kMinRows = 64;

  explicit NormChunks(std::int64_t rows_of_all)
      : rows(std::max(kMinRows, (rows_of_all + kMaxCount - 1) / kMaxCount)), count((rows_of_all + rows - 1) / rows) {}

  std::int64_t rows, count;
};

// The two sums over all rows, one after the other.
template <typename T>
std::vector<double> normSums(const BatchNormJob& job, NormSums kind, const NormRows<T>& rows) {
  const auto run = totalsFor(rows.x, job.isa);
  const NormChunks chunks(job.rows);
  const std::int64_t size = 2 * job.channels, room = 3 * job.channels;
  std::vector<double> parts(static_cast<std::size_t>(chunks.count * size));
  std::vector<float> work(static_cast<std::size_t>(std::max(1, job.threads) * room));
  parallelFor(chunks.count, grainFor(chunks.rows * job.channels), job.threads,
              [&](std::int64_t begin, std::int64_t end, int thread) {
                for (std::int64_t chunk = begin; chunk < end; ++chunk) {
                  const std::int64_t first = chunk * chunks.rows;
                  run(kind, rows.from(first * job.channels), job.channels, std::min(chunks.rows, job.rows - first),
                      parts.data() + chunk * size, work.data() + thread * room);
                }
              });
  std::vector<double> sums(static_cast<std::size_t>(size));
  for (std::size_t i = 0; i < parts.size(); ++i) sums[i % sums.size()] += parts[i];
  return sums;
}

template <typename Run, typename T>
void shareRows(const BatchNormJob& job, const Run& run, bool relu, const NormRows<T>& rows) {
  parallelFor(job.rows, grainFor(job.channels), job.threads, [&](std::int64_t begin, std::int64_t end, int) {
    run(relu, rows.from(begin * job.channels), job.channels, end - begin);
  });
}

// What the forward pass multiplies by and adds, from numbers that it wrote: equal bits each time.
struct NormFactors {
  NormFactors(std::int64_t count, const BatchNormChannels& channels)
      : scale(static_cast<std::size_t>(count)), offset(scale) {
    for (std::size_t c = 0; c < scale.size(); ++c) {
      scale[c] = channels.inverse[c] * (channels.gamma != nullptr ? channels.gamma[c] : 1.0f);
      offset[c] = channels.beta != nullptr ? channels.beta[c] : 0.0f;
    }
  }

  std::vector<float> scale, offset;
};

}  // namespace

template <typename T>
void batchNormForward(const BatchNormJob& job, const BatchNormChannels& channels, const T* x, const T* addend, T* y,
                      float* variance) {
  const auto count = static_cast<std::size_t>(job.channels);
  std::vector<float> first(count);
  for (std::size_t c = 0; c < count; ++c) first[c] = valueOf(x[c]);
  NormRows<T> rows;
  rows.x = x;
  rows.center = first.data();
  const std::vector<double> sums = normSums(job, NormSums::kValues, rows);
  const auto n = static_cast<double>(job.rows);
  for (std::size_t c = 0; c < count; ++c) {
    const double distance = sums[c] / n, spread = sums[count + c] / n - distance * distance;
    const double positive = spread < 0 ? 0 : spread;  // NaN stays
    channels.mean[c] = static_cast<float>(first[c] + distance);
    channels.inverse[c] = static_cast<float>(1 / std::sqrt(positive + job.eps));
    variance[c] = static_cast<float>(positive);
  }
  const NormFactors factors(job.channels, channels);
  rows.center = channels.mean;
  rows.scale = factors.scale.data();
  rows.offset = factors.offset.data();
  rows.y = addend;
  rows.written = y;
  shareRows(job, resultsFor(x, job.isa), job.relu, rows);
}

template <typename T>
void batchNormBackward(const BatchNormJob& job, const BatchNormChannels& channels,
                       const BatchNormGradients<T>& gradients) {
  const NormFactors factors(job.channels, channels);
  const bool by_result = job.relu && gradients.y != nullptr, by_x = job.relu && !by_result;
  NormRows<T> rows;
  rows.x = gradients.x;
  rows.dy = gradients.dy;
  rows.y = gradients.y;
  rows.center = channels.mean;
  rows.scale = factors.scale.data();
  rows.offset = factors.offset.data();
  rows.written = gradients.daddend;
  const NormSums kind = by_result ? NormSums::kGradientsByResult
                        : by_x    ? NormSums::kGradientsByX
                                  : NormSums::kGradients;
  const std::vector<double> sums = normSums(job, kind, rows);
  const auto count = static_cast<std::size_t>(job.channels);
  const auto n = static_cast<double>(job.rows);
  std::vector<float> slope(count), level(count), factor(count);
  for (std::size_t c = 0; c < count; ++c) {
    const double sum = sums[c], product = sums[count + c], root = channels.inverse[c];
    const double whole = factors.scale[c];
    factor[c] = factors.scale[c];
    slope[c] = static_cast<float>(-whole * root * root * product / n);
    level[c] = static_cast<float>(-whole * sum / n);
    if (gradients.dgamma != nullptr) gradients.dgamma[c] = static_cast<float>(product * root);
    if (gradients.dbeta != nullptr) gradients.dbeta[c] = static_cast<float>(sum);
  }
  if (gradients.dx == nullptr) return;
  if (by_result) rows.dy = gradients.daddend;
  rows.written = gradients.dx;
  rows.slope = slope.data();
  rows.level = level.data();
  rows.factor = factor.data();
  shareRows(job, gradientsFor(gradients.x, job.isa), by_x, rows);
}

template void batchNormForward(const BatchNormJob&, const BatchNormChannels&, const float*, const float*, float*,
                               float*);
template void batchNormForward(const BatchNormJob&, const BatchNormChannels&, const Bf16*, const Bf16*, Bf16*, float*);
template void batchNormBackward(const BatchNormJob&, const BatchNormChannels&, const BatchNormGradients<float>&);
template void batchNormBackward(const BatchNormJob&, const BatchNormChannels&, const BatchNormGradients<Bf16>&);

}  // namespace ipex_studio

#endif  // HWY_ONCE
