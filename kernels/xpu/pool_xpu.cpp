// Pools of images on an OpenCL device (pool.cl), with windows of fixed and of adaptive size.
//
// Declines: dtype, empty, rank (other than images of two axes), size, post-ops.
#include "kernels/common/convolution_geometry.h"
#include "kernels/xpu/device_op.h"
#include "kernels/xpu/image_xpu.h"

namespace ipex_studio {
namespace {

struct PoolJob {
  std::int32_t pixels = 0, height = 0, width = 0, channels = 0;
  std::int32_t x_height = 0, x_width = 0, x_image = 0, x_row = 0, x_pixel = 0, x_type = 0;
  std::int32_t kernel[2] = {1, 1}, stride[2] = {1, 1}, padding[2] = {}, dilation[2] = {1, 1}, end[2] = {};
  std::int32_t is_max = 0, counts_padding = 0, adaptive = 0;
};

class PoolOp final : public ChainOp {
 public:
  PoolOp(OpenClDevice& device, const PoolJob& job) : ChainOp(device, "pool", "pool", {4, 16, 1}), pool_(job) {
    setItems(wholeLanes(job.channels) / kLanes, job.pixels);
  }

 protected:
  void setOwn(OpenClKernel& kernel, const void* const* src) const override {
    kernel.pointer(src[0]);
    kernel.value(pool_);
  }

 private:
  PoolJob pool_;
};

PoolJob describePool(const OpSpec& spec, const TensorDesc& x, const Dims& y) {
  PoolJob job;
  describeImage(x, y, &job);
  job.channels = narrowed(y[1]);
  job.adaptive = spec.kind == OpKind::kAdaptivePool ? 1 : 0;
  const std::string mode = spec.stringOr("mode", job.adaptive != 0 ? "avg" : "max");
  job.is_max = mode == "max" ? 1 : 0;
  job.counts_padding = mode == "avg" ? 1 : 0;
  if (job.adaptive != 0) return job;
  const ConvolutionGeometry geometry = convolutionGeometry(spec, 2);
  const Ints kernel = spatialInts(spec, "kernel", 2, 1);
  describeWindow(geometry, &job);
  for (std::size_t s = 0; s < 2; ++s) {
    job.kernel[s] = narrowed(kernel[s]);
    job.end[s] = narrowed(x.dims[static_cast<int>(s) + 2] + geometry.padding_end[s]);
  }
  return job;
}

class PoolXpu final : public Kernel {
 public:
  const char* name() const override { return "pool_xpu"; }

  Verdict supports(const PrepareArgs& args) const override {
    if (!allInChains(args)) return Verdict::no("dtype");
    if (args.dst[0].dims.rank != 4 || args.src[0].dims.rank != 4) return Verdict::no("rank");
    return args.src[0].dims.count() == 0 ? Verdict::no("empty") : Verdict::yes();
  }

  std::unique_ptr<PreparedOp> prepare(const PrepareArgs& given, std::string* reason) const override {
    auto operands = operandsOfImage(given, reason);
    if (!operands) return nullptr;
    auto op = std::make_unique<PoolOp>(openClDevice(given),
                                       describePool(given.spec, operands->args.src[0], operands->dst.dims));
    std::move(*operands).moveTo(op.get());
    return op;
  }
};

}  // namespace

std::unique_ptr<Kernel> makePoolXpu() { return std::make_unique<PoolXpu>(); }

}  // namespace ipex_studio
