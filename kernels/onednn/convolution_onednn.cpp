// Convolution in one, two and three spatial dimensions by oneDNN: groups, depthwise, dilation, asymmetric padding, bias
// and fused post-operations. The library picks the layouts of activations and weights, or, in the pinned variants that
// only a measurement chooses, those of the weights alone.
//
// Groups for which the library has nothing but one product each over copied pixels are left to convolution_groups_simd;
// a variant takes those that stay over.
//
// Products of integers: scales, bias and what follows folded (requantization.h), the residual accumulated into.
//
// Declines: empty, dtype, rank, inexact, post-ops (the best implementation would be a reference one; fewer may go),
// no-fast-implementation; pinned variants also layout (not theirs: too few channels for blocks) and algorithm (Winograd
// where it cannot be: not 3×3, strided, grouped); the variant for groups: groups (a single one, one for each channel,
// weights that are not constant FP32).
#include <algorithm>

#include "core/op/low_precision_floats.h"
#include "kernels/common/convolution_geometry.h"
#include "kernels/common/kernel_parts.h"
#include "kernels/common/layer_operands.h"
#include "kernels/common/parallel.h"
#include "kernels/onednn/onednn_op.h"

namespace ipex_studio {
namespace {

using onednn::Md;
using onednn::Pd;

// --- lines as images of height one: depthwise convolutions of lines have no generated code
// -----------------------------

// Inserts an axis of size 1 before the last; operands of rank 0 and 1 align on the right as they are.
TensorDesc lifted(const TensorDesc& desc) {
  const int rank = desc.dims.rank;
  if (desc.absent() || rank < 2) return desc;
  TensorDesc image = desc;
  image.dims.rank = image.strides.rank = rank + 1;
  image.dims[rank] = desc.dims[rank - 1];
  image.strides[rank] = desc.strides[rank - 1];
  image.dims[rank - 1] = 1;
  image.strides[rank - 1] = desc.dims[rank - 1] * desc.strides[rank - 1];
  return image;
}

TensorDesc lowered(const TensorDesc& image) {
  const int rank = image.dims.rank - 1;
  TensorDesc line = image;
  line.dims.rank = line.strides.rank = rank;
  line.dims[rank - 1] = image.dims[rank];
  line.strides[rank - 1] = image.strides[rank];
  return line;
}

PrepareArgs liftedArgs(const PrepareArgs& args) {
  PrepareArgs image = args;
  for (TensorDesc& src : image.src) src = lifted(src);
  for (TensorDesc& dst : image.dst) dst = lifted(dst);
  for (auto& [name, value] : image.spec.attributes) {
    auto* list = std::get_if<std::vector<std::int64_t>>(&value);
    if (list == nullptr || list->size() != 1) continue;
    const bool padding = name.rfind("padding", 0) == 0;
    list->insert(list->begin(), padding ? 0 : 1);
  }
  return image;
}

enum class Variant { kAny, kChannelsLast, kBlocked, kWinograd, kGemm };

std::int32_t channelBlock(const std::string& isa) { return isa.rfind("avx512", 0) == 0 ? 16 : 8; }

class ConvolutionOnednn final : public Kernel {
 public:
  ConvolutionOnednn(const dnnl::engine& engine, Variant variant) : engine_(engine), variant_(variant) {}

  const char* name() const override {
    switch (variant_) {
      case Variant::kChannelsLast:
        return "convolution_onednn_nhwc";
      case Variant::kBlocked:
        return "convolution_onednn_blocked";
      case Variant::kWinograd:
        return "convolution_onednn_winograd";
      case Variant::kGemm:
        return "convolution_onednn_gemm";
      default:
        return "convolution_onednn";
    }
  }

  bool onlyWhenMeasured() const override { return variant_ != Variant::kAny && variant_ != Variant::kGemm; }

