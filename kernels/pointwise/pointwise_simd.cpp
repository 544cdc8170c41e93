// A chain of element-wise operations over broadcasting operands of f32, bf16, f16, u8 and s8 in one pass over memory:
// casts, quantizing and dequantizing are such chains. Works in row-major, channels-last and channel-blocked layouts;
// the operands' tiles go through the chain, in f32, while they lie in the first-level cache.
//
// Declines: dtype, layout.
#define HWY_TARGET_INCLUDE "kernels/pointwise/pointwise_simd.cpp"
#include "kernels/common/simd-inl.h"

#include <cmath>
#include <cstring>

#include "kernels/common/byte_convert-inl.h"
#include "kernels/pointwise/pointwise_chain-inl.h"
#include "kernels/pointwise/pointwise_tiles.h"

HWY_BEFORE_NAMESPACE();
namespace ipex_studio::HWY_NAMESPACE {

// One thread's copy of an operand that had to be laid out like the tile: a per-channel vector repeated over a
// blocked layout's pixels is written once and read many times.
struct LaidOut {
  const char* from = nullptr;
  std::int64_t count = 0;
};

void layOut(const float* from, std::int64_t row_stride, std::int64_t stride, std::int64_t rows, std::int64_t inner,
            float* to) {
  for (std::int64_t r = 0; r < rows; ++r) {
    const float* row = from + r * row_stride;
    float* out = to + r * inner;
    if (stride == 1) {
      std::memcpy(out, row, inner * sizeof(float));
    } else if (stride == 0) {
      for (std::int64_t i = 0; i < inner; ++i) out[i] = row[0];
    } else {
      for (std::int64_t i = 0; i < inner; ++i) out[i] = row[i * stride];
    }
  }
}

void layOutUpconverted(DType dtype, const char* from, std::int64_t row_stride, std::int64_t stride, std::int64_t rows,
                       std::int64_t inner, float* to) {
  const std::int64_t row_bytes = row_stride * static_cast<std::int64_t>(elementBytes(dtype));
  for (std::int64_t r = 0; r < rows; ++r) gatherValues(dtype, from + r * row_bytes, stride, to + r * inner, inner);
}

void multiplyTile(const PointwiseJob& job, const void* from, const float* other, void* to, std::size_t count) {
  const ByteScale before{job.first_factor, job.first_offset}, after{job.factor, job.offset};
  const auto multiply = [&](auto* bytes) {
    if (job.dtypes[0] == DType::kU8) {
      multiplyBytes(bytes, before, other, after, static_cast<std::uint8_t*>(to), count);
    } else {
      multiplyBytes(bytes, before, other, after, static_cast<std::int8_t*>(to), count);
    }
  };
  if (job.dtypes[1] == DType::kU8) return multiply(static_cast<const std::uint8_t*>(from));
  multiply(static_cast<const std::int8_t*>(from));
}

void runPointwise(const PointwiseJob& job, const void* const* tensors, void* dst, float* scratch, std::int64_t begin,
                  std::int64_t end) {
  constexpr int kRemembered = 66;
  LaidOut remembered[kRemembered];
  const int last = job.nest.loops() - 1;
  const bool has_rows = job.nest.loops() > 1;
  const std::int64_t plane_tiles = job.row_tiles * job.inner_tiles;
  for (std::int64_t t = begin; t < end; ++t) {
    const std::int64_t outer = t / plane_tiles, in_plane = t % plane_tiles;
    const std::int64_t row = in_plane / job.inner_tiles * job.tile_rows;
    const std::int64_t column = in_plane % job.inner_tiles * job.tile_inner;
    const std::int64_t rows = std::min(job.tile_rows, job.rows - row);
    const std::int64_t inner = std::min(job.tile_inner, job.inner - column);
    const std::int64_t count = rows * inner;
    const auto rowStride = [&](int tensor) { return has_rows ? job.nest.stride[tensor][last - 1] : 0; };
    const auto begins = [&](int tensor) {
      const std::int64_t first = job.nest.offset(tensor, outer, job.outer_loops) + row * rowStride(tensor) +
                                 column * job.nest.stride[tensor][last];
      return static_cast<const char*>(tensors[tensor]) +
             first * static_cast<std::int64_t>(elementBytes(job.dtypes[tensor]));
    };
    const auto isDense = [&](int tensor) {
      return job.nest.stride[tensor][last] == 1 && (rows == 1 || rowStride(tensor) == inner);
    };
    const auto tile = [&](int tensor) -> const float* {
      const auto& strides = job.nest.stride[tensor];
      const std::int64_t row_stride = rowStride(tensor);
      const DType dtype = job.dtypes[tensor];
      const bool converts = dtype != DType::kF32;
      const char* const at = begins(tensor);
      if (!converts && isDense(tensor)) return reinterpret_cast<const float*>(at);
      float* const buffer = scratch + tensor * kPointwiseTile;
      LaidOut& known = remembered[tensor];
      if (known.from != at || known.count < count) {
        if (converts) {
          layOutUpconverted(dtype, at, row_stride, strides[last], rows, inner, buffer);
        } else {
          layOut(reinterpret_cast<const float*>(at), row_stride, strides[last], rows, inner, buffer);
        }
        known = {at, count};
      }
      return buffer;
    };
    const std::int64_t place =
        job.nest.offset(0, outer, job.outer_loops) + row * (has_rows ? job.nest.stride[0][last - 1] : 0) + column;
    char* const result = static_cast<char*>(dst) + place * static_cast<std::int64_t>(elementBytes(job.dtypes[0]));
    if (job.multiplies_bytes && isDense(1)) {
      multiplyTile(job, begins(1), tile(2), result, static_cast<std::size_t>(count));
      continue;
    }
    const bool converts_result = job.dtypes[0] != DType::kF32;
    float* const out = converts_result ? scratch : reinterpret_cast<float*>(result);
    const float* value = tile(1);
    const std::size_t ops = job.scales_last ? job.ops.size() - 1 : job.ops.size();
    if (job.ops.empty() && !converts_result && value != out) std::memcpy(out, value, count * sizeof(float));
    for (std::size_t i = 0; i < ops; ++i) {
      const PostOp& op = job.ops[i];
      float* const to = i + 1 == job.ops.size() ? out : scratch;  // tensor 0's buffer holds what is in between
      PointwiseRows values;
      values.in = value;
      if (isBinary(op.kind)) values.other = tile(2 + op.operand);
      values.out = to;
      values.count = static_cast<std::size_t>(count);
      applyPointwise(op, values);
      value = to;
    }
    if (!converts_result) continue;
    const auto values = static_cast<std::size_t>(count);
    if (!job.scales_last) {
      downconvertValues(job.dtypes[0], value, result, values);
    } else if (job.dtypes[0] == DType::kU8) {
      scaleToBytes(value, job.factor, job.offset, reinterpret_cast<std::uint8_t*>(result), values);
    } else {
      scaleToBytes(value, job.factor, job.offset, reinterpret_cast<std::int8_t*>(result), values);
    }
  }
}

}  // namespace ipex_studio::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

