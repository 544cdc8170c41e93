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

HWY_BEFORE_NAMESPACE();
namespace ipex_studio::HWY_NAMESPACE {

struct Complex {
  VF real, imaginary;
};

HWY_INLINE Complex complexSum(Complex a, Complex b) {
  return {hn::Add(a.real, b.real), hn::Add(a.imaginary, b.imaginary)};
}
HWY_INLINE Complex complexDifference(Complex a, Complex b) {
  return {hn::Sub(a.real, b.real), hn::Sub(a.imaginary, b.imaginary)};
}
HWY_INLINE Complex complexScaled(Complex a, float factor) {
  const VF f = hn::Set(F32(), factor);
  return {hn::Mul(a.real, f), hn::Mul(a.imaginary, f)};
}
// a · -i
HWY_INLINE Complex turnedBack(Complex a) { return {a.imaginary, hn::Neg(a.real)}; }
HWY_INLINE Complex complexTimes(Complex a, const float* turn) {
  const VF cosine = hn::Set(F32(), turn[0]), sine = hn::Set(F32(), turn[1]);
  return {hn::NegMulAdd(a.imaginary, sine, hn::Mul(a.real, cosine)),
          hn::MulAdd(a.imaginary, cosine, hn::Mul(a.real, sine))};
}

// A line of complex numbers for each lane: number i at [2 · i · lanes], its real parts before its imaginary ones.
HWY_INLINE Complex loadNumber(const float* line, std::int64_t i) {
  const F32 d;
  const std::int64_t lanes = static_cast<std::int64_t>(hn::Lanes(d));
  return {hn::Load(d, line + 2 * i * lanes), hn::Load(d, line + (2 * i + 1) * lanes)};
}
HWY_INLINE void storeNumber(Complex value, float* line, std::int64_t i) {
  const F32 d;
  const std::int64_t lanes = static_cast<std::int64_t>(hn::Lanes(d));
  hn::Store(value.real, d, line + 2 * i * lanes);
  hn::Store(value.imaginary, d, line + (2 * i + 1) * lanes);
}

template <int kRadix>
HWY_INLINE void butterfly(Complex* a);

template <>
HWY_INLINE void butterfly<2>(Complex* a) {
  const Complex sum = complexSum(a[0], a[1]);
  a[1] = complexDifference(a[0], a[1]);
  a[0] = sum;
}

template <>
HWY_INLINE void butterfly<3>(Complex* a) {
  constexpr float kSine = 0.866025403784438647f;
  const Complex sum = complexSum(a[1], a[2]), turned = turnedBack(complexScaled(complexDifference(a[1], a[2]), kSine));
  const Complex middle = complexDifference(a[0], complexScaled(sum, 0.5f));
  a[0] = complexSum(a[0], sum);
  a[1] = complexSum(middle, turned);
  a[2] = complexDifference(middle, turned);
}

template <>
HWY_INLINE void butterfly<4>(Complex* a) {
  const Complex even = complexSum(a[0], a[2]), odd = complexDifference(a[0], a[2]), sum = complexSum(a[1], a[3]),
                turned = turnedBack(complexDifference(a[1], a[3]));
  a[0] = complexSum(even, sum);
  a[1] = complexSum(odd, turned);
  a[2] = complexDifference(even, sum);
  a[3] = complexDifference(odd, turned);
}

template <>
HWY_INLINE void butterfly<5>(Complex* a) {
  constexpr float kCos1 = 0.309016994374947424f, kCos2 = -0.809016994374947424f, kSin1 = 0.951056516295153572f,
                  kSin2 = 0.587785252292473129f;
  const Complex near = complexSum(a[1], a[4]), far = complexSum(a[2], a[3]), near_by = complexDifference(a[1], a[4]),
                far_by = complexDifference(a[2], a[3]);
  const Complex first = complexSum(a[0], complexSum(complexScaled(near, kCos1), complexScaled(far, kCos2)));
  const Complex second = complexSum(a[0], complexSum(complexScaled(near, kCos2), complexScaled(far, kCos1)));
  const Complex turn1 = turnedBack(complexSum(complexScaled(near_by, kSin1), complexScaled(far_by, kSin2)));
  const Complex turn2 = turnedBack(complexDifference(complexScaled(near_by, kSin2), complexScaled(far_by, kSin1)));
  a[0] = complexSum(a[0], complexSum(near, far));
  a[1] = complexSum(first, turn1);
  a[2] = complexSum(second, turn2);
  a[3] = complexDifference(second, turn2);
  a[4] = complexDifference(first, turn1);
}

template <int kRadix>
HWY_INLINE void runStage(const FourierStage& stage, const float* HWY_RESTRICT from, float* HWY_RESTRICT to) {
  for (std::int64_t p = 0; p < stage.parts; ++p) {
    const float* turns = stage.turns.data() + p * (kRadix - 1) * 2;
    for (std::int64_t q = 0; q < stage.stride; ++q) {
      Complex a[kRadix];
      for (int j = 0; j < kRadix; ++j) a[j] = loadNumber(from, q + stage.stride * (p + stage.parts * j));
      butterfly<kRadix>(a);
      storeNumber(a[0], to, q + stage.stride * kRadix * p);
      for (int k = 1; k < kRadix; ++k)
        storeNumber(complexTimes(a[k], turns + 2 * (k - 1)), to, q + stage.stride * (kRadix * p + k));
    }
  }
}

// Any radix, by the definition of the transform.
void runAnyStage(const FourierStage& stage, const float* HWY_RESTRICT from, float* HWY_RESTRICT to) {
  const F32 d;
  const std::int64_t radix = stage.radix;
  for (std::int64_t p = 0; p < stage.parts; ++p) {
    const float* turns = stage.turns.data() + p * (radix - 1) * 2;
    for (std::int64_t q = 0; q < stage.stride; ++q) {
      for (std::int64_t k = 0; k < radix; ++k) {
        Complex sum{hn::Zero(d), hn::Zero(d)};
        for (std::int64_t j = 0; j < radix; ++j) {
          const Complex value = loadNumber(from, q + stage.stride * (p + stage.parts * j));
          sum = complexSum(sum, complexTimes(value, stage.matrix.data() + (j * radix + k) * 2));
        }
        storeNumber(k == 0 ? sum : complexTimes(sum, turns + 2 * (k - 1)), to, q + stage.stride * (radix * p + k));
      }
    }
  }
}

// Transforms `line`; the result lies in it or in `other`.
HWY_INLINE const float* transformLines(const FourierJob& job, float* line, float* other) {
  for (const FourierStage& stage : job.stages) {
    switch (stage.radix) {
      case 2:
        runStage<2>(stage, line, other);
        break;
      case 3:
        runStage<3>(stage, line, other);
        break;
      case 4:
        runStage<4>(stage, line, other);
        break;
      case 5:
        runStage<5>(stage, line, other);
        break;
      default:
        runAnyStage(stage, line, other);
    }
    std::swap(line, other);
  }
  return line;
}

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
  const F32 d;
  float* place = y + bin * job.bin_stride * (job.magnitude ? 1 : 2);
  if (job.magnitude) {
    const VF length = hn::Sqrt(hn::MulAdd(value.real, value.real, hn::Mul(value.imaginary, value.imaginary)));
    if (lanes.together) {
      hn::StoreU(length, d, place + lanes.to[0]);
      return;
    }
    HWY_ALIGN float some[hn::MaxLanes(d)];
    hn::Store(length, d, some);
    for (std::int64_t l = 0; l < lanes.count; ++l) place[lanes.to[l]] = some[l];
    return;
  }
  if (lanes.together) {
    hn::StoreInterleaved2(value.real, value.imaginary, d, place + 2 * lanes.to[0]);
    return;
  }
  HWY_ALIGN float real[hn::MaxLanes(d)], imaginary[hn::MaxLanes(d)];
  hn::Store(value.real, d, real);
  hn::Store(value.imaginary, d, imaginary);
  for (std::int64_t l = 0; l < lanes.count; ++l) {
    place[2 * lanes.to[l]] = real[l];
    place[2 * lanes.to[l] + 1] = imaginary[l];
  }
}

