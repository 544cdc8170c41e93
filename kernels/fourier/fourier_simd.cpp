// Fourier transforms of real frames: each lane of a vector transforms a frame of its own, so that any radix is vector
// code, and results with the frame as their last axis are stored as vectors. Passes of Stockham's form (Cochran et al.,
// What is the fast Fourier transform?, 1967), which leave the bins in order, over radices 4, 2, 3 and 5, and odd ones
// up to kLargestRadix by their definition. A frame of an even size is transformed as one of half as many complex
// numbers. Two frames are never parts of one complex line: the louder one would leave its rounding in the other.
//
// Declines: post-ops, dtype, empty, size (a larger prime factor, or more than 2^31 numbers apart).
#define HWY_TARGET_INCLUDE "kernels/fourier/fourier_simd.cpp"
#include "kernels/common/simd-inl.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/fourier/fourier_job.h"
#include "kernels/fourier/fourier_lines-inl.h"

HWY_BEFORE_NAMESPACE();
namespace ipex_studio::HWY_NAMESPACE {

// Places at which a vector of frames is read and written. Lanes behind the last frame read that one again.
struct FrameLanes {
  HWY_ALIGN std::int32_t from[hn::MaxLanes(F32())];  // behind the first frame
  std::int64_t to[hn::MaxLanes(F32())];              // in results
  const float* first = nullptr;
  std::int64_t count = 0;
  bool together = false;  // results are neighbours
};

HWY_INLINE void placeLanes(const FourierJob& job, const float* x, std::int64_t begin, std::int64_t end,
                           FrameLanes* lanes) {
  const std::int64_t width = static_cast<std::int64_t>(hn::Lanes(F32()));
  lanes->count = std::min(width, end - begin);
  const auto offset = [&](std::int64_t frame) {
    return frame / job.frames * job.length + frame % job.frames * job.hop;
  };
  const std::int64_t first = offset(begin);
  lanes->first = x + first;
  for (std::int64_t l = 0; l < width; ++l) {
    const std::int64_t frame = begin + std::min(l, lanes->count - 1);
    lanes->from[l] = static_cast<std::int32_t>(offset(frame) - first);
    lanes->to[l] = frame / job.frames * job.row_stride + frame % job.frames * job.frame_stride;
  }
  lanes->together = lanes->count == width && lanes->to[width - 1] - lanes->to[0] == width - 1;
}

HWY_INLINE void loadFrames(const FourierJob& job, const FrameLanes& lanes, const float* window, float* line) {
  const F32 d;
  const hn::RebindToSigned<F32> di;
  const std::int64_t width = static_cast<std::int64_t>(hn::Lanes(d));
  const auto from = hn::Load(di, lanes.from);
  const bool pairs = job.points < job.size;
  for (std::int64_t i = 0; i < job.size; ++i) {
    const float factor = job.windowed ? window[i] * job.scale : job.scale;
    const VF value = hn::Mul(hn::GatherIndex(d, lanes.first + i, from), hn::Set(d, factor));
    hn::Store(value, d, line + (pairs ? i : 2 * i) * width);
    if (!pairs) hn::Store(hn::Zero(d), d, line + (2 * i + 1) * width);
  }
}

HWY_INLINE void storeBin(const FourierJob& job, const FrameLanes& lanes, Complex value, std::int64_t bin, float* y) {
  if (!job.magnitude) return writePairs(lanes, value, y + 2 * bin * job.bin_stride);
  const VF squares = hn::MulAdd(value.real, value.real, hn::Mul(value.imaginary, value.imaginary));
  writeRealNumbers(lanes, hn::Sqrt(squares), y + bin * job.bin_stride);
}

// Transforms frames [begin, end); scratch has room for two lines.
void runFourier(const FourierJob& job, const float* x, const float* window, float* y, float* scratch,
                std::int64_t begin, std::int64_t end) {
  const std::int64_t width = static_cast<std::int64_t>(hn::Lanes(F32()));
  float* const other = scratch + 2 * job.points * width;
  FrameLanes lanes;
  for (std::int64_t frame = begin; frame < end; frame += width) {
    placeLanes(job, x, frame, end, &lanes);
    loadFrames(job, lanes, window, scratch);
    const float* line = transformLines(job.turns.stages, scratch, other);
    for (std::int64_t bin = 0; bin < job.bins; ++bin)
      storeBin(job, lanes, job.points < job.size ? binOfPairs(job.turns, line, bin) : loadNumber(line, bin), bin, y);
  }
}

std::int64_t fourierLanes() { return static_cast<std::int64_t>(hn::Lanes(F32())); }

}  // namespace ipex_studio::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

