// Runs packed matrix products (packed_gemm.h): makes rows readable block by block, then panel by panel, tile by tile. A
// tile's sum, bias, first addend and clamp or hard swish stay in registers; longer chains of post-operations go over
// the tile in the first-level cache, in FP32.
#define HWY_TARGET_INCLUDE "kernels/gemm/packed_gemm.cpp"
#include "kernels/common/simd-inl.h"

#include <algorithm>
#include <cstring>

#include "kernels/common/byte_convert-inl.h"
#include "kernels/gemm/bf16_tile-inl.h"
#include "kernels/gemm/gemm_rows-inl.h"
#include "kernels/gemm/gemm_tile-inl.h"
#include "kernels/gemm/packed_gemm.h"

HWY_BEFORE_NAMESPACE();
namespace ipex_studio::HWY_NAMESPACE {

// --- tiles ---------------------------------------------------------------------------------------------------------

// Lays out operand `k` for a tile as floats: rows that are `width` apart.
void layOutOperand(const GemmJob& job, const GemmCall& call, int k, std::int64_t row, std::int64_t rows,
                   const GemmPanel& panel, float* to) {
  const GemmOperand& o = job.operands[k];
  const DType dtype = job.operand_types[k];
  const auto* const data = static_cast<const char*>(call.src[o.src]);
  const std::int64_t pixels = job.rows.pixels(), element = elementBytes(dtype);
  for (std::int64_t r = 0; r < rows; ++r, to += panel.width) {
    const std::int64_t at =
        (row + r) / pixels * o.image_stride + (row + r) % pixels * o.pixel_stride + panel.column * o.column_stride;
    gatherValues(dtype, data + at * element, o.column_stride, to, panel.columns);
    std::fill(to + panel.columns, to + panel.width, 1.0f);
  }
}

struct TileBuffers {
  float* values;
  float* operand;
};

// A tile whose members are set as far as all tiles of one panel share them.
GemmTile panelTile(const GemmJob& job, const GemmCall& call, const GemmPanel& panel) {
  GemmTile tile;
  tile.row_stride = job.row_stride;
  tile.offsets = job.offsets.data();
  tile.pieces = job.pieces.data();
  tile.segments = static_cast<std::int64_t>(job.offsets.size());
  tile.length = job.length;
  tile.b = call.weights + panel.weights;
  tile.bias = call.bias + panel.bias;
  tile.activation = job.activation;
  tile.low = job.low;
  tile.high = job.high;
  return tile;
}

// Post-operations over the tile's values; the last one writes the result if that is of floats.
template <class Tiles>
void runTail(const GemmJob& job, const GemmCall& call, const GemmPanel& panel, std::int64_t row, std::int64_t rows,
             const TileBuffers& buffers, char* dst) {
  PointwiseRows values;
  values.in = values.out = buffers.values;
  values.other = buffers.operand;
  values.in_stride = values.other_stride = values.out_stride = panel.width;
  values.count = static_cast<std::size_t>(rows * panel.width);
  const bool whole = panel.columns == panel.width && !job.tail.empty() && job.result == DType::kF32;
  for (const PostOp& op : job.tail) {
    if (isBinary(op.kind)) layOutOperand(job, call, op.operand, row, rows, panel, buffers.operand);
    if (whole && &op == &job.tail.back()) {
      values.out = reinterpret_cast<float*>(dst);
      values.out_stride = job.columns;
      values.rows = static_cast<std::size_t>(rows);
      values.count = static_cast<std::size_t>(panel.width);
    }
    job.pointwise(op, values);
  }
  if (whole) return;
  Tiles::storeRows(buffers.values, panel.width, rows, panel.columns, job.result, dst, job.columns);
}

template <class Tiles>
HWY_INLINE void runTile(const GemmJob& job, const GemmCall& call, const GemmPanel& panel, TileRun run, std::int64_t row,
                        std::int64_t rows, const TileBuffers& buffers, GemmTile& tile) {
  const std::int64_t element = Tiles::elementOf(job.result);
  char* const dst = static_cast<char*>(call.dst) + (row * job.columns + panel.column) * element;
  const bool in_place = panel.columns == panel.width && job.tail.empty() && job.smooth == nullptr;
  tile.c = in_place ? dst : static_cast<void*>(buffers.values);
  tile.c_type = in_place ? job.result : DType::kF32;
  tile.c_stride = in_place ? job.columns : panel.width;
  if (job.addend >= 0) {
    const GemmOperand& o = job.operands[job.addend];
    if (panel.columns == panel.width) {
      tile.addend_type = job.operand_types[job.addend];
      tile.addend = static_cast<const char*>(call.src[o.src]) +
                    (row * job.columns + panel.column) * Tiles::elementOf(tile.addend_type);
      tile.addend_stride = job.columns;
    } else {
      layOutOperand(job, call, job.addend, row, rows, panel, buffers.operand);
      tile.addend = buffers.operand;
      tile.addend_type = DType::kF32;
      tile.addend_stride = panel.width;
    }
  }
  tile.lines = dst;
  tile.lines_stride = job.columns * element;
  run(tile);
  if (in_place) return;
  if (job.smooth != nullptr) {
    auto* const to = reinterpret_cast<std::uint16_t*>(dst);
    return Tiles::storeActivatedRows(*job.smooth, buffers.values, panel.width, rows, panel.columns, to, job.columns);
  }
  runTail<Tiles>(job, call, panel, row, rows, buffers, dst);
}

// Runs task (i, j) of row_shares × column_shares.
template <class Tiles>
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
      const TileKind& kind = kindOf<Tiles>(panel.width);
      GemmTile tile = panelTile(job, call, panel);
      const float* span = rows + (panel.group - first_group) * job.group_stride;
      const std::int64_t tiles = (span_rows + kind.max_rows - 1) / kind.max_rows;
      std::int32_t pieces[kGemmMaxPieces];
      if (job.leaves_out) tile.pieces = pieces;
      for (std::int64_t done = 0; done < count; done += span_rows, span += job.span_stride) {
        for (std::int64_t t = 0; t < tiles; ++t) {
          const std::int64_t begin = span_rows * t / tiles, size = span_rows * (t + 1) / tiles - begin;
          tile.a = span + begin * job.row_stride;
          if (job.leaves_out) tile.segments = piecesInside(job, row + done + begin, size, pieces);
          runTile<Tiles>(job, call, panel, kind.run[size], row + done + begin, size, buffers, tile);
        }
      }
    }
  }
}

