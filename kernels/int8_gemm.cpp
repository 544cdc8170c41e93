// Runs products of integers (int8_gemm.h): the image is turned into words where it has to be, then blocks of rows, panels
// and tiles as in packed_gemm.cpp. Sums, scales, the first addend and the clamp stay in registers and the first-level
// cache; longer chains go over the tile in FP32.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/int8_gemm.cpp"
#include "kernels/highway_targets.h"

// highway_targets.h comes first.
#include <hwy/highway.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "kernels/gemm_rows-inl.h"
#include "kernels/int8_quantized_tile-inl.h"
#include "kernels/int8_tile-inl.h"
#include "kernels/int8_window_bytes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace ipex_studio {
namespace HWY_NAMESPACE {

constexpr bool kHalfVectors = hn::MaxLanes(F32()) == 16;
constexpr int kUnit = hn::MaxLanes(F32()) / (kHalfVectors ? 2 : 1);  // columns

using TileRun = void (*)(const Int8Tile& tile);

// Panels by width in units: rows that the registers take, and the code for each number of rows.
struct TileKind {
  int max_rows = 0;
  TileRun run[kGemmMaxRows + 1] = {};
};

template <bool kVnni, int kFull, int kHalf, int kRows>
constexpr void fillRows(TileKind* kind) {
  kind->run[kRows] = &multiplyBytes<kRows, kFull, kHalf, kVnni>;
  if constexpr (kRows > 1) fillRows<kVnni, kFull, kHalf, kRows - 1>(kind);
}

template <bool kVnni, int kRows, int kFull, int kHalf>
constexpr TileKind tileKind() {
  TileKind kind;
  kind.max_rows = kRows;
  fillRows<kVnni, kFull, kHalf, kRows>(&kind);
  return kind;
}

template <bool kVnni>
const TileKind& kindOf(std::int32_t width) {
#if HWY_TARGET <= HWY_AVX3
  // Widened weights take twice the registers.
  static constexpr TileKind kKinds[] = {tileKind<kVnni, 14, 0, 1>(),
                                        tileKind<kVnni, 14, 1, 0>(),
                                        tileKind<kVnni, kVnni ? 14 : 10, 1, 1>(),
                                        tileKind<kVnni, kVnni ? 14 : 12, 2, 0>(),
                                        tileKind<kVnni, kVnni ? 9 : 7, 2, 1>(),
                                        tileKind<kVnni, kVnni ? 9 : 7, 3, 0>()};
#else
  static constexpr TileKind kKinds[] = {tileKind<kVnni, 8, 1, 0>(), tileKind<kVnni, 4, 2, 0>(), tileKind<kVnni, 2, 3, 0>()};
#endif
  return kKinds[width / kUnit - 1];
}

#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX3
template <int kVectors, int kRows>
constexpr void fillQuantizedRows(TileKind* kind) {
  kind->run[kRows] = &multiplyToQuantized<kRows, kVectors>;
  if constexpr (kRows > 1) fillQuantizedRows<kVectors, kRows - 1>(kind);
}

template <int kRows, int kVectors>
constexpr TileKind quantizedKind() {
  TileKind kind;
  kind.max_rows = kRows;
  fillQuantizedRows<kVectors, kRows>(&kind);
  return kind;
}

inline const TileKind& quantizedKindOf(std::int32_t width) {
  static constexpr TileKind kKinds[] = {quantizedKind<14, 1>(), quantizedKind<14, 2>(), quantizedKind<9, 3>(), quantizedKind<6, 4>()};
  return kKinds[width / kQuantizedLanes - 1];
}
#endif

template <bool kVnni>
const TileKind& kindFor(const Int8GemmJob& job, const GemmPanel& panel) {
#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX3
  if (kVnni && job.quantized) return quantizedKindOf(panel.width);
#endif
  static_cast<void>(job);
  return kindOf<kVnni>(panel.width);
}

// --- words ---------------------------------------------------------------------------------------------------------

// `count` words of one line with up to four channels: from planes, or from pixels of three bytes by loads of four.
void padNarrowLine(const WordPadding& p, const std::uint8_t* from, std::int64_t count, std::uint32_t* to) {
  const std::int64_t step = p.strides[2], channel = p.channel_stride;
  std::int64_t i = 0;
  if (p.channels == 3 && channel == 1 && step == 3) {
    for (; i + 1 < count; ++i) {
      std::uint32_t word;
      std::memcpy(&word, from + 3 * i, sizeof word);
      to[i] = (word & 0x00FFFFFFu) ^ p.flip;
    }
  } else if (p.channels == 3 && step == 1) {
    const std::uint8_t *a = from, *b = from + channel, *c = from + 2 * channel;
    for (; i < count; ++i) {
      to[i] = (static_cast<std::uint32_t>(a[i]) | static_cast<std::uint32_t>(b[i]) << 8 | static_cast<std::uint32_t>(c[i]) << 16) ^ p.flip;
    }
  }
  for (; i < count; ++i) {
    std::uint32_t word = 0;
    for (std::int64_t c = 0; c < p.channels; ++c) word |= static_cast<std::uint32_t>(from[i * step + c * channel]) << (8 * c);
    to[i] = word ^ p.flip;
  }
}

// The channels of one group of one pixel.
HWY_INLINE void padPixel(const WordPadding& p, const std::uint8_t* from, std::uint32_t* to) {
  const std::int64_t whole = p.channels / kWordBytes, rest = p.channels % kWordBytes;
  if (p.channel_stride == 1) {
    std::memcpy(to, from, static_cast<std::size_t>(whole * kWordBytes));
  } else {
    for (std::int64_t w = 0; w < whole; ++w) {
      to[w] = 0;
      for (std::int64_t i = 0; i < kWordBytes; ++i) to[w] |= static_cast<std::uint32_t>(from[(w * kWordBytes + i) * p.channel_stride]) << (8 * i);
    }
  }
  if (rest != 0) to[whole] = 0;
  for (std::int64_t i = 0; i < rest; ++i) to[whole] |= static_cast<std::uint32_t>(from[(whole * kWordBytes + i) * p.channel_stride]) << (8 * i);
  for (std::int64_t w = 0; p.flip != 0 && w < p.words(); ++w) to[w] ^= p.flip;
}

// Lines [begin, end) of all images as words, pixel by pixel, group by group.
void padWords(const WordPadding& p, const void* x, float* to, std::int64_t begin, std::int64_t end) {
  const std::int64_t words = p.words(), width = p.sizes[2];
  const auto* const bytes = static_cast<const std::uint8_t*>(x);
  for (std::int64_t line = begin; line < end; ++line) {
    const std::int64_t plane = line / p.sizes[1];
    const std::uint8_t* from = bytes + line % p.sizes[1] * p.strides[1] + plane % p.sizes[0] * p.strides[0] + plane / p.sizes[0] * p.image_stride;
    auto* out = reinterpret_cast<std::uint32_t*>(to + line * width * p.groups * words);
    if (p.groups == 1 && p.channels <= kWordBytes) {
      padNarrowLine(p, from, width, out);
      continue;
    }
    for (std::int64_t i = 0; i < width; ++i, from += p.strides[2]) {
      for (std::int64_t g = 0; g < p.groups; ++g, out += words) padPixel(p, from + g * p.channels * p.channel_stride, out);
    }
  }
}

// Rows [begin, end) as words: u8 by the range of each row and 0.
void roundRows(const RowRounding& r, const float* x, float* to, std::int64_t begin, std::int64_t end) {
  const F32 d;
  constexpr std::int64_t kLanes = hn::MaxLanes(d);
  float* const scales = to + r.rows * r.words();
  auto* const zeros = reinterpret_cast<std::int32_t*>(scales + r.rows);
  for (std::int64_t row = begin; row < end; ++row) {
    const float* const from = x + row * r.stride;
    auto lows = hn::Zero(d), highs = hn::Zero(d);
    std::int64_t i = 0;
    for (; i + kLanes <= r.depth; i += kLanes) {
      const auto v = hn::LoadU(d, from + i);
      lows = hn::Min(lows, v);
      highs = hn::Max(highs, v);
    }
    float low = hn::GetLane(hn::MinOfLanes(d, lows)), high = hn::GetLane(hn::MaxOfLanes(d, highs));
    for (; i < r.depth; ++i) {
      low = std::min(low, from[i]);
      high = std::max(high, from[i]);
    }
    const float scale = high > low ? (high - low) / 255.0f : 1.0f, zero = std::nearbyint(-low / scale);
    scales[row] = scale;
    zeros[row] = static_cast<std::int32_t>(zero);
    auto* const bytes = reinterpret_cast<std::uint8_t*>(to + row * r.words());
    const auto step = hn::Set(d, scale), shift = hn::Set(d, zero);
    for (i = 0; i + kLanes <= r.depth; i += kLanes) {
      storeRounded(d, saturated<std::uint8_t>(d, hn::Add(hn::Round(hn::Div(hn::LoadU(d, from + i), step)), shift)), bytes + i);
    }
    for (; i < r.depth; ++i) bytes[i] = roundedByte<std::uint8_t>(std::nearbyint(from[i] / scale) + zero);
    for (; i < r.words() * kWordBytes; ++i) bytes[i] = 0;
  }
}

// --- tiles ---------------------------------------------------------------------------------------------------------

struct TileBuffers {
  float* values;
  float* operand;
  float* result;
};

std::int64_t operandOffset(const GemmJob& job, const GemmOperand& o, std::int64_t row, std::int64_t column) {
  const std::int64_t pixels = job.rows.pixels();
  return row / pixels * o.image_stride + row % pixels * o.pixel_stride + column * o.column_stride;
}

// Rows of operand `k` for a tile as floats, side by side, `width` apart.
void layOutOperand(const Int8GemmJob& job, const Int8GemmCall& call, int k, std::int64_t row, std::int64_t rows, const GemmPanel& panel,
                   float* to) {
  const GemmOperand& o = job.gemm.operands[k];
  const DType dtype = job.operand_types[k];
  const auto* const data = static_cast<const char*>(call.src[o.src]);
  const auto element = static_cast<std::int64_t>(elementBytes(dtype));
  for (std::int64_t r = 0; r < rows; ++r, to += panel.width) {
    gatherValues(dtype, data + operandOffset(job.gemm, o, row + r, panel.column) * element, o.column_stride, to, panel.columns);
    std::fill(to + panel.columns, to + panel.width, 1.0f);
  }
}

// Points the tile to its addend; where the panel has columns that do not exist, to a copy.
void bindAddend(const Int8GemmJob& job, const Int8GemmCall& call, const GemmPanel& panel, std::int64_t row, std::int64_t rows,
                const TileBuffers& buffers, Int8Tile* tile) {
  const int k = job.chain.addend;
  const GemmOperand& o = job.gemm.operands[k];
  const DType dtype = job.operand_types[k];
  tile->addend_type = dtype;
  if (panel.columns == panel.width && dtype != DType::kBf16 && o.column_stride == 1 && o.pixel_stride == job.gemm.columns) {
    const auto element = static_cast<std::int64_t>(elementBytes(dtype));
    tile->addend = static_cast<const char*>(call.src[o.src]) + operandOffset(job.gemm, o, row, panel.column) * element;
    tile->addend_stride = job.gemm.columns;
    return;
  }
  tile->addend = buffers.operand;
  tile->addend_stride = panel.width;
  if (job.quantized) {
    auto* to = reinterpret_cast<std::uint8_t*>(buffers.operand);
    for (std::int64_t r = 0; r < rows; ++r, to += panel.width) {
      std::memcpy(to, static_cast<const char*>(call.src[o.src]) + operandOffset(job.gemm, o, row + r, panel.column), static_cast<std::size_t>(panel.columns));
    }
    return;
  }
  layOutOperand(job, call, k, row, rows, panel, buffers.operand);
  tile->addend_type = DType::kF32;
}

// `rows` of all tile.repeats tiles.
HWY_INLINE void runTile(const Int8GemmJob& job, const Int8GemmCall& call, const GemmPanel& panel, TileRun run, std::int64_t row, std::int64_t rows,
             const TileBuffers& buffers, Int8Tile& tile) {
  const auto element = static_cast<std::int64_t>(elementBytes(job.result));
  char* const dst = static_cast<char*>(call.dst) + (row * job.gemm.columns + panel.column) * element;
  const bool finished = job.chain.tail.empty();
  const bool in_place = finished && panel.columns == panel.width;
  if (call.row_scale != nullptr) {
    tile.row_scale = call.row_scale + row;
    tile.row_zero = call.row_zero + row;
  }
  tile.c_type = finished ? job.result : DType::kF32;
  tile.c = in_place ? dst : static_cast<void*>(buffers.values);
  tile.c_stride = in_place ? job.gemm.columns : panel.width;
  if (job.chain.addend >= 0) bindAddend(job, call, panel, row, rows, buffers, &tile);
  run(tile);
#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX3
  if (job.clamped) clampBytes(static_cast<std::uint8_t*>(tile.c), tile.c_stride, rows, panel.width, job.lowest, job.highest);
#endif
  if (in_place) return;
  const auto count = static_cast<std::size_t>(rows * panel.width);
  PointwiseRows values;
  values.in = values.out = buffers.values;
  values.other = buffers.operand;
  values.count = count;
  for (const PostOp& op : job.chain.tail) {
    if (isBinary(op.kind)) layOutOperand(job, call, op.operand, row, rows, panel, buffers.operand);
    job.gemm.pointwise(op, values);
  }
  const char* from = reinterpret_cast<const char*>(buffers.values);
  if (!finished) {
    narrowValues(job.result, buffers.values, buffers.result, count);
    from = reinterpret_cast<const char*>(buffers.result);
  }
  for (std::int64_t r = 0; r < rows; ++r) {
    std::memcpy(dst + r * job.gemm.columns * element, from + r * panel.width * element, static_cast<std::size_t>(panel.columns * element));
  }
}

// What tiles of one panel have in common.
Int8Tile panelTile(const Int8GemmJob& job, const Int8GemmCall& call, const GemmPanel& panel) {
  Int8Tile tile;
  tile.row_stride = job.gemm.row_stride;
  tile.offsets = job.gemm.offsets.data();
  tile.segments = static_cast<std::int64_t>(job.gemm.offsets.size());
  tile.length = job.gemm.length;
  tile.b = call.weights + panel.weights;
  tile.start = job.start.data() + panel.bias;
  tile.column_sums = job.column_sums.data() + panel.bias;
  tile.scale = job.scale.data() + panel.bias;
  tile.offset = job.offset.data() + panel.bias;
  tile.factor = job.chain.factor;
  tile.activation = job.chain.activation;
  tile.activated_scale = job.chain.activated_scale;
  tile.activated_offset = job.chain.activated_offset;
  tile.low = job.chain.low;
  tile.high = job.chain.high;
  return tile;
}

// Task (i, j) of row_shares × column_shares.
template <bool kVnni>
void runInt8Gemm(const Int8GemmJob& int8, const Int8GemmCall& call, float* scratch, std::int64_t task) {
  const GemmJob& job = int8.gemm;
  const auto panels = static_cast<std::int64_t>(job.panels.size());
  const std::int64_t i = task / job.column_shares, j = task % job.column_shares;
  const std::int64_t blocks = job.planes * job.blocksPerPlane();
  const std::int64_t panel_begin = panels * j / job.column_shares, panel_end = panels * (j + 1) / job.column_shares;
  const std::int64_t first_group = job.panels[panel_begin].group, last_group = job.panels[panel_end - 1].group;
  constexpr std::int64_t kTile = kGemmMaxRows * kGemmMaxWidth;
  float* const values = scratch + job.copied_floats;
  const TileBuffers buffers{values, values + kTile, values + 2 * kTile};
  const std::int64_t depth = job.rows.depth(), first_block = blocks * i / job.row_shares;
  for (std::int64_t block = first_block; block < blocks * (i + 1) / job.row_shares; ++block) {
    const std::int64_t in_plane = block % job.blocksPerPlane() * job.block_rows;
    const std::int64_t row = block / job.blocksPerPlane() * job.plane_rows + in_plane;
    const std::int64_t count = std::min(job.block_rows, job.plane_rows - in_plane);
    const std::int64_t span_rows = std::min(job.span_rows, count);
    const float* rows = scratch;
    if (int8.windows.needed) {
      gatherBytes(int8.windows, call.x, row, count, job.row_stride, scratch);
    } else {
      rows = rowsAt(job, call.x, row, count, first_group, last_group, scratch);
    }
    for (std::int64_t p = panel_begin; p < panel_end; ++p) {
      const GemmPanel& panel = job.panels[p];
      const TileKind& kind = kindFor<kVnni>(int8, panel);
      Int8Tile tile = panelTile(int8, call, panel);
      if (block == first_block && p + 1 < panel_end) {  // later blocks find them in the cache
        tile.ahead = call.weights + job.panels[p + 1].weights;
        tile.ahead_end = tile.ahead + job.panels[p + 1].width * depth;
      }
      const float* span = rows + (panel.group - first_group) * job.group_stride;
      const std::int64_t tiles = (span_rows + kind.max_rows - 1) / kind.max_rows;
      // Tiles that write their result in place need nothing between them: those of a size are one call.
      const bool joined = int8.quantized && panel.columns == panel.width;
      const std::int64_t size = span_rows / tiles, larger = span_rows % tiles;  // so many tiles have one row more
      for (std::int64_t done = 0; done < count; done += span_rows, span += job.span_stride) {
        std::int64_t begin = 0, repeats = 1;
        for (std::int64_t t = 0; t < tiles; t += repeats) {
          const std::int64_t tile_rows = size + (t < larger ? 1 : 0);
          if (joined) repeats = t < larger ? larger : tiles - t;
          const std::int64_t covered = tile_rows * repeats;
          tile.repeats = repeats;
          tile.a = span + begin * job.row_stride;
          runTile(int8, call, panel, kind.run[tile_rows], row + done + begin, covered, buffers, tile);
          begin += covered;
        }
      }
    }
  }
}

Int8GemmCode int8Code(bool vnni) {
  Int8GemmCode code;
  code.traits = {static_cast<std::int32_t>(hn::MaxLanes(F32())), kHalfVectors};
  code.pad = &padWords;
  code.pad_lines = &padByteLines;
  code.round = &roundRows;
#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX3
  code.run = vnni ? &runInt8Gemm<true> : &runInt8Gemm<false>;
  code.quantizes = vnni;
#else
  static_cast<void>(vnni);
  code.run = &runInt8Gemm<false>;
#endif
  return code;
}

}  // namespace HWY_NAMESPACE
}  // namespace ipex_studio
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

#include "kernels/parallel.h"

namespace ipex_studio {
namespace {

HWY_EXPORT(int8Code);

}  // namespace

bool mayUseVnni(const std::string& isa) {
#if defined(__x86_64__)
  const bool allowed = isa.rfind("avx512_core_", 0) == 0;  // every tier above avx512_core has it
  return allowed && __builtin_cpu_supports("avx512vnni") && __builtin_cpu_supports("avx512vl");
#else
  static_cast<void>(isa);
  return false;
#endif
}

Int8GemmCode int8GemmCode(const std::string& isa) {
  Int8GemmCode code = IPEX_SELECT_TARGET(int8Code, isa)(mayUseVnni(isa));
  code.pointwise = pointwiseApply(isa);
  return code;
}

}  // namespace ipex_studio

#endif  // HWY_ONCE
