// Concatenation on an OpenCL device: each source is copied into its place by a launch of its own (pointwise.cl).
//
// Declines: dtype, empty, layout, post-ops.
#include "kernels/common/concat_layout.h"
#include "kernels/common/loop_nest.h"
#include "kernels/xpu/device_op.h"
#include "kernels/xpu/image_xpu.h"

namespace ipex_studio {
namespace {

class ConcatDeviceOp final : public DeviceOp {
 public:
  explicit ConcatDeviceOp(OpenClDevice& device) : DeviceOp(device, "pointwise", "pointwise", {64, 1, 1}) {}

  // `offset`: of the source's place in the result, in bytes.
  void add(ChainJob piece, std::int64_t offset) {
    addItems((std::int64_t{piece.chain.elements} + kLanes - 1) / kLanes);
    pieces_.push_back({std::move(piece), offset});
  }

 protected:
  void setArguments(OpenClKernel& kernel, const Launch& launch) const override {
    const Piece& piece = pieces_[launch.index];
    setChain(kernel, piece.job, launch.src, static_cast<char*>(launch.dst[0]) + piece.offset);
  }

 private:
  struct Piece {
    ChainJob job;
    std::int64_t offset;
  };
  std::vector<Piece> pieces_;
};

class ConcatXpu final : public Kernel {
 public:
  const char* name() const override { return "concat_xpu"; }

  Verdict supports(const PrepareArgs& args) const override {
    if (!allInChains(args)) return Verdict::no("dtype");
    if (!args.spec.post_ops.empty()) return Verdict::no("post-ops");
    return args.dst[0].dims.count() == 0 ? Verdict::no("empty") : Verdict::yes();
  }

  std::unique_ptr<PreparedOp> prepare(const PrepareArgs& args, std::string* reason) const override {
    const int axis = wrappedAxis(args.spec.intOr("axis", 0), args.dst[0].dims.rank);
    auto op = std::make_unique<ConcatDeviceOp>(openClDevice(args));
    for (const TensorDesc& x : args.src) op->src.push_back(x.block > 0 ? contiguousDesc(x.dtype, x.dims) : x);
    const TensorDesc dst = laidOutLike(concatLayout(op->src, axis), args.dst[0].dtype, args.dst[0].dims);
    op->dst = {dst};
    op->packed.assign(args.src.size(), false);
    std::int64_t begin = 0;
    for (std::size_t s = 0; s < op->src.size(); ++s) {
      const TensorDesc& x = op->src[s];
      TensorDesc place = dst;
      place.dims = x.dims;
      ChainBuilder chain(place);
      chain.walk(static_cast<std::int32_t>(s), x);
      ChainJob piece;
      if (!fitsDevice(dst) || !chain.finish(&piece, reason)) {
        *reason = "layout";
        return nullptr;
      }
      if (x.dims.count() > 0)
        op->add(std::move(piece), begin * dst.strides[axis] * static_cast<std::int64_t>(elementBytes(dst.dtype)));
      begin += x.dims[axis];
    }
    return op;
  }
};

}  // namespace

std::unique_ptr<Kernel> makeConcatXpu() { return std::make_unique<ConcatXpu>(); }

}  // namespace ipex_studio
