// Products of complex numbers in pairs: one operand's numbers times the real parts of the other's, and their parts
// exchanged times the imaginary ones.
//
// Declines: post-ops, dtype, empty.
#define HWY_TARGET_INCLUDE "kernels/fourier/complex_product_simd.cpp"
#include "kernels/common/simd-inl.h"

#include "kernels/fourier/complex_product_job.h"

HWY_BEFORE_NAMESPACE();
namespace ipex_studio::HWY_NAMESPACE {

HWY_INLINE void multiplyPair(const float* a, const float* b, float sign, float* y) {
  const float real = a[0] * b[0] - a[1] * (b[1] * sign), imaginary = a[1] * b[0] + a[0] * (b[1] * sign);
  y[0] = real;
  y[1] = imaginary;
}

#if HWY_TARGET != HWY_SCALAR
// The numbers at `place`, or the one there in all pairs of lanes.
HWY_INLINE VF pairsAt(const float* place, bool moves) {
  const F32 d;
  if (moves) return hn::LoadU(d, place);
  return hn::OddEven(hn::Set(d, place[1]), hn::Set(d, place[0]));
}
#endif

void multiplyPairs(const float* a, bool a_moves, const float* b, bool b_moves, float sign, std::int64_t count,
                   float* y) {
  std::int64_t i = 0;
#if HWY_TARGET != HWY_SCALAR
  const F32 d;
  const auto pairs = static_cast<std::int64_t>(hn::Lanes(d)) / 2;
  const VF signs = hn::OddEven(hn::Set(d, sign), hn::Set(d, -sign));
  for (; i + pairs <= count; i += pairs) {
    const VF x = pairsAt(a + (a_moves ? 2 * i : 0), a_moves), z = pairsAt(b + (b_moves ? 2 * i : 0), b_moves);
    const VF turned = hn::Mul(hn::Shuffle2301(x), hn::Mul(hn::DupOdd(z), signs));
    hn::StoreU(hn::MulAdd(x, hn::DupEven(z), turned), d, y + 2 * i);
  }
#endif
  for (; i < count; ++i) multiplyPair(a + (a_moves ? 2 * i : 0), b + (b_moves ? 2 * i : 0), sign, y + 2 * i);
}

}  // namespace ipex_studio::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

#include "core/op/kernel.h"
#include "kernels/common/parallel.h"

namespace ipex_studio {
namespace {

HWY_EXPORT(multiplyPairs);

class ComplexProductOp final : public PreparedOp {
 public:
  ComplexProductJob job;
  void (*run)(const float*, bool, const float*, bool, float, std::int64_t, float*) = nullptr;
  std::int64_t grain = 1;
  std::int32_t threads = 1;

  void execute(ExecState*, const void* const* from, void* const* to, void*) const override {
    const auto *a = static_cast<const float*>(from[0]), *b = static_cast<const float*>(from[1]);
    auto* y = static_cast<float*>(to[0]);
    parallelFor(job.lines * job.parts, grain, threads, [&](std::int64_t begin, std::int64_t end, int) {
      for (std::int64_t piece = begin; piece < end; ++piece) {
        const std::int64_t line = piece / job.parts, part = piece % job.parts;
        const std::int64_t first = job.length * part / job.parts, last = job.length * (part + 1) / job.parts;
        const std::int64_t a_place = job.offset(0, line) + (job.a_moves ? first : 0),
                           b_place = job.offset(1, line) + (job.b_moves ? first : 0);
        run(a + 2 * a_place, job.a_moves, b + 2 * b_place, job.b_moves, job.sign, last - first,
            y + 2 * (line * job.length + first));
      }
    });
  }
};

class ComplexProductSimd final : public Kernel {
 public:
  const char* name() const override { return "complex_product_simd"; }

  Verdict supports(const PrepareArgs& args) const override {
    if (!args.spec.post_ops.empty()) return Verdict::no("post-ops");
    if (args.src[0].dtype != DType::kF32 || args.src[1].dtype != DType::kF32) return Verdict::no("dtype");
    return args.dst[0].dims.count() > 0 ? Verdict::yes() : Verdict::no("empty");
  }

  std::unique_ptr<PreparedOp> prepare(const PrepareArgs& args, std::string*) const override {
    auto op = std::make_unique<ComplexProductOp>();
    for (const TensorDesc& src : args.src) op->src.push_back(contiguousDesc(DType::kF32, src.dims));
    op->dst = {contiguousDesc(DType::kF32, args.dst[0].dims)};
    op->packed = {false, false};
    op->job = complexProductJob(args.src[0].dims, args.src[1].dims, args.dst[0].dims);
    op->job.sign = args.spec.intOr("conjugate", 0) != 0 ? -1 : 1;
    constexpr std::int64_t kPart = 4096;
    op->job.parts = (op->job.length + kPart - 1) / kPart;
    op->flops = 6 * op->job.lines * op->job.length;
    op->grain = grainFor(8 * (op->job.length / op->job.parts));
    op->threads = args.target.threads;
    op->run = IPEX_SELECT_TARGET(multiplyPairs, args.target.isa);
    return op;
  }
};

}  // namespace

std::unique_ptr<Kernel> makeComplexProductSimd() { return std::make_unique<ComplexProductSimd>(); }

}  // namespace ipex_studio

#endif  // HWY_ONCE
