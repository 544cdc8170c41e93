// Names of layouts: writing, reading, and the plainest of equal ones.
#include "core/op/layout_text.h"

namespace ipex_studio {
namespace {

constexpr char kRowMajor[] = "row-major";
constexpr char kChannelsLast[] = "channels-last";
constexpr char kBlocked[] = "blocked-";

}  // namespace

std::string layoutText(const TensorDesc& desc) {
  if (desc.absent()) return "";
  if (desc.isContiguous()) return kRowMajor;
  if (desc.isChannelsLast()) return kChannelsLast;
  const bool dense_blocks =
      desc.block > 0 && desc.dims.rank >= 3 && desc.sameLayout(blockedDesc(desc.dtype, desc.dims, desc.block));
  return dense_blocks ? kBlocked + std::to_string(desc.block) : "";
}

std::optional<TensorDesc> descInLayout(const std::string& text, DType dtype, const Dims& dims) {
  if (dtype == DType::kNone) return std::nullopt;
  if (text == kRowMajor) return contiguousDesc(dtype, dims);
  if (dims.rank < 3) return std::nullopt;
  if (text == kChannelsLast) return channelsLastDesc(dtype, dims);
  for (const std::int32_t block : {4, 8, 16, 32}) {
    if (text == kBlocked + std::to_string(block)) return blockedDesc(dtype, dims, block);
  }
  return std::nullopt;
}

TensorDesc plainest(const TensorDesc& desc) {
  if (desc.block == 0 || desc.dims.rank < 3 || desc.dims[1] % desc.block != 0) return desc;
  for (int axis = 2; axis < desc.dims.rank; ++axis) {
    if (desc.dims[axis] != 1) return desc;
  }
  const bool dense = desc.sameLayout(blockedDesc(desc.dtype, desc.dims, desc.block));
  return dense ? contiguousDesc(desc.dtype, desc.dims) : desc;
}

}  // namespace ipex_studio
