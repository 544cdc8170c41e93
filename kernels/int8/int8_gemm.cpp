// Runs products of integers (int8_gemm.h): the image gets VNNI-4 packing where it has none, then blocks of rows, panels
// and tiles as in packed_gemm.cpp. Sums, scales, the first addend and the clamp stay in registers and the first-level
// cache; longer chains go over the tile in FP32.
#define HWY_TARGET_INCLUDE "kernels/int8/int8_gemm.cpp"
#include "kernels/common/simd-inl.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "kernels/gemm/gemm_rows-inl.h"
#include "kernels/int8/int8_quantized_tile-inl.h"
#include "kernels/int8/int8_tile-inl.h"
#include "kernels/int8/int8_tile_kinds-inl.h"
#include "kernels/int8/int8_vnni4-inl.h"
#include "kernels/int8/int8_window_bytes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace ipex_studio::HWY_NAMESPACE {

struct TileBuffers {
  float* values;
  float* operand;
  float* result;
};

std::int64_t operandOffset(const GemmJob& job, const GemmOperand& o, std::int64_t row, std::int64_t column) {
  const std::int64_t pixels = job.rows.pixels();
  return row / pixels * o.image_stride + row % pixels * o.pixel_stride + column * o.column_stride;
}

// Lays out operand `k` for a tile as floats: rows that are `width` apart.
void layOutOperand(const Int8GemmJob& job, const Int8GemmCall& call, int k, std::int64_t row, std::int64_t rows,
                   const GemmPanel& panel, float* to) {
  const GemmOperand& o = job.gemm.operands[k];
  const DType dtype = job.operand_types[k];
  const auto* const data = static_cast<const char*>(call.src[o.src]);
  const auto element = static_cast<std::int64_t>(elementBytes(dtype));
  for (std::int64_t r = 0; r < rows; ++r, to += panel.width) {
    gatherValues(dtype, data + operandOffset(job.gemm, o, row + r, panel.column) * element, o.column_stride, to,
                 panel.columns);
    std::fill(to + panel.columns, to + panel.width, 1.0f);
  }
}

// Points the tile to its addend, or to a copy of it if the panel has columns that do not exist.
void bindAddend(const Int8GemmJob& job, const Int8GemmCall& call, const GemmPanel& panel, std::int64_t row,
                std::int64_t rows, const TileBuffers& buffers, Int8Tile* tile) {
  const int k = job.chain.addend;
  const GemmOperand& o = job.gemm.operands[k];
  const DType dtype = job.operand_types[k];
  tile->addend_type = dtype;
  if (panel.columns == panel.width && dtype != DType::kBf16 && o.column_stride == 1 &&
      o.pixel_stride == job.gemm.columns) {
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
      std::memcpy(to, static_cast<const char*>(call.src[o.src]) + operandOffset(job.gemm, o, row + r, panel.column),
                  static_cast<std::size_t>(panel.columns));
    }
    return;
  }
  layOutOperand(job, call, k, row, rows, panel, buffers.operand);
  tile->addend_type = DType::kF32;
}

// Computes tile.repeats tiles of `rows` rows together.
HWY_INLINE void runTile(const Int8GemmJob& job, const Int8GemmCall& call, const GemmPanel& panel, TileRun run,
                        std::int64_t row, std::int64_t rows, const TileBuffers& buffers, Int8Tile& tile) {
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
  if (job.clamped)
    clampBytes(static_cast<std::uint8_t*>(tile.c), tile.c_stride, rows, panel.width, job.lowest, job.highest);
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
    downconvertValues(job.result, buffers.values, buffers.result, count);
    from = reinterpret_cast<const char*>(buffers.result);
  }
  for (std::int64_t r = 0; r < rows; ++r) {
    std::memcpy(dst + r * job.gemm.columns * element, from + r * panel.width * element,
                static_cast<std::size_t>(panel.columns * element));
  }
}

