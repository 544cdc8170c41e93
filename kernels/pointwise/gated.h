// Gated units, activation(gate) · up, with their gradients: the middle of a language model's MLP.
//
// T is float, or double: the plain version. Rows are shared among `threads` OpenMP threads.
#pragma once

#include <cstdint>
#include <string>

namespace ipex_studio {

enum class Gate { kSilu, kGelu, kGeluTanh, kRelu };

// Rows of gate and up may lie apart, as halves of the rows of one product do; strides are in elements. Results and
// gradients are dense.
struct GatedJob {
  Gate gate = Gate::kSilu;
  std::int64_t rows = 0, width = 0;
  std::int64_t gate_stride = 0, up_stride = 0;
};

// y may be gate or up where that is dense.
template <typename T>
void gatedUnits(const GatedJob& job, const T* gate, const T* up, T* y, std::int32_t threads);

// of_y: the gradient of y, dense. of_gate and of_up: dense.
template <typename T>
void gatedUnitsGradient(const GatedJob& job, const T* gate, const T* up, const T* of_y, T* of_gate, T* of_up,
                        std::int32_t threads);

// The code for one row.
template <typename T>
struct GatedMath {
  void (*forward)(Gate gate, const T* x, const T* up, T* y, std::int64_t count);
  void (*gradient)(Gate gate, const T* x, const T* up, const T* of_y, T* of_x, T* of_up, std::int64_t count);
};
GatedMath<float> gatedMathSimd(const std::string& isa);
GatedMath<double> gatedMathRef();

}  // namespace ipex_studio
