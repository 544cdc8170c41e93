// Plain versions of every operation in double precision: what tests compare with, and what runs when nothing else can.
// Each works on dense row-major copies of its operands, so any layout and dtype is read through one index helper.
#pragma once

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

// `name`'s list for `spatial` dimensions; a missing list is all `otherwise`.
std::vector<std::int64_t> refSpatial(const OpSpec& spec, const char* name, int spatial, std::int64_t otherwise);

// `at` in a tensor that broadcasts to at's rank.
Dims broadcastIndex(const Dims& at, const Dims& dims);

double refPostOp(const PostOp& op, double value, double operand);

void refConvolution(const RefCall& call);
void refDeconvolution(const RefCall& call);
void refLinear(const RefCall& call);
void refMatmul(const RefCall& call);
void refPool(const RefCall& call);
void refAdaptivePool(const RefCall& call);
void refUpsample(const RefCall& call);
void refReduce(const RefCall& call);
void refLayerNorm(const RefCall& call);
void refGroupNorm(const RefCall& call);
void refSoftmax(const RefCall& call);
void refAttention(const RefCall& call);
void refSqueezeExcite(const RefCall& call);
void refPointwiseDepthwise(const RefCall& call);
void refPointwise(const RefCall& call);
void refConcat(const RefCall& call);
void refEmbedding(const RefCall& call);
void refEmbeddingBag(const RefCall& call);
void refGather(const RefCall& call);
void refGatherElements(const RefCall& call);
void refScatterElements(const RefCall& call);
void refMaxMin(const RefCall& call);
void refSort(const RefCall& call);
void refCumulativeSum(const RefCall& call);
void refAffineGrid(const RefCall& call);
void refGridSample(const RefCall& call);
void refIntegerMath(const RefCall& call);
void refPad(const RefCall& call);
void refRecurrent(const RefCall& call);
void refCopy(const RefCall& call);
void refPermute(const RefCall& call);
void refSlice(const RefCall& call);
void refSelect(const RefCall& call);

}  // namespace ipex_studio
