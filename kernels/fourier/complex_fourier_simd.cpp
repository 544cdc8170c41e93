// Fourier transforms along any axis of complex numbers in pairs, of real ones, and back to real ones. Each lane of a
// vector transforms a line of its own; lines that are neighbours in memory are read and written as vectors. Real
// numbers of an even count are transformed as half as many complex ones, and an inverse transform is one of the
// numbers with their parts exchanged.
//
// Declines: post-ops, dtype, empty, size (a larger prime factor, or more than 2^31 numbers apart).
#define HWY_TARGET_INCLUDE "kernels/fourier/complex_fourier_simd.cpp"
#include "kernels/common/simd-inl.h"

#include <algorithm>
#include <limits>

#include "kernels/fourier/complex_fourier_job.h"
#include "kernels/fourier/fourier_lines-inl.h"

HWY_BEFORE_NAMESPACE();
namespace ipex_studio::HWY_NAMESPACE {

// Places of a vector of lines. Lanes behind the last line read that one again.
struct AxisLanes {
  HWY_ALIGN std::int32_t from[hn::MaxLanes(F32())];  // numbers behind the first line
  std::int64_t to[hn::MaxLanes(F32())];              // results behind the beginning
  std::int64_t first = 0;                            // the first line's place in numbers
  std::int64_t count = 0;
  bool together = false;  // lines are neighbours
};

HWY_INLINE void placeAxisLanes(const ComplexFourierJob& job, std::int64_t begin, std::int64_t end, AxisLanes* lanes) {
  const std::int64_t width = static_cast<std::int64_t>(hn::Lanes(F32()));
  lanes->count = std::min(width, end - begin);
  const std::int64_t row = begin / job.inner;
  lanes->first = row * job.length * job.inner + begin % job.inner;
  for (std::int64_t l = 0; l < width; ++l) {
    const std::int64_t line = begin + std::min(l, lanes->count - 1), inside = line % job.inner;
    lanes->from[l] = static_cast<std::int32_t>(line / job.inner * job.length * job.inner + inside - lanes->first);
    lanes->to[l] = line / job.inner * job.results * job.inner + inside;
  }
  lanes->together =
      lanes->count == width && lanes->from[width - 1] == width - 1 && lanes->to[width - 1] - lanes->to[0] == width - 1;
}

// Number i of all lines, zero behind the last one.
HWY_INLINE Complex readPair(const ComplexFourierJob& job, const AxisLanes& lanes, const float* x, std::int64_t i) {
  const F32 d;
  if (i >= job.length) return {hn::Zero(d), hn::Zero(d)};
  const float* place = x + 2 * (lanes.first + i * job.inner);
  Complex value;
  if (lanes.together) {
    hn::LoadInterleaved2(d, place, value.real, value.imaginary);
  } else {
    const auto from = hn::ShiftLeft<1>(hn::Load(hn::RebindToSigned<F32>(), lanes.from));
    value = {hn::GatherIndex(d, place, from), hn::GatherIndex(d, place + 1, from)};
  }
  return value;
}

HWY_INLINE VF readReal(const ComplexFourierJob& job, const AxisLanes& lanes, const float* x, std::int64_t i) {
  const F32 d;
  if (i >= job.length) return hn::Zero(d);
  const float* place = x + lanes.first + i * job.inner;
  return lanes.together ? hn::LoadU(d, place)
                        : hn::GatherIndex(d, place, hn::Load(hn::RebindToSigned<F32>(), lanes.from));
}

HWY_INLINE Complex exchanged(Complex a) { return {a.imaginary, a.real}; }
HWY_INLINE Complex conjugated(Complex a) { return {a.real, hn::Neg(a.imaginary)}; }

// Number i of a line of which half is given.
HWY_INLINE Complex readHalf(const ComplexFourierJob& job, const AxisLanes& lanes, const float* x, std::int64_t i) {
  const bool mirrored = 2 * i > job.size;
  const std::int64_t place = mirrored ? job.size - i : i;
  const Complex value = readPair(job, lanes, x, place);
  if (2 * place % job.size == 0) return {value.real, hn::Zero(F32())};
  return mirrored ? conjugated(value) : value;
}

// The pairs whose transform gives the numbers of an even line of which half is given, two in each.
HWY_INLINE Complex pairOfHalf(const ComplexFourierJob& job, const AxisLanes& lanes, const float* x, std::int64_t k) {
  const Complex a = readHalf(job, lanes, x, k), b = conjugated(readHalf(job, lanes, x, job.turns.points - k));
  const float turn[2] = {job.turns.half_turns[static_cast<std::size_t>(2 * k)],
                         -job.turns.half_turns[static_cast<std::size_t>(2 * k + 1)]};
  const Complex odd = complexTimes(complexDifference(a, b), turn);
  return complexSum(complexSum(a, b), {hn::Neg(odd.imaginary), odd.real});
}

HWY_INLINE void loadLines(const ComplexFourierJob& job, const AxisLanes& lanes, const float* x, float* line) {
  const F32 d;
  for (std::int64_t i = 0; i < job.turns.points; ++i) {
    Complex value;
    if (job.from == FourierForm::kPairs) {
      value = readPair(job, lanes, x, i);
    } else if (job.from == FourierForm::kHalf) {
      value = job.paired ? pairOfHalf(job, lanes, x, i) : readHalf(job, lanes, x, i);
    } else if (job.paired) {
      value = {readReal(job, lanes, x, 2 * i), readReal(job, lanes, x, 2 * i + 1)};
    } else {
      value = {readReal(job, lanes, x, i), hn::Zero(d)};
    }
    // The inverse of real numbers is the conjugate of their transform, so those need no exchange.
    if (job.inverse && job.from != FourierForm::kReal) value = exchanged(value);
    storeNumber(complexScaled(value, job.scale), line, i);
  }
}

HWY_INLINE void writePair(const ComplexFourierJob& job, const AxisLanes& lanes, Complex value, std::int64_t i,
                          float* y) {
  writePairs(lanes, value, y + 2 * i * job.inner);
}

HWY_INLINE void writeReal(const ComplexFourierJob& job, const AxisLanes& lanes, VF value, std::int64_t i, float* y) {
  writeRealNumbers(lanes, value, y + i * job.inner);
}

HWY_INLINE void storeLines(const ComplexFourierJob& job, const AxisLanes& lanes, const float* line, float* y) {
  if (job.to == FourierForm::kReal) {
    // The parts of inverse transforms are exchanged.
    for (std::int64_t i = 0; i < job.turns.points; ++i) {
      const Complex value = loadNumber(line, i);
      writeReal(job, lanes, value.imaginary, job.paired ? 2 * i : i, y);
      if (job.paired) writeReal(job, lanes, value.real, 2 * i + 1, y);
    }
    return;
  }
  for (std::int64_t i = 0; i < job.results; ++i) {
    if (job.from == FourierForm::kReal) {
      const bool mirrored = 2 * i > job.size;
      const std::int64_t place = mirrored ? job.size - i : i;
      const Complex value = job.paired ? binOfPairs(job.turns, line, place) : loadNumber(line, place);
      writePair(job, lanes, mirrored != job.inverse ? conjugated(value) : value, i, y);
    } else {
      const Complex value = loadNumber(line, i);
      writePair(job, lanes, job.inverse ? exchanged(value) : value, i, y);
    }
  }
}

// Transforms lines [begin, end); scratch has room for two.
void runComplexFourier(const ComplexFourierJob& job, const float* x, float* y, float* scratch, std::int64_t begin,
                       std::int64_t end) {
  const std::int64_t width = static_cast<std::int64_t>(hn::Lanes(F32()));
  AxisLanes lanes;
  for (std::int64_t line = begin; line < end; line += width) {
    placeAxisLanes(job, line, end, &lanes);
    loadLines(job, lanes, x, scratch);
    storeLines(job, lanes, transformLines(job.turns.stages, scratch, scratch + 2 * job.turns.points * width), y);
  }
}

std::int64_t complexFourierLanes() { return static_cast<std::int64_t>(hn::Lanes(F32())); }

}  // namespace ipex_studio::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

