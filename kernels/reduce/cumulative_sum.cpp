// Running sums along an axis: of f32 in double precision, as libtorch adds them on the CPU, of s64 exactly (modulo
// 2^64). Lines side by side are summed together.
//
// Declines: dtype, post-ops.
#include <algorithm>

#include "core/op/kernel.h"
#include "kernels/common/line_walk.h"
#include "kernels/common/parallel.h"

namespace ipex_studio {
namespace {

constexpr std::int64_t kColumns = 64;  // lines that are summed together

// Sums `width` neighbouring lines together.
template <typename T, typename Sum>
void runningSums(const T* x, T* y, std::int64_t size, std::int64_t inner, std::int64_t width) {
  Sum sums[kColumns] = {};
  for (std::int64_t i = 0; i < size; ++i) {
    for (std::int64_t c = 0; c < width; ++c) {
      sums[c] += static_cast<Sum>(x[i * inner + c]);
      y[i * inner + c] = static_cast<T>(sums[c]);
    }
  }
}

class CumulativeSumOp final : public PreparedOp {
 public:
  LineWalk walk;
  std::int64_t pieces = 1, items = 0, grain = 1;
  std::int32_t threads = 1;

  void execute(ExecState*, const void* const* from, void* const* to, void*) const override {
    parallelFor(items, grain, threads, [&](std::int64_t begin, std::int64_t end, int) {
      for (std::int64_t item = begin; item < end; ++item) {
        const std::int64_t column = item % pieces * kColumns, at = item / pieces * walk.size * walk.inner + column;
        const std::int64_t width = std::min(kColumns, walk.inner - column);
        if (src[0].dtype == DType::kF32) {
          runningSums<float, double>(static_cast<const float*>(from[0]) + at, static_cast<float*>(to[0]) + at,
                                     walk.size, walk.inner, width);
        } else {
          runningSums<std::int64_t, std::uint64_t>(static_cast<const std::int64_t*>(from[0]) + at,
                                                   static_cast<std::int64_t*>(to[0]) + at, walk.size, walk.inner,
                                                   width);
        }
      }
    });
  }
};

class CumulativeSum final : public Kernel {
 public:
  const char* name() const override { return "cumulative_sum"; }

  Verdict supports(const PrepareArgs& args) const override {
    if (args.src[0].dtype != DType::kF32 && args.src[0].dtype != DType::kS64) return Verdict::no("dtype");
    return args.spec.post_ops.empty() ? Verdict::yes() : Verdict::no("post-ops");
  }

  std::unique_ptr<PreparedOp> prepare(const PrepareArgs& args, std::string*) const override {
    auto op = std::make_unique<CumulativeSumOp>();
    op->src = {contiguousDesc(args.src[0].dtype, args.src[0].dims)};
    op->dst = {contiguousDesc(args.dst[0].dtype, args.dst[0].dims)};
    op->packed = {false};
    op->may_alias = true;
    op->walk = linesAlong(args.spec, args.src[0].dims);
    op->pieces = (op->walk.inner + kColumns - 1) / kColumns;
    op->items = op->walk.inner == 0 ? 0 : op->walk.lines / op->walk.inner * op->pieces;
    op->grain = grainFor(op->walk.size * std::min(kColumns, op->walk.inner));
    op->threads = args.target.threads;
    return op;
  }
};

}  // namespace

std::unique_ptr<Kernel> makeCumulativeSum() { return std::make_unique<CumulativeSum>(); }

}  // namespace ipex_studio
