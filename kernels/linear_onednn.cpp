// y = x·wᵀ + b by oneDNN's matmul with packed weights; leading dimensions of x are flattened into rows.
// Matmul and inner product have the same speed from 1 to 1024 rows on one thread; on two threads matmul is up to 1.25
// times faster on thin shapes.
//
// Declines: device, dtype, empty, blocked-weights, post-ops (also for operands that broadcast over some of the leading
// dimensions only), no-fast-implementation.
#include "kernels/factories.h"
#include "kernels/matrix_rows.h"
#include "kernels/onednn_op.h"
#include "kernels/parallel.h"

namespace ipex_studio {
namespace {

using onednn::Md;
using onednn::Pd;

constexpr int kSrc = 0, kWeights = 1, kBias = 2, kFirstPostOperand = 3;

class LinearOnednn final : public Kernel {
 public:
  explicit LinearOnednn(const dnnl::engine& engine) : engine_(engine) {}

  const char* name() const override { return "linear_onednn"; }

  Verdict supports(const PrepareArgs& args) const override {
    if (args.target.device.kind != DeviceKind::kCpu) return Verdict::no("device");
    if (args.src[kSrc].dtype != DType::kF32 || args.src[kWeights].dtype != DType::kF32 ||
        args.dst[0].dtype != DType::kF32) {
      return Verdict::no("dtype");
    }
    if (args.src[kSrc].dims.count() == 0 || args.dst[0].dims.count() == 0) return Verdict::no("empty");
    if (args.src[kWeights].block != 0) return Verdict::no("blocked-weights");
    return Verdict::yes();
  }

  std::unique_ptr<PreparedOp> prepare(const PrepareArgs& args, std::string* reason) const override {
    const ThreadCountScope threads(args.target.threads);
    *reason = args.spec.post_ops.empty() ? "no-fast-implementation" : "post-ops";
    for (const bool allow_sum : {true, false}) {
      onednn::PostOpRequest request = onednn::requestFor(args, kFirstPostOperand);
      if (!flatten(&request)) return nullptr;
      request.allow_sum = allow_sum;
      onednn::PostOps post_ops;
      if (!onednn::translatePostOps(request, &post_ops).ok) return nullptr;
      auto op = build(args, request, post_ops);
      if (op || post_ops.in_place_src < 0) return op;
    }
    return nullptr;
  }

 private:
  // The request's dims as the matrix product sees them. False when an operand cannot be seen so.
  static bool flatten(onednn::PostOpRequest* request) {
    const Dims result = request->dst;
    const std::int64_t columns = result[result.rank - 1];
    request->dst = Dims{rowsOf(result), columns};
    for (Dims& dims : request->operand_dims) {
      if (dims == result) {
        dims = request->dst;
      } else if (rowsOf(dims) == 1 && dims.rank <= result.rank) {
        dims = Dims{dims.rank == 0 ? 1 : dims[dims.rank - 1]};
        if (request->dst[0] == 1 && dims[0] == columns) dims = request->dst;
      } else {
        return false;
      }
    }
    return true;
  }

  std::unique_ptr<PreparedOp> build(const PrepareArgs& args, const onednn::PostOpRequest& request,
                                    const onednn::PostOps& post_ops) const {
    const TensorDesc& w = args.src[kWeights];
    bool as_given = false;
    const TensorDesc x = asMatrix(args.src[kSrc], &as_given);
    TensorDesc w_transposed = w;
    std::swap(w_transposed.dims[0], w_transposed.dims[1]);
    std::swap(w_transposed.strides[0], w_transposed.strides[1]);
    Md x_md, w_md;
    if (!onednn::toMd(x, &x_md) || !onednn::toMd(w_transposed, &w_md)) return nullptr;
    const bool has_bias = !args.src[kBias].absent();
    const Md bias = has_bias ? onednn::plainMd(Dims{1, w.dims[0]}, DType::kF32) : Md();
    const Md dst_md = onednn::plainMd(request.dst, DType::kF32);
    const Pd pd = onednn::matmulPd(engine_, x_md, onednn::anyMd(w_transposed.dims, DType::kF32), bias, dst_md,
                                   onednn::attributes(post_ops.list));
    if (onednn::isEmpty(pd) || onednn::isReference(pd)) return nullptr;

    auto op = std::make_unique<onednn::OnednnOp>(engine_, pd);
    op->src = args.src;
    op->dst = {contiguousDesc(DType::kF32, args.dst[0].dims)};
    op->packed.assign(args.src.size(), false);
    if (!as_given) op->src[kSrc] = contiguousDesc(DType::kF32, args.src[kSrc].dims);
    op->bindSrc(DNNL_ARG_SRC, kSrc, x_md);
    op->bindDst(DNNL_ARG_DST, 0, dst_md);
    if (has_bias) {
      op->src[kBias] = contiguousDesc(DType::kF32, args.src[kBias].dims);
      op->bindSrc(DNNL_ARG_BIAS, kBias, bias);
    }
    op->bindWeights(DNNL_ARG_WEIGHTS, kWeights, w_md, pd.query_md(dnnl::query::weights_md), args.constant[kWeights],
                    args.weights);
    if (!onednn::bindPostOperands(pd, post_ops, args, op->dst[0], op.get())) return nullptr;
    // Operands are dense and row-major in their own dims; oneDNN sees the same memory as a matrix.
    for (std::size_t i = kFirstPostOperand; i < args.src.size(); ++i) {
      op->src[i] = contiguousDesc(args.src[i].dtype, args.src[i].dims);
    }
    op->finish();
    op->flops = 2 * args.dst[0].dims.count() * w.dims[1];
    return op;
  }

  dnnl::engine engine_;
};

}  // namespace

std::unique_ptr<Kernel> makeLinearOnednn(const dnnl::engine& engine) { return std::make_unique<LinearOnednn>(engine); }

}  // namespace ipex_studio