// A tile whose members are set as far as all tiles of one panel share them.
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
  tile.adds_last = job.chain.adds_last;
  tile.activation = job.chain.activation;
  tile.activated_scale = job.chain.activated_scale;
  tile.activated_offset = job.chain.activated_offset;
  tile.silu = &job.silu;
  tile.low = job.chain.low;
  tile.high = job.chain.high;
  return tile;
}

// Moves the ranges of `tile` on by the `lines` lines that it has prefetched.
void advance(std::int64_t lines, Int8Tile* tile) {
  FetchRange& range = tile->ahead.done() ? tile->after : tile->ahead;
  if (!range.done()) range.begin += lines * kLineFloats;
}

#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX3
// Fills the taps of result pixels [column, column + rows) of a line that lie in the image, `length` quads each. Returns
// their number.
std::int64_t tapsOf(const GemmRows& r, const float* image, const float* weights, std::int64_t width,
                    std::int64_t length, std::int64_t line, std::int64_t column, std::int64_t rows, Int8Tap* taps) {
  std::int64_t count = 0;
  for (std::int64_t y = 0; y < r.kernel[1]; ++y) {
    const std::int64_t from_line = line * r.stride[1] - r.padding[1] + y * r.dilation[1];
    if (from_line < 0 || from_line >= r.in[1]) continue;
    for (std::int64_t x = 0; x < r.kernel[2]; ++x) {
      std::int64_t from = column * r.stride[2] - r.padding[2] + x * r.dilation[2];
      Int8Tap tap;
      tap.rows = from < 0                                     ? Int8Tap::kNotFirst
                 : from + (rows - 1) * r.stride[2] >= r.in[2] ? Int8Tap::kNotLast
                                                              : Int8Tap::kAll;
      if (from < 0) from += r.stride[2];
      tap.a = image + from_line * r.x_stride[1] + from * r.x_stride[2];
      tap.b = weights + (y * r.kernel[2] + x) * length * width;
      tap.length = length;
      Int8Tap* const last = count > 0 ? &taps[count - 1] : nullptr;
      if (last != nullptr && last->rows == tap.rows && tap.a == last->a + last->length &&
          tap.b == last->b + last->length * width) {
        last->length += length;
      } else {
        taps[count++] = tap;
      }
    }
  }
  return count;
}

// Computes lines [row, row + count) of one plane.
void runTapLines(const Int8GemmJob& int8, const Int8GemmCall& call, std::int64_t row, std::int64_t count,
                 const GemmPanel& panel, const TileBuffers& buffers, Int8Tile& tile) {
  static constexpr TileKind kKind = tapKind();
  const GemmRows& r = int8.gemm.rows;
  const std::int64_t width = r.out[2], tiles = (width + kKind.max_rows - 1) / kKind.max_rows;
  Int8Tap taps[kMaxEdgeTaps];
  tile.taps = taps;
  for (std::int64_t done = 0; done < count; done += width) {
    const std::int64_t line = (row + done) / width;
    const float* const image = call.x + line / r.out[1] * r.image_stride;
    for (std::int64_t t = 0; t < tiles; ++t) {
      const std::int64_t begin = width * t / tiles, size = width * (t + 1) / tiles - begin;
      tile.tap_count = tapsOf(r, image, tile.b, panel.width, tile.length, line % r.out[1], begin, size, taps);
      runTile(int8, call, panel, kKind.run[size], row + done + begin, size, buffers, tile);
      std::int64_t lines = 0;
      for (std::int64_t i = 0; i < tile.tap_count; ++i) lines += taps[i].length;
      advance(lines, &tile);
    }
  }
}
#endif

// The number of last panels of a task whose tiles prefetch the next operation's memory: as few as possible, so that it
// does not lie in the cache for long.
std::int64_t panelsThatFetch(const GemmJob& job, const FetchRange& range, std::int64_t rows) {
  if (range.done()) return 0;
  constexpr std::int64_t kTileRows = 6;  // of the widest panels
  const std::int64_t depth = job.rows.depth(), lines = (range.end - range.begin) / kLineFloats;
  const std::int64_t spare =
      (rows + kTileRows - 1) / kTileRows * depth - job.panels.front().width * depth / kLineFloats;
  return spare <= 0 ? 1 : (lines + spare - 1) / spare;
}

