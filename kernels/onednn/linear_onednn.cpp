// y = x·wᵀ + b by oneDNN's matmul with packed weights; leading dimensions of x are flattened into rows. The same as an
// inner product or as a 1×1 convolution of channels-last pixels are variants that only a measurement chooses: other
// code inside the library, faster for some shapes.
//
// Products of integers: scales, bias and what follows folded (requantization.h).
//
// Declines: dtype, empty, blocked-weights, inexact, post-ops (also for operands that broadcast over some of the leading
// dimensions only), no-fast-implementation.
#include "kernels/common/kernel_parts.h"
#include "kernels/common/layer_operands.h"
#include "kernels/common/matrix_rows.h"
#include "kernels/common/parallel.h"
#include "kernels/onednn/onednn_op.h"

namespace ipex_studio {
namespace {

using onednn::Md;
using onednn::Pd;

enum class Form { kMatmul, kInnerProduct, kConvolution };

// [rows, columns] seen as an image of `rows` pixels with the columns as channels, side by side.
TensorDesc pixels(const TensorDesc& matrix) {
  TensorDesc image = matrix;
  image.dims = Dims{1, matrix.dims[1], matrix.dims[0], 1};
  image.strides = Dims{matrix.dims[0] * matrix.strides[0], 1, matrix.strides[0], matrix.strides[0]};
  return image;
}

class LinearOnednn final : public Kernel {
 public:
  LinearOnednn(const dnnl::engine& engine, Form form) : engine_(engine), form_(form) {}

  const char* name() const override {
    if (form_ == Form::kInnerProduct) return "linear_onednn_inner_product";
    return form_ == Form::kConvolution ? "linear_onednn_convolution" : "linear_onednn";
  }

  bool onlyWhenMeasured() const override { return form_ != Form::kMatmul; }

  Verdict supports(const PrepareArgs& args) const override {
    if (!onednn::isProduct(args.src[kSrc].dtype, args.src[kWeights].dtype, args.dst[0].dtype))
      return Verdict::no("dtype");
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
      const Verdict verdict = onednn::translateProduct(args, request, args.dst[0].dims.rank - 1, &post_ops);
      if (!verdict.ok) *reason = verdict.reason;
      if (!verdict.ok) return nullptr;
      auto op = build(args, post_ops);
      if (op || post_ops.in_place_src < 0) return op;
    }
    return nullptr;
  }

 private:
  // Changes the request's dims to those that the primitive sees. False if an operand cannot be seen so.
  bool flatten(onednn::PostOpRequest* request) const {
    const Dims result = request->dst;
    const std::int64_t rows = rowsOf(result), columns = result[result.rank - 1];
    const bool image = form_ == Form::kConvolution;
    request->dst = image ? Dims{1, columns, rows, 1} : Dims{rows, columns};
    for (Dims& dims : request->operand_dims) {
      if (dims == result) {
        dims = request->dst;
      } else if (rowsOf(dims) == 1 && dims.rank <= result.rank) {
        const std::int64_t own = dims.rank == 0 ? 1 : dims[dims.rank - 1];
        dims = image ? Dims{1, own, 1, 1} : Dims{own};
        if (rows == 1 && own == columns) dims = request->dst;
      } else {
        return false;
      }
    }
    return true;
  }

  Md biasMd(const TensorDesc& bias) const {
    return onednn::plainMd(form_ == Form::kMatmul ? Dims{1, bias.dims[0]} : bias.dims, bias.dtype);
  }

  dnnl::primitive_attr attributesOf(const onednn::PostOps& post_ops) const {
    const bool weights_by_rows = form_ != Form::kMatmul;  // [N, K], otherwise [K, N]
    return onednn::attributes(post_ops, 1 << 1, weights_by_rows ? 1 : 1 << 1);
  }