// The bins of real frames from those of their numbers in pairs: with E and O the transforms of the even and odd
// numbers, z = E + iO, bin k is E[k] + exp(-2πik/size) · O[k].
HWY_INLINE Complex binOfPairs(const FourierJob& job, const float* line, std::int64_t k) {
  const Complex a = loadNumber(line, k == job.points ? 0 : k), mirrored = loadNumber(line, k == 0 ? 0 : job.points - k),
                b{mirrored.real, hn::Neg(mirrored.imaginary)};
  const Complex even = complexScaled(complexSum(a, b), 0.5f),
                odd = complexScaled(turnedBack(complexDifference(a, b)), 0.5f);
  return complexSum(even, complexTimes(odd, job.half_turns.data() + 2 * k));
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
    const float* line = transformLines(job, scratch, other);
    for (std::int64_t bin = 0; bin < job.bins; ++bin)
      storeBin(job, lanes, job.points < job.size ? binOfPairs(job, line, bin) : loadNumber(line, bin), bin, y);
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

constexpr std::int64_t kLargestRadix = 31;  // larger ones cost more by their definition than libtorch's way

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

// The radices of passes over `points` numbers; empty: a prime factor is too large.
std::vector<std::int64_t> radicesOf(std::int64_t points) {
  std::vector<std::int64_t> radices;
  const auto take = [&](std::int64_t radix) {
    for (; points % radix == 0; points /= radix) radices.push_back(radix);
  };
  take(4);
  take(2);
  for (std::int64_t radix = 3; radix <= kLargestRadix; radix += 2) take(radix);
  if (points > 1) return {};
  if (radices.empty()) radices.push_back(1);
  return radices;
}

void addTurn(double turns, std::vector<float>* to) {
  const double angle = -2 * std::acos(-1.0) * turns;
  to->push_back(static_cast<float>(std::cos(angle)));
  to->push_back(static_cast<float>(std::sin(angle)));
}

// k/n of a turn, for any k, of which whole turns are taken away before rounding.
void addTurn(std::int64_t k, std::int64_t n, std::vector<float>* to) {
  addTurn(static_cast<double>(k % n) / static_cast<double>(n), to);
}

std::vector<FourierStage> stagesOf(std::int64_t points) {
  std::vector<FourierStage> stages;
  std::int64_t length = points, stride = 1;
  for (const std::int64_t radix : radicesOf(points)) {
    if (radix == 1) continue;
    FourierStage stage;
    stage.radix = radix;
    stage.parts = length / radix;
    stage.stride = stride;
    for (std::int64_t p = 0; p < stage.parts; ++p) {
      for (std::int64_t k = 1; k < radix; ++k) addTurn(p * k, length, &stage.turns);
    }
    for (std::int64_t jk = 0; radix > 5 && jk < radix * radix; ++jk)
      addTurn(jk / radix * (jk % radix), radix, &stage.matrix);
    stages.push_back(std::move(stage));
    length /= radix;
    stride *= radix;
  }
  return stages;
}

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
    return near && !radicesOf(job.points).empty() ? Verdict::yes() : Verdict::no("size");
  }

  std::unique_ptr<PreparedOp> prepare(const PrepareArgs& args, std::string*) const override {
    auto op = std::make_unique<FourierOp>();
    for (const TensorDesc& src : args.src)
      op->src.push_back(src.absent() ? src : contiguousDesc(DType::kF32, src.dims));
    op->dst = {contiguousDesc(DType::kF32, args.dst[0].dims)};
    op->packed = {false, false};
    op->job = jobOf(args);
    FourierJob& job = op->job;
    job.stages = stagesOf(job.points);
    for (std::int64_t k = 0; job.points < job.size && k <= job.points; ++k) addTurn(k, job.size, &job.half_turns);
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