#include <cmath>

#include "core/op/kernel.h"
#include "kernels/common/parallel.h"
#include "kernels/fourier/fourier_scale.h"

namespace ipex_studio {
namespace {

HWY_EXPORT(runComplexFourier);
HWY_EXPORT(complexFourierLanes);

using ComplexFourierRun = void (*)(const ComplexFourierJob&, const float*, float*, float*, std::int64_t, std::int64_t);

class ComplexFourierOp final : public PreparedOp {
 public:
  ComplexFourierJob job;
  ComplexFourierRun run = nullptr;
  std::int64_t lanes = 1, grain = 1;
  std::int32_t threads = 1;

  void execute(ExecState*, const void* const* from, void* const* to, void* scratch) const override {
    const std::int64_t lines = job.rows * job.inner, groups = (lines + lanes - 1) / lanes;
    parallelFor(groups, grain, threads, [&](std::int64_t begin, std::int64_t end, int thread) {
      run(job, static_cast<const float*>(from[0]), static_cast<float*>(to[0]),
          static_cast<float*>(scratch) + thread * 4 * job.turns.points * lanes, begin * lanes,
          std::min(end * lanes, lines));
    });
  }
};

// The job but for its turns.
ComplexFourierJob complexFourierJobOf(const PrepareArgs& args) {
  ComplexFourierJob job;
  job.from = fourierSource(args.spec);
  job.to = fourierResult(args.spec);
  const Dims& x = args.src[0].dims;
  const int rank = x.rank - (job.from == FourierForm::kReal ? 0 : 1),
            axis = wrappedAxis(args.spec.intOr("axis", 0), rank);
  job.rows = job.inner = 1;
  for (int before = 0; before < axis; ++before) job.rows *= x[before];
  for (int behind = axis + 1; behind < rank; ++behind) job.inner *= x[behind];
  job.length = x[axis];
  job.size = fourierSize(args.spec, job.length);
  job.results = args.dst[0].dims[axis];
  job.inverse = args.spec.intOr("inverse", 0) != 0;
  job.paired = job.size % 2 == 0 && (job.from == FourierForm::kReal || job.to == FourierForm::kReal);
  job.scale = static_cast<float>(inverseScale(args.spec, job.size, job.inverse));
  return job;
}

std::int64_t pointsOf(const ComplexFourierJob& job) { return job.paired ? job.size / 2 : job.size; }

class ComplexFourierSimd final : public Kernel {
 public:
  const char* name() const override { return "complex_fourier_simd"; }

