// Products of u8 or s8 by s8 weights as a packed matrix product (packed_gemm.h) in VNNI-4 packing: quads, which are
// four bytes side by side in 32 bits, take the place of floats, so that rows are planned, copied and gathered by the
// same code. Sums are exact in 32 bits on every instruction set: by vpdpbusd where there is VNNI, else by widening to
// 16 bits (vpmaddubsw would saturate). The sum of (x - zero)·w is the sum of x·w that starts at -zero·Σw; signed bytes
// become unsigned by flipping their highest bit while they are copied.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kernels/common/requantization.h"
#include "kernels/gemm/packed_gemm.h"
#include "kernels/int8/silu_pieces.h"

namespace ipex_studio {

constexpr std::int64_t kVnni4Bytes = 4;

// One tap of a tile of neighbouring pixels, or several taps that follow each other in memory: the address of its first
// row, and its weights. At most one row, the first or the last, lies outside of the image there: it adds nothing, and
// where it is the first, `a` is the address of the next row.
struct Int8Tap {
  const float *a = nullptr, *b = nullptr;
  std::int64_t length = 0;  // quads
  enum { kAll, kNotFirst, kNotLast } rows = kAll;
};
constexpr std::int64_t kMaxEdgeTaps = 25;
constexpr int kMinTapRows = 7;  // least pixels of the tiles that lines are cut into evenly

// A range of memory that is prefetched line by line while tiles are summed; each tile checks done() at its end.
constexpr std::int64_t kLineFloats = 16;
struct FetchRange {
  const float *begin = nullptr, *end = nullptr;
  bool done() const { return begin >= end; }
};

// Up to kGemmMaxRows rows of quads times one panel of quads; like GemmTile.
struct Int8Tile {
  const float* a = nullptr;
  std::int64_t row_stride = 0;
  const std::int64_t* offsets = nullptr;
  std::int64_t segments = 1, length = 0;
  const float* b = nullptr;
  const std::int32_t* start = nullptr;  // width values each
  const float* scale = nullptr;
  const float* offset = nullptr;
  // Rows that were rounded on the fly have a scale and a zero each; zero · Σw of the column is subtracted. May be null.
  const float* row_scale = nullptr;
  const std::int32_t* row_zero = nullptr;
  const std::int32_t* column_sums = nullptr;
  const void* addend = nullptr;  // may be null
  DType addend_type = DType::kF32;
  std::int64_t addend_stride = 0;  // elements, as c_stride
  float factor = 0, low = 0, high = 0;
  bool adds_last = false;  // the addend to what is activated
  IntegerActivation activation = IntegerActivation::kNone;
  float activated_scale = 1, activated_offset = 0;
  const SiluPieces* silu = nullptr;  // scale and offset included
  void* c = nullptr;
  DType c_type = DType::kF32;  // f32, bf16, u8 or s8
  std::int64_t c_stride = 0;
  // Tiles that end quantized: the number of tiles of equal height in one call, and the memory that they prefetch
  // meanwhile: `ahead`, the next weights, then `after`.
  std::int64_t repeats = 1;
  FetchRange ahead, after;
  // Taps that stand in the place of a, offsets and b, one after the other.
  const Int8Tap* taps = nullptr;
  std::int64_t tap_count = 0;
};

// Windows of few channels (or of few taps of them) as rows of bytes without gaps between taps, gathered from a padded
// copy of the image: three channels then take three bytes, not a quad.
struct WindowBytes {
  bool needed = false;
  std::uint32_t flip = 0, outside = 0;  // four bytes each: see Vnni4Padding; what stands for zero, flipped already
  std::int64_t images = 1, channels = 0;
  std::int64_t in[2] = {1, 1}, out[2] = {1, 1}, kernel[2] = {1, 1}, stride[2] = {1, 1}, padding[2] = {};
  std::int64_t dilation = 1;                                           // of lines; taps of a line lie side by side
  std::int64_t image_stride = 0, channel_stride = 0, strides[2] = {};  // bytes

