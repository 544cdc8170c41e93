// Concatenation of two row-major tensors element by element: the axis is the last one and has size 1 in both, as sine
// and cosine are joined to position codes, or halves to complex numbers.
//
// Declines: dtype (elements of four bytes), sources, layout, axis.
#define HWY_TARGET_INCLUDE "kernels/copy/concat_interleaved_simd.cpp"
#include "kernels/common/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace ipex_studio::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// Writes a[i], b[i] to out[2·i], out[2·i + 1] for i in [begin, end).
void interleaveTwo(const std::uint32_t* a, const std::uint32_t* b, std::uint32_t* out, std::int64_t begin,
                   std::int64_t end) {
  std::int64_t i = begin;
#if HWY_TARGET != HWY_SCALAR
  const hn::ScalableTag<std::uint32_t> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  for (; i + lanes <= end; i += lanes) hn::StoreInterleaved2(hn::LoadU(d, a + i), hn::LoadU(d, b + i), d, out + 2 * i);
#endif
  for (; i < end; ++i) {
    out[2 * i] = a[i];
    out[2 * i + 1] = b[i];
  }
}

}  // namespace ipex_studio::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

#include "core/op/kernel.h"
#include "kernels/common/parallel.h"

namespace ipex_studio {
namespace {

HWY_EXPORT(interleaveTwo);

using Interleave = void (*)(const std::uint32_t*, const std::uint32_t*, std::uint32_t*, std::int64_t, std::int64_t);

class ConcatInterleavedOp final : public PreparedOp {
 public:
  Interleave run = nullptr;
  std::int64_t count = 0, grain = 1;  // elements of one source
  std::int32_t threads = 1;

  void execute(ExecState*, const void* const* from, void* const* to, void*) const override {
    parallelFor(count, grain, threads, [&](std::int64_t begin, std::int64_t end, int) {
      run(static_cast<const std::uint32_t*>(from[0]), static_cast<const std::uint32_t*>(from[1]),
          static_cast<std::uint32_t*>(to[0]), begin, end);
    });
  }
};

class ConcatInterleavedSimd final : public Kernel {
 public:
  const char* name() const override { return "concat_interleaved_simd"; }

  Verdict supports(const PrepareArgs& args) const override {
    if (args.src.size() != 2) return Verdict::no("sources");
    for (const TensorDesc& x : args.src) {
      const int last = x.dims.rank - 1;
      if (x.dtype != args.dst[0].dtype || elementBytes(x.dtype) != 4) return Verdict::no("dtype");
      if (!x.isContiguous()) return Verdict::no("layout");
      if (last < 1 || wrappedAxis(args.spec.intOr("axis", 0), x.dims.rank) != last || x.dims[last] != 1)
        return Verdict::no("axis");
    }
    return Verdict::yes();
  }

  std::unique_ptr<PreparedOp> prepare(const PrepareArgs& args, std::string*) const override {
    constexpr std::int64_t kWorkOfElement = 2;
    auto op = std::make_unique<ConcatInterleavedOp>();
    op->src = args.src;
    op->dst = {contiguousDesc(args.dst[0].dtype, args.dst[0].dims)};
    op->packed.assign(2, false);
    op->count = args.src[0].dims.count();
    op->grain = grainFor(kWorkOfElement);
    op->run = IPEX_SELECT_TARGET(interleaveTwo, args.target.isa);
    op->threads = args.target.threads;
    return op;
  }
};

}  // namespace

std::unique_ptr<Kernel> makeConcatInterleavedSimd() { return std::make_unique<ConcatInterleavedSimd>(); }

}  // namespace ipex_studio

#endif  // HWY_ONCE
