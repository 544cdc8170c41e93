// Runs packed matrix products (packed_gemm.h): makes rows readable block by block, then panel by panel, tile by tile. A
// tile's sum, bias, first addend and clamp or hard swish stay in registers; longer chains of post-operations go over
// the tile in the first-level cache.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/packed_gemm.cpp"
#include "kernels/highway_targets.h"

// highway_targets.h comes first.
#include <hwy/highway.h>

#include <algorithm>
#include <cstring>

#include "kernels/gemm_tile-inl.h"
#include "kernels/packed_gemm.h"

HWY_BEFORE_NAMESPACE();
namespace ipex_studio {
namespace HWY_NAMESPACE {

using F32 = hn::ScalableTag<float>;

constexpr bool kHalfVectors = hn::MaxLanes(F32()) == 16;
constexpr bool kManyRegisters = HWY_TARGET <= HWY_AVX3;
constexpr int kUnit = hn::MaxLanes(F32()) / (kHalfVectors ? 2 : 1);  // columns

using TileRun = void (*)(const GemmTile& tile);

// Panels by width in units: rows that the registers take, and the code for each number of rows.
struct TileKind {
  int max_rows = 0;
  TileRun run[kGemmMaxRows + 1] = {};
};

template <int kFull, int kHalf, int kRows>
constexpr void fillRows(TileKind* kind) {
  kind->run[kRows] = &multiplyTile<kRows, kFull, kHalf>;
  if constexpr (kRows > 1) fillRows<kFull, kHalf, kRows - 1>(kind);
}

template <int kRows, int kFull, int kHalf>
constexpr TileKind tileKind() {
  TileKind kind;
  kind.max_rows = kRows;
  fillRows<kFull, kHalf, kRows>(&kind);
  return kind;
}

const TileKind& kindOf(std::int32_t width) {
#if HWY_TARGET <= HWY_AVX3
  static constexpr TileKind kKinds[] = {tileKind<14, 0, 1>(), tileKind<14, 1, 0>(), tileKind<14, 1, 1>(),
                                        tileKind<14, 2, 0>(), tileKind<9, 2, 1>(),  tileKind<9, 3, 0>()};
#else
  static constexpr TileKind kKinds[] = {tileKind<8, 1, 0>(), tileKind<6, 2, 0>(), tileKind<4, 3, 0>()};
#endif
  return kKinds[width / kUnit - 1];
}

// --- rows ----------------------------------------------------------------------------------------------------------

// Writes `count` values and possibly zeros up to a full vector's end.
HWY_INLINE void copyValues(const float* from, float* to, std::int64_t count) {
  const F32 d;
  constexpr std::int64_t kLanes = hn::MaxLanes(d);
  std::int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) hn::StoreU(hn::LoadU(d, from + i), d, to + i);
  if (i == count) return;
#if HWY_TARGET <= HWY_AVX2
  hn::StoreU(hn::MaskedLoad(hn::FirstN(d, static_cast<std::size_t>(count - i)), d, from + i), d, to + i);
#else
  for (; i < count; ++i) to[i] = from[i];
#endif
}

// One line of an image from pixel `first` on: `width` pixels of `run` values, zeros outside [0, size). Returns its end.
HWY_INLINE float* copyLine(const float* line, std::int64_t x_stride, std::int64_t size, std::int64_t first,
                           std::int64_t step, std::int64_t width, std::int64_t run, std::int64_t pixel_stride,
                           float* to) {
  const std::int64_t before = std::clamp<std::int64_t>((-first + step - 1) / step, 0, width);
  const std::int64_t inside = std::clamp<std::int64_t>((size - first + step - 1) / step, before, width) - before;
  const std::int64_t after = width - before - inside;
  std::fill(to, to + before * pixel_stride, 0.0f);
  to += before * pixel_stride;
  const float* from = line + (first + before * step) * x_stride;
  if (x_stride * step == run && pixel_stride == run) {
    copyValues(from, to, inside * run);
    to += inside * run;
  } else {
    for (std::int64_t i = 0; i < inside; ++i, from += x_stride * step, to += pixel_stride) copyValues(from, to, run);
  }
  std::fill(to, to + after * pixel_stride, 0.0f);
  return to + after * pixel_stride;
}

// All lines that the windows of result lines [line, line + lines) of plane `plane` of one image reach, with padding.
void copyWindow(const GemmJob& job, const float* image, std::int64_t plane, std::int64_t line, std::int64_t lines,
                float* to) {
  const GemmRows& rows = job.rows;
  const std::int64_t needed = (lines - 1) * rows.stride[1] + (rows.kernel[1] - 1) * rows.dilation[1] + 1;
  const std::int64_t line_values = job.window_width * job.pixel_stride;
  const std::int64_t outer = rows.channels_innermost ? 1 : rows.channels;
  const std::int64_t run = rows.channels_innermost ? rows.channels * rows.groups : 1;
  for (std::int64_t c = 0; c < outer; ++c) {
    for (std::int64_t z = 0; z < rows.kernel[0]; ++z) {
      const std::int64_t from_plane = plane * rows.stride[0] - rows.padding[0] + z * rows.dilation[0];
      float* out = to + (c * rows.kernel[0] + z) * job.window_lines * line_values;
      for (std::int64_t y = 0; y < needed; ++y) {
        const std::int64_t from_line = line * rows.stride[1] - rows.padding[1] + y;
        if (from_plane < 0 || from_plane >= rows.in[0] || from_line < 0 || from_line >= rows.in[1]) {
          std::fill(out, out + line_values, 0.0f);
          out += line_values;
          continue;
        }
        const float* const from =
            image + c * rows.channel_stride + from_plane * rows.x_stride[0] + from_line * rows.x_stride[1];
        out = copyLine(from, rows.x_stride[2], rows.in[2], -rows.padding[2], 1, job.window_width, run, job.pixel_stride,
                       out);
      }
    }
  }
}

// The window of one pixel whose first tap is at `first`, all taps `run` values each.
HWY_INLINE float* gatherWindow(const GemmRows& rows, const float* image, const std::int64_t* first, std::int64_t run,
                               float* to) {
  for (std::int64_t z = 0; z < rows.kernel[0]; ++z) {
    const std::int64_t plane = first[0] + z * rows.dilation[0];
    for (std::int64_t y = 0; y < rows.kernel[1]; ++y) {
      const std::int64_t line = first[1] + y * rows.dilation[1];
      if (plane < 0 || plane >= rows.in[0] || line < 0 || line >= rows.in[1]) {
        std::fill(to, to + rows.kernel[2] * run, 0.0f);
        to += rows.kernel[2] * run;
      } else {
        to = copyLine(image + plane * rows.x_stride[0] + line * rows.x_stride[1], rows.x_stride[2], rows.in[2],
                      first[2], rows.dilation[2], rows.kernel[2], run, run, to);
      }
    }
  }
  return to;
}

// Rows [begin, begin + count) of the groups [first_group, last_group] side by side.
void gatherRows(const GemmJob& job, const float* x, std::int64_t begin, std::int64_t count, std::int64_t first_group,
                std::int64_t last_group, float* to) {
  const GemmRows& rows = job.rows;
  const std::int64_t planes = rows.channels_innermost ? 1 : rows.channels;
  const std::int64_t run = rows.channels_innermost ? rows.channels : 1;
  // The first row's place, then step by step.
  std::int64_t at[3], pixel = begin % rows.pixels();
  const float* image = x + begin / rows.pixels() * rows.image_stride;
  for (int axis = 2; axis >= 0; --axis) {
    at[axis] = pixel % rows.out[axis];
    pixel /= rows.out[axis];
  }
  for (std::int64_t r = 0; r < count; ++r) {
    std::int64_t first[3];
    for (int axis = 0; axis < 3; ++axis) first[axis] = at[axis] * rows.stride[axis] - rows.padding[axis];
    for (std::int64_t group = first_group; group <= last_group; ++group) {
      const float* const channels = image + group * rows.channels * rows.channel_stride;
      float* out = to + (group - first_group) * job.group_stride + r * job.row_stride;
      for (std::int64_t c = 0; c < planes; ++c) {
        out = gatherWindow(rows, channels + c * rows.channel_stride, first, run, out);
      }
    }
    if (++at[2] < rows.out[2]) continue;
    at[2] = 0;
    if (++at[1] < rows.out[1]) continue;
    at[1] = 0;
    if (++at[0] < rows.out[0]) continue;
    at[0] = 0;
    image += rows.image_stride;
  }
}

// Makes rows [row, row + count) readable and returns where group `first_group` of the first begins.
const float* rowsAt(const GemmJob& job, const float* x, std::int64_t row, std::int64_t count, std::int64_t first_group,
                    std::int64_t last_group, float* scratch) {
  const GemmRows& rows = job.rows;
  if (job.source == GemmSource::kGather) {
    gatherRows(job, x, row, count, first_group, last_group, scratch);
    return scratch;
  }
  if (job.matrix) return x + row * job.row_stride + first_group * job.group_stride;
  const std::int64_t line = row / rows.out[2];
  const std::int64_t plane = line / rows.out[1];
  const float* const image = x + plane / rows.out[0] * rows.image_stride;
  if (job.source == GemmSource::kWindow) {
    copyWindow(job, image, plane % rows.out[0], line % rows.out[1], count / rows.out[2], scratch);
    return scratch + first_group * job.group_stride;
  }
  return image + plane % rows.out[0] * rows.stride[0] * rows.x_stride[0] +
         line % rows.out[1] * rows.stride[1] * rows.x_stride[1] + first_group * job.group_stride;
}

// --- tiles ---------------------------------------------------------------------------------------------------------

// Rows of operand `o` for a tile, side by side, `width` apart.
void layOutOperand(const GemmJob& job, const GemmCall& call, const GemmOperand& o, std::int64_t row, std::int64_t rows,
                   const GemmPanel& panel, float* to) {
  const float* const data = static_cast<const float*>(call.src[o.src]);
  const std::int64_t pixels = job.rows.pixels();
  for (std::int64_t r = 0; r < rows; ++r, to += panel.width) {
    const float* const from = data + (row + r) / pixels * o.image_stride + (row + r) % pixels * o.pixel_stride +
                              panel.column * o.column_stride;
    if (o.column_stride == 1) {
      std::memcpy(to, from, panel.columns * sizeof(float));
    } else {
      for (std::int64_t j = 0; j < panel.columns; ++j) to[j] = from[j * o.column_stride];
    }
    std::fill(to + panel.columns, to + panel.width, 1.0f);
  }
}

struct TileBuffers {
  float* values;
  float* operand;
};

// What tiles of one panel have in common.
GemmTile panelTile(const GemmJob& job, const GemmCall& call, const GemmPanel& panel) {
  GemmTile tile;
  tile.row_stride = job.row_stride;
  tile.offsets = job.offsets.data();
  tile.segments = static_cast<std::int64_t>(job.offsets.size());
  tile.length = job.length;
  tile.b = call.weights + panel.weights;
  tile.bias = call.bias + panel.bias;
  tile.activation = job.activation;
  tile.low = job.low;
  tile.high = job.high;
  return tile;
}

HWY_INLINE void runTile(const GemmJob& job, const GemmCall& call, const GemmPanel& panel, TileRun run, std::int64_t row,
                        std::int64_t rows, const TileBuffers& buffers, GemmTile& tile) {
  float* const dst = call.dst + row * job.columns + panel.column;
  const bool in_place = panel.columns == panel.width && job.tail.empty();
  tile.c = in_place ? dst : buffers.values;
  tile.c_stride = in_place ? job.columns : panel.width;
  if (job.addend >= 0) {
    const GemmOperand& o = job.operands[job.addend];
    if (panel.columns == panel.width) {
      tile.addend = static_cast<const float*>(call.src[o.src]) + row * job.columns + panel.column;
      tile.addend_stride = job.columns;
    } else {
      layOutOperand(job, call, o, row, rows, panel, buffers.operand);
      tile.addend = buffers.operand;
      tile.addend_stride = panel.width;
    }
  }
  run(tile);
  if (in_place) return;
  const std::size_t count = rows * panel.width;
  for (const PostOp& op : job.tail) {
    if (isBinary(op.kind)) {
      layOutOperand(job, call, job.operands[op.operand], row, rows, panel, buffers.operand);
      job.binary(op, buffers.values, buffers.operand, buffers.values, count);
    } else {
      job.unary(op, buffers.values, buffers.values, count);
    }
  }
  for (std::int64_t r = 0; r < rows; ++r) {
    std::memcpy(dst + r * job.columns, buffers.values + r * panel.width, panel.columns * sizeof(float));
  }
}

// Task (i, j) of row_shares × column_shares.
void runGemm(const GemmJob& job, const GemmCall& call, float* scratch, std::int64_t task) {
  const auto panels = static_cast<std::int64_t>(job.panels.size());
  const std::int64_t i = task / job.column_shares, j = task % job.column_shares;
  const std::int64_t blocks = job.planes * job.blocksPerPlane();
  const std::int64_t panel_begin = panels * j / job.column_shares, panel_end = panels * (j + 1) / job.column_shares;
  const std::int64_t first_group = job.panels[panel_begin].group, last_group = job.panels[panel_end - 1].group;
  float* const values = scratch + job.copied_floats;
  const TileBuffers buffers{values, values + kGemmMaxRows * kGemmMaxWidth};
  for (std::int64_t block = blocks * i / job.row_shares; block < blocks * (i + 1) / job.row_shares; ++block) {
    const std::int64_t in_plane = block % job.blocksPerPlane() * job.block_rows;
    const std::int64_t row = block / job.blocksPerPlane() * job.plane_rows + in_plane;
    const std::int64_t count = std::min(job.block_rows, job.plane_rows - in_plane);
    const std::int64_t span_rows = std::min(job.span_rows, count);
    const float* const rows = rowsAt(job, call.x, row, count, first_group, last_group, scratch);
    for (std::int64_t p = panel_begin; p < panel_end; ++p) {
      const GemmPanel& panel = job.panels[p];
      const TileKind& kind = kindOf(panel.width);
      GemmTile tile = panelTile(job, call, panel);
      const float* span = rows + (panel.group - first_group) * job.group_stride;
      const std::int64_t tiles = (span_rows + kind.max_rows - 1) / kind.max_rows;
      for (std::int64_t done = 0; done < count; done += span_rows, span += job.span_stride) {
        for (std::int64_t t = 0; t < tiles; ++t) {
          const std::int64_t begin = span_rows * t / tiles, size = span_rows * (t + 1) / tiles - begin;
          tile.a = span + begin * job.row_stride;
          runTile(job, call, panel, kind.run[size], row + done + begin, size, buffers, tile);
        }
      }
    }
  }
}

GemmTraits traits() { return {static_cast<std::int32_t>(hn::MaxLanes(F32())), kHalfVectors}; }

}  // namespace HWY_NAMESPACE
}  // namespace ipex_studio
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