  std::int64_t taps() const { return kernel[0] * kernel[1]; }
  std::int64_t quads() const { return (taps() * channels + kVnni4Bytes - 1) / kVnni4Bytes; }
  // Sizes of the padded copy; lines are padded to whole vectors.
  std::int64_t lines() const { return (out[0] - 1) * stride[0] + (kernel[0] - 1) * dilation + 1; }
  std::int64_t lineBytes() const { return (((out[1] - 1) * stride[1] + kernel[1]) * channels + 2 * 64 - 1) / 64 * 64; }
  std::int64_t bytes() const { return needed ? images * lines() * lineBytes() : 0; }
  // Size of a gathered row.
  std::int64_t rowFloats() const {
    constexpr std::int64_t kVector = 32 / kVnni4Bytes, kFewSets = 512;  // see meetsInFewSets
    const std::int64_t floats = (quads() + 2 * kVector - 1) / kVector * kVector;
    return floats % kFewSets == 0 ? floats + kVector : floats;
  }
};

// Conversion of the image to VNNI-4 packing if its channels (of each group) do not fill quads side by side.
struct Vnni4Padding {
  bool needed = false;
  std::uint32_t flip = 0;                             // all bytes are combined with it by exclusive or: s8 becomes u8
  std::int64_t images = 1, groups = 1, channels = 0;  // per group
  std::int64_t sizes[3] = {1, 1, 1};
  std::int64_t image_stride = 0, channel_stride = 0, strides[3] = {};  // bytes
  std::int64_t quads() const { return (channels + kVnni4Bytes - 1) / kVnni4Bytes; }
  std::int64_t lines() const { return images * sizes[0] * sizes[1]; }
  std::int64_t bytes() const {
    return needed ? (lines() * sizes[2] * groups * quads() * kVnni4Bytes + 63) / 64 * 64 : 0;
  }
};

// Rows of floats that become quads on the fly.
struct RowRounding {
  bool needed = false;
  std::int64_t rows = 0, depth = 0, stride = 0;  // floats
  std::int64_t quads() const { return (depth + kVnni4Bytes - 1) / kVnni4Bytes; }
  // Quads of all rows, then their scales, then their zeros.
  std::int64_t bytes() const { return needed ? (rows * (quads() + 2) * kVnni4Bytes + 63) / 64 * 64 : 0; }
};

struct Int8GemmJob {
  GemmJob gemm;  // strides and lengths in quads; operands of the chain
  Vnni4Padding padding;
  WindowBytes windows;
  RowRounding rounding;
  // quantized: tiles end as u8 in the registers, and panels of four vectors hold their columns in wideLane's order.
  // clamped: the bounds are narrower than those of the type.
  bool quantized = false, clamped = false;
  bool by_taps = false;  // true: rows are read in place, tap by tap, and taps in the padding are left out
  std::uint8_t lowest = 0, highest = 255;
  DType result = DType::kF32;
  Requantization chain;
  SiluPieces silu;                   // where that is the activation
  std::vector<DType> operand_types;  // by post operand
  // Per column of panels, at GemmPanel::bias.
  std::vector<std::int32_t> start, column_sums;
  std::vector<float> scale, offset;
  // Position of column j of a panel in its packed weights, scales and offsets.
  std::int64_t laneOf(const GemmPanel& panel, std::int64_t j) const {
    constexpr std::int64_t kWide = 64;
    return quantized && panel.width == kWide ? wideLane(j) : j;
  }
  // Packing vectors f of 32 bits into bytes puts lanes 4i … 4i + 3 of vector f at 16i + 4f.
  static std::int64_t wideLane(std::int64_t j) { return j / 4 % 4 * 16 + j / 16 * 4 + j % 4; }
  // Floats per thread: rows, a tile, an operand's tile, a tile of results.
  std::int64_t scratchFloats() const { return gemm.copied_floats + 3 * kGemmMaxRows * kGemmMaxWidth; }
};

struct Int8GemmCall {
  const float* x = nullptr;  // quads
  const float* row_scale = nullptr;
  const std::int32_t* row_zero = nullptr;
  const float* weights = nullptr;
  const void* const* src = nullptr;
  void* dst = nullptr;
  FetchRange next;  // memory that the next operation reads first
};

using Int8GemmRun = void (*)(const Int8GemmJob& job, const Int8GemmCall& call, float* scratch, std::int64_t task);
using RowRoundingRun = void (*)(const RowRounding& rounding, const float* x, float* to, std::int64_t begin,
                                std::int64_t end);
using WindowBytesRun = void (*)(const WindowBytes& windows, const void* x, float* to, std::int64_t begin,
                                std::int64_t end);
using Vnni4PaddingRun = void (*)(const Vnni4Padding& padding, const void* x, float* to, std::int64_t begin,
                                 std::int64_t end);

// The code of one instruction set, by vpdpbusd or by widening.
struct Int8GemmCode {
  GemmTraits traits;
  Int8GemmRun run = nullptr;
  bool quantizes = false;  // has tiles that end as u8 in the registers
  Vnni4PaddingRun pad = nullptr;
  WindowBytesRun pad_lines = nullptr;
  RowRoundingRun round = nullptr;
  PointwiseApply pointwise = nullptr;
};
Int8GemmCode int8GemmCode(const std::string& isa);

// True if this machine has VNNI for 512-bit vectors, and `isa` (a machine_facts tier) allows it.
bool mayUseVnni(const std::string& isa);

// Requirements of kernels with packed s8 weights: u8 or s8 by constant s8 (or f32 that dynamic=1 rounds), sums that
// fit 32 bits, operands of types that chains read. Declines: dtype, empty, blocked-weights,
// weights-not-constant, bias-not-constant, depth.
Verdict takesPackedIntegers(const PrepareArgs& args);

// Makes the operation as makePackedGemm does: `job` has padding, and gemm's rows in quads, row_count, columns and
// operands. `channel_axis`: of dst.
std::unique_ptr<PreparedOp> makeInt8Gemm(const PrepareArgs& args, Int8GemmJob job, std::vector<TensorDesc> layouts,
                                         const TensorDesc& dst, int channel_axis);

}  // namespace ipex_studio