// The code for pairs of bf16 (VNNI-2), by vdpbf16ps if `native`, or that for floats.
GemmRun gemmRun(bool pairs, bool native) {
#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX3
  if (pairs && native) return &runGemm<PairTiles<true>>;
#else
  static_cast<void>(native);
#endif
  return pairs ? &runGemm<PairTiles<false>> : &runGemm<FloatTiles>;
}

GemmTraits traits() { return {static_cast<std::int32_t>(hn::MaxLanes(F32())), kHalfVectors}; }

}  // namespace ipex_studio::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

#include <fmt/format.h>

#include "core/base/error.h"
#include "kernels/common/bf16_products.h"
#include "kernels/common/parallel.h"

namespace ipex_studio {
namespace {

HWY_EXPORT(gemmRun);
HWY_EXPORT(traits);

class PackedGemmOp final : public PreparedOp {
 public:
  GemmJob job;
  GemmRun run = nullptr;
  WeightCache::Packed weights, bias;

  void execute(ExecState*, const void* const* from, void* const* to, void* scratch) const override {
    const GemmCall call = gemmCall(*weights, *bias, from, to);
    const std::int64_t tasks = job.row_shares * job.column_shares;
    parallelFor(tasks, 1, static_cast<std::int32_t>(tasks), [&](std::int64_t begin, std::int64_t end, int thread) {
      float* const own = static_cast<float*>(scratch) + thread * job.scratchFloats();
      for (std::int64_t task = begin; task < end; ++task) run(job, call, own, task);
    });
  }
};

}  // namespace

GemmTraits gemmTraits(const std::string& isa) { return IPEX_SELECT_TARGET(traits, isa)(); }

WeightCache::Packed packedBias(const PrepareArgs& args, const std::string& form, std::size_t bytes,
                               const std::function<void(const float* data, float* packed)>& pack) {
  const auto* const data = args.src[kBias].absent() ? nullptr : static_cast<const float*>(args.constant[kBias]);
  const void* const key = data != nullptr ? data : args.constant[kWeights];
  return args.weights->getOrPack(key, "bias of " + form, bytes,
                                 [&](void* packed) { pack(data, static_cast<float*>(packed)); });
}

std::unique_ptr<PreparedOp> makePackedGemm(const PrepareArgs& args, GemmJob job, std::vector<TensorDesc> layouts,
                                           const TensorDesc& dst) {
  IPEX_CHECK(args.constant[kWeights] != nullptr, "packed products need constant weights");
  const GemmTraits traits = gemmTraits(args.target.isa);
  const std::int64_t groups = job.rows.groups, depth = job.rows.depth();
  job.panels = cutIntoPanels(job.columns / groups, groups, depth, traits);
  job.result = dst.dtype;
  planPostOps(args.spec.post_ops, &job);
  job.leaves_out = true;
  for (std::size_t s = kFirstPostOperand; s < args.src.size(); ++s) job.operand_types.push_back(args.src[s].dtype);
  planRows(args.target.threads, &job);
  job.pointwise = pointwiseApply(args.target.isa);

  auto op = std::make_unique<PackedGemmOp>();
  op->src = std::move(layouts);
  op->dst = {dst};
  op->packed.assign(args.src.size(), false);
  const bool pairs = args.src[kWeights].dtype == DType::kBf16;
  // The text names all that the packed bytes depend on: how the source is read, and how panels are cut.
  const std::string form =
      fmt::format("{} gemm {} groups {} depth {} lanes {} half {} inner {} dims {} strides {}", pairs ? "bf16" : "f32",
                  job.columns, groups, depth, traits.lanes, traits.half_vectors, job.rows.channels_innermost,
                  args.src[kWeights].dims.str(), args.src[kWeights].strides.str());
  const void* const w = args.constant[kWeights];
  op->weights = args.weights->getOrPack(w, form, packedWeightBytes(job), [&](void* packed) {
    packWeights(job, args.src[kWeights], w, static_cast<float*>(packed));
  });
  op->packed[kWeights] = true;
  op->bias = packedBias(args, form, packedBiasBytes(job),
                        [&](const float* data, float* packed) { packBias(job, data, packed); });
  op->packed[kBias] = !args.src[kBias].absent();
  op->run = IPEX_SELECT_TARGET(gemmRun, args.target.isa)(pairs, mayUseBf16Products(args.target.isa));
  op->scratch_bytes = job.row_shares * job.column_shares * job.scratchFloats() * sizeof(float);
  op->flops = 2 * job.row_count * args.src[kWeights].dims.count();
  for (std::size_t k = 0; k < job.operands.size() && op->in_place_src < 0; ++k) {
    const auto s = static_cast<std::size_t>(job.operands[k].src);
    if (args.src_dies[s] && op->src[s].dims == dst.dims && op->src[s].sameLayout(dst) &&
        op->src[s].dtype == dst.dtype) {
      op->in_place_src = static_cast<std::int32_t>(s);
    }
  }
  op->job = std::move(job);
  return op;
}

}  // namespace ipex_studio

#endif  // HWY_ONCE