#include "core/op/kernel.h"
#include "core/op/low_precision_floats.h"
#include "kernels/common/parallel.h"
#include "kernels/common/pointwise_ops.h"
#include "kernels/common/requantization.h"

namespace ipex_studio {
namespace {

HWY_EXPORT(runPointwise);
HWY_EXPORT(applyPointwise);

std::int64_t costOf(const PostOp& op) {
  switch (op.kind) {
    case PostOpKind::kSigmoid:
    case PostOpKind::kTanh:
    case PostOpKind::kGeluErf:
    case PostOpKind::kGeluTanh:
    case PostOpKind::kSilu:
    case PostOpKind::kElu:
    case PostOpKind::kMish:
    case PostOpKind::kExp:
    case PostOpKind::kLog:
    case PostOpKind::kErf:
    case PostOpKind::kSoftplus:
      return 4;
    case PostOpKind::kPow:
    case PostOpKind::kSin:
    case PostOpKind::kCos:
      return 60;
    default:
      return 1;
  }
}

void cutIntoTiles(PointwiseJob* job) {
  const int loops = job->nest.loops();
  job->inner = job->nest.size[loops - 1];
  job->rows = loops > 1 ? job->nest.size[loops - 2] : 1;
  job->outer_loops = std::max(0, loops - 2);
  job->tile_inner = std::min(job->inner, kPointwiseTile);
  job->tile_rows = std::max<std::int64_t>(1, kPointwiseTile / std::max<std::int64_t>(1, job->inner));
  job->row_tiles = (job->rows + job->tile_rows - 1) / job->tile_rows;
  job->inner_tiles = (job->inner + kPointwiseTile - 1) / kPointwiseTile;
  job->tiles = job->row_tiles * job->inner_tiles;
  for (int loop = 0; loop < job->outer_loops; ++loop) job->tiles *= job->nest.size[loop];
}

void findProductOfBytes(PointwiseJob* job) {
  if (!job->scales_last || !isByte(job->dtypes[1])) return;
  const std::size_t product = job->ops.front().kind == PostOpKind::kLinear ? 1 : 0;
  if (job->ops.size() != product + 2 || job->ops[product].kind != PostOpKind::kMul || job->ops[product].operand != 0)
    return;
  job->multiplies_bytes = true;
  if (product == 0) return;
  job->first_factor = static_cast<float>(job->ops[0].alpha);
  job->first_offset = static_cast<float>(job->ops[0].beta);
}

// A per-channel operand copied so that its channels fill whole blocks.
struct PaddedOperand {
  int src;
  DType dtype;
  std::int64_t outer, channels, padded, outer_stride, channel_stride;
  std::int64_t offset;  // bytes in scratch
};

class PointwiseOp final : public PreparedOp {
 public:
  PointwiseJob job;
  PointwiseRun run = nullptr;
  std::int32_t threads = 1;
  std::int64_t grain = 1;
  std::vector<PaddedOperand> padded;
  std::int64_t tiles_offset = 0;              // bytes in scratch
  std::int64_t tail_begin = 0, tail_end = 0;  // unused lanes of the last channel block
  LoopNest tail_pixels;                       // dst's places of the last channel block
  std::int64_t tail_offset = 0;

