// How the lines of a product of complex numbers lie in its operands.
#pragma once

#include <cstdint>
#include <vector>

#include "core/op/tensor_view.h"

namespace ipex_studio {

// `lines` lines of `length` numbers, row-major in the result. Along a line an operand moves on or repeats one number.
struct ComplexProductJob {
  std::vector<std::int64_t> sizes;       // of the axes around the lines
  std::vector<std::int64_t> strides[2];  // of an operand along these axes, in numbers; 0: it repeats
  std::int64_t lines = 1, length = 1, parts = 1;
  bool a_moves = false, b_moves = false;
  float sign = 1;  // of b's imaginary parts

  std::int64_t offset(int operand, std::int64_t line) const {
    std::int64_t place = 0;
    for (std::size_t axis = sizes.size(); axis-- > 0; line /= sizes[axis])
      place += line % sizes[axis] * strides[operand][axis];
    return place;
  }
};

// The job of row-major operands whose last axes are pairs. Axes that both operands walk alike become one.
ComplexProductJob complexProductJob(const Dims& a, const Dims& b, const Dims& y);

}  // namespace ipex_studio