#include "core/op/kernel.h"
#include "kernels/common/parallel.h"
#include "kernels/fourier/fourier_scale.h"

namespace ipex_studio {
namespace {

HWY_EXPORT(runFourier);
HWY_EXPORT(fourierLanes);

using FourierRun = void (*)(const FourierJob&, const float*, const float*, float*, float*, std::int64_t, std::int64_t);

class FourierOp final : public PreparedOp {
 public:
  FourierJob job;
  FourierRun run = nullptr;
  std::int64_t lanes = 1, grain = 1;
  std::int32_t threads = 1;

  void execute(ExecState*, const void* const* from, void* const* to, void* scratch) const override {
    const std::int64_t frames = job.rows * job.frames, groups = (frames + lanes - 1) / lanes;
    parallelFor(groups, grain, threads, [&](std::int64_t begin, std::int64_t end, int thread) {
      run(job, static_cast<const float*>(from[0]), static_cast<const float*>(from[1]), static_cast<float*>(to[0]),
          static_cast<float*>(scratch) + thread * 4 * job.points * lanes, begin * lanes, std::min(end * lanes, frames));
    });
  }
};

FourierJob jobOf(const PrepareArgs& args) {
  const Dims &x = args.src[0].dims, &y = args.dst[0].dims;
  const bool framed = args.spec.has("frame");
  FourierJob job;
  job.length = x[x.rank - 1];
  job.rows = job.length == 0 ? 0 : x.count() / job.length;
  job.size = framed ? args.spec.intOr("frame", 0) : job.length;
  job.hop = framed ? args.spec.intOr("hop", 1) : job.length;
  job.frames = framed ? y[x.rank] : 1;
  job.points = job.size % 2 == 0 ? job.size / 2 : job.size;
  job.scale = static_cast<float>(fourierScale(args.spec, job.size));
  job.windowed = !args.src[1].absent();
  job.magnitude = args.spec.stringOr("result", "pairs") == "magnitude";
  job.bins = y[x.rank - 1];
  job.frame_stride = 1;
  job.bin_stride = job.frames;
  job.row_stride = job.bins * job.frames;
  return job;
}

class FourierSimd final : public Kernel {
 public:
  const char* name() const override { return "fourier_simd"; }

  Verdict supports(const PrepareArgs& args) const override {
    if (!args.spec.post_ops.empty()) return Verdict::no("post-ops");
    for (const TensorDesc& src : args.src) {
      if (!src.absent() && src.dtype != DType::kF32) return Verdict::no("dtype");
    }
    if (args.dst[0].dims.count() == 0) return Verdict::no("empty");
    const FourierJob job = jobOf(args);
    const bool near = args.src[0].dims.count() <= std::numeric_limits<std::int32_t>::max();
    return near && hasRadices(job.points) ? Verdict::yes() : Verdict::no("size");
  }

  std::unique_ptr<PreparedOp> prepare(const PrepareArgs& args, std::string*) const override {
    auto op = std::make_unique<FourierOp>();
    for (const TensorDesc& src : args.src)
      op->src.push_back(src.absent() ? src : contiguousDesc(DType::kF32, src.dims));
    op->dst = {contiguousDesc(DType::kF32, args.dst[0].dims)};
    op->packed = {false, false};
    op->job = jobOf(args);
    FourierJob& job = op->job;
    job.turns = fourierTurns(job.points, job.points < job.size);
    op->lanes = IPEX_SELECT_TARGET(fourierLanes, args.target.isa)();
    op->run = IPEX_SELECT_TARGET(runFourier, args.target.isa);
    op->threads = args.target.threads;
    const double passes = std::log2(static_cast<double>(job.size) + 1);
    op->flops = static_cast<std::int64_t>(2.5 * static_cast<double>(job.size) * passes) * job.rows * job.frames;
    op->grain = grainFor(job.size * static_cast<std::int64_t>(passes + 2));
    op->scratch_bytes = static_cast<std::size_t>(op->threads * 4 * job.points * op->lanes) * sizeof(float);
    return op;
  }
};

}  // namespace

std::unique_ptr<Kernel> makeFourierSimd() { return std::make_unique<FourierSimd>(); }

}  // namespace ipex_studio

#endif  // HWY_ONCE
