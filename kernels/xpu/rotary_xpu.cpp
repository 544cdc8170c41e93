// Rotary embedding on an OpenCL device (rows.cl): a work item a pair of values.
//
// Declines: dtype, empty, layout, post-ops.
#include <algorithm>
#include <memory>

#include "kernels/xpu/device_op.h"
#include "kernels/xpu/rows_job.h"

namespace ipex_studio {
namespace {

class RotaryDeviceOp final : public DeviceOp {
 public:
  explicit RotaryDeviceOp(OpenClDevice& device) : DeviceOp(device, "rows", "rotary", {16, 4, 1}) {}
  RowsJob rows;
  cl_int rotated = 0, is_interleaved = 0, has_half = 0;

 protected:
  void setArguments(OpenClKernel& kernel, const Launch& launch) const override {
    for (const int source : {0, 1, 2}) kernel.pointer(launch.src[source]);
    kernel.pointer(launch.dst[0]);
    kernel.value(rows);
    kernel.value(rotated);
    kernel.value(is_interleaved);
    kernel.value(has_half);
  }
};

// The rows of a tensor, or the first of them where a table has more than x.
TensorDesc rowsOf(const TensorDesc& tensor, const Dims& of) {
  TensorDesc rows = alignRank(tensor, of.rank);
  rows.dims[of.rank - 1] = 1;
  for (int axis = 0; axis < of.rank - 1; ++axis) rows.dims[axis] = std::min(rows.dims[axis], of[axis]);
  return rows;
}

class RotaryXpu final : public Kernel {
 public:
  const char* name() const override { return "rotary_xpu"; }

  Verdict supports(const PrepareArgs& args) const override {
    if (!allF32(args)) return Verdict::no("dtype");
    if (!args.spec.post_ops.empty()) return Verdict::no("post-ops");
    const auto is_empty = [](const TensorDesc& src) { return src.dims.count() == 0; };
    return std::any_of(args.src.begin(), args.src.end(), is_empty) ? Verdict::no("empty") : Verdict::yes();
  }

  std::unique_ptr<PreparedOp> prepare(const PrepareArgs& args, std::string* reason) const override {
    const Dims& dims = args.src[0].dims;
    const int last = dims.rank - 1;
    auto op = std::make_unique<RotaryDeviceOp>(openClDevice(args));
    op->dst = {contiguousDesc(DType::kF32, dims)};
    op->packed = {false, false, false};
    std::vector<TensorDesc> tensors{rowsOf(op->dst[0], dims)};
    bool fits = fitsDevice(op->dst[0]);
    for (const TensorDesc& src : args.src) {
      const int axis = src.dims.rank - 1;
      const bool has_rows = src.block == 0 && (src.strides[axis] == 1 || src.dims[axis] == 1);
      op->src.push_back(has_rows ? src : contiguousDesc(DType::kF32, src.dims));
      fits = fits && fitsDevice(op->src.back());
      tensors.push_back(rowsOf(op->src.back(), dims));
    }
    op->rows.size = narrowed(dims[last]);
    if (!fits || !setRows(tensors, &op->rows)) {
      *reason = "layout";
      return nullptr;
    }
    op->rotated = narrowed(args.spec.intOr("rotated", dims[last]));
    op->is_interleaved = args.spec.intOr("interleaved", 0) != 0 ? 1 : 0;
    op->has_half = args.spec.intOr("half", 0) != 0 ? 1 : 0;
    op->setItems(op->rows.size - op->rotated / 2, op->rows.rows);
    op->may_alias = true;
    op->flops = 3 * dims.count();
    return op;
  }
};

}  // namespace

std::unique_ptr<Kernel> makeRotaryXpu() { return std::make_unique<RotaryXpu>(); }

}  // namespace ipex_studio
