#include "kernels/strided_copy.h"

#include <cstring>

#include "kernels/parallel.h"

namespace ipex_studio {
namespace {

template <typename T>
void copyElements(const T* src, std::int64_t src_stride, T* dst, std::int64_t dst_stride, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) dst[i * dst_stride] = src[i * src_stride];
}

}  // namespace

void StridedCopy::copy(const char* src, char* dst, std::int64_t begin, std::int64_t end) const {
  const int last = nest.loops() - 1;
  const std::int64_t inner = nest.size[last], to = nest.stride[0][last], from = nest.stride[1][last];
  for (std::int64_t p = begin; p < end; ++p) {
    char* const out = dst + nest.offset(0, p, last) * static_cast<std::int64_t>(element);
    const char* const in = src + nest.offset(1, p, last) * static_cast<std::int64_t>(element);
    if (run > 1 || inner == 1) {
      std::memcpy(out, in, inner * element);
      continue;
    }
    switch (element) {
      case 1:
        copyElements(reinterpret_cast<const std::uint8_t*>(in), from, reinterpret_cast<std::uint8_t*>(out), to, inner);
        break;
      case 2:
        copyElements(reinterpret_cast<const std::uint16_t*>(in), from, reinterpret_cast<std::uint16_t*>(out), to,
                     inner);
        break;
      case 4:
        copyElements(reinterpret_cast<const std::uint32_t*>(in), from, reinterpret_cast<std::uint32_t*>(out), to,
                     inner);
        break;
      default:
        copyElements(reinterpret_cast<const std::uint64_t*>(in), from, reinterpret_cast<std::uint64_t*>(out), to,
                     inner);
        break;
    }
  }
}

bool makeStridedCopy(const TensorDesc& src, const TensorDesc& dst, StridedCopy* copy) {
  if (src.block != dst.block || !makeLoopNest({dst, src}, &copy->nest)) return false;
  const int last = copy->nest.loops() - 1;
  const bool contiguous = copy->nest.stride[0][last] == 1 && copy->nest.stride[1][last] == 1;
  copy->element = elementBytes(dst.dtype);
  copy->run = contiguous ? copy->nest.size[last] : 1;
  if (last == 0 && copy->run > 1) {
    // One run: cut it so that threads can share it.
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
