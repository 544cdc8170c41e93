// Transposed convolution: oneDNN for the products, then bias and post-operations as one pass of our own over the
// result. oneDNN 2.6 adds a bias here by a slow loop (up to 5 times the cost of the products) and post-operations by a
// slower one.
//
// Declines: dtype, rank, empty, blocked-weights, no-fast-implementation, and what the pointwise kernel
// declines.
#include <algorithm>

#include "kernels/common/convolution_geometry.h"
#include "kernels/common/kernel_parts.h"
#include "kernels/common/layer_operands.h"
#include "kernels/common/parallel.h"
#include "kernels/onednn/onednn_op.h"

namespace ipex_studio {
namespace {

using onednn::Md;
using onednn::Pd;

// Computes the products, then runs `tail` over them in place.
class DeconvolutionOp final : public PreparedOp {
 public:
  std::unique_ptr<PreparedOp> products, tail;  // tail may be null
  bool has_bias = false;

  class State final : public ExecState {
   public:
    std::unique_ptr<ExecState> products, tail;
    std::vector<const void*> tail_src;
  };

  std::unique_ptr<ExecState> newState() const override {
    auto state = std::make_unique<State>();
    state->products = products->newState();
    if (tail) {
      state->tail = tail->newState();
      state->tail_src.resize(tail->src.size());
    }
    return state;
  }

  void execute(ExecState* given, const void* const* from, void* const* to, void* scratch) const override {
    auto& state = static_cast<State&>(*given);
    products->execute(state.products.get(), from, to, scratch);
    if (!tail) return;
    std::size_t s = 0;
    state.tail_src[s++] = to[0];
    if (has_bias) state.tail_src[s++] = from[kBias];
    for (std::size_t operand = kFirstPostOperand; operand < src.size(); ++operand) state.tail_src[s++] = from[operand];
    tail->execute(state.tail.get(), state.tail_src.data(), to, scratch);
  }
};

// The geometry; output_padding lengthens the far side, which for oneDNN is less padding there.
ConvolutionGeometry geometryOf(const OpSpec& spec, int spatial) {
  ConvolutionGeometry g = convolutionGeometry(spec, spatial);
  const Ints extra = spatialInts(spec, "output_padding", spatial, 0);
  for (int axis = 0; axis < spatial; ++axis) g.padding_end[axis] -= extra[axis];
  return g;
}

// b[O] seen as [O, 1, …] to broadcast over pixels.
TensorDesc overPixels(const TensorDesc& bias, int spatial) {
  Dims dims;
  dims.rank = spatial + 1;
  for (int axis = 0; axis < dims.rank; ++axis) dims[axis] = 1;
  dims[0] = bias.dims[0];
  return contiguousDesc(DType::kF32, dims);
}

class DeconvolutionOnednn final : public Kernel {
 public:
  DeconvolutionOnednn(const dnnl::engine& engine, const Kernel* pointwise) : engine_(engine), pointwise_(pointwise) {}

  const char* name() const override { return "deconvolution_onednn"; }

  Verdict supports(const PrepareArgs& args) const override {
    const TensorDesc& x = args.src[kSrc];
    for (const TensorDesc& src : args.src) {
      if (!src.absent() && src.dtype != DType::kF32) return Verdict::no("dtype");
    }
    if (x.dims.rank < 3 || x.dims.rank > 5) return Verdict::no("rank");
    if (x.dims.count() == 0 || args.dst[0].dims.count() == 0) return Verdict::no("empty");
    return args.src[kWeights].block == 0 ? Verdict::yes() : Verdict::no("blocked-weights");
  }

  std::unique_ptr<PreparedOp> prepare(const PrepareArgs& args, std::string* reason) const override {
    const ThreadCountScope threads(args.target.threads);
    // Channels-last is never slower than the layout that the library picks for itself.
    for (const Layout layout : {Layout::kChannelsLast, Layout::kAny, Layout::kPlain}) {
      auto products = prepareProducts(args, layout);
      if (products) return withTail(args, std::move(products), reason);
    }
    *reason = "no-fast-implementation";
    return nullptr;
  }

