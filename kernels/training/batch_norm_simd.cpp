// Rows go by once for the sums and once for the results.
#define HWY_TARGET_INCLUDE "kernels/training/batch_norm_simd.cpp"
#include "kernels/common/simd-inl.h"

#include <algorithm>

#include "kernels/common/partial_vector-inl.h"
#include "kernels/training/batch_norm.h"

HWY_BEFORE_NAMESPACE();
namespace ipex_studio::HWY_NAMESPACE {

// Rows whose sums are formed in single precision, and rows that are added at once.
constexpr std::int64_t kNormRows = 64, kNormRowsAtOnce = 4;

// Calls fn(channel, lanes) for all vectors of channels.
template <typename Fn>
HWY_INLINE void forEachNormVector(std::int64_t channels, const Fn& fn) {
  const auto width = static_cast<std::int64_t>(hn::Lanes(F32()));
  std::int64_t channel = 0;
  for (; channel + width <= channels; channel += width) fn(channel, width);
  if (channel < channels) fn(channel, channels - channel);
}

HWY_INLINE VF loadNorm(const float* from, std::int64_t lanes) {
  const F32 d;
  return lanes == static_cast<std::int64_t>(hn::Lanes(d)) ? hn::LoadU(d, from) : loadFirst(from, lanes);
}

HWY_INLINE void storeNorm(VF v, float* to, std::int64_t lanes) {
  const F32 d;
  lanes == static_cast<std::int64_t>(hn::Lanes(d)) ? hn::StoreU(v, d, to) : storeFirst(v, to, lanes);
}

// Adds over some rows (values - center) and its products with `others`, or its squares without, to sums of single
// precision.
HWY_INLINE void addNormRows(const float* values, const float* others, const float* center, std::int64_t channels,
                            std::int64_t rows, float* sums, float* products) {
  forEachNormVector(channels, [&](std::int64_t channel, std::int64_t lanes) HWY_ATTR {
    const VF middle = loadNorm(center + channel, lanes);
    VF sum = loadNorm(sums + channel, lanes), product = loadNorm(products + channel, lanes);
    for (std::int64_t row = 0; row < rows; ++row) {
      const VF value = hn::Sub(loadNorm(values + row * channels + channel, lanes), middle);
      const VF other = others != nullptr ? loadNorm(others + row * channels + channel, lanes) : value;
      sum = hn::Add(sum, others != nullptr ? other : value);
      product = hn::MulAdd(value, other, product);
    }
    storeNorm(sum, sums + channel, lanes);
    storeNorm(product, products + channel, lanes);
  });
}

// The sums over rows of x - center and its squares, or with `dy` of dy and dy · (x - center), in `totals`, one after
// the other. `work`: room for as many numbers. Sums of single precision of x alone are of distances from the first of
// their rows: one value far from all others then costs the digits of few.
void runNormSums(const float* x, const float* dy, const float* center, std::int64_t channels, std::int64_t rows,
                 double* totals, float* work) {
  std::fill_n(totals, 2 * channels, 0.0);
  for (std::int64_t first = 0; first < rows; first += kNormRows) {
    std::fill_n(work, 2 * channels, 0.0f);
    const std::int64_t end = std::min(rows, first + kNormRows);
    const float* const middle = dy != nullptr ? center : x + first * channels;
    for (std::int64_t row = first; row < end; row += kNormRowsAtOnce) {
      addNormRows(x + row * channels, dy != nullptr ? dy + row * channels : nullptr, middle, channels,
                  std::min(kNormRowsAtOnce, end - row), work, work + channels);
    }
    for (std::int64_t c = 0; c < channels; ++c) {
      const double sum = work[c], away = static_cast<double>(middle[c]) - static_cast<double>(center[c]);
      const double all_away = dy != nullptr ? 0 : static_cast<double>(end - first) * away;
      totals[c] += sum + all_away;
      totals[channels + c] += static_cast<double>(work[channels + c]) + away * (2 * sum + all_away);
    }
  }
}

// y = (x - mean) · scale + offset + dy · factor; without `dy` that is 0.
void runNormRows(const float* x, const float* dy, const float* mean, const float* scale, const float* offset,
                 const float* factor, std::int64_t channels, std::int64_t rows, float* y) {
  for (std::int64_t row = 0; row < rows; ++row) {
    const std::int64_t place = row * channels;
    forEachNormVector(channels, [&](std::int64_t channel, std::int64_t lanes) HWY_ATTR {
      const VF value = hn::Sub(loadNorm(x + place + channel, lanes), loadNorm(mean + channel, lanes));
      VF result = hn::MulAdd(value, loadNorm(scale + channel, lanes), loadNorm(offset + channel, lanes));
      if (dy != nullptr) {
        result = hn::MulAdd(loadNorm(dy + place + channel, lanes), loadNorm(factor + channel, lanes), result);
      }
      storeNorm(result, y + place + channel, lanes);
    });
  }
}

}  // namespace ipex_studio::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

