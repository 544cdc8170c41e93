// Sums, means and extremes over axes on an OpenCL device (reduce.cl).
//
// Declines: dtype, empty, layout, post-ops.
#include "kernels/common/loop_nest.h"
#include "kernels/common/reduce_axes.h"
#include "kernels/xpu/device_op.h"
#include "kernels/xpu/image_xpu.h"

namespace ipex_studio {
namespace {

struct ReduceJob {
  std::int32_t size = 0, loops = 0, is_extreme = 0, is_max = 0;
  float factor = 1;
  std::int32_t loop_size[DeviceChain::kMaxLoops] = {}, loop_stride[DeviceChain::kMaxLoops] = {};
};

class ReduceOp final : public ChainOp {
 public:
  explicit ReduceOp(OpenClDevice& device) : ChainOp(device, "reduce", "reduce", {16, 1, 1}) {}
  ReduceJob reduce;

 protected:
  void setOwn(OpenClKernel& kernel, const void* const*) const override { kernel.value(reduce); }
};

// x along the axes that are reduced, or along the others; the rest has size 1.
TensorDesc alongAxes(TensorDesc x, const std::vector<bool>& reduced, bool along_reduced) {
  for (int axis = 0; axis < x.dims.rank; ++axis) {
    if (reduced[static_cast<std::size_t>(axis)] != along_reduced) x.dims[axis] = 1;
  }
  return x;
}

bool describeReduce(const OpSpec& spec, const TensorDesc& reduced, ReduceJob* job) {
  LoopNest nest;
  if (!makeLoopNest({reduced}, &nest) || nest.loops() > DeviceChain::kMaxLoops) return false;
  const std::string mode = spec.stringOr("mode", "mean");
  job->size = narrowed(nest.count());
  job->loops = nest.loops();
  job->is_extreme = mode == "max" || mode == "min" ? 1 : 0;
  job->is_max = mode == "max" ? 1 : 0;
  job->factor = mode == "mean" ? 1.0f / static_cast<float>(job->size) : 1.0f;
  for (int loop = 0; loop < nest.loops(); ++loop) {
    job->loop_size[loop] = narrowed(nest.size[static_cast<std::size_t>(loop)]);
    job->loop_stride[loop] = narrowed(nest.stride[0][static_cast<std::size_t>(loop)]);
  }
  return true;
}

class ReduceXpu final : public Kernel {
 public:
  const char* name() const override { return "reduce_xpu"; }

  Verdict supports(const PrepareArgs& args) const override {
    if (!allInChains(args)) return Verdict::no("dtype");
    if (!args.spec.post_ops.empty()) return Verdict::no("post-ops");
    return args.src[0].dims.count() == 0 ? Verdict::no("empty") : Verdict::yes();
  }

  std::unique_ptr<PreparedOp> prepare(const PrepareArgs& args, std::string* reason) const override {
    TensorDesc x = args.src[0];
    if (x.block > 0) x = contiguousDesc(x.dtype, x.dims);
    const std::vector<bool> reduced = reducedAxes(args.spec, x.dims.rank);
    const TensorDesc kept = alongAxes(x, reduced, false);
    auto op = std::make_unique<ReduceOp>(openClDevice(args));
    op->src = {x};
    op->dst = {contiguousDesc(args.dst[0].dtype, args.dst[0].dims)};
    op->packed.assign(1, false);
    // The result with its reduced axes, which lies as the result does.
    ChainBuilder chain(contiguousDesc(args.dst[0].dtype, kept.dims));
    chain.walk(0, kept);
    if (!chain.finish(&op->job, reason)) return nullptr;
    if (!fitsDevice(x) || !describeReduce(args.spec, alongAxes(x, reduced, true), &op->reduce)) {
      *reason = "layout";
      return nullptr;
    }
    op->setItems((std::int64_t{op->job.chain.elements} + kLanes - 1) / kLanes);
    return op;
  }
};

}  // namespace

std::unique_ptr<Kernel> makeReduceXpu() { return std::make_unique<ReduceXpu>(); }

}  // namespace ipex_studio