// Runs task (i, j) of row_shares × column_shares.
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
  const std::int64_t depth = job.rows.depth(), first_block = blocks * i / job.row_shares,
                     end_block = blocks * (i + 1) / job.row_shares;
  constexpr std::int64_t kNearFloats = 32 << 10;  // 128 KiB
  FetchRange next = call.next;
  const bool far_weights = job.panels[panel_end - 1].weights - job.panels[panel_begin].weights >= kNearFloats;
  for (std::int64_t block = first_block; block < end_block; ++block) {
    const std::int64_t in_plane = block % job.blocksPerPlane() * job.block_rows;
    const std::int64_t row = block / job.blocksPerPlane() * job.plane_rows + in_plane;
    const std::int64_t count = std::min(job.block_rows, job.plane_rows - in_plane);
    const std::int64_t span_rows = std::min(job.span_rows, count);
    const float* rows = scratch;
    if (int8.by_taps) {
      rows = nullptr;
    } else if (int8.windows.needed) {
      gatherBytes(int8.windows, call.x, row, count, job.row_stride, scratch);
    } else {
      rows = rowsAt(job, call.x, row, count, first_group, last_group, scratch);
    }
    const std::int64_t fetching_begin =
        block + 1 == end_block ? panel_end - panelsThatFetch(job, call.next, count) : panel_end;
    for (std::int64_t p = panel_begin; p < panel_end; ++p) {
      const GemmPanel& panel = job.panels[p];
      Int8Tile tile = panelTile(int8, call, panel);
      // The first block prefetches the next panel's weights: later blocks find them in the cache, and few weights are
      // there anyway.
      if (far_weights && block == first_block && p + 1 < panel_end) {
        const float* const begin = call.weights + job.panels[p + 1].weights;
        tile.ahead = {begin, begin + job.panels[p + 1].width * depth};
      }
      const bool fetches_next = p >= fetching_begin;
      if (fetches_next) tile.after = next;
      const auto fetches = [&tile] { return !tile.ahead.done() || !tile.after.done(); };
      const TileKind* kind = &kindFor<kVnni>(int8, panel, fetches());
#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX3
      if (int8.by_taps) {
        runTapLines(int8, call, row, count, panel, buffers, tile);
        if (fetches_next) next = tile.after;
        continue;
      }
#endif
      const float* span = rows + (panel.group - first_group) * job.group_stride;
      const std::int64_t tiles = (span_rows + kind->max_rows - 1) / kind->max_rows;
      // Tiles that write their result in place need no work between them, so all tiles of one size are one call.
      const bool joined = int8.quantized && panel.columns == panel.width;
      const std::int64_t size = span_rows / tiles, larger = span_rows % tiles;  // `larger` tiles have one row more
      for (std::int64_t done = 0; done < count; done += span_rows, span += job.span_stride) {
        std::int64_t begin = 0, repeats = 1;
        for (std::int64_t t = 0; t < tiles; t += repeats) {
          const std::int64_t tile_rows = size + (t < larger ? 1 : 0);
          if (joined) repeats = t < larger ? larger : tiles - t;
          const std::int64_t covered = tile_rows * repeats;
          tile.repeats = repeats;
          tile.a = span + begin * job.row_stride;
          runTile(int8, call, panel, kind->run[tile_rows], row + done + begin, covered, buffers, tile);
          begin += covered;
          for (std::int64_t i = 0; i < repeats; ++i) advance(tile.segments * tile.length, &tile);
          kind = &kindFor<kVnni>(int8, panel, fetches());
        }
      }
      if (fetches_next) next = tile.after;
    }
  }
}

Int8GemmCode int8Code(bool vnni) {
  Int8GemmCode code;
  code.traits = {static_cast<std::int32_t>(hn::MaxLanes(F32())), kHalfVectors};
  code.pad = &padToVnni4;
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

}  // namespace ipex_studio::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

#include "kernels/common/parallel.h"

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