#include <cmath>
#include <vector>

#include "kernels/common/parallel.h"

namespace ipex_studio {
namespace {

HWY_EXPORT(runNormSums);
HWY_EXPORT(runNormRows);

// Rows in chunks of which there are few, whatever the number of threads.
struct NormChunks {
  static constexpr std::int64_t kMaxCount = 64, kMinRows = 64;

  explicit NormChunks(std::int64_t rows_of_all)
      : rows(std::max(kMinRows, (rows_of_all + kMaxCount - 1) / kMaxCount)), count((rows_of_all + rows - 1) / rows) {}

  std::int64_t rows, count;
};

// The two sums of runNormSums over all rows, one after the other.
std::vector<double> normSums(const BatchNormJob& job, const float* x, const float* dy, const float* center) {
  const auto run = IPEX_SELECT_TARGET(runNormSums, job.isa);
  const NormChunks chunks(job.rows);
  const std::int64_t size = 2 * job.channels;
  std::vector<double> parts(static_cast<std::size_t>(chunks.count * size));
  std::vector<float> work(static_cast<std::size_t>(std::max(1, job.threads) * size));
  parallelFor(chunks.count, grainFor(chunks.rows * job.channels), job.threads,
              [&](std::int64_t begin, std::int64_t end, int thread) {
                for (std::int64_t chunk = begin; chunk < end; ++chunk) {
                  const std::int64_t first = chunk * chunks.rows, place = first * job.channels;
                  run(x + place, dy != nullptr ? dy + place : nullptr, center, job.channels,
                      std::min(chunks.rows, job.rows - first), parts.data() + chunk * size,
                      work.data() + thread * size);
                }
              });
  std::vector<double> sums(static_cast<std::size_t>(size));
  for (std::size_t i = 0; i < parts.size(); ++i) sums[i % sums.size()] += parts[i];
  return sums;
}

// The numbers that runNormRows multiplies by and adds for each channel.
struct NormFactors {
  explicit NormFactors(std::int64_t channels) : scale(channels), offset(channels), factor(channels) {}

  std::vector<float> scale, offset, factor;
};

void normRows(const BatchNormJob& job, const float* x, const float* dy, const float* mean, const NormFactors& factors,
              float* y) {
  const auto run = IPEX_SELECT_TARGET(runNormRows, job.isa);
  parallelFor(job.rows, grainFor(job.channels), job.threads, [&](std::int64_t begin, std::int64_t end, int) {
    const std::int64_t place = begin * job.channels;
    run(x + place, dy != nullptr ? dy + place : nullptr, mean, factors.scale.data(), factors.offset.data(),
        factors.factor.data(), job.channels, end - begin, y + place);
  });
}

}  // namespace

void batchNormForward(const BatchNormJob& job, const float* x, const float* gamma, const float* beta, float* y,
                      float* mean, float* inverse, float* variance) {
  const std::vector<double> sums = normSums(job, x, nullptr, x);
  const auto channels = static_cast<std::size_t>(job.channels);
  const auto rows = static_cast<double>(job.rows);
  NormFactors factors(job.channels);
  for (std::size_t c = 0; c < channels; ++c) {
    const double distance = sums[c] / rows, spread = sums[channels + c] / rows - distance * distance;
    const double positive = spread < 0 ? 0 : spread;  // NaN stays
    mean[c] = static_cast<float>(x[c] + distance);
    variance[c] = static_cast<float>(positive);
    inverse[c] = static_cast<float>(1 / std::sqrt(positive + job.eps));
    factors.scale[c] = inverse[c] * (gamma != nullptr ? gamma[c] : 1.0f);
    factors.offset[c] = beta != nullptr ? beta[c] : 0.0f;
  }
  normRows(job, x, nullptr, mean, factors, y);
}

void batchNormBackward(const BatchNormJob& job, const float* x, const float* dy, const float* gamma, const float* mean,
                       const float* inverse, float* dx, float* dgamma, float* dbeta) {
  const std::vector<double> sums = normSums(job, x, dy, mean);
  const auto channels = static_cast<std::size_t>(job.channels);
  const auto rows = static_cast<double>(job.rows);
  NormFactors factors(job.channels);
  for (std::size_t c = 0; c < channels; ++c) {
    const double sum = sums[c], product = sums[channels + c], root = inverse[c];
    const double factor = root * (gamma != nullptr ? gamma[c] : 1.0f);
    factors.factor[c] = static_cast<float>(factor);
    factors.scale[c] = static_cast<float>(-factor * root * root * product / rows);
    factors.offset[c] = static_cast<float>(-factor * sum / rows);
    if (dgamma != nullptr) dgamma[c] = static_cast<float>(product * root);
    if (dbeta != nullptr) dbeta[c] = static_cast<float>(sum);
  }
  if (dx != nullptr) normRows(job, x, dy, mean, factors, dx);
}

}  // namespace ipex_studio

#endif  // HWY_ONCE
