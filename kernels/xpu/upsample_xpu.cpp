// Nearest and bilinear resizing of images on an OpenCL device (upsample.cl).
//
// Declines: dtype, empty, rank (other than images of two axes), mode, size, post-ops.
#include <algorithm>

#include "kernels/xpu/device_op.h"
#include "kernels/xpu/image_xpu.h"

namespace ipex_studio {
namespace {

struct UpsampleJob {
  std::int32_t pixels = 0, height = 0, width = 0, channels = 0;
  std::int32_t x_height = 0, x_width = 0, x_image = 0, x_row = 0, x_pixel = 0, x_type = 0;
  std::int32_t is_nearest = 0, aligns_corners = 0;
  float scale[2] = {1, 1};
  std::int32_t divisor[2] = {1, 1};
  float reciprocal[2] = {1, 1};
};

class UpsampleOp final : public ChainOp {
 public:
  UpsampleOp(OpenClDevice& device, const UpsampleJob& job)
      : ChainOp(device, "upsample", "resize", {4, 16, 1}), upsample_(job) {
    setItems(wholeLanes(job.channels) / kLanes, job.pixels);
  }

 protected:
  void setOwn(OpenClKernel& kernel, const void* const* src) const override {
    kernel.pointer(src[0]);
    kernel.value(upsample_);
  }

 private:
  UpsampleJob upsample_;
};

UpsampleJob describeUpsample(const OpSpec& spec, const TensorDesc& x, const Dims& y) {
  UpsampleJob job;
  describeImage(x, y, &job);
  job.channels = narrowed(y[1]);
  job.is_nearest = spec.stringOr("mode", "nearest") == "nearest" ? 1 : 0;
  job.aligns_corners = spec.intOr("align_corners", 0) != 0 ? 1 : 0;
  for (int s = 0; s < 2; ++s) {
    const std::int64_t in = x.dims[s + 2], out = y[s + 2];
    job.scale[s] = static_cast<float>(static_cast<double>(in) / static_cast<double>(out));
    job.divisor[s] = narrowed(job.aligns_corners != 0 ? std::max<std::int64_t>(out - 1, 1) : 2 * out);
    job.reciprocal[s] = 1.0f / static_cast<float>(job.divisor[s]);
  }
  return job;
}

class UpsampleXpu final : public Kernel {
 public:
  const char* name() const override { return "upsample_xpu"; }

  Verdict supports(const PrepareArgs& args) const override {
    if (!allInChains(args)) return Verdict::no("dtype");
    if (args.dst[0].dims.rank != 4) return Verdict::no("rank");
    if (args.dst[0].dims.count() == 0 || args.src[0].dims.count() == 0) return Verdict::no("empty");
    const std::string mode = args.spec.stringOr("mode", "nearest");
    return mode == "nearest" || mode == "bilinear" ? Verdict::yes() : Verdict::no("mode");
  }

  std::unique_ptr<PreparedOp> prepare(const PrepareArgs& given, std::string* reason) const override {
    auto operands = operandsOfImage(given, reason);
    if (!operands) return nullptr;
    auto op = std::make_unique<UpsampleOp>(openClDevice(given),
                                           describeUpsample(given.spec, operands->args.src[0], operands->dst.dims));
    std::move(*operands).moveTo(op.get());
    return op;
  }
};

}  // namespace

std::unique_ptr<Kernel> makeUpsampleXpu() { return std::make_unique<UpsampleXpu>(); }

}  // namespace ipex_studio
