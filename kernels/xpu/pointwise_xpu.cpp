// Chains of elementwise operations on an OpenCL device, interpreted 16 elements at once (pointwise.cl).
//
// Declines: dtype, layout (a blocked result, more loops than programs walk), post-ops (a long chain, many operands).
#include "kernels/common/loop_nest.h"
#include "kernels/xpu/device_op.h"
#include "kernels/xpu/image_xpu.h"

namespace ipex_studio {
namespace {

class PointwiseDeviceOp final : public ChainOp {
 public:
  PointwiseDeviceOp(OpenClDevice& device, ChainJob chain) : ChainOp(device, "pointwise", "pointwise", {64, 1, 1}) {
    job = std::move(chain);
    setItems((std::int64_t{job.chain.elements} + 15) / 16);
  }

 protected:
  void setOwn(OpenClKernel&, const void* const*) const override {}
};

// True if the source lies side by side along the loop around the innermost one, and the result along that.
bool isTransposed(const DeviceChain& chain) {
  const int inner = chain.loops - 1;
  return inner > 0 && chain.stride[0][inner] == 1 && chain.stride[1][inner] > 1 && chain.stride[1][inner - 1] == 1;
}

// Copies by tiles where that is so.
class TransposeDeviceOp final : public ChainOp {
 public:
  TransposeDeviceOp(OpenClDevice& device, ChainJob chain, std::size_t element)
      : ChainOp(device, "pointwise", functionOf(element), {1, 8, 1}) {
    constexpr std::int64_t kRows = 32;
    job = std::move(chain);
    const int inner = job.chain.loops - 1;
    const std::int64_t columns = job.chain.size[inner], rows = job.chain.size[inner - 1];
    setItems((columns + kLanes - 1) / kLanes, (rows + kRows - 1) / kRows, job.chain.elements / (columns * rows));
  }

 protected:
  void setOwn(OpenClKernel&, const void* const*) const override {}

 private:
  static const char* functionOf(std::size_t element) {
    return element == 4 ? "transpose_4" : element == 2 ? "transpose_2" : "transpose_1";
  }
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
    const TensorDesc dst = resultLayout(args);
    ChainBuilder chain(dst);
    chain.walk(0, args.src[0]);
    chain.applyPostOps(args, 1);
    ChainJob job;
    if (!chain.finish(&job, reason)) return nullptr;
    auto op = std::make_unique<PointwiseDeviceOp>(openClDevice(args), std::move(job));
    op->src = args.src;
    op->dst = {dst};
    op->packed.assign(args.src.size(), false);
    op->may_alias = true;
    op->flops = args.dst[0].dims.count() * static_cast<std::int64_t>(args.spec.post_ops.size());
    return op;
  }
};

// Copies between strided layouts: a chain of nothing, or tiles.
class ReorderXpu final : public Kernel {
 public:
  const char* name() const override { return "reorder_xpu"; }

  Verdict supports(const PrepareArgs& args) const override {
    const bool same = args.src[0].dtype == args.dst[0].dtype && isInChains(args.src[0].dtype);
    return same ? Verdict::yes() : Verdict::no("dtype");
  }

  std::unique_ptr<PreparedOp> prepare(const PrepareArgs& args, std::string* reason) const override {
    ChainBuilder chain(args.dst[0]);
    chain.walk(0, args.src[0]);
    ChainJob job;
    if (!chain.finish(&job, reason)) return nullptr;
    std::unique_ptr<ChainOp> op;
    if (isTransposed(job.chain)) {
      const std::size_t element = elementBytes(args.src[0].dtype);
      op = std::make_unique<TransposeDeviceOp>(openClDevice(args), std::move(job), element);
    } else {
      op = std::make_unique<PointwiseDeviceOp>(openClDevice(args), std::move(job));
    }
    op->src = args.src;
    op->dst = args.dst;
    op->packed.assign(1, false);
    return op;
  }
};

}  // namespace

std::unique_ptr<Kernel> makePointwiseXpu() { return std::make_unique<PointwiseXpu>(); }
std::unique_ptr<Kernel> makeReorderXpu() { return std::make_unique<ReorderXpu>(); }

}  // namespace ipex_studio
