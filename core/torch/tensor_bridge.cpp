// Conversion between at::Tensor and TensorDesc.
#include "core/torch/tensor_bridge.h"

#include <ATen/EmptyTensor.h>

#include "core/base/error.h"

namespace ipex_studio {
namespace {

constexpr std::pair<at::ScalarType, DType> kTypes[] = {
    {at::kFloat, DType::kF32}, {at::kDouble, DType::kF64}, {at::kBFloat16, DType::kBf16},
    {at::kHalf, DType::kF16},  {at::kChar, DType::kS8},    {at::kByte, DType::kU8},
    {at::kInt, DType::kS32},   {at::kLong, DType::kS64},   {at::kBool, DType::kBool}};

}  // namespace

DType dtypeOf(at::ScalarType type) {
  for (const auto& [scalar, dtype] : kTypes) {
    if (scalar == type) return dtype;
  }
  return DType::kNone;
}

at::ScalarType scalarTypeOf(DType dtype) {
  for (const auto& [scalar, known] : kTypes) {
    if (known == dtype) return scalar;
  }
  IPEX_CHECK(false, "no torch type for this dtype");
}

TensorDesc descOf(const at::Tensor& tensor) {
  TensorDesc desc;
  const bool known =
      tensor.defined() && tensor.device().is_cpu() && tensor.layout() == at::kStrided && tensor.dim() <= kMaxRank;
  if (!known) return desc;
  desc.dtype = dtypeOf(tensor.scalar_type());
  desc.dims = Dims(tensor.sizes().vec());
  desc.strides = Dims(tensor.strides().vec());
  return desc;
}

at::Tensor planInput(const at::Tensor& tensor) {
  if (tensor.is_contiguous()) return tensor;
  const bool channels_last = (tensor.dim() == 4 && tensor.is_contiguous(at::MemoryFormat::ChannelsLast)) ||
                             (tensor.dim() == 5 && tensor.is_contiguous(at::MemoryFormat::ChannelsLast3d));
  return channels_last ? tensor : tensor.contiguous();
}

at::Tensor emptyTensor(const TensorDesc& desc) {
  // Avoids at::empty, which goes through the dispatcher and puts the list of sizes on the heap.
  const at::IntArrayRef sizes(desc.dims.d.data(), static_cast<std::size_t>(desc.dims.rank));
  return at::Tensor(at::detail::empty_cpu(sizes, scalarTypeOf(desc.dtype)));
}

}  // namespace ipex_studio
