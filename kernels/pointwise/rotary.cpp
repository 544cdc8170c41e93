// Shares tokens among threads; rotation in double precision by its definition.
#include "kernels/pointwise/rotary.h"

#include <type_traits>

#include "core/runtime/machine_facts.h"
#include "kernels/common/parallel.h"

namespace ipex_studio {
namespace {

template <typename T>
RotateToken<T> rotateToken() {
  if constexpr (std::is_same_v<T, float>) {
    static const RotateToken<float> simd = rotateTokenSimd(machineFacts().isa);
    return simd;
  } else {
    return rotateTokenRef;
  }
}

}  // namespace

template <typename T>
void rotateHeads(const RotaryJob<T>& job, const T* x, T* y, std::int32_t threads) {
  const RotateToken<T> rotate = rotateToken<T>();
  const std::int64_t values = job.heads * job.width;
  parallelFor(job.tokens, grainFor(values), threads, [&](std::int64_t begin, std::int64_t end, int) {
    for (std::int64_t token = begin; token < end; ++token) {
      const std::int64_t row = job.positions[token] * job.table_stride;
      rotate(job, job.sines + row, job.cosines + row, x + token * job.token_stride, y + token * values);
    }
  });
}

template void rotateHeads<float>(const RotaryJob<float>&, const float*, float*, std::int32_t);
template void rotateHeads<double>(const RotaryJob<double>&, const double*, double*, std::int32_t);

void rotateTokenRef(const RotaryJob<double>& job, const double* sines, const double* cosines, const double* x,
                    double* y) {
  const std::int64_t pairs = job.rotated / 2;
  for (std::int64_t head = 0; head < job.heads; ++head, x += job.head_stride, y += job.width) {
    for (std::int64_t i = 0; i < pairs; ++i) {
      const std::int64_t first = job.interleaved ? 2 * i : i, second = job.interleaved ? 2 * i + 1 : i + pairs;
      const std::int64_t of_first = job.whole_tables ? first : i, of_second = job.whole_tables ? second : i;
      const double a = x[first], b = x[second], sign = job.back ? -1 : 1;
      y[first] = a * cosines[of_first] - b * sign * sines[of_first];
      y[second] = b * cosines[of_second] + a * sign * sines[of_second];
    }
    for (std::int64_t i = job.rotated; i < job.width; ++i) y[i] = x[i];
  }
}

}  // namespace ipex_studio
