// Sums or means of table rows per bag. Rows lie anywhere in a table far larger than the caches, so the rows of coming
// bags are fetched while the present one is added.
//
// Declines: dtype, post-ops.
#define HWY_TARGET_INCLUDE "kernels/index/embedding_bag_simd.cpp"
#include "kernels/common/simd-inl.h"

#include <algorithm>

#include "kernels/index/bag_sums-inl.h"
#include "kernels/index/embedding_bags-inl.h"
#include "kernels/index/row_sums-inl.h"

HWY_BEFORE_NAMESPACE();
namespace ipex_studio::HWY_NAMESPACE {

// Computes bags [begin, end). False if an index or an offset was out of range.
bool runEmbeddingBag(const EmbeddingBagJob& job, const void* ids, const void* offsets, const float* table, float* y,
                     std::int64_t begin, std::int64_t end) {
  if (bagsFit(job, ids, offsets, begin, end)) {
    sumCheckedBags(job, ids, offsets, table, y, begin, end);
    return true;
  }
  const auto add = [&](const RowAddends<float>& addends, float* sums, bool fresh)
                       HWY_ATTR { addRowsOf(addends, job.width, sums, fresh); };
  const auto finish = [&](float* sums, std::int64_t rows) HWY_ATTR {
    if (!job.mean || rows == 0) return;
    const float factor = 1.0f / static_cast<float>(rows);
    for (std::int64_t e = 0; e < job.width; ++e) sums[e] *= factor;
  };
  return sumBags(job, ids, offsets, table, job.width, y, begin, end, add, finish);
}

}  // namespace ipex_studio::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

#include "core/op/kernel.h"
#include "kernels/common/parallel.h"

namespace ipex_studio {
namespace {

HWY_EXPORT(runEmbeddingBag);

using EmbeddingBagRun = bool (*)(const EmbeddingBagJob&, const void*, const void*, const float*, float*, std::int64_t,
                                 std::int64_t);

class EmbeddingBagOp final : public PreparedOp {
 public:
  EmbeddingBagJob job;
  EmbeddingBagRun run = nullptr;
  std::int64_t bags = 0, grain = 1;
  std::int32_t threads = 1;

  std::unique_ptr<ExecState> newState() const override { return std::make_unique<ExecState>(); }

  void execute(ExecState* state, const void* const* from, void* const* to, void*) const override {
    parallelFor(bags, grain, threads, [&](std::int64_t begin, std::int64_t end, int) {
      if (!run(job, from[0], from[1], static_cast<const float*>(from[2]), static_cast<float*>(to[0]), begin, end)) {
        state->fail(kIndexOutOfRange);
      }
    });
  }
};

class EmbeddingBagSimd final : public Kernel {
 public:
  const char* name() const override { return "embedding_bag_simd"; }

  Verdict supports(const PrepareArgs& args) const override {
    const DType ids = args.src[0].dtype;
    if ((ids != DType::kS64 && ids != DType::kS32) || args.src[1].dtype != ids || args.src[2].dtype != DType::kF32) {
      return Verdict::no("dtype");
    }
    return args.spec.post_ops.empty() ? Verdict::yes() : Verdict::no("post-ops");
  }

  std::unique_ptr<PreparedOp> prepare(const PrepareArgs& args, std::string*) const override {
    auto op = std::make_unique<EmbeddingBagOp>();
    for (const TensorDesc& src : args.src) op->src.push_back(contiguousDesc(src.dtype, src.dims));
    op->dst = {contiguousDesc(DType::kF32, args.dst[0].dims)};
    op->packed.assign(args.src.size(), false);
    EmbeddingBagJob& job = op->job;
    job.index_type = args.src[0].dtype;
    job.ids = args.src[0].dims.count();
    job.offsets = args.src[1].dims.count();
    job.rows = args.src[2].dims[0];
    job.width = args.src[2].dims[1];
    job.mean = args.spec.stringOr("mode", "sum") == "mean";
    op->bags = args.dst[0].dims[0];
    op->grain = grainFor((job.ids / std::max<std::int64_t>(1, op->bags) + 1) * job.width);
    op->threads = args.target.threads;
    op->run = IPEX_SELECT_TARGET(runEmbeddingBag, args.target.isa);
    op->flops = job.ids * job.width;
    return op;
  }
};

}  // namespace

std::unique_ptr<Kernel> makeEmbeddingBagSimd() { return std::make_unique<EmbeddingBagSimd>(); }

}  // namespace ipex_studio

#endif  // HWY_ONCE
