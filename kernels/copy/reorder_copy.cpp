// Dense copies of strided tensors and moves between equal layouts, any dtype. The destination is exactly
// PrepareArgs::dst.
//
// Declines: dtype (casts), post-ops, layout (different blocks), transposed (no runs; oneDNN's generated code is faster
// where it knows the layouts, and what it leaves is copied element by element behind it in the list).
#include "core/op/kernel.h"
#include "kernels/common/parallel.h"
#include "kernels/copy/strided_copy.h"

namespace ipex_studio {
namespace {

class ReorderCopyOp final : public PreparedOp {
 public:
  StridedCopy copy;
  std::int32_t threads = 1;

  void execute(ExecState*, const void* const* from, void* const* to, void*) const override {
    parallelFor(copy.positions, copy.grain, threads, [&](std::int64_t begin, std::int64_t end, int) {
      copy.copy(static_cast<const char*>(from[0]), static_cast<char*>(to[0]), begin, end);
    });
  }
};

class ReorderCopy final : public Kernel {
 public:
  explicit ReorderCopy(bool by_elements) : by_elements_(by_elements) {}

  const char* name() const override { return by_elements_ ? "reorder_elements_copy" : "reorder_copy"; }

  Verdict supports(const PrepareArgs& args) const override {
    const TensorDesc &src = args.src[0], &dst = args.dst[0];
    if (src.dtype != dst.dtype) return Verdict::no("dtype");
    if (!args.spec.post_ops.empty()) return Verdict::no("post-ops");
    StridedCopy copy;
    if (!makeStridedCopy(src, dst, &copy)) return Verdict::no("layout");
    constexpr std::int64_t kShortRun = 4;
    const bool onednn_knows = elementBytes(src.dtype) <= 4;
    if (by_elements_) return Verdict::yes();
    if (onednn_knows && copy.run < kShortRun && copy.nest.count() > kShortRun) return Verdict::no("transposed");
    return Verdict::yes();
  }

  std::unique_ptr<PreparedOp> prepare(const PrepareArgs& args, std::string*) const override {
    auto op = std::make_unique<ReorderCopyOp>();
    makeStridedCopy(args.src[0], args.dst[0], &op->copy);
    op->src = args.src;
    op->dst = args.dst;
    op->packed.assign(args.src.size(), false);
    op->threads = args.target.threads;
    return op;
  }

 private:
  bool by_elements_;
};

}  // namespace

std::unique_ptr<Kernel> makeReorderCopy() { return std::make_unique<ReorderCopy>(false); }
std::unique_ptr<Kernel> makeReorderElementsCopy() { return std::make_unique<ReorderCopy>(true); }

}  // namespace ipex_studio
