// Preparation of integer products: VNNI-4 packing of weights, and the chain folded into numbers per column.
#include <fmt/format.h>

#include <cmath>
#include <cstring>

#include "core/base/error.h"
#include "kernels/common/parallel.h"
#include "kernels/int8/int8_gemm.h"

namespace ipex_studio {
namespace {

class Int8GemmOp final : public PreparedOp {
 public:
  Int8GemmJob job;
  Int8GemmCode code;
  std::int32_t threads = 1;
  WeightCache::Packed weights;

  std::unique_ptr<ExecState> newState() const override { return std::make_unique<ExecState>(); }

  MemoryRange firstReads(std::int32_t thread) const override {
    const GemmJob& gemm = job.gemm;
    const auto panels = static_cast<std::int64_t>(gemm.panels.size());
    const std::int64_t share = thread < gemm.row_shares * gemm.column_shares ? thread % gemm.column_shares : 0;
    const std::int64_t begin = panels * share / gemm.column_shares, end = panels * (share + 1) / gemm.column_shares;
    // With few rows the time is that of reading the weights.
    constexpr std::int64_t kFewRows = 8, kMaxBytes = 1 << 20;
    const GemmPanel& first = gemm.panels[static_cast<std::size_t>(begin)];
    const std::int64_t depth = gemm.rows.depth(), taken = gemm.row_count <= kFewRows ? end - begin : 1;
    return {static_cast<const float*>(weights->data()) + first.weights,
            static_cast<std::size_t>(std::min(kMaxBytes, taken * first.width * depth * kVnni4Bytes))};
  }

