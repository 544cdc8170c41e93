// Batched matrix product by oneDNN: batch dimensions broadcast, transposed and strided sources are read where they lie.
//
// Declines: dtype, rank, empty, inexact, post-ops, no-fast-implementation.
#include <algorithm>

#include "kernels/common/kernel_parts.h"
#include "kernels/common/parallel.h"
#include "kernels/onednn/onednn_op.h"

namespace ipex_studio {
namespace {

using onednn::Md;
using onednn::Pd;

constexpr int kLeft = 0, kRight = 1, kFirstProductPostOperand = 2;

// Dims of size 1 get the stride a dense tensor would have, the extent of all axes behind them: oneDNN recognises
// layouts by strides, and 3.7 reads a wrong one when a batch of 1 looks as if it lay inside of the matrices.
void normalizeUnitStrides(TensorDesc* desc) {
  std::int64_t extent = 1;
  for (int axis = desc->dims.rank - 1; axis >= 0; --axis) {
    if (desc->dims[axis] == 1) desc->strides[axis] = extent;
    extent = std::max(extent, desc->dims[axis] * desc->strides[axis]);
  }
}

// One source as oneDNN should see it: last two axes in product order, rank of the result, expanded batch axes as 1.
TensorDesc seenAs(const TensorDesc& given, bool transposed, int rank) {
  TensorDesc seen = onednn::alignedTo(given, rank);
  if (transposed) {
    std::swap(seen.dims[rank - 1], seen.dims[rank - 2]);
    std::swap(seen.strides[rank - 1], seen.strides[rank - 2]);
  }
  for (int axis = 0; axis < rank - 2; ++axis) {
    if (seen.strides[axis] == 0) seen.dims[axis] = 1;
  }
  normalizeUnitStrides(&seen);
  return seen;
}

bool readableMatrix(const TensorDesc& seen) {
  const int r = seen.dims.rank;
  const auto unit = [&](int axis) { return seen.strides[axis] == 1 || seen.dims[axis] == 1; };
  const auto wide = [&](int axis, int other) { return seen.strides[axis] >= seen.dims[other] || seen.dims[axis] == 1; };
  if (seen.block != 0) return false;
  return (unit(r - 1) && wide(r - 2, r - 1)) || (unit(r - 2) && wide(r - 1, r - 2));
}

class MatmulOnednn final : public Kernel {
 public:
  explicit MatmulOnednn(const dnnl::engine& engine) : engine_(engine) {}

  const char* name() const override { return "matmul_onednn"; }

  Verdict supports(const PrepareArgs& args) const override {
    if (!onednn::isProduct(args.src[kLeft].dtype, args.src[kRight].dtype, args.dst[0].dtype))
      return Verdict::no("dtype");
    if (args.dst[0].dims.rank > 6) return Verdict::no("rank");
    if (args.src[kLeft].dims.count() == 0 || args.src[kRight].dims.count() == 0) return Verdict::no("empty");
    return Verdict::yes();
  }

  std::unique_ptr<PreparedOp> prepare(const PrepareArgs& args, std::string* reason) const override {
    const ThreadCountScope threads(args.target.threads);
    for (const bool copy_sources : {false, true}) {
      for (const bool allow_sum : {true, false}) {
        onednn::PostOpRequest request = onednn::requestFor(args, kFirstProductPostOperand);
        request.allow_sum = allow_sum;
        const Md dst_md = onednn::plainMd(args.dst[0].dims, args.dst[0].dtype);
        request.dst_layout = &dst_md;
        onednn::PostOps post_ops;
        const double scale = args.spec.floatOr("scale", 1);
        const bool integers =
            args.src[kLeft].dtype == DType::kU8 || args.src[kLeft].dtype == DType::kS8;  // folded below
        if (scale != 1 && !integers)
          onednn::appendEltwise(post_ops.list, dnnl::algorithm::eltwise_linear, float(scale), 0);
        const Verdict verdict = onednn::translateProduct(args, request, args.dst[0].dims.rank - 1, &post_ops);
        if (!verdict.ok) {
          *reason = verdict.reason;
          return nullptr;
        }
        auto op = build(args, dst_md, post_ops, copy_sources);
        if (op) return op;
        if (post_ops.in_place_src < 0) break;
      }
    }
    *reason = args.spec.post_ops.empty() ? "no-fast-implementation" : "post-ops";
    return nullptr;
  }

 private:
  std::unique_ptr<PreparedOp> build(const PrepareArgs& args, const Md& dst_md, const onednn::PostOps& post_ops,
                                    bool copy_sources) const {
    const int rank = args.dst[0].dims.rank;
    auto layouts = args.src;
    Md md[2];
    std::int64_t inner = 1;
    for (const int s : {kLeft, kRight}) {
      const bool transposed = args.spec.intOr(s == kLeft ? "transpose_a" : "transpose_b", 0) != 0;
      TensorDesc seen = seenAs(args.src[s], transposed, rank);
      if (copy_sources || !readableMatrix(seen)) {
        layouts[s] = contiguousDesc(args.src[s].dtype, args.src[s].dims);
        seen = seenAs(layouts[s], transposed, rank);
      }
      if (!onednn::toMd(seen, &md[s])) return nullptr;
      if (s == kLeft) inner = seen.dims[rank - 1];
    }
    // A bias of the library has the result's rank.
    Dims bias_dims;
    bias_dims.rank = rank;
    for (int axis = 0; axis < rank; ++axis) bias_dims[axis] = axis + 1 < rank ? 1 : args.dst[0].dims[axis];
    const Md bias = post_ops.bias.empty() ? Md() : onednn::plainMd(bias_dims, DType::kF32);
    const int columns = 1 << (rank - 1);
    const Pd pd =
        onednn::matmulPd(engine_, md[kLeft], md[kRight], bias, dst_md, onednn::attributes(post_ops, columns, columns));
    if (onednn::isEmpty(pd) || onednn::isReference(pd)) return nullptr;

    auto op = std::make_unique<onednn::OnednnOp>(engine_, pd);
    op->src = layouts;
    op->dst = {contiguousDesc(args.dst[0].dtype, args.dst[0].dims)};
    op->packed.assign(args.src.size(), false);
    op->bindSrc(DNNL_ARG_SRC, kLeft, md[kLeft]);
    op->bindSrc(DNNL_ARG_WEIGHTS, kRight, md[kRight]);
    op->bindDst(DNNL_ARG_DST, 0, dst_md);
    if (!post_ops.bias.empty()) op->bindValues(DNNL_ARG_BIAS, bias, post_ops.bias.data());
    if (post_ops.integers) op->bindScales(post_ops.product);
    if (!onednn::bindPostOperands(pd, post_ops, args, op->dst[0], op.get())) return nullptr;
    op->finish();
    op->flops = 2 * args.dst[0].dims.count() * inner;
    return op;
  }

  dnnl::engine engine_;
};

}  // namespace

std::unique_ptr<Kernel> makeMatmulOnednn(const KernelParts& parts) {
  return std::make_unique<MatmulOnednn>(parts.engine);
}

}  // namespace ipex_studio
