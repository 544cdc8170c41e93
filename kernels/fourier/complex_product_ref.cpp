// Products of complex numbers in pairs, and the order in which all versions walk them.
#include <utility>

#include "kernels/common/reference.h"
#include "kernels/fourier/complex_product_job.h"

namespace ipex_studio {
namespace {

// Strides in numbers along the axes of the result, of which the last one holds pairs; 0 where the operand repeats.
std::vector<std::int64_t> repeatedStrides(const Dims& operand, const Dims& y) {
  std::vector<std::int64_t> strides(static_cast<std::size_t>(y.rank - 1), 0);
  std::int64_t stride = 1;
  for (int axis = operand.rank - 2; axis >= 0; stride *= operand[axis--]) {
    if (operand[axis] != 1) strides[static_cast<std::size_t>(axis + y.rank - operand.rank)] = stride;
  }
  return strides;
}

}  // namespace

ComplexProductJob complexProductJob(const Dims& a, const Dims& b, const Dims& y) {
  const std::vector<std::int64_t> strides[2] = {repeatedStrides(a, y), repeatedStrides(b, y)};
  ComplexProductJob job;
  std::int64_t moves[2] = {0, 0};
  // From the innermost axis outwards: the line first, which grows while both operands go on in the same way.
  bool in_line = true;
  for (int axis = y.rank - 2; axis >= 0; --axis) {
    const auto at = static_cast<std::size_t>(axis);
    if (y[axis] == 1) continue;
    const bool first = job.length == 1 && in_line;
    const auto goesOn = [&](int o) { return strides[o][at] == (moves[o] != 0 ? moves[o] * job.length : 0); };
    if (in_line && (first || (goesOn(0) && goesOn(1)))) {
      for (int o = 0; first && o < 2; ++o) moves[o] = strides[o][at];
      job.length *= y[axis];
      continue;
    }
    in_line = false;
    job.lines *= y[axis];
    job.sizes.insert(job.sizes.begin(), y[axis]);
    for (int o = 0; o < 2; ++o) job.strides[o].insert(job.strides[o].begin(), strides[o][at]);
  }
  job.a_moves = moves[0] != 0;
  job.b_moves = moves[1] != 0;
  return job;
}

void refComplexProduct(const RefCall& call) {
  const RefTensor &a = call.src[0], &b = call.src[1], &y = call.dst[0];
  const double sign = call.spec.intOr("conjugate", 0) != 0 ? -1 : 1;
  const int last = y.dims.rank - 1;
  forEachIndex(y.dims, [&](const Dims& at) {
    const auto part = [&](const RefTensor& operand, std::int64_t which) {
      Dims from = at;
      from[last] = which;
      return operand(broadcastIndex(from, operand.dims));
    };
    const double b_real = part(b, 0), b_imaginary = sign * part(b, 1);
    y(at) =
        at[last] == 0 ? part(a, 0) * b_real - part(a, 1) * b_imaginary : part(a, 1) * b_real + part(a, 0) * b_imaginary;
  });
}

}  // namespace ipex_studio
