// Tensors as kernels and plans see them: a description (dtype, dims, strides, channel block, device) and a pointer.
// Plain values; all functions are thread-safe.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

#include "core/runtime/device_id.h"

namespace ipex_studio {

enum class DType : std::uint8_t { kNone, kF32, kF64, kBf16, kF16, kS8, kU8, kS32, kS64, kBool };

std::size_t elementBytes(DType dtype);         // kNone: 0
const char* dtypeName(DType dtype);            // "f32", "bf16", "s64", "bool", "none"
DType dtypeFromName(const std::string& name);  // kNone when unknown

constexpr int kMaxRank = 8;
// Logical sizes or strides of up to kMaxRank dimensions; no allocation.
struct Dims {
  std::int32_t rank = 0;
  std::array<std::int64_t, kMaxRank> d{};

  Dims() = default;
  Dims(std::initializer_list<std::int64_t> values);
  explicit Dims(const std::vector<std::int64_t>& values);  // CHECKs size <= kMaxRank

  std::int64_t operator[](int axis) const { return d[axis]; }
  std::int64_t& operator[](int axis) { return d[axis]; }
  bool operator==(const Dims& other) const;
  bool operator!=(const Dims& other) const { return !(*this == other); }
  std::int64_t count() const;  // product; 1 for rank 0. Dims are validated to fit before this is called
  std::vector<std::int64_t> toVector() const;
  std::string str() const;  // "1x64x56x56"; "scalar" for rank 0
};

// Counts an axis with -rank <= axis < rank from the front.
inline int wrappedAxis(std::int64_t axis, int rank) { return static_cast<int>(axis < 0 ? axis + rank : axis); }

// dims are always logical (N, C, H, W). Two families of layouts:
//   block == 0  strided: element (i0, i1, …) lies at Σ i·strides. Stride 0 means broadcast.
//   block == b  channel-blocked (oneDNN's nCw8c … nCdhw16c): dimension 1 is split into ceil(C/b) blocks, strides[1] is
//               the distance of two blocks, and b channels lie next to each other. Padded channels are zero.
struct TensorDesc {
  DType dtype = DType::kNone;  // kNone: an absent optional operand
  Dims dims;
  Dims strides;  // in elements
  std::int32_t block = 0;
  DeviceId device;

  bool absent() const { return dtype == DType::kNone; }
  bool sameLayout(const TensorDesc& other) const;  // strides (of dims > 1) and block agree
  bool isContiguous() const;                       // strided, row-major, dense
  bool isChannelsLast() const;                     // strided, rank >= 3, dense, C innermost
  std::size_t bytes() const;                       // extent in memory incl. padding
  std::int64_t rowBytes() const;                   // from one row of axis 0 to the next; rank >= 1
  std::string layoutName() const;                  // "nchw", "nhwc", "nChw16c", "ab", "strided"
  std::string str() const;                         // "f32 1x64x56x56 nChw16c"
  bool operator==(const TensorDesc& other) const;
};

// Dense descriptions on the CPU; sizes must not overflow (core/op/shape_inference.h).
TensorDesc contiguousDesc(DType dtype, const Dims& dims);                   // row-major
TensorDesc channelsLastDesc(DType dtype, const Dims& dims);                 // rank >= 3
TensorDesc blockedDesc(DType dtype, const Dims& dims, std::int32_t block);  // rank >= 3

struct TensorView {
  TensorDesc desc;
  void* data = nullptr;
};

}  // namespace ipex_studio
