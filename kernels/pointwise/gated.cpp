// Shares rows of gated units among threads; the units in double precision by their definition.
#include "kernels/pointwise/gated.h"

#include <algorithm>
#include <cmath>
#include <type_traits>

#include "core/runtime/machine_facts.h"
#include "kernels/common/parallel.h"

namespace ipex_studio {
namespace {

template <typename T>
GatedMath<T> gatedMath() {
  if constexpr (std::is_same_v<T, float>) {
    static const GatedMath<float> simd = gatedMathSimd(machineFacts().isa);
    return simd;
  } else {
    return gatedMathRef();
  }
}

// Operations of an activation, about, beside one load.
constexpr std::int64_t kOpsPerValue = 8;

// Calls fn(row, first value, count) on parts of rows: a row of any length is shared, too.
template <typename Fn>
void forParts(const GatedJob& job, std::int32_t threads, const Fn& fn) {
  constexpr std::int64_t kPart = 4096;
  const std::int64_t parts = std::max<std::int64_t>(1, (job.width + kPart - 1) / kPart);
  const std::int64_t grain = grainFor(kOpsPerValue * std::min(job.width, kPart));
  parallelFor(job.rows * parts, grain, threads, [&](std::int64_t begin, std::int64_t end, int) {
    for (std::int64_t item = begin; item < end; ++item) {
      const std::int64_t first = item % parts * kPart;
      fn(item / parts, first, std::min(kPart, job.width - first));
    }
  });
}

struct Activation {
  double value, slope;
};

Activation activationOf(Gate gate, double x) {
  switch (gate) {
    case Gate::kSilu: {
      const double sigmoid = 1 / (1 + std::exp(-x));
      return {x * sigmoid, sigmoid * (1 + x * (1 - sigmoid))};
    }
    case Gate::kGelu: {
      const double below = 0.5 * std::erfc(-x * std::sqrt(0.5));
      return {x * below, below + x * std::exp(-x * x / 2) / std::sqrt(2 * 3.14159265358979323846)};
    }
    case Gate::kGeluTanh: {
      const double factor = std::sqrt(2 / 3.14159265358979323846);
      const double t = std::tanh(factor * (x + 0.044715 * x * x * x));
      return {0.5 * x * (1 + t), 0.5 * (1 + t) + 0.5 * x * (1 - t * t) * factor * (1 + 3 * 0.044715 * x * x)};
    }
    case Gate::kRelu:
      break;
  }
  return {x < 0 ? 0 : x, x > 0 ? 1.0 : 0.0};
}

void gatedForwardRef(Gate gate, const double* x, const double* up, double* y, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) y[i] = activationOf(gate, x[i]).value * up[i];
}

void gatedGradientRef(Gate gate, const double* x, const double* up, const double* of_y, double* of_x, double* of_up,
                      std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) {
    const Activation activation = activationOf(gate, x[i]);
    of_x[i] = of_y[i] * up[i] * activation.slope;
    of_up[i] = of_y[i] * activation.value;
  }
}

}  // namespace

GatedMath<double> gatedMathRef() { return {gatedForwardRef, gatedGradientRef}; }

template <typename T>
void gatedUnits(const GatedJob& job, const T* gate, const T* up, T* y, std::int32_t threads) {
  const GatedMath<T> math = gatedMath<T>();
  forParts(job, threads, [&](std::int64_t row, std::int64_t first, std::int64_t count) {
    math.forward(job.gate, gate + row * job.gate_stride + first, up + row * job.up_stride + first,
                 y + row * job.width + first, count);
  });
}

template <typename T>
void gatedUnitsGradient(const GatedJob& job, const T* gate, const T* up, const T* of_y, T* of_gate, T* of_up,
                        std::int32_t threads) {
  const GatedMath<T> math = gatedMath<T>();
  forParts(job, threads, [&](std::int64_t row, std::int64_t first, std::int64_t count) {
    const std::int64_t at = row * job.width + first;
    math.gradient(job.gate, gate + row * job.gate_stride + first, up + row * job.up_stride + first, of_y + at,
                  of_gate + at, of_up + at, count);
  });
}

#define IPEX_GATED_UNITS(T)                                                           \
  template void gatedUnits<T>(const GatedJob&, const T*, const T*, T*, std::int32_t); \
  template void gatedUnitsGradient<T>(const GatedJob&, const T*, const T*, const T*, T*, T*, std::int32_t);
IPEX_GATED_UNITS(float)
IPEX_GATED_UNITS(double)
#undef IPEX_GATED_UNITS

}  // namespace ipex_studio