  Verdict supports(const PrepareArgs& args) const override {
    const TensorDesc& x = args.src[kSrc];
    if (!onednn::isProduct(x.dtype, args.src[kWeights].dtype, args.dst[0].dtype)) return Verdict::no("dtype");
    if (x.dims.rank < 3 || x.dims.rank > 5) return Verdict::no("rank");
    if (x.dims.count() == 0 || args.dst[0].dims.count() == 0) return Verdict::no("empty");
    if (args.src[kWeights].block != 0) return Verdict::no("blocked-weights");
    // Blocked layouts and Winograd are for floats: for integers neither is faster.
    const bool pinned = variant_ == Variant::kBlocked || variant_ == Variant::kWinograd;
    if (pinned && !isFloatDtype(x.dtype)) return Verdict::no("dtype");
    if (variant_ == Variant::kBlocked && args.dst[0].dims[1] < channelBlock(args.target.isa))
      return Verdict::no("layout");
    if (variant_ == Variant::kWinograd && !mayBeWinograd(args)) return Verdict::no("algorithm");
    if (variant_ == Variant::kGemm && !isWorthGathering(args)) return Verdict::no("groups");
    return Verdict::yes();
  }

  std::unique_ptr<PreparedOp> prepare(const PrepareArgs& args, std::string* reason) const override {
    const ThreadCountScope threads(args.target.threads);
    auto op = prepareAs(args, reason);
    const bool line = args.src[kSrc].dims.rank == 3 && variant_ == Variant::kAny;
    if (!line || (op && op->implementation.find("gemm") == std::string::npos)) return op;
    std::string image_reason;
    auto image = prepareAs(liftedArgs(args), &image_reason);
    if (!image || image->implementation.find("gemm") != std::string::npos) return op;
    for (std::size_t s = 0; s < args.src.size(); ++s) {
      if (!args.src[s].absent() && args.src[s].dims.rank >= 2) image->src[s] = lowered(image->src[s]);
    }
    image->dst[0] = lowered(image->dst[0]);
    return image;
  }

 private:
  // True if convolution_groups_simd is likely to take the operation.
  static bool isWorthGathering(const PrepareArgs& args) {
    const std::int64_t groups = args.spec.intOr("groups", 1);
    const bool depthwise = args.src[kWeights].dims[0] == groups && args.src[kWeights].dims[1] == 1;
    return groups > 1 && !depthwise && args.src[kSrc].dtype == DType::kF32 && args.constant[kWeights] != nullptr;
  }

  static bool mayBeWinograd(const PrepareArgs& args) {
    const Dims& w = args.src[kWeights].dims;
    const auto ones = [](const std::vector<std::int64_t>& list) {
      return std::all_of(list.begin(), list.end(), [](std::int64_t value) { return value == 1; });
    };
    return args.src[kSrc].dtype == DType::kF32 && w.rank == 4 && w[2] == 3 && w[3] == 3 &&
           args.spec.intOr("groups", 1) == 1 && ones(args.spec.ints("stride")) && ones(args.spec.ints("dilation"));
  }

  // The descriptor by which the library is asked for an activation.
  Md activation(const PrepareArgs& args, const TensorDesc& given) const {
    const Dims& dims = given.dims;
    const std::int32_t block = channelBlock(args.target.isa);
    TensorDesc desc = contiguousDesc(given.dtype, dims);
    if (variant_ == Variant::kChannelsLast) desc = channelsLastDesc(given.dtype, dims);
    // Images of few channels stay row-major: padded to a block, most of the work would be on zeros.
    if (variant_ == Variant::kBlocked && dims[1] >= block) desc = blockedDesc(given.dtype, dims, block);
    Md md;
    const bool pinned = variant_ == Variant::kChannelsLast || variant_ == Variant::kBlocked;
    return pinned && onednn::toMd(desc, &md) ? md : onednn::anyMd(dims, given.dtype);
  }

  std::unique_ptr<PreparedOp> prepareAs(const PrepareArgs& args, std::string* reason) const {
    for (const bool allow_sum : {true, false}) {
      onednn::PostOps post_ops;
      onednn::PostOpRequest request = onednn::requestFor(args, kFirstPostOperand);
      request.allow_sum = allow_sum;
      const Verdict verdict = onednn::translateProduct(args, request, kChannelAxis, &post_ops);
      if (!verdict.ok) {
        *reason = verdict.reason;
        return nullptr;
      }
      auto op = build(args, post_ops);
      if (op) return op;
      if (post_ops.in_place_src < 0) break;
    }
    *reason = args.spec.post_ops.empty() ? "no-fast-implementation" : "post-ops";
    return nullptr;
  }

