// Chains of elementwise operations on an OpenCL device, interpreted 16 elements at once (pointwise.cl).
//
// Declines: dtype, layout (a blocked result, more loops than programs walk), post-ops (a long chain, many operands).
#include "kernels/common/loop_nest.h"
#include "kernels/xpu/device_op.h"

namespace ipex_studio {
namespace {

class PointwiseDeviceOp final : public ChainOp {
 public:
  explicit PointwiseDeviceOp(OpenClDevice& device) : ChainOp(device, "pointwise", "pointwise", {64, 1, 1}) {}
  void setSize() { setItems((std::int64_t{job.chain.elements} + 15) / 16); }

 protected:
  void setOwn(OpenClKernel&, const void* const*) const override {}
};

// The layout of the first operand that has the result's sizes; row-major where none is dense.
TensorDesc resultLayout(const PrepareArgs& args) {
  const TensorDesc& dst = args.dst[0];
  for (const TensorDesc& src : args.src) {
    if (src.dims == dst.dims && src.block == 0 && isDenseLayout(src)) return laidOutLike(src, dst.dtype, dst.dims);
  }
  return contiguousDesc(dst.dtype, dst.dims);
}

TensorDesc stridedLayout(const TensorDesc& src) { return src.block == 0 ? src : contiguousDesc(src.dtype, src.dims); }

class PointwiseXpu final : public Kernel {
 public:
  const char* name() const override { return "pointwise_xpu"; }

  Verdict supports(const PrepareArgs& args) const override {
    return allInChains(args) ? Verdict::yes() : Verdict::no("dtype");
  }

  std::unique_ptr<PreparedOp> prepare(const PrepareArgs& given, std::string* reason) const override {
    PrepareArgs args = given;
    for (TensorDesc& src : args.src) src = stridedLayout(src);
    auto op = std::make_unique<PointwiseDeviceOp>(openClDevice(args));
    op->src = args.src;
    op->dst = {resultLayout(args)};
    op->packed.assign(args.src.size(), false);
    op->may_alias = true;
    op->flops = args.dst[0].dims.count() * static_cast<std::int64_t>(args.spec.post_ops.size());
    ChainBuilder chain(op->dst[0]);
    chain.walk(0, args.src[0]);
    chain.applyPostOps(args, 1);
    if (!chain.finish(&op->job, reason)) return nullptr;
    op->setSize();
    return op;
  }
};

// Copies between strided layouts: a chain of nothing.
class ReorderXpu final : public Kernel {
 public:
  const char* name() const override { return "reorder_xpu"; }

  Verdict supports(const PrepareArgs& args) const override {
    const bool same = args.src[0].dtype == args.dst[0].dtype && isInChains(args.src[0].dtype);
    return same ? Verdict::yes() : Verdict::no("dtype");
  }

  std::unique_ptr<PreparedOp> prepare(const PrepareArgs& args, std::string* reason) const override {
    auto op = std::make_unique<PointwiseDeviceOp>(openClDevice(args));
    op->src = args.src;
    op->dst = args.dst;
    op->packed.assign(1, false);
    ChainBuilder chain(args.dst[0]);
    chain.walk(0, args.src[0]);
    if (!chain.finish(&op->job, reason)) return nullptr;
    op->setSize();
    return op;
  }
};

}  // namespace

std::unique_ptr<Kernel> makePointwiseXpu() { return std::make_unique<PointwiseXpu>(); }
std::unique_ptr<Kernel> makeReorderXpu() { return std::make_unique<ReorderXpu>(); }

}  // namespace ipex_studio
