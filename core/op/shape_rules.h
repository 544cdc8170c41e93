// Checks that the shape rules of all kinds share. A rule is a ShapeRule in a shape_….cpp, declared beside the table of
// kinds (op_kinds.cpp).
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

// The rules of convolutions and pools, which other rules build on.
ShapeRule inferConvolution, inferPool;

}  // namespace ipex_studio
