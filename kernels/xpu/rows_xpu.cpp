// Softmax and layer normalization on an OpenCL device (rows.cl): a team or a work item a row.
//
// Declines: dtype, empty, layout, post-ops.
#include "kernels/xpu/device_op.h"
#include "kernels/xpu/image_xpu.h"
#include "kernels/xpu/rows_job.h"
#include "kernels/xpu/tiles.h"

namespace ipex_studio {
namespace {

class SoftmaxDeviceOp final : public DeviceOp {
 public:
  explicit SoftmaxDeviceOp(OpenClDevice& device) : DeviceOp(device, "rows", "softmax", teamGroup(device)) {}
  RowsJob rows;
  float scale = 1;
  cl_int is_log = 0, has_mask = 0;

 protected:
  void setArguments(OpenClKernel& kernel, const Launch& launch) const override {
    kernel.pointer(launch.src[0]);
    kernel.pointer(launch.src[has_mask != 0 ? 1 : 0]);
    kernel.pointer(launch.dst[0]);
    kernel.value(rows);
    kernel.value(scale);
    kernel.value(is_log);
    kernel.value(has_mask);
  }
};

class LayerNormDeviceOp final : public DeviceOp {
 public:
  explicit LayerNormDeviceOp(OpenClDevice& device) : DeviceOp(device, "rows", "layerNorm", teamGroup(device)) {}
  RowsJob rows;
  cl_int has_residual = 0, has_gamma = 0, has_beta = 0, mode = 0;
  float eps = 0;

 protected:
  void setArguments(OpenClKernel& kernel, const Launch& launch) const override {
    const cl_int has_total = dst.size() > 1 ? 1 : 0;
    kernel.pointer(launch.src[0]);
    kernel.pointer(launch.src[has_residual != 0 ? 3 : 0]);
    kernel.pointer(launch.dst[0]);
    kernel.pointer(launch.dst[has_total != 0 ? 1 : 0]);
    kernel.value(rows);
    kernel.pointer(launch.src[has_gamma != 0 ? 1 : 0]);
    kernel.pointer(launch.src[has_beta != 0 ? 2 : 0]);
    kernel.value(has_residual);
    kernel.value(has_total);
    kernel.value(has_gamma);
    kernel.value(has_beta);
    kernel.value(mode);
    kernel.value(eps);
  }
};

// Walks the rows of y, x and a mask, which may be absent; axis `axis` of y holds the elements of one.
bool walkRows(const TensorDesc& y, const TensorDesc& x, const TensorDesc& mask, int axis, RowsJob* job) {
  std::vector<TensorDesc> tensors{y, x};
  if (!mask.absent()) tensors.push_back(mask);
  job->size = narrowed(y.dims[axis]);
  for (std::size_t t = 0; t < tensors.size(); ++t) {
    // A mask may have fewer axes, which are the last ones, or one element for all.
    const int own_axis = axis - (y.dims.rank - tensors[t].dims.rank);
    if (!fitsDevice(tensors[t])) return false;
    if (own_axis < 0) continue;
    job->step[t] = tensors[t].dims[own_axis] == 1 ? 0 : narrowed(tensors[t].strides[own_axis]);
    tensors[t].dims[own_axis] = 1;
  }
  return setRows(tensors, job);
}

bool has(const PrepareArgs& args, std::size_t source) { return source < args.src.size() && !args.src[source].absent(); }

class SoftmaxXpu final : public Kernel {
 public:
  const char* name() const override { return "softmax_xpu"; }

  Verdict supports(const PrepareArgs& args) const override {
    if (!allF32(args)) return Verdict::no("dtype");
    if (!args.spec.post_ops.empty()) return Verdict::no("post-ops");
    if (args.src[0].dims.count() == 0 || args.src[0].dims.rank == 0) return Verdict::no("empty");
    return Verdict::yes();
  }

  std::unique_ptr<PreparedOp> prepare(const PrepareArgs& args, std::string* reason) const override {
    auto op = std::make_unique<SoftmaxDeviceOp>(openClDevice(args));
    op->src = args.src;
    for (TensorDesc& src : op->src) {
      if (src.block > 0) src = contiguousDesc(DType::kF32, src.dims);
    }
    op->dst = {contiguousDesc(DType::kF32, args.dst[0].dims)};
    op->packed.assign(args.src.size(), false);
    op->scale = static_cast<float>(args.spec.floatOr("scale", 1));
    op->is_log = args.spec.intOr("log", 0) != 0 ? 1 : 0;
    const int axis = wrappedAxis(args.spec.intOr("axis", -1), op->src[0].dims.rank);
    op->has_mask = has(args, 1) ? 1 : 0;
    if (!walkRows(op->dst[0], op->src[0], op->has_mask != 0 ? op->src[1] : TensorDesc(), axis, &op->rows)) {
      *reason = "layout";
      return nullptr;
    }
    op->setItems(op->rows.rows * teamItems(openClDevice(args)));
    return op;
  }
};

class LayerNormXpu final : public Kernel {
 public:
  const char* name() const override { return "layer_norm_xpu"; }

  Verdict supports(const PrepareArgs& args) const override {
    if (!allF32(args)) return Verdict::no("dtype");
    if (!args.spec.post_ops.empty()) return Verdict::no("post-ops");
    return args.src[0].dims.count() == 0 ? Verdict::no("empty") : Verdict::yes();
  }

  std::unique_ptr<PreparedOp> prepare(const PrepareArgs& args, std::string* reason) const override {
    auto op = std::make_unique<LayerNormDeviceOp>(openClDevice(args));
    op->src = args.src;
    for (TensorDesc& src : op->src) {
      if (!src.absent()) src = contiguousDesc(DType::kF32, src.dims);
    }
    for (const TensorDesc& dst : args.dst) op->dst.push_back(contiguousDesc(DType::kF32, dst.dims));
    op->packed.assign(args.src.size(), false);
    op->has_gamma = has(args, 1) ? 1 : 0;
    op->has_beta = has(args, 2) ? 1 : 0;
    op->has_residual = has(args, 3) ? 1 : 0;
    op->mode = args.spec.intOr("l2", 0) != 0 ? 2 : args.spec.intOr("rms", 0) != 0 ? 1 : 0;
    op->eps = static_cast<float>(args.spec.floatOr("eps", 1e-5));
    const Dims& dims = args.dst[0].dims;
    std::int64_t size = 1;
    for (int axis = dims.rank - static_cast<int>(args.spec.intOr("axes", 1)); axis < dims.rank; ++axis)
      size *= dims[axis];
    const TensorDesc matrix = contiguousDesc(DType::kF32, Dims{dims.count() / size, size});
    if (!walkRows(matrix, matrix, TensorDesc(), 1, &op->rows)) {
      *reason = "layout";
      return nullptr;
    }
    op->setItems(op->rows.rows * teamItems(openClDevice(args)));
    return op;
  }
};

}  // namespace

std::unique_ptr<Kernel> makeSoftmaxXpu() { return std::make_unique<SoftmaxXpu>(); }
std::unique_ptr<Kernel> makeLayerNormXpu() { return std::make_unique<LayerNormXpu>(); }

}  // namespace ipex_studio