  void execute(ExecState* state, const void* const* from, void* const* to, void* scratch) const override {
    Int8GemmCall call;
    call.x = static_cast<const float*>(from[kSrc]);
    call.weights = static_cast<const float*>(weights->data());
    call.src = from;
    call.dst = to[0];
    auto* own = static_cast<char*>(scratch);
    if (job.padding.needed) {
      auto* const quads = reinterpret_cast<float*>(own);
      own += job.padding.bytes();
      const std::int64_t grain = grainFor(job.padding.sizes[2] * job.padding.groups * job.padding.quads() * 2);
      parallelFor(job.padding.lines(), grain, threads, [&](std::int64_t begin, std::int64_t end, int) {
        code.pad(job.padding, from[kSrc], quads, begin, end);
      });
      call.x = quads;
    }
    if (job.windows.needed) {
      auto* const lines = reinterpret_cast<float*>(own);
      own += job.windows.bytes();
      parallelFor(job.windows.images * job.windows.lines(), grainFor(job.windows.lineBytes()), threads,
                  [&](std::int64_t begin, std::int64_t end, int) {
                    code.pad_lines(job.windows, from[kSrc], lines, begin, end);
                  });
      call.x = lines;
    }
    if (job.rounding.needed) {
      auto* const quads = reinterpret_cast<float*>(own);
      own += job.rounding.bytes();
      parallelFor(job.rounding.rows, grainFor(job.rounding.depth / 4), threads,
                  [&](std::int64_t begin, std::int64_t end, int) {
                    code.round(job.rounding, static_cast<const float*>(from[kSrc]), quads, begin, end);
                  });
      call.x = quads;
      call.row_scale = quads + job.rounding.rows * job.rounding.quads();
      call.row_zero = reinterpret_cast<const std::int32_t*>(call.row_scale + job.rounding.rows);
    }
    auto* const floats = reinterpret_cast<float*>(own);
    const std::int64_t tasks = job.gemm.row_shares * job.gemm.column_shares;
    parallelFor(tasks, 1, static_cast<std::int32_t>(tasks), [&](std::int64_t begin, std::int64_t end, int thread) {
      Int8GemmCall own_call = call;
      if (state != nullptr && state->next != nullptr) {
        const MemoryRange next = state->next->firstReads(thread);
        const auto* const first = static_cast<const float*>(next.begin);
        own_call.next = {first, first + next.bytes / sizeof(float)};
      }
      for (std::int64_t task = begin; task < end; ++task)
        code.run(job, own_call, floats + thread * job.scratchFloats(), task);
    });
  }
};

// Calls fn(panel, lane, quad, byte, weight) for every weight; lanes count within the panel, quads along the depth.
template <typename Fn>
void forEachWeight(const Int8GemmJob& job, const TensorDesc& w, const std::int8_t* data, const Fn& fn) {
  const GemmRows& rows = job.gemm.rows;
  const std::int64_t taps = w.dims.count() / (w.dims[0] * w.dims[1]);
  const std::int64_t tap_bytes = job.windows.needed ? w.dims[1] : rows.channels * kVnni4Bytes;
  for (const GemmPanel& panel : job.gemm.panels) {
    for (std::int64_t j = 0; j < panel.columns; ++j) {
      const std::int64_t lane = job.laneOf(panel, j);
      for (std::int64_t tap = 0; tap < taps; ++tap) {
        std::int64_t offset = (panel.column + j) * w.strides[0], at = tap;
        for (int axis = w.dims.rank - 1; axis >= 2; --axis) {
          offset += at % w.dims[axis] * w.strides[axis];
          at /= w.dims[axis];
        }
        for (std::int64_t c = 0; c < w.dims[1]; ++c) {
          const std::int64_t byte = tap * tap_bytes + c;
          fn(panel, lane, byte / kVnni4Bytes, byte % kVnni4Bytes, data[offset + c * w.strides[1]]);
        }
      }
    }
  }
}

std::size_t packedBytes(const Int8GemmJob& job) {
  const GemmPanel& last = job.gemm.panels.back();
  return static_cast<std::size_t>((last.weights + last.width * job.gemm.rows.depth()) * kVnni4Bytes);
}

void packVnni4(const Int8GemmJob& job, const TensorDesc& w, const std::int8_t* data, void* packed) {
  auto* const bytes = static_cast<std::int8_t*>(packed);
  std::memset(bytes, 0, packedBytes(job));
  forEachWeight(
      job, w, data,
      [&](const GemmPanel& panel, std::int64_t lane, std::int64_t quad, std::int64_t byte, std::int8_t value) {
        bytes[(panel.weights + quad * panel.width + lane) * kVnni4Bytes + byte] = value;
      });
}

// The byte that stands for zero in the unsigned data that tiles read.
std::uint32_t zeroByte(const PrepareArgs& args) {
  const std::uint32_t flip = args.src[kSrc].dtype == DType::kS8 ? 0x80u : 0u;
  return (static_cast<std::uint32_t>(args.spec.intOr("src_zero", 0)) & 0xFFu) ^ flip;
}

// True if tiles can end as u8 in registers. Padding lanes cost as much as others, so there may be only few.
bool endsQuantized(const PrepareArgs& args, const Int8GemmCode& code, const Int8GemmJob& job) {
  const Requantization& chain = job.chain;
  if (!code.quantizes || job.rounding.needed || args.dst[0].dtype != DType::kU8) return false;
  const bool activates = chain.activation != IntegerActivation::kNone;
  if (!chain.tail.empty() || (activates && chain.addend >= 0 && !chain.adds_last)) return false;
  if (chain.addend >= 0 && job.operand_types[static_cast<std::size_t>(chain.addend)] != DType::kU8) return false;
  constexpr std::int64_t kLanes = 16;
  const std::int64_t columns = job.gemm.columns / job.gemm.rows.groups,
                     lanes = (columns + kLanes - 1) / kLanes * kLanes;
  // A panel with lanes to spare costs no instructions, but its results are copied.
  if (!activates && 8 * lanes > 9 * columns) return false;
  // True if values stay far inside the range of 32-bit integers before they become bytes; false for NaN, too.
  constexpr double kLargest = 1 << 30;
  const TensorDesc& w = args.src[kWeights];
  const std::int64_t depth = w.dims.count() / w.dims[0];
  const double sum = 255.0 * 128.0 * static_cast<double>(depth),
               added = 255.0 * std::fabs(static_cast<double>(chain.factor));
  for (std::size_t c = 0; c < chain.scale.size(); ++c) {
    const double value =
        std::fabs(static_cast<double>(chain.scale[c])) * sum + std::fabs(static_cast<double>(chain.offset[c]));
    // No activation is larger than its argument.
    const double reach = activates ? value * std::fabs(static_cast<double>(chain.activated_scale)) +
                                         std::fabs(static_cast<double>(chain.activated_offset))
                                   : value;
    if (!(reach + added < kLargest)) return false;
  }
  return true;
}

// Panels of up to `widest` vectors, as even as they can be; with widest = 2, one of three rather than a lone one.
std::vector<GemmPanel> cutIntoVectors(std::int64_t columns, std::int64_t groups, std::int64_t depth,
                                      std::int64_t widest) {
  constexpr std::int64_t kLanes = 16;
  const std::int64_t vectors = (columns + kLanes - 1) / kLanes;
  const std::int64_t count = widest == 2 ? std::max<std::int64_t>(1, vectors / 2) : (vectors + widest - 1) / widest;
  std::vector<GemmPanel> panels;
  std::int64_t weights = 0, bias = 0;
  for (std::int64_t i = 0; i < groups * count; ++i) {
    const std::int64_t begin = vectors * (i % count) / count * kLanes, end = vectors * (i % count + 1) / count * kLanes;
    GemmPanel panel;
    panel.group = i / count;
    panel.column = panel.group * columns + begin;
    panel.width = static_cast<std::int32_t>(end - begin);
    panel.columns = static_cast<std::int32_t>(std::min(end, columns) - begin);
    panel.weights = weights;
    panel.bias = bias;
    weights += panel.width * depth;
    bias += panel.width;
    panels.push_back(panel);
  }
  return panels;
}

// True if padding covers whole lines or one pixel at either end of a line; then rows are best read in place.
bool readsByTaps(const PrepareArgs& args, const Int8GemmJob& job) {
  const GemmRows& r = job.gemm.rows;
  constexpr std::int64_t kPair = 32;
  if (job.padding.needed || job.windows.needed || args.src[kSrc].dims.rank != 4 || zeroByte(args) != 0 || r.groups != 1)
    return false;
  if (r.taps() == 1 || r.taps() > kMaxEdgeTaps || r.out[2] < kMinTapRows || job.gemm.columns % kPair != 0) return false;
  if (r.padding[2] > r.stride[2]) return false;
  for (std::int64_t x = 0; x < r.kernel[2]; ++x) {
    const std::int64_t first = x * r.dilation[2] - r.padding[2], last = first + (r.out[2] - 1) * r.stride[2];
    if (last - r.stride[2] >= r.in[2] || (first < 0 && last >= r.in[2])) return false;
  }
  return true;
}

// Cuts the result into blocks of as many lines as the second-level cache holds of the image.
void planTaps(Int8GemmJob* job) {
  GemmJob& gemm = job->gemm;
  const GemmRows& r = gemm.rows;
  constexpr std::int64_t kRowsInL2 = 384 << 10;
  const auto ceilDiv = [](std::int64_t a, std::int64_t b) { return (a + b - 1) / b; };
  const std::int64_t line_bytes = r.stride[1] * r.in[2] * r.channels * kVnni4Bytes;
  const std::int64_t fitting = std::max<std::int64_t>(1, kRowsInL2 / line_bytes),
                     share = ceilDiv(r.out[1], ceilDiv(gemm.row_shares, r.images));
  job->by_taps = true;
  gemm.source = GemmSource::kInPlace;
  gemm.planes = r.images;
  gemm.plane_rows = r.out[1] * r.out[2];
  gemm.span_rows = r.out[2];
  gemm.block_rows = ceilDiv(share, ceilDiv(share, fitting)) * r.out[2];
  gemm.row_stride = r.stride[2] * r.x_stride[2];
  gemm.length = r.channels;
  gemm.copied_floats = 0;
}

void planPanels(const PrepareArgs& args, const Int8GemmCode& code, Int8GemmJob* job) {
  GemmJob& gemm = job->gemm;
  const std::int64_t groups = gemm.rows.groups, columns = gemm.columns / groups, depth = gemm.rows.depth();
  job->quantized = endsQuantized(args, code, *job);
  if (!job->quantized) {
    gemm.panels = cutIntoPanels(columns, groups, depth, code.traits);
    planRows(args.target.threads, &gemm);
    return;
  }
  const auto bound = [](float v) { return static_cast<std::uint8_t>(std::nearbyint(v)); };
  job->lowest = bound(job->chain.low);
  job->highest = bound(job->chain.high);
  job->clamped = job->lowest > 0 || job->highest < 255;
  // Tiles of four vectors take six rows, tiles of two fourteen: better where they end with lines.
  constexpr std::int64_t kEightTiles = 48;
  gemm.tile_rows = kEightTiles;
  gemm.panels = cutIntoVectors(columns, groups, depth, 4);
  planRows(args.target.threads, &gemm);
  const bool by_taps = readsByTaps(args, *job);
  if (!by_taps && (gemm.matrix || gemm.source == GemmSource::kGather || gemm.rows.taps() == 1)) return;
  gemm.panels = cutIntoVectors(columns, groups, depth, 2);
  planRows(args.target.threads, &gemm);
  if (by_taps) planTaps(job);
}

void planColumns(const PrepareArgs& args, Int8GemmJob* job) {
  const GemmPanel& last = job->gemm.panels.back();
  const auto count = static_cast<std::size_t>(last.bias + last.width);
  job->start.assign(count, 0);
  job->column_sums.assign(count, 0);
  job->scale.assign(count, 0);
  job->offset.assign(count, 0);
  for (const GemmPanel& panel : job->gemm.panels) {
    for (std::int64_t j = 0; j < panel.columns; ++j) {
      const auto lane = static_cast<std::size_t>(panel.bias + job->laneOf(panel, j));
      job->scale[lane] = job->chain.scale[static_cast<std::size_t>(panel.column + j)];
      job->offset[lane] = job->chain.offset[static_cast<std::size_t>(panel.column + j)];
    }
  }
  // Unsigned arithmetic wraps around, as the sums do; only the total must fit 32 bits, and it does.
  const std::uint32_t zero = job->rounding.needed ? 0 : zeroByte(args);
  forEachWeight(*job, args.src[kWeights], static_cast<const std::int8_t*>(args.constant[kWeights]),
                [&](const GemmPanel& panel, std::int64_t lane, std::int64_t, std::int64_t, std::int8_t value) {
                  job->column_sums[static_cast<std::size_t>(panel.bias + lane)] += value;
                  std::int32_t& start = job->start[static_cast<std::size_t>(panel.bias + lane)];
                  start =
                      static_cast<std::int32_t>(static_cast<std::uint32_t>(start) -
                                                zero * static_cast<std::uint32_t>(static_cast<std::int32_t>(value)));
                });
}

}  // namespace

Verdict takesPackedIntegers(const PrepareArgs& args) {
  const TensorDesc &x = args.src[kSrc], &w = args.src[kWeights];
  const bool rounded =
      x.dtype == DType::kF32 && args.spec.kind == OpKind::kLinear && args.spec.intOr("dynamic", 0) != 0;
  if ((!isByte(x.dtype) && !rounded) || w.dtype != DType::kS8) return Verdict::no("dtype");
  const bool has_bias = args.src.size() > kBias && !args.src[kBias].absent();
  if (has_bias && args.src[kBias].dtype != DType::kF32) return Verdict::no("dtype");
  if (has_bias && args.constant[kBias] == nullptr) return Verdict::no("bias-not-constant");
  const auto inChain = [](DType dtype) { return dtype == DType::kF32 || dtype == DType::kBf16 || isByte(dtype); };
  for (std::size_t s = kFirstPostOperand; s < args.src.size(); ++s) {
    if (!inChain(args.src[s].dtype)) return Verdict::no("dtype");
  }
  if (!inChain(args.dst[0].dtype)) return Verdict::no("dtype");
  if (x.dims.count() == 0 || args.dst[0].dims.count() == 0) return Verdict::no("empty");
  if (w.block != 0) return Verdict::no("blocked-weights");
  if (args.constant[kWeights] == nullptr) return Verdict::no("weights-not-constant");
  // 255 · 128 · depth stays below 2^31.
  constexpr std::int64_t kDeepest = 65536;
  return w.dims.count() / w.dims[0] <= kDeepest ? Verdict::yes() : Verdict::no("depth");
}

std::unique_ptr<PreparedOp> makeInt8Gemm(const PrepareArgs& args, Int8GemmJob job, std::vector<TensorDesc> layouts,
                                         const TensorDesc& dst, int channel_axis) {
  IPEX_CHECK(args.constant[kWeights] != nullptr, "packed products need constant weights");
  auto op = std::make_unique<Int8GemmOp>();
  op->code = int8GemmCode(args.target.isa);
  const GemmTraits& traits = op->code.traits;
  GemmJob& gemm = job.gemm;
  const std::int64_t groups = gemm.rows.groups, depth = gemm.rows.depth();
  gemm.pointwise = op->code.pointwise;
  const std::uint32_t outside = zeroByte(args) * 0x01010101u;
  std::memcpy(&gemm.outside, &outside, sizeof outside);
  if (args.src[kSrc].dtype == DType::kS8) job.padding.flip = 0x80808080u;
  job.result = dst.dtype;
  for (std::size_t s = kFirstPostOperand; s < args.src.size(); ++s) job.operand_types.push_back(args.src[s].dtype);
  job.chain = foldChain(args, kFirstPostOperand, channel_axis, /*takes_all=*/true);
  saturate(args.dst[0].dtype, &job.chain);
  job.silu = siluPiecesOf(job.chain);
  planPanels(args, op->code, &job);
  planColumns(args, &job);
  if (job.windows.needed) {
    job.windows.outside = outside;
    job.windows.flip = job.padding.flip;
    gemm.copied_floats = gemm.block_rows * gemm.row_stride;
  }

  const TensorDesc& w = args.src[kWeights];
  const auto* const data = static_cast<const std::int8_t*>(args.constant[kWeights]);
  const std::string form =
      fmt::format("int8 gemm {} groups {} depth {} lanes {} half {} quantized {} width {} dims {} strides {}",
                  gemm.columns, groups, depth, traits.lanes, traits.half_vectors, job.quantized,
                  gemm.panels.front().width, w.dims.str(), w.strides.str());
  op->weights =
      args.weights->getOrPack(data, form, packedBytes(job), [&](void* packed) { packVnni4(job, w, data, packed); });
  op->src = std::move(layouts);
  op->dst = {dst};
  op->packed.assign(args.src.size(), false);
  op->packed[kWeights] = true;
  op->threads = args.target.threads;
  op->scratch_bytes =
      static_cast<std::size_t>(job.padding.bytes() + job.windows.bytes() + job.rounding.bytes()) +
      static_cast<std::size_t>(gemm.row_shares * gemm.column_shares * job.scratchFloats()) * sizeof(float);
  op->flops = 2 * gemm.row_count * gemm.columns * (w.dims.count() / w.dims[0]);
  for (std::size_t k = 0; k < gemm.operands.size() && op->in_place_src < 0; ++k) {
    const auto s = static_cast<std::size_t>(gemm.operands[k].src);
    const bool same = op->src[s].dims == dst.dims && op->src[s].sameLayout(dst) &&
                      elementBytes(op->src[s].dtype) == elementBytes(dst.dtype);
    if (args.src_dies[s] && same) op->in_place_src = static_cast<std::int32_t>(s);
  }
  op->job = std::move(job);
  return op;
}

}  // namespace ipex_studio
