// Shared by the plain versions of all operations, which compute in double precision, are what tests compare with, and
// run where no other kernel can. Each is a RefFunction in a …_ref.cpp with a row in kernels/kernel_list.cpp, and works
// on dense row-major copies of its operands, so any layout and dtype is read through one index helper.
#pragma once

#include <memory>
#include <vector>

#include "core/op/kernel.h"

namespace ipex_studio {

// A dense row-major tensor of doubles. data is null for an absent operand.
struct RefTensor {
  Dims dims;
  double* data = nullptr;

  std::int64_t index(const Dims& at) const {
    std::int64_t i = 0;
    for (int axis = 0; axis < dims.rank; ++axis) i = i * dims[axis] + at[axis];
    return i;
  }
  double& operator()(const Dims& at) const { return data[index(at)]; }
};

// Numbers of a tensor along one of its axes.
struct RefLine {
  double* data = nullptr;
  std::int64_t step = 0;  // 0 along an axis that is broadcast

  double& operator[](std::int64_t i) const { return data[i * step]; }
};

struct RefCall {
  const OpSpec& spec;
  const std::vector<RefTensor>& src;
  std::vector<RefTensor>& dst;
};
using RefFunction = void (*)(const RefCall& call);

// Calls fn(index) for every index of `dims` in row-major order.
template <typename Fn>
void forEachIndex(const Dims& dims, const Fn& fn) {
  const std::int64_t count = dims.count();
  Dims at;
  at.rank = dims.rank;
  for (std::int64_t i = 0; i < count; ++i) {
    fn(static_cast<const Dims&>(at));
    for (int axis = dims.rank - 1; axis >= 0 && ++at[axis] == dims[axis]; --axis) at[axis] = 0;
  }
}

// The list attribute `name` for `spatial` dimensions; if missing, all are `otherwise`.
std::vector<std::int64_t> refSpatial(const OpSpec& spec, const char* name, int spatial, std::int64_t otherwise);

// The index in a tensor of `dims`, which broadcasts to at's rank, for index `at` of the result.
Dims broadcastIndex(const Dims& at, const Dims& dims);

// The line that goes along `axis` of index `at` through a tensor that broadcasts to at's rank; at[axis] is ignored.
RefLine refLine(const RefTensor& tensor, Dims at, int axis);

double refPostOp(const PostOp& op, double value, double operand);

// The plain convolution, which other plain versions build on.
void refConvolution(const RefCall& call);

// The kernel of `kind` that takes anything: reads the operands as doubles, calls `function`, applies the
// post-operations and writes the results.
std::unique_ptr<Kernel> makeReference(OpKind kind, RefFunction function);

}  // namespace ipex_studio