 private:
  enum class Layout { kChannelsLast, kAny, kPlain };

  static Md laidOut(const Dims& dims, Layout layout) {
    if (layout == Layout::kAny) return onednn::anyMd(dims, DType::kF32);
    Md md = onednn::plainMd(dims, DType::kF32);
    if (layout == Layout::kChannelsLast) onednn::toMd(channelsLastDesc(DType::kF32, dims), &md);
    return md;
  }

  std::unique_ptr<PreparedOp> prepareProducts(const PrepareArgs& args, Layout layout) const {
    const TensorDesc& x = args.src[kSrc];
    const TensorDesc given = deconvolutionWeights(args.src[kWeights], args.spec.intOr("groups", 1));
    const Pd pd = onednn::deconvolutionPd(engine_, laidOut(x.dims, layout), onednn::anyMd(given.dims, DType::kF32),
                                          Md(), laidOut(args.dst[0].dims, layout),
                                          geometryOf(args.spec, x.dims.rank - 2), onednn::attributes({}));
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
    op->bindWeights(DNNL_ARG_WEIGHTS, kWeights, given_md, pd.query_md(dnnl::query::weights_md), args.constant[kWeights],
                    args.weights);
    op->finish();
    return op;
  }

  std::unique_ptr<PreparedOp> withTail(const PrepareArgs& args, std::unique_ptr<PreparedOp> products,
                                       std::string* reason) const {
    auto op = std::make_unique<DeconvolutionOp>();
    op->src = products->src;
    op->dst = products->dst;
    op->packed = products->packed;
    op->implementation = products->implementation;
    op->scratch_bytes = products->scratch_bytes;
    op->flops = 2 * args.src[kSrc].dims.count() * (args.src[kWeights].dims.count() / args.src[kWeights].dims[0]);
    op->has_bias = !args.src[kBias].absent();
    op->products = std::move(products);
    if (!op->has_bias && args.spec.post_ops.empty()) return op;

    PrepareArgs tail;
    tail.target = args.target;
    tail.src = {op->dst[0]};
    tail.dst = args.dst;
    if (op->has_bias) {
      op->src[kBias] = contiguousDesc(DType::kF32, args.src[kBias].dims);
      tail.src.push_back(overPixels(op->src[kBias], args.src[kSrc].dims.rank - 2));
      tail.spec.post_ops.push_back(binaryPostOp(PostOpKind::kAdd, 0));
    }
    for (PostOp post_op : args.spec.post_ops) {
      if (isBinary(post_op.kind)) post_op.operand += op->has_bias;
      tail.spec.post_ops.push_back(post_op);
    }
    tail.src.insert(tail.src.end(), args.src.begin() + kFirstPostOperand, args.src.end());
    tail.constant.assign(tail.src.size(), nullptr);
    tail.src_dies.assign(tail.src.size(), false);
    const Verdict verdict = pointwise_->supports(tail);
    op->tail = verdict.ok ? pointwise_->prepare(tail, reason) : nullptr;
    if (!verdict.ok) *reason = verdict.reason;
    if (!op->tail) return nullptr;
    // The chain must work where the products were written.
    if (!op->tail->dst[0].sameLayout(op->dst[0]) || !op->tail->src[0].sameLayout(op->dst[0])) {
      *reason = "post-ops";
      return nullptr;
    }
    const std::size_t operands = args.src.size() - kFirstPostOperand;
    for (std::size_t k = 0; k < operands; ++k) {
      op->src[kFirstPostOperand + k] = op->tail->src[1 + op->has_bias + k];
    }
    op->scratch_bytes = std::max(op->scratch_bytes, op->tail->scratch_bytes);
    return op;
  }

  dnnl::engine engine_;
  const Kernel* pointwise_;
};

}  // namespace

std::unique_ptr<Kernel> makeDeconvolutionOnednn(const KernelParts& parts) {
  return std::make_unique<DeconvolutionOnednn>(parts.engine, parts.first);
}

}  // namespace ipex_studio
