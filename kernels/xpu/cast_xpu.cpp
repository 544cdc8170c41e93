// Casts between floats, integers and bool on an OpenCL device (cast.cl), in the layout of the source.
//
// Declines: dtype, empty, size, post-ops.
#include "kernels/common/loop_nest.h"
#include "kernels/xpu/device_op.h"
#include "kernels/xpu/image_xpu.h"

namespace ipex_studio {
namespace {

class CastDeviceOp final : public DeviceOp {
 public:
  CastDeviceOp(OpenClDevice& device, cl_int elements)
      : DeviceOp(device, "cast", "cast", {64, 1, 1}), elements_(elements) {
    setItems(elements);
  }

 protected:
  void setArguments(OpenClKernel& kernel, const Launch& launch) const override {
    kernel.pointer(launch.src[0]);
    kernel.pointer(launch.dst[0]);
    kernel.value(elements_);
    kernel.value(cl_int{deviceType(src[0].dtype)});
    kernel.value(cl_int{deviceType(dst[0].dtype)});
  }

 private:
  cl_int elements_;
};

class CastXpu final : public Kernel {
 public:
  const char* name() const override { return "cast_xpu"; }

  Verdict supports(const PrepareArgs& args) const override {
    if (deviceType(args.src[0].dtype) < 0 || deviceType(args.dst[0].dtype) < 0) return Verdict::no("dtype");
    if (!args.spec.post_ops.empty()) return Verdict::no("post-ops");
    if (args.src[0].dims.count() == 0) return Verdict::no("empty");
    return fitsDevice(contiguousDesc(DType::kF32, args.src[0].dims)) ? Verdict::yes() : Verdict::no("size");
  }

  std::unique_ptr<PreparedOp> prepare(const PrepareArgs& args, std::string*) const override {
    const TensorDesc& given = args.src[0];
    const TensorDesc x = given.block == 0 && isDenseLayout(given) ? given : contiguousDesc(given.dtype, given.dims);
    auto op = std::make_unique<CastDeviceOp>(openClDevice(args), narrowed(x.dims.count()));
    op->src = {x};
    op->dst = {laidOutLike(x, args.dst[0].dtype, x.dims)};
    op->packed.assign(1, false);
    return op;
  }
};

}  // namespace

std::unique_ptr<Kernel> makeCastXpu() { return std::make_unique<CastXpu>(); }

}  // namespace ipex_studio
