// Group normalization on an OpenCL device (rows.cl): a work item a group, in row-major order or with channels side by
// side.
//
// Declines: dtype, empty, size, post-ops.
#include "kernels/xpu/device_op.h"
#include "kernels/xpu/image_xpu.h"

namespace ipex_studio {
namespace {

struct GroupsJob {
  std::int32_t images = 0, groups = 0, channels = 0, pixels = 0;
  std::int32_t image_step = 0, channel_step = 0, pixel_step = 0, unused = 0;
};

class GroupNormDeviceOp final : public DeviceOp {
 public:
  GroupNormDeviceOp(OpenClDevice& device, const GroupsJob& job)
      : DeviceOp(device, "rows", "groupNorm", {4, 1, 1}), groups_(job) {
    setItems(std::int64_t{job.images} * job.groups);
  }
  cl_int has_gamma = 0, has_beta = 0;
  float eps = 0;

 protected:
  void setArguments(OpenClKernel& kernel, const Launch& launch) const override {
    kernel.pointer(launch.src[0]);
    kernel.pointer(launch.dst[0]);
    kernel.value(groups_);
    kernel.pointer(launch.src[has_gamma != 0 ? 1 : 0]);
    kernel.pointer(launch.src[has_beta != 0 ? 2 : 0]);
    kernel.value(has_gamma);
    kernel.value(has_beta);
    kernel.value(eps);
  }

 private:
  GroupsJob groups_;
};

class GroupNormXpu final : public Kernel {
 public:
  const char* name() const override { return "group_norm_xpu"; }

  Verdict supports(const PrepareArgs& args) const override {
    if (!allF32(args)) return Verdict::no("dtype");
    if (!args.spec.post_ops.empty()) return Verdict::no("post-ops");
    if (args.src[0].dims.count() == 0) return Verdict::no("empty");
    return fitsDevice(contiguousDesc(DType::kF32, args.src[0].dims)) ? Verdict::yes() : Verdict::no("size");
  }

  std::unique_ptr<PreparedOp> prepare(const PrepareArgs& args, std::string*) const override {
    const Dims& dims = args.src[0].dims;
    const bool is_image = dims.rank == 4 && args.src[0].sameLayout(channelsLastDesc(DType::kF32, dims));
    const TensorDesc x = is_image ? args.src[0] : contiguousDesc(DType::kF32, dims);
    GroupsJob job;
    job.images = narrowed(dims[0]);
    job.groups = narrowed(args.spec.intOr("groups", 1));
    job.channels = narrowed(dims[1] / job.groups);
    job.pixels = narrowed(dims.count() / (dims[0] * dims[1]));
    job.image_step = narrowed(dims.count() / dims[0]);
    job.channel_step = is_image ? 1 : job.pixels;
    job.pixel_step = is_image ? narrowed(dims[1]) : 1;
    auto op = std::make_unique<GroupNormDeviceOp>(openClDevice(args), job);
    op->src = {x};
    for (std::size_t s = 1; s < args.src.size(); ++s)
      op->src.push_back(args.src[s].absent() ? args.src[s] : contiguousDesc(DType::kF32, args.src[s].dims));
    op->dst = {x};
    op->packed.assign(args.src.size(), false);
    op->has_gamma = args.src.size() > 1 && !args.src[1].absent() ? 1 : 0;
    op->has_beta = args.src.size() > 2 && !args.src[2].absent() ? 1 : 0;
    op->eps = static_cast<float>(args.spec.floatOr("eps", 1e-5));
    return op;
  }
};

}  // namespace

std::unique_ptr<Kernel> makeGroupNormXpu() { return std::make_unique<GroupNormXpu>(); }

}  // namespace ipex_studio
