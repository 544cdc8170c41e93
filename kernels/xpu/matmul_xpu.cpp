// Products of two activations on an OpenCL device (product.cl), read where they lie, with any chain of post-operations.
//
// Declines: dtype, empty, layout, rank (more batch axes than programs walk), post-ops (a long chain).
#include <utility>

#include "kernels/common/loop_nest.h"
#include "kernels/xpu/product_job.h"

namespace ipex_studio {
namespace {

std::int32_t narrow(std::int64_t value) { return static_cast<std::int32_t>(value); }

class MatmulXpu final : public Kernel {
 public:
  const char* name() const override { return "matmul_xpu"; }

  Verdict supports(const PrepareArgs& args) const override {
    if (!allInChains(args) || !areMultiplied(args.src[0].dtype, args.src[1].dtype)) return Verdict::no("dtype");
    if (args.src[0].dims.count() == 0 || args.src[1].dims.count() == 0) return Verdict::no("empty");
    return args.dst[0].dims.rank - 2 <= ProductJob::kMaxBatchLoops ? Verdict::yes() : Verdict::no("rank");
  }

  std::unique_ptr<PreparedOp> prepare(const PrepareArgs& given, std::string* reason) const override {
    PrepareArgs args = given;
    for (TensorDesc& src : args.src) {
      if (src.block > 0) src = contiguousDesc(src.dtype, src.dims);
    }
    const TensorDesc dst = contiguousDesc(args.dst[0].dtype, args.dst[0].dims);
    ChainBuilder chain(dst);
    const double scale = args.spec.floatOr("scale", 1);
    if (scale != 1) chain.apply(unaryPostOp(PostOpKind::kLinear, scale, 0));
    chain.applyPostOps(args, 2);
    ChainJob finish;
    if (!chain.finish(&finish, reason)) return nullptr;
    if (!fitsDevice(args.src[0]) || !fitsDevice(args.src[1])) {
      *reason = "size";
      return nullptr;
    }
    auto op = makeProduct(openClDevice(args), describe(args), args.src[0].dtype);
    op->job = std::move(finish);
    op->src = args.src;
    op->dst = {dst};
    op->packed.assign(args.src.size(), false);
    return op;
  }

 private:
  static ProductJob describe(const PrepareArgs& args) {
    ProductJob job;
    const Dims& dst = args.dst[0].dims;
    const TensorDesc a = alignRank(args.src[0], dst.rank), b = alignRank(args.src[1], dst.rank);
    const int row = dst.rank - 2, column = dst.rank - 1;
    const bool ta = args.spec.intOr("transpose_a", 0) != 0, tb = args.spec.intOr("transpose_b", 0) != 0;
    job.rows = narrow(dst[row]);
    job.columns = job.padded = narrow(dst[column]);
    job.depth = narrow(a.dims[ta ? row : column]);
    job.a_row = narrow(a.strides[ta ? column : row]);
    job.a_depth = narrow(a.strides[ta ? row : column]);
    job.b_depth = narrow(b.strides[tb ? column : row]);
    job.b_column = narrow(b.strides[tb ? row : column]);
    job.a_bytes = elementBytesOf(a.dtype, args.spec.intOr("src_zero", 0));
    job.b_bytes = elementBytesOf(b.dtype, args.spec.intOr("weight_zero", 0));
    job.b_item = narrow(openClDevice(args).itemColumns()) * job.b_column;
    job.batch_loops = row;
    for (int axis = 0; axis < row; ++axis) {
      job.batch_size[axis] = narrow(dst[axis]);
      job.a_batch[axis] = a.dims[axis] == 1 ? 0 : narrow(a.strides[axis]);
      job.b_batch[axis] = b.dims[axis] == 1 ? 0 : narrow(b.strides[axis]);
    }
    return job;
  }
};

}  // namespace

std::unique_ptr<Kernel> makeMatmulXpu() { return std::make_unique<MatmulXpu>(); }

}  // namespace ipex_studio