  std::unique_ptr<PreparedOp> build(const PrepareArgs& args, const onednn::PostOps& post_ops) const {
    const TensorDesc& x = args.src[kSrc];
    const bool given_bias = !args.src[kBias].absent();
    const bool has_bias = given_bias || !post_ops.bias.empty();
    const std::int64_t groups = args.spec.intOr("groups", 1);
    const Md bias = has_bias ? onednn::plainMd(Dims{args.dst[0].dims[kChannelAxis]},
                                               given_bias ? args.src[kBias].dtype : DType::kF32)
                             : Md();
    const TensorDesc given_weights = convolutionWeights(args.src[kWeights], groups);
    // Asked to choose, 2.6 would take Winograd for integers, too, whose sums are not exact.
    const auto algorithm = variant_ == Variant::kWinograd ? dnnl::algorithm::convolution_winograd
                           : post_ops.integers            ? dnnl::algorithm::convolution_direct
                                                          : dnnl::algorithm::convolution_auto;
    const Pd pd =
        onednn::convolutionPd(engine_, activation(args, x), onednn::anyMd(given_weights.dims, given_weights.dtype),
                              bias, activation(args, args.dst[0]), convolutionGeometry(args.spec, x.dims.rank - 2),
                              onednn::attributes(post_ops, 1 << kChannelAxis, groups > 1 ? 3 : 1), algorithm);
    if (onednn::isEmpty(pd) || onednn::isReference(pd)) return nullptr;

    auto op = std::make_unique<onednn::OnednnOp>(engine_, pd);
    op->src = args.src;
    op->dst = args.dst;
    op->packed.assign(args.src.size(), false);
    const Md src_md = pd.query_md(dnnl::query::src_md), dst_md = pd.query_md(dnnl::query::dst_md);
    Md given_md;
    if (!onednn::fromMd(src_md, &op->src[kSrc]) || !onednn::fromMd(dst_md, &op->dst[0]) ||
        !onednn::toMd(given_weights, &given_md)) {
      return nullptr;
    }
    // oneDNN 2.6 applies binary post-operations as if the result were row-major.
    const bool gemm = op->implementation.find("gemm") != std::string::npos;
    const bool row_major = variant_ != Variant::kChannelsLast && op->dst[0].isContiguous();
    if (gemm && !post_ops.operands.empty() && !row_major) return nullptr;
    if (variant_ == Variant::kGemm ? !gemm : variant_ == Variant::kAny && gemm && isWorthGathering(args))
      return nullptr;
    op->bindSrc(DNNL_ARG_SRC, kSrc, src_md);
    op->bindDst(DNNL_ARG_DST, 0, dst_md);
    if (!post_ops.bias.empty()) op->bindValues(DNNL_ARG_BIAS, bias, post_ops.bias.data());
    if (post_ops.integers) op->bindScales(post_ops.product);
    if (given_bias) {
      op->src[kBias] = contiguousDesc(args.src[kBias].dtype, args.src[kBias].dims);
      op->bindSrc(DNNL_ARG_BIAS, kBias, bias);
    }
    op->bindWeights(DNNL_ARG_WEIGHTS, kWeights, given_md, pd.query_md(dnnl::query::weights_md), args.constant[kWeights],
                    args.weights);
    if (!onednn::bindPostOperands(pd, post_ops, args, op->dst[0], op.get())) return nullptr;
    op->finish();
    op->flops = 2 * args.dst[0].dims.count() * (args.src[kWeights].dims.count() / args.src[kWeights].dims[0]);
    return op;
  }

  dnnl::engine engine_;
  Variant variant_;
};

}  // namespace

std::unique_ptr<Kernel> makeConvolutionOnednn(const KernelParts& parts) {
  return std::make_unique<ConvolutionOnednn>(parts.engine, Variant::kAny);
}

std::unique_ptr<Kernel> makeConvolutionOnednnNhwc(const KernelParts& parts) {
  return std::make_unique<ConvolutionOnednn>(parts.engine, Variant::kChannelsLast);
}

std::unique_ptr<Kernel> makeConvolutionOnednnBlocked(const KernelParts& parts) {
  return std::make_unique<ConvolutionOnednn>(parts.engine, Variant::kBlocked);
}

std::unique_ptr<Kernel> makeConvolutionOnednnGemm(const KernelParts& parts) {
  return std::make_unique<ConvolutionOnednn>(parts.engine, Variant::kGemm);
}

std::unique_ptr<Kernel> makeConvolutionOnednnWinograd(const KernelParts& parts) {
  return std::make_unique<ConvolutionOnednn>(parts.engine, Variant::kWinograd);
}

}  // namespace ipex_studio