  Verdict supports(const PrepareArgs& args) const override {
    if (!args.spec.post_ops.empty()) return Verdict::no("post-ops");
    if (args.src[0].dtype != DType::kF32) return Verdict::no("dtype");
    if (args.dst[0].dims.count() == 0 || args.src[0].dims.count() == 0) return Verdict::no("empty");
    const bool near = args.src[0].dims.count() <= std::numeric_limits<std::int32_t>::max();
    return near && hasRadices(pointsOf(complexFourierJobOf(args))) ? Verdict::yes() : Verdict::no("size");
  }

  std::unique_ptr<PreparedOp> prepare(const PrepareArgs& args, std::string*) const override {
    auto op = std::make_unique<ComplexFourierOp>();
    op->src = {contiguousDesc(DType::kF32, args.src[0].dims)};
    op->dst = {contiguousDesc(DType::kF32, args.dst[0].dims)};
    op->packed = {false};
    op->job = complexFourierJobOf(args);
    ComplexFourierJob& job = op->job;
    job.turns = fourierTurns(pointsOf(job), job.paired);
    op->lanes = IPEX_SELECT_TARGET(complexFourierLanes, args.target.isa)();
    op->run = IPEX_SELECT_TARGET(runComplexFourier, args.target.isa);
    op->threads = args.target.threads;
    const double passes = std::log2(static_cast<double>(job.size) + 1);
    const double both = job.paired ? 2.5 : 5;
    op->flops = static_cast<std::int64_t>(both * static_cast<double>(job.size) * passes) * job.rows * job.inner;
    op->grain = grainFor(job.size * static_cast<std::int64_t>(passes + 2));
    op->scratch_bytes = static_cast<std::size_t>(op->threads * 4 * job.turns.points * op->lanes) * sizeof(float);
    return op;
  }
};

}  // namespace

std::unique_ptr<Kernel> makeComplexFourierSimd() { return std::make_unique<ComplexFourierSimd>(); }

}  // namespace ipex_studio

#endif  // HWY_ONCE