  void execute(ExecState*, const void* const* src, void* const* dst, void* scratch) const override {
    constexpr int kMaxTensors = 66;
    const void* tensors[kMaxTensors];
    tensors[0] = dst[0];
    for (int t = 1; t < job.tensors(); ++t) tensors[t] = src[t - 1];
    for (const PaddedOperand& operand : padded) {
      float* copy = reinterpret_cast<float*>(static_cast<char*>(scratch) + operand.offset);
      pad(operand, src[operand.src], copy);
      tensors[operand.src + 1] = copy;
    }
    char* const tiles = static_cast<char*>(scratch) + tiles_offset;
    parallelFor(job.tiles, grain, threads, [&](std::int64_t begin, std::int64_t end, int thread) {
      float* own = reinterpret_cast<float*>(tiles) + thread * job.scratchFloats();
      run(job, tensors, dst[0], own, begin, end);
    });
    clearTail(static_cast<char*>(dst[0]));
  }

  static void pad(const PaddedOperand& operand, const void* from, float* to) {
    const auto read = [&](std::int64_t at) -> float {
      switch (operand.dtype) {
        case DType::kBf16:
          return bf16ToFloat(static_cast<const std::uint16_t*>(from)[at]);
        case DType::kF16:
          return f16ToFloat(static_cast<const std::uint16_t*>(from)[at]);
        case DType::kU8:
          return static_cast<const std::uint8_t*>(from)[at];
        case DType::kS8:
          return static_cast<const std::int8_t*>(from)[at];
        default:
          return static_cast<const float*>(from)[at];
      }
    };
    for (std::int64_t o = 0; o < operand.outer; ++o) {
      for (std::int64_t c = 0; c < operand.padded; ++c) {
        to[o * operand.padded + c] =
            c < operand.channels ? read(o * operand.outer_stride + c * operand.channel_stride) : 0.0f;
      }
    }
  }

