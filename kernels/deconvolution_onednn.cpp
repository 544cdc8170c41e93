// Transposed convolution by oneDNN: groups, dilation, output padding, bias and fused post-operations.
//
// Declines: device, dtype, rank, empty, blocked-weights, post-ops, no-fast-implementation.
#include "kernels/convolution_geometry.h"
#include "kernels/factories.h"
#include "kernels/onednn_op.h"
#include "kernels/parallel.h"

namespace ipex_studio {
namespace {

using onednn::Md;
using onednn::Pd;

constexpr int kSrc = 0, kWeights = 1, kBias = 2, kFirstPostOperand = 3;

class DeconvolutionOnednn final : public Kernel {
 public:
  explicit DeconvolutionOnednn(const dnnl::engine& engine) : engine_(engine) {}

  const char* name() const override { return "deconvolution_onednn"; }

  Verdict supports(const PrepareArgs& args) const override {
    const TensorDesc& x = args.src[kSrc];
    if (args.target.device.kind != DeviceKind::kCpu) return Verdict::no("device");
    if (x.dtype != DType::kF32 || args.src[kWeights].dtype != DType::kF32 || args.dst[0].dtype != DType::kF32) {
      return Verdict::no("dtype");
    }
    if (x.dims.rank < 3 || x.dims.rank > 5) return Verdict::no("rank");
    if (x.dims.count() == 0 || args.dst[0].dims.count() == 0) return Verdict::no("empty");
    if (args.src[kWeights].block != 0) return Verdict::no("blocked-weights");
    return Verdict::yes();
  }

  std::unique_ptr<PreparedOp> prepare(const PrepareArgs& args, std::string* reason) const override {
    const ThreadCountScope threads(args.target.threads);
    onednn::PostOps post_ops;
    const Verdict verdict = onednn::translatePostOps(onednn::requestFor(args, kFirstPostOperand), &post_ops);
    if (!verdict.ok) {
      *reason = verdict.reason;
      return nullptr;
    }
    // Left to itself the library may settle on a layout that only its reference takes; channels-last and plain are tried next.
    for (const Layout layout : {Layout::kAny, Layout::kChannelsLast, Layout::kPlain}) {
      auto op = build(args, post_ops, layout);
      if (op) return op;
    }
    *reason = args.spec.post_ops.empty() ? "no-fast-implementation" : "post-ops";
    return nullptr;
  }

 private:
  enum class Layout { kAny, kChannelsLast, kPlain };

  static Md laidOut(const Dims& dims, Layout layout) {
    if (layout == Layout::kAny) return onednn::anyMd(dims, DType::kF32);
    Md md = onednn::plainMd(dims, DType::kF32);
    if (layout == Layout::kChannelsLast) onednn::toMd(channelsLastDesc(DType::kF32, dims), &md);
    return md;
  }

  // output_padding lengthens the far side, which for oneDNN is less padding there.
  static onednn::ConvolutionGeometry geometry(const OpSpec& spec, int spatial) {
    onednn::ConvolutionGeometry g = convolutionGeometry(spec, spatial);
    const onednn::Ints extra = spatialInts(spec, "output_padding", spatial, 0);
    for (int axis = 0; axis < spatial; ++axis) g.padding_end[axis] -= extra[axis];
    return g;
  }

  std::unique_ptr<PreparedOp> build(const PrepareArgs& args, const onednn::PostOps& post_ops, Layout layout) const {
    const TensorDesc& x = args.src[kSrc];
    const bool has_bias = !args.src[kBias].absent();
    const Md bias = has_bias ? onednn::plainMd(args.src[kBias].dims, DType::kF32) : Md();
    const TensorDesc given = deconvolutionWeights(args.src[kWeights], args.spec.intOr("groups", 1));
    const Pd pd = onednn::deconvolutionPd(engine_, laidOut(x.dims, layout), onednn::anyMd(given.dims, DType::kF32), bias,
                                          laidOut(args.dst[0].dims, layout), geometry(args.spec, x.dims.rank - 2),
                                          onednn::attributes(post_ops.list));
    if (onednn::isEmpty(pd) || onednn::isReference(pd)) return nullptr;

    auto op = std::make_unique<onednn::OnednnOp>(engine_, pd);
    op->src = args.src;
    op->dst = args.dst;
    op->packed.assign(args.src.size(), false);
    const Md src_md = pd.query_md(dnnl::query::src_md), dst_md = pd.query_md(dnnl::query::dst_md);
    Md given_md;
    if (!onednn::fromMd(src_md, &op->src[kSrc]) || !onednn::fromMd(dst_md, &op->dst[0]) ||
        !onednn::toMd(given, &given_md)) {
      return nullptr;
    }
    op->bindSrc(DNNL_ARG_SRC, kSrc, src_md);
    op->bindDst(DNNL_ARG_DST, 0, dst_md);
    if (has_bias) {
      op->src[kBias] = contiguousDesc(DType::kF32, args.src[kBias].dims);
      op->bindSrc(DNNL_ARG_BIAS, kBias, bias);
    }
    op->bindWeights(DNNL_ARG_WEIGHTS, kWeights, given_md, pd.query_md(dnnl::query::weights_md),
                    args.constant[kWeights], args.weights);
    if (!onednn::bindPostOperands(pd, post_ops, args, op->dst[0], op.get())) return nullptr;
    op->finish();
    op->flops = 2 * x.dims.count() * (args.src[kWeights].dims.count() / args.src[kWeights].dims[0]);
    return op;
  }

  dnnl::engine engine_;
};

}  // namespace

std::unique_ptr<Kernel> makeDeconvolutionOnednn(const dnnl::engine& engine) {
  return std::make_unique<DeconvolutionOnednn>(engine);
}

}  // namespace ipex_studio
