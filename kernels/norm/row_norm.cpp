// Shares rows of norms among threads. Gradients of gamma and beta are sums over rows: each chunk of rows, which depends
// on their number alone, sums its own, and the chunks are summed in their order.
#include "kernels/norm/row_norm.h"

#include <algorithm>
#include <type_traits>
#include <vector>

#include "core/runtime/machine_facts.h"
#include "kernels/common/parallel.h"

namespace ipex_studio {
namespace {

constexpr std::int64_t kChunkRows = 16, kMaxChunks = 64;

LayerNormJob denseRows(const RowNormJob& job) {
  LayerNormJob dense;
  dense.norm = job.norm;
  dense.size = job.size;
  dense.eps = static_cast<float>(job.eps);
  dense.rows.size = {std::max<std::int64_t>(1, job.rows)};
  dense.rows.stride = {{job.size}, {job.size}};
  return dense;
}

template <typename T>
RowGradient<T> rowGradient() {
  if constexpr (std::is_same_v<T, float>) {
    static const RowGradient<float> simd = rowGradientSimd(machineFacts().isa);
    return simd;
  } else {
    return rowGradientRef;
  }
}

}  // namespace

template <>
void normalizeRows<float>(const RowNormJob& job, const float* x, const float* residual, const float* gamma,
                          const float* beta, float* y, float* sum, std::int32_t threads) {
  static const LayerNormRun run = layerNormSimd(machineFacts().isa);
  const LayerNormJob dense = denseRows(job);
  const float* const src[] = {x, gamma, beta, residual};
  parallelFor(job.rows, grainFor(job.size), threads,
              [&](std::int64_t begin, std::int64_t end, int) { run(dense, src, y, sum, begin, end); });
}

template <>
void normalizeRows<double>(const RowNormJob& job, const double* x, const double* residual, const double* gamma,
                           const double* beta, double* y, double* sum, std::int32_t threads) {
  parallelFor(job.rows, grainFor(4 * job.size), threads, [&](std::int64_t begin, std::int64_t end, int) {
    for (std::int64_t at = begin * job.size; at < end * job.size; at += job.size) {
      normalizeRowRef(job, x + at, residual ? residual + at : nullptr, gamma, beta, y + at, sum ? sum + at : nullptr);
    }
  });
}

template <typename T>
void normalizeRowsGradient(const RowNormJob& job, const T* x, const T* gamma, const T* of_y, const T* of_sum,
                           const RowNormGradients<T>& gradients, std::int32_t threads) {
  const RowGradient<T> gradientOfRow = rowGradient<T>();
  const std::int64_t n = job.size;
  const std::int64_t chunks = std::clamp<std::int64_t>(job.rows / kChunkRows, 1, kMaxChunks);
  const bool has_sums = gradients.gamma != nullptr || gradients.beta != nullptr;
  std::vector<T> sums(has_sums ? static_cast<std::size_t>(2 * chunks * n) : 0, T(0));
  parallelFor(chunks, grainFor(4 * n * job.rows / chunks), threads, [&](std::int64_t begin, std::int64_t end, int) {
    for (std::int64_t chunk = begin; chunk < end; ++chunk) {
      RowNormGradients<T> row;
      if (gradients.gamma != nullptr) row.gamma = sums.data() + 2 * chunk * n;
      if (gradients.beta != nullptr) row.beta = sums.data() + (2 * chunk + 1) * n;
      const std::int64_t last = job.rows * (chunk + 1) / chunks;
      for (std::int64_t r = job.rows * chunk / chunks; r < last; ++r) {
        const std::int64_t at = r * n;
        row.x = gradients.x + at;
        gradientOfRow(job, x + at, gamma, of_y + at, of_sum ? of_sum + at : nullptr, row);
      }
    }
  });
  if (!has_sums) return;
  parallelFor(n, grainFor(2 * chunks), threads, [&](std::int64_t begin, std::int64_t end, int) {
    for (T* const to : {gradients.gamma, gradients.beta}) {
      if (to == nullptr) continue;
      std::fill(to + begin, to + end, T(0));
      for (std::int64_t chunk = 0; chunk < chunks; ++chunk) {
        const T* const from = sums.data() + (2 * chunk + (to == gradients.beta ? 1 : 0)) * n;
        for (std::int64_t i = begin; i < end; ++i) to[i] += from[i];
      }
    }
  });
}

template void normalizeRowsGradient<float>(const RowNormJob&, const float*, const float*, const float*, const float*,
                                           const RowNormGradients<float>&, std::int32_t);
template void normalizeRowsGradient<double>(const RowNormJob&, const double*, const double*, const double*,
                                            const double*, const RowNormGradients<double>&, std::int32_t);

}  // namespace ipex_studio
