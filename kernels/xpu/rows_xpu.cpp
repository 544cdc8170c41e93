// Softmax and layer normalization on an OpenCL device (rows.cl): a work item a row.
//
// Declines: dtype, empty, mask, operands (a residual, a second result), layout, post-ops.
#include "kernels/common/loop_nest.h"
#include "kernels/xpu/device_op.h"
#include "kernels/xpu/image_xpu.h"

namespace ipex_studio {
namespace {

struct RowsJob {
  static constexpr int kMaxLoops = 6;
  std::int32_t rows = 0, size = 0, loops = 0, x_step = 1, y_step = 1;
  std::int32_t row_size[kMaxLoops] = {}, x_stride[kMaxLoops] = {}, y_stride[kMaxLoops] = {};
};

constexpr WorkSize kRowGroup{16, 1, 1};

class SoftmaxDeviceOp final : public DeviceOp {
 public:
  explicit SoftmaxDeviceOp(OpenClDevice& device) : DeviceOp(device, "rows", "softmax", kRowGroup) {}
  RowsJob rows;
  float scale = 1;
  cl_int is_log = 0;

 protected:
  void setArguments(OpenClKernel& kernel, const void* const* from, void* const* to) const override {
    kernel.pointer(from[0]);
    kernel.pointer(to[0]);
    kernel.value(rows);
    kernel.value(scale);
    kernel.value(is_log);
  }
};

class LayerNormDeviceOp final : public DeviceOp {
 public:
  explicit LayerNormDeviceOp(OpenClDevice& device) : DeviceOp(device, "rows", "layerNorm", kRowGroup) {}
  RowsJob rows;
  cl_int has_gamma = 0, has_beta = 0, mode = 0;
  float eps = 0;

 protected:
  void setArguments(OpenClKernel& kernel, const void* const* from, void* const* to) const override {
    kernel.pointer(from[0]);
    kernel.pointer(to[0]);
    kernel.value(rows);
    kernel.pointer(has_gamma != 0 ? from[1] : to[0]);
    kernel.pointer(has_beta != 0 ? from[2] : to[0]);
    kernel.value(has_gamma);
    kernel.value(has_beta);
    kernel.value(mode);
    kernel.value(eps);
  }
};

// Walks the rows of x and y, whose axis `axis` holds the elements of one.
bool walkRows(TensorDesc x, TensorDesc y, int axis, RowsJob* job) {
  job->size = narrowed(y.dims[axis]);
  job->x_step = narrowed(x.strides[axis]);
  job->y_step = narrowed(y.strides[axis]);
  x.dims[axis] = y.dims[axis] = 1;
  LoopNest nest;
  if (!fitsDevice(x) || !fitsDevice(y) || !makeLoopNest({y, x}, &nest) || nest.loops() > RowsJob::kMaxLoops)
    return false;
  job->rows = narrowed(nest.count());
  job->loops = nest.loops();
  for (int loop = 0; loop < nest.loops(); ++loop) {
    const auto l = static_cast<std::size_t>(loop);
    job->row_size[loop] = narrowed(nest.size[l]);
    job->y_stride[loop] = narrowed(nest.stride[0][l]);
    job->x_stride[loop] = narrowed(nest.stride[1][l]);
  }
  return true;
}

class SoftmaxXpu final : public Kernel {
 public:
  const char* name() const override { return "softmax_xpu"; }

  Verdict supports(const PrepareArgs& args) const override {
    if (!allF32(args)) return Verdict::no("dtype");
    if (!args.spec.post_ops.empty()) return Verdict::no("post-ops");
    if (args.src[0].dims.count() == 0 || args.src[0].dims.rank == 0) return Verdict::no("empty");
    return args.src.size() > 1 && !args.src[1].absent() ? Verdict::no("mask") : Verdict::yes();
  }

  std::unique_ptr<PreparedOp> prepare(const PrepareArgs& args, std::string* reason) const override {
    auto op = std::make_unique<SoftmaxDeviceOp>(openClDevice(args));
    op->src = args.src;
    if (op->src[0].block > 0) op->src[0] = contiguousDesc(DType::kF32, op->src[0].dims);
    op->dst = {contiguousDesc(DType::kF32, args.dst[0].dims)};
    op->packed.assign(args.src.size(), false);
    op->scale = static_cast<float>(args.spec.floatOr("scale", 1));
    op->is_log = args.spec.intOr("log", 0) != 0 ? 1 : 0;
    const int axis = wrappedAxis(args.spec.intOr("axis", -1), op->src[0].dims.rank);
    if (!walkRows(op->src[0], op->dst[0], axis, &op->rows)) {
      *reason = "layout";
      return nullptr;
    }
    op->setItems(op->rows.rows);
    return op;
  }
};

class LayerNormXpu final : public Kernel {
 public:
  const char* name() const override { return "layer_norm_xpu"; }

  Verdict supports(const PrepareArgs& args) const override {
    if (!allF32(args)) return Verdict::no("dtype");
    if (!args.spec.post_ops.empty()) return Verdict::no("post-ops");
    if (args.src[0].dims.count() == 0) return Verdict::no("empty");
    const bool plain = args.dst.size() == 1 && (args.src.size() < 4 || args.src[3].absent());
    return plain ? Verdict::yes() : Verdict::no("operands");
  }

  std::unique_ptr<PreparedOp> prepare(const PrepareArgs& args, std::string* reason) const override {
    auto op = std::make_unique<LayerNormDeviceOp>(openClDevice(args));
    op->src = args.src;
    for (TensorDesc& src : op->src) {
      if (!src.absent()) src = contiguousDesc(DType::kF32, src.dims);
    }
    op->dst = {contiguousDesc(DType::kF32, args.dst[0].dims)};
    op->packed.assign(args.src.size(), false);
    op->has_gamma = args.src.size() > 1 && !args.src[1].absent() ? 1 : 0;
    op->has_beta = args.src.size() > 2 && !args.src[2].absent() ? 1 : 0;
    op->mode = args.spec.intOr("l2", 0) != 0 ? 2 : args.spec.intOr("rms", 0) != 0 ? 1 : 0;
    op->eps = static_cast<float>(args.spec.floatOr("eps", 1e-5));
    const Dims& dims = args.dst[0].dims;
    std::int64_t size = 1;
    for (int axis = dims.rank - static_cast<int>(args.spec.intOr("axes", 1)); axis < dims.rank; ++axis)
      size *= dims[axis];
    const TensorDesc matrix = contiguousDesc(DType::kF32, Dims{dims.count() / size, size});
    if (!walkRows(matrix, matrix, 1, &op->rows)) {
      *reason = "layout";
      return nullptr;
    }
    op->setItems(op->rows.rows);
    return op;
  }
};

}  // namespace

std::unique_ptr<Kernel> makeSoftmaxXpu() { return std::make_unique<SoftmaxXpu>(); }
std::unique_ptr<Kernel> makeLayerNormXpu() { return std::make_unique<LayerNormXpu>(); }

}  // namespace ipex_studio