  void clearTail(char* out) const {
    if (tail_begin == tail_end) return;
    const auto bytes = static_cast<std::int64_t>(elementBytes(job.dtypes[0]));
    const std::int64_t pixels = tail_pixels.count();
    for (std::int64_t p = 0; p < pixels; ++p) {
      const std::int64_t lanes = tail_offset + tail_pixels.offset(0, p, tail_pixels.loops());
      std::memset(out + (lanes + tail_begin) * bytes, 0, static_cast<std::size_t>((tail_end - tail_begin) * bytes));
    }
  }
};

bool isFull(const TensorDesc& desc, const Dims& dims) { return desc.dims == dims; }

bool inChains(DType dtype) { return isFloatDtype(dtype) || dtype == DType::kU8 || dtype == DType::kS8; }

// The layout of the result: the one that most full-size operands already have; row-major when none is dense.
TensorDesc chooseLayout(const PrepareArgs& args) {
  const Dims& dims = args.dst[0].dims;
  TensorDesc best = contiguousDesc(args.dst[0].dtype, dims);
  int best_votes = 0;
  for (const TensorDesc& candidate : args.src) {
    if (!isFull(candidate, dims) || !isDenseLayout(candidate)) continue;
    int votes = 0;
    for (const TensorDesc& voter : args.src) votes += isFull(voter, dims) && voter.sameLayout(candidate);
    if (votes > best_votes) {
      best = candidate;
      best_votes = votes;
    }
  }
  return laidOutLike(best, args.dst[0].dtype, dims);
}

bool onlyChannels(const TensorDesc& aligned) {
  for (int axis = 2; axis < aligned.dims.rank; ++axis) {
    if (aligned.dims[axis] != 1) return false;
  }
  return true;
}

// The layout to ask for an operand in, if its own cannot be walked along `dst`'s.
TensorDesc readableLayout(const TensorDesc& given, const TensorDesc& dst) {
  if (isFull(given, dst.dims)) {
    const bool strided = given.block == 0 && dst.block == 0;
    return strided ? given : laidOutLike(dst, given.dtype, given.dims);
  }
  if (given.block == 0) return given;
  const bool same_block = given.block == dst.block && given.dims.rank == dst.dims.rank;
  return same_block ? given : contiguousDesc(given.dtype, given.dims);
}

class PointwiseSimd final : public Kernel {
 public:
  const char* name() const override { return "pointwise_simd"; }

  Verdict supports(const PrepareArgs& args) const override {
    for (const TensorDesc& src : args.src) {
      if (!inChains(src.dtype)) return Verdict::no("dtype");
    }
    constexpr std::size_t kMaxOperands = 65;
    if (!inChains(args.dst[0].dtype)) return Verdict::no("dtype");
    return args.src.size() <= kMaxOperands ? Verdict::yes() : Verdict::no("too-many-operands");
  }

  std::unique_ptr<PreparedOp> prepare(const PrepareArgs& args, std::string* reason) const override {
    auto op = build(args, chooseLayout(args));
    // Operands that broadcast over part of the pixels cannot follow a block that channels do not fill.
    if (!op) op = build(args, contiguousDesc(args.dst[0].dtype, args.dst[0].dims));
    if (!op) *reason = "layout";
    return op;
  }