#include <fmt/format.h>

#include "core/plan/error.h"
#include "kernels/parallel.h"

namespace ipex_studio {
namespace {

HWY_EXPORT(runGemm);
HWY_EXPORT(traits);

class PackedGemmOp final : public PreparedOp {
 public:
  GemmJob job;
  GemmRun run = nullptr;
  WeightCache::Packed weights, bias;

  void execute(ExecState*, const void* const* from, void* const* to, void* scratch) const override {
    GemmCall call;
    call.x = static_cast<const float*>(from[kGemmSrc]);
    call.weights = static_cast<const float*>(weights->data());
    call.bias = static_cast<const float*>(bias->data());
    call.src = from;
    call.dst = static_cast<float*>(to[0]);
    const std::int64_t tasks = job.row_shares * job.column_shares;
    parallelFor(tasks, 1, static_cast<std::int32_t>(tasks), [&](std::int64_t begin, std::int64_t end, int thread) {
      float* const own = static_cast<float*>(scratch) + thread * job.scratchFloats();
      for (std::int64_t task = begin; task < end; ++task) run(job, call, own, task);
    });
  }
};

}  // namespace

GemmTraits gemmTraits(const std::string& isa) { return IPEX_SELECT_TARGET(traits, isa)(); }

std::unique_ptr<PreparedOp> makePackedGemm(const PrepareArgs& args, GemmJob job, std::vector<TensorDesc> layouts,
                                           const TensorDesc& dst) {
  IPEX_CHECK(args.constant[kGemmWeights] != nullptr, "packed products need constant weights");
  const GemmTraits traits = gemmTraits(args.target.isa);
  const std::int64_t groups = job.rows.groups, depth = job.rows.depth();
  job.panels = cutIntoPanels(job.columns / groups, groups, depth, traits);
  planPostOps(args.spec.post_ops, &job);
  planRows(args.target.threads, &job);
  job.unary = pointwiseUnary(args.target.isa);
  job.binary = pointwiseBinary(args.target.isa);

  auto op = std::make_unique<PackedGemmOp>();
  op->src = std::move(layouts);
  op->dst = {dst};
  op->packed.assign(args.src.size(), false);
  // Equal text, equal bytes: how the source is read, and how panels are cut.
  const std::string form =
      fmt::format("gemm {} groups {} depth {} lanes {} half {} inner {} dims {} strides {}", job.columns, groups, depth,
                  traits.lanes, traits.half_vectors, job.rows.channels_innermost, args.src[kGemmWeights].dims.str(),
                  args.src[kGemmWeights].strides.str());
  const auto* const w = static_cast<const float*>(args.constant[kGemmWeights]);
  op->weights = args.weights->getOrPack(w, form, [&] { return packWeights(job, args.src[kGemmWeights], w); });
  op->packed[kGemmWeights] = true;
  const bool has_bias = !args.src[kGemmBias].absent();
  const auto* const b = has_bias ? static_cast<const float*>(args.constant[kGemmBias]) : nullptr;
  // Without a bias the zeros are kept beside the weights.
  op->bias = args.weights->getOrPack(b != nullptr ? b : w, "bias of " + form, [&] { return packBias(job, b); });
  op->packed[kGemmBias] = has_bias;
  op->run = IPEX_SELECT_TARGET(runGemm, args.target.isa);
  op->scratch_bytes = job.row_shares * job.column_shares * job.scratchFloats() * sizeof(float);
  op->flops = 2 * job.row_count * job.columns * depth;
  for (std::size_t k = 0; k < job.operands.size() && op->in_place_src < 0; ++k) {
    const auto s = static_cast<std::size_t>(job.operands[k].src);
    if (args.src_dies[s] && op->src[s].dims == dst.dims && op->src[s].sameLayout(dst)) {
      op->in_place_src = static_cast<std::int32_t>(s);
    }
  }
  op->job = std::move(job);
  return op;
}

}  // namespace ipex_studio

#endif  // HWY_ONCE
