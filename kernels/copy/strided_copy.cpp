// See strided_copy.h.
#include "kernels/copy/strided_copy.h"

#include <algorithm>
#include <cstring>

#include "kernels/common/parallel.h"

namespace ipex_studio {
namespace {

template <typename T>
void copyElements(const T* src, std::int64_t src_stride, T* dst, std::int64_t dst_stride, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) dst[i * dst_stride] = src[i * src_stride];
}

// The tensor with its channels as two axes, of blocks and within a block. The channels fill the blocks.
TensorDesc withBlockAxis(const TensorDesc& desc, std::int64_t block) {
  TensorDesc split = desc;
  split.block = 0;
  split.dims.rank = split.strides.rank = desc.dims.rank + 1;
  for (int axis = 2; axis < desc.dims.rank; ++axis) {
    split.dims[axis + 1] = desc.dims[axis];
    split.strides[axis + 1] = desc.strides[axis];
  }
  split.dims[1] = desc.dims[1] / block;
  split.dims[2] = block;
  split.strides[1] = desc.strides[1] * (desc.block == 0 ? block : 1);
  split.strides[2] = desc.block == 0 ? desc.strides[1] : 1;
  return split;
}

}  // namespace

// Short runs are copied by vectors without a call: a call of memcpy costs as much as such a run.
inline void copyRun(const char* src, char* dst, std::size_t bytes) {
  constexpr std::size_t kPiece = 64, kShort = 1024;
  if (bytes > kShort || bytes % kPiece != 0) {
    std::memcpy(dst, src, bytes);
    return;
  }
  for (std::size_t at = 0; at < bytes; at += kPiece) std::memcpy(dst + at, src + at, kPiece);
}

void StridedCopy::copy(const char* src, char* dst, std::int64_t begin, std::int64_t end) const {
  const int last = nest.loops() - 1;
  const std::int64_t inner = nest.size[last], to = nest.stride[0][last], from = nest.stride[1][last];
  const std::int64_t bytes = static_cast<std::int64_t>(element);
  // Positions of the outer loops, incremented from run to run: divisions for each run would cost more.
  std::int64_t at[kMaxRank + 2] = {};
  std::int64_t out_offset = 0, in_offset = 0;
  std::int64_t rest = begin;
  for (int loop = last - 1; loop >= 0; --loop) {
    at[loop] = rest % nest.size[loop];
    rest /= nest.size[loop];
    out_offset += at[loop] * nest.stride[0][loop];
    in_offset += at[loop] * nest.stride[1][loop];
  }
  for (std::int64_t p = begin; p < end; ++p) {
    char* const out = dst + out_offset * bytes;
    const char* const in = src + in_offset * bytes;
    if (run > 1 || inner == 1) {
      copyRun(in, out, static_cast<std::size_t>(inner * bytes));
    } else {
      copySpread(in, from, out, to, inner);
    }
    for (int loop = last - 1; loop >= 0; --loop) {
      out_offset += nest.stride[0][loop];
      in_offset += nest.stride[1][loop];
      if (++at[loop] < nest.size[loop]) break;
      at[loop] = 0;
      out_offset -= nest.size[loop] * nest.stride[0][loop];
      in_offset -= nest.size[loop] * nest.stride[1][loop];
    }
  }
}

void StridedCopy::copySpread(const char* in, std::int64_t from, char* out, std::int64_t to, std::int64_t count) const {
  const auto spread = [&](auto type) {
    using T = decltype(type);
    copyElements(reinterpret_cast<const T*>(in), from, reinterpret_cast<T*>(out), to, count);
  };
  switch (element) {
    case 1:
      return spread(std::uint8_t());
    case 2:
      return spread(std::uint16_t());
    case 4:
      return spread(std::uint32_t());
    default:
      return spread(std::uint64_t());
  }
}

bool makeCopyNest(const TensorDesc& src, const TensorDesc& dst, LoopNest* nest) {
  if (src.block == dst.block) return makeLoopNest({dst, src}, nest);
  const std::int64_t block = std::max(src.block, dst.block);
  const bool one_has_blocks = std::min(src.block, dst.block) == 0;
  if (!one_has_blocks || dst.dims.rank == kMaxRank || dst.dims[1] % block != 0) return false;
  return makeLoopNest({withBlockAxis(dst, block), withBlockAxis(src, block)}, nest);
}

bool makeStridedCopy(const TensorDesc& src, const TensorDesc& dst, StridedCopy* copy) {
  if (!makeCopyNest(src, dst, &copy->nest)) return false;
  const int last = copy->nest.loops() - 1;
  const bool contiguous = copy->nest.stride[0][last] == 1 && copy->nest.stride[1][last] == 1;
  copy->element = elementBytes(dst.dtype);
  copy->run = contiguous ? copy->nest.size[last] : 1;
  if (last == 0 && copy->run > 1) {
    // A single run is cut so that threads can share it.
    constexpr std::int64_t kPiece = 4096;
    const std::int64_t whole = copy->run;
    if (whole % kPiece == 0 && whole > kPiece) {
      copy->nest.size = {whole / kPiece, kPiece};
      copy->nest.stride = {{kPiece, 1}, {kPiece, 1}};
      copy->run = kPiece;
    }
  }
  const int inner = copy->nest.loops() - 1;
  copy->positions = copy->nest.count() == 0 ? 0 : copy->nest.count() / copy->nest.size[inner];
  const std::int64_t cost = copy->nest.size[inner] / (copy->run > 1 ? 4 : 1);
  copy->grain = grainFor(cost + 4);
  return true;
}

}  // namespace ipex_studio
