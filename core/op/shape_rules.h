// Shape rules of all kinds, and checks that they share. Private to core/op.
#pragma once

#include <cstdint>
#include <vector>

#include "core/op/kernel.h"
#include "core/op/op_spec.h"
#include "core/op/tensor_view.h"

namespace ipex_studio {

constexpr std::int64_t kMaxElements = std::int64_t{1} << 40;

// True if all values are within [low, high].
bool inRange(const std::vector<std::int64_t>& values, std::int64_t low, std::int64_t high);
// True if absent, or a vector of `size`.
bool isBias(const TensorDesc& bias, std::int64_t size);
bool isInteger8(DType dtype);
// Returns the dtype that attribute `result` names, `otherwise` without it, kNone if it names a dtype that is not
// allowed.
DType resultDtype(const OpSpec& spec, DType otherwise);
// The result's dtype of products and chains: without the attribute `result`, u8 and s8 give f32.
DType computedDtype(const OpSpec& spec, DType source);
// Checks dtypes, zero points and the absent bias of a product; `bias` may be null.
Verdict checkProduct(const OpSpec& spec, const TensorDesc& x, const TensorDesc& w, const TensorDesc* bias);
// True for s64 and s32.
bool isIndex(DType dtype);
// The axis that attribute `axis` names among `rank`; -1 where it is out of range.
int axisIn(const OpSpec& spec, int rank);
// Stores the sizes that `a` and `b` broadcast to; false if they do not broadcast.
bool broadcastInto(const Dims& a, const Dims& b, Dims* out);
// Appends a dense result; declines an unknown dtype and sizes that overflow.
Verdict addResult(DType dtype, const Dims& dims, std::vector<TensorDesc>* dst);

// Rules of shape_inference.cpp.
Verdict inferLinear(const OpSpec& spec, const std::vector<TensorDesc>& src, std::vector<TensorDesc>* dst);
Verdict inferMatmul(const OpSpec& spec, const std::vector<TensorDesc>& src, std::vector<TensorDesc>* dst);
Verdict inferReduce(const OpSpec& spec, const std::vector<TensorDesc>& src, std::vector<TensorDesc>* dst);
Verdict inferLayerNorm(const OpSpec& spec, const std::vector<TensorDesc>& src, std::vector<TensorDesc>* dst);
Verdict inferGroupNorm(const OpSpec& spec, const std::vector<TensorDesc>& src, std::vector<TensorDesc>* dst);
Verdict inferSoftmax(const OpSpec& spec, const std::vector<TensorDesc>& src, std::vector<TensorDesc>* dst);
Verdict inferAttention(const OpSpec& spec, const std::vector<TensorDesc>& src, std::vector<TensorDesc>* dst);
Verdict inferSqueezeExcite(const OpSpec& spec, const std::vector<TensorDesc>& src, std::vector<TensorDesc>* dst);
Verdict inferPad(const OpSpec& spec, const std::vector<TensorDesc>& src, std::vector<TensorDesc>* dst);
Verdict inferConcat(const OpSpec& spec, const std::vector<TensorDesc>& src, std::vector<TensorDesc>* dst);
Verdict inferPointwise(const OpSpec& spec, const std::vector<TensorDesc>& src, std::vector<TensorDesc>* dst);
Verdict inferSame(const OpSpec& spec, const std::vector<TensorDesc>& src, std::vector<TensorDesc>* dst);
Verdict inferCast(const OpSpec& spec, const std::vector<TensorDesc>& src, std::vector<TensorDesc>* dst);
Verdict inferView(const OpSpec& spec, const std::vector<TensorDesc>& src, std::vector<TensorDesc>* dst);

// Rules of shape_windows.cpp. Required sources are present; their sizes are in range.
Verdict inferConvolution(const OpSpec& spec, const std::vector<TensorDesc>& src, std::vector<TensorDesc>* dst);
Verdict inferDeconvolution(const OpSpec& spec, const std::vector<TensorDesc>& src, std::vector<TensorDesc>* dst);
Verdict inferPool(const OpSpec& spec, const std::vector<TensorDesc>& src, std::vector<TensorDesc>* dst);
Verdict inferAffineGrid(const OpSpec& spec, const std::vector<TensorDesc>& src, std::vector<TensorDesc>* dst);
Verdict inferGridSample(const OpSpec& spec, const std::vector<TensorDesc>& src, std::vector<TensorDesc>* dst);
// adaptive_pool and upsample: spatial sizes are given.
Verdict inferGivenSpatial(const OpSpec& spec, const std::vector<TensorDesc>& src, std::vector<TensorDesc>* dst);

// Rule of shape_joined.cpp.
Verdict inferPointwiseDepthwise(const OpSpec& spec, const std::vector<TensorDesc>& src, std::vector<TensorDesc>* dst);

// Rules of shape_tables.cpp.
Verdict inferEmbedding(const OpSpec& spec, const std::vector<TensorDesc>& src, std::vector<TensorDesc>* dst);
Verdict inferEmbeddingBag(const OpSpec& spec, const std::vector<TensorDesc>& src, std::vector<TensorDesc>* dst);
Verdict inferGather(const OpSpec& spec, const std::vector<TensorDesc>& src, std::vector<TensorDesc>* dst);
Verdict inferGatherElements(const OpSpec& spec, const std::vector<TensorDesc>& src, std::vector<TensorDesc>* dst);
Verdict inferScatterElements(const OpSpec& spec, const std::vector<TensorDesc>& src, std::vector<TensorDesc>* dst);

// Rules of shape_order.cpp.
Verdict inferMaxMin(const OpSpec& spec, const std::vector<TensorDesc>& src, std::vector<TensorDesc>* dst);
Verdict inferSort(const OpSpec& spec, const std::vector<TensorDesc>& src, std::vector<TensorDesc>* dst);
Verdict inferCumulativeSum(const OpSpec& spec, const std::vector<TensorDesc>& src, std::vector<TensorDesc>* dst);
Verdict inferIntegerMath(const OpSpec& spec, const std::vector<TensorDesc>& src, std::vector<TensorDesc>* dst);

// Rule of shape_recurrent.cpp.
Verdict inferRecurrent(const OpSpec& spec, const std::vector<TensorDesc>& src, std::vector<TensorDesc>* dst);

}  // namespace ipex_studio