 private:
  std::unique_ptr<PreparedOp> build(const PrepareArgs& args, const TensorDesc& dst) const {
    auto op = std::make_unique<PointwiseOp>();
    op->src = args.src;
    op->dst = {dst};
    op->packed.assign(args.src.size(), false);
    op->threads = args.target.threads;
    op->job.ops = args.spec.post_ops;
    std::int64_t scratch = 0;
    std::vector<TensorDesc> walked{dst};
    op->job.dtypes = {dst.dtype};
    if (isByte(dst.dtype) && !op->job.ops.empty() && op->job.ops.back().kind == PostOpKind::kLinear) {
      op->job.scales_last = true;
      op->job.factor = static_cast<float>(op->job.ops.back().alpha);
      op->job.offset = static_cast<float>(op->job.ops.back().beta);
    }
    for (std::size_t s = 0; s < args.src.size(); ++s) {
      op->src[s] = readableLayout(args.src[s], dst);
      TensorDesc aligned = alignRank(op->src[s], dst.dims.rank);
      if (needsPadding(aligned, dst) && onlyChannels(aligned)) {
        aligned = addPadded(static_cast<int>(s), aligned, dst, op.get(), &scratch);
      }
      walked.push_back(aligned);
      op->job.dtypes.push_back(aligned.dtype);
    }
    findProductOfBytes(&op->job);
    if (!makeLoopNest(walked, &op->job.nest)) return nullptr;
    cutIntoTiles(&op->job);
    if (dst.dims.count() == 0) op->job.tiles = 0;
    std::int64_t cost = 1;
    for (const PostOp& post_op : args.spec.post_ops) cost += costOf(post_op);
    op->grain = grainFor(op->job.tile_rows * op->job.tile_inner * cost / 4);
    op->run = IPEX_SELECT_TARGET(runPointwise, args.target.isa);
    op->tiles_offset = scratch;
    op->scratch_bytes = scratch + args.target.threads * op->job.scratchFloats() * sizeof(float);
    op->may_alias = true;
    op->flops = dst.dims.count() * static_cast<std::int64_t>(args.spec.post_ops.size());
    findTail(dst, op.get());
    return op;
  }

  static bool needsPadding(const TensorDesc& aligned, const TensorDesc& dst) {
    return dst.block > 0 && aligned.block == 0 && aligned.dims[1] > 1 && dst.dims[1] % dst.block != 0;
  }

  // Plans the copy of a per-channel operand [N or 1, C, 1…] and returns it as a blocked tensor.
  static TensorDesc addPadded(int src, const TensorDesc& aligned, const TensorDesc& dst, PointwiseOp* op,
                              std::int64_t* scratch) {
    const std::int64_t padded = (dst.dims[1] + dst.block - 1) / dst.block * dst.block;
    op->padded.push_back({src, aligned.dtype, aligned.dims[0], aligned.dims[1], padded, aligned.strides[0],
                          aligned.strides[1], *scratch});
    *scratch += (aligned.dims[0] * padded * static_cast<std::int64_t>(sizeof(float)) + 63) / 64 * 64;
    return blockedDesc(DType::kF32, aligned.dims, dst.block);
  }

  static void findTail(const TensorDesc& dst, PointwiseOp* op) {
    if (dst.block == 0 || dst.dims[1] % dst.block == 0 || dst.dims.count() == 0) return;
    op->tail_begin = dst.dims[1] % dst.block;
    op->tail_end = dst.block;
    op->tail_offset = dst.dims[1] / dst.block * dst.strides[1];
    TensorDesc pixels = dst;
    pixels.block = 0;
    pixels.dims[1] = 1;
    makeLoopNest({pixels}, &op->tail_pixels);
  }
};

}  // namespace

PointwiseApply pointwiseApply(const std::string& isa) { return IPEX_SELECT_TARGET(applyPointwise, isa); }

std::unique_ptr<Kernel> makePointwiseSimd() { return std::make_unique<PointwiseSimd>(); }

}  // namespace ipex_studio

#endif  // HWY_ONCE
