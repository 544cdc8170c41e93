// What the rules of shape inference share. Private to shape_inference.
#pragma once

#include <cstdint>
#include <vector>

#include "core/plan/kernel.h"
#include "core/plan/op_spec.h"
#include "core/plan/tensor_view.h"

namespace ipex_studio {

constexpr std::int64_t kMaxElements = std::int64_t{1} << 40;

// Are all values within [low, high]?
bool inRange(const std::vector<std::int64_t>& values, std::int64_t low, std::int64_t high);
// Absent, or a vector of `size`.
bool isBias(const TensorDesc& bias, std::int64_t size);
// What a product of `source` is stored as: attribute result=f32 keeps the sums of BF16 products.
DType resultDtype(const OpSpec& spec, DType source);
// Appends a dense result, if its sizes are none that overflow.
Verdict addResult(DType dtype, const Dims& dims, std::vector<TensorDesc>* dst);

// Rules of shape_windows.cpp. Sources that are no option are there; their sizes are in range.
Verdict inferConvolution(const OpSpec& spec, const std::vector<TensorDesc>& src, std::vector<TensorDesc>* dst);
Verdict inferDeconvolution(const OpSpec& spec, const std::vector<TensorDesc>& src, std::vector<TensorDesc>* dst);
Verdict inferPool(const OpSpec& spec, const std::vector<TensorDesc>& src, std::vector<TensorDesc>* dst);
// adaptive_pool and upsample: spatial sizes are given.
Verdict inferGivenSpatial(const OpSpec& spec, const std::vector<TensorDesc>& src, std::vector<TensorDesc>* dst);

}  // namespace ipex_studio