  // The primitive; x_md, weights and dst_md receive the operands as it sees them.
  Pd primitiveFor(const TensorDesc& x, const TensorDesc& w, const TensorDesc& given_bias, DType dst_type,
                  const dnnl::primitive_attr& attr, Md* x_md, TensorDesc* weights, Md* dst_md) const {
    const Md bias = given_bias.absent() ? Md() : biasMd(given_bias);
    const TensorDesc dst = contiguousDesc(dst_type, Dims{x.dims[0], w.dims[0]});
    *weights = w;
    if (form_ == Form::kConvolution) {
      weights->dims = Dims{w.dims[0], w.dims[1], 1, 1};
      weights->strides = Dims{w.strides[0], w.strides[1], 1, 1};
      if (!onednn::toMd(pixels(x), x_md) || !onednn::toMd(pixels(dst), dst_md)) return Pd();
      const ConvolutionGeometry geometry{{1, 1}, {0, 0}, {0, 0}, {0, 0}};
      return onednn::convolutionPd(engine_, *x_md, onednn::anyMd(weights->dims, w.dtype), bias, *dst_md, geometry,
                                   attr);
    }
    if (!onednn::toMd(x, x_md) || !onednn::toMd(dst, dst_md)) return Pd();
    if (form_ == Form::kInnerProduct) {
      return onednn::innerProductPd(engine_, *x_md, onednn::anyMd(w.dims, w.dtype), bias, *dst_md, attr);
    }
    std::swap(weights->dims[0], weights->dims[1]);
    std::swap(weights->strides[0], weights->strides[1]);
    return onednn::matmulPd(engine_, *x_md, onednn::anyMd(weights->dims, w.dtype), bias, *dst_md, attr);
  }

  std::unique_ptr<PreparedOp> build(const PrepareArgs& args, const onednn::PostOps& post_ops) const {
    const TensorDesc& w = args.src[kWeights];
    bool as_given = false;
    TensorDesc x = asMatrix(args.src[kSrc], &as_given);
    if (form_ != Form::kMatmul && !x.isContiguous()) {
      x = contiguousDesc(x.dtype, x.dims);
      as_given = args.src[kSrc].isContiguous();
    }
    const bool has_bias = !args.src[kBias].absent();
    TensorDesc bias = args.src[kBias];
    if (!post_ops.bias.empty()) bias = contiguousDesc(DType::kF32, Dims{w.dims[0]});
    Md x_md, w_md, dst_md;
    TensorDesc seen_weights;
    const Pd pd = primitiveFor(x, w, bias, args.dst[0].dtype, attributesOf(post_ops), &x_md, &seen_weights, &dst_md);
    if (!onednn::toMd(seen_weights, &w_md)) return nullptr;
    if (onednn::isEmpty(pd) || onednn::isReference(pd)) return nullptr;

    auto op = std::make_unique<onednn::OnednnOp>(engine_, pd);
    // On channels-last pixels oneDNN 2.6 applies binary post-operations as if the result were row-major.
    const bool gemm = op->implementation.find("gemm") != std::string::npos;
    if (form_ == Form::kConvolution && gemm && !post_ops.operands.empty()) return nullptr;
    op->src = args.src;
    op->dst = {contiguousDesc(args.dst[0].dtype, args.dst[0].dims)};
    op->packed.assign(args.src.size(), false);
    if (!as_given) op->src[kSrc] = contiguousDesc(x.dtype, args.src[kSrc].dims);
    op->bindSrc(DNNL_ARG_SRC, kSrc, x_md);
    op->bindDst(DNNL_ARG_DST, 0, dst_md);
    if (!post_ops.bias.empty()) op->bindValues(DNNL_ARG_BIAS, biasMd(bias), post_ops.bias.data());
    if (post_ops.integers) op->bindScales(post_ops.product);
    if (has_bias) {
      op->src[kBias] = contiguousDesc(args.src[kBias].dtype, args.src[kBias].dims);
      op->bindSrc(DNNL_ARG_BIAS, kBias, biasMd(args.src[kBias]));
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
  Form form_;
};

}  // namespace

std::unique_ptr<Kernel> makeLinearOnednn(const KernelParts& parts) {
  return std::make_unique<LinearOnednn>(parts.engine, Form::kMatmul);
}

std::unique_ptr<Kernel> makeLinearOnednnInnerProduct(const KernelParts& parts) {
  return std::make_unique<LinearOnednn>(parts.engine, Form::kInnerProduct);
}

std::unique_ptr<Kernel> makeLinearOnednnConvolution(const KernelParts& parts) {
  return std::make_unique<LinearOnednn>(parts.engine, Form::kConvolution);
}

}  // namespace ipex_studio
