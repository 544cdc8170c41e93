#include "kernels/kernel_list.h"

#include <map>
#include <oneapi/dnnl/dnnl.hpp>
#include <utility>

#include "kernels/factories.h"

namespace ipex_studio {
namespace {

class OrderedKernelList final : public KernelList {
 public:
  OrderedKernelList() : engine_(dnnl::engine::kind::cpu, 0) {
    // Most special first. Every kind ends in its reference, which takes anything.
    const Kernel* pointwise = list(OpKind::kPointwise, makePointwiseSimd());
    list(OpKind::kConvolution, makeConvolutionGemvSimd(pointwise));  // one pixel
    list(OpKind::kConvolution, makeConvolutionDepthwiseInt8());
    const Kernel* convolution = list(OpKind::kConvolution, makeConvolutionOnednn(engine_));
    list(OpKind::kConvolution, makeConvolutionOnednnNhwc(engine_));
    list(OpKind::kConvolution, makeConvolutionOnednnBlocked(engine_));
    list(OpKind::kConvolution, makeConvolutionOnednnWinograd(engine_));
    list(OpKind::kConvolution, makeConvolutionInt8());  // chains and weights that the library leaves
    const Kernel* any_chain = list(OpKind::kConvolution, makeConvolutionSimd());
    list(OpKind::kConvolution, makeConvolutionDepthwiseSimd());
    list(OpKind::kConvolution, makeUpconvertedFloats(convolution));  // what nobody multiplies as it is
    list(OpKind::kConvolution, makeUpconvertedFloats(any_chain));
    list(OpKind::kDeconvolution, makeDeconvolutionOnednn(engine_, pointwise));
    list(OpKind::kLinear, makeLinearGemvSimd(pointwise));  // few rows
    list(OpKind::kLinear, makeLinearWoq(pointwise));
    const Kernel* linear = list(OpKind::kLinear, makeLinearOnednn(engine_));
    list(OpKind::kLinear, makeLinearUpconvertedWeights(linear));
    list(OpKind::kLinear, makeLinearOnednnInnerProduct(engine_));
    list(OpKind::kLinear, makeLinearOnednnConvolution(engine_));
    list(OpKind::kLinear, makeLinearInt8());
    const Kernel* packed = list(OpKind::kLinear, makeLinearSimd());
    list(OpKind::kLinear, makeLinearUpconvertedWeights(packed));
    list(OpKind::kLinear, makeUpconvertedFloats(linear));
    list(OpKind::kLinear, makeUpconvertedFloats(packed));
    const Kernel* matmul = list(OpKind::kMatmul, makeMatmulOnednn(engine_));
    list(OpKind::kMatmul, makeMatmulFlipped(matmul));
    list(OpKind::kMatmul, makeMatmulUpconverted(matmul));
    list(OpKind::kMatmul, makeUpconvertedFloats(matmul));
    list(OpKind::kPool, makePoolMaxSimd());  // channels side by side
    const Kernel* pool = list(OpKind::kPool, makePoolOnednn(engine_));
    listBoth(OpKind::kPool, makePoolWindows());  // what the library leaves to its reference
    const Kernel* reduce_bytes = list(OpKind::kReduce, makeReduceBytesSimd());
    const Kernel* reduce = listBoth(OpKind::kReduce, makeReduceSimd());
    list(OpKind::kAdaptivePool, makeAdaptivePool("adaptive_pool_bytes", reduce_bytes, pool));
    listBoth(OpKind::kAdaptivePool,
             makeAdaptivePool("adaptive_pool_even", reduce, pool));  // even windows, by one of the two above
    listBoth(OpKind::kAdaptivePool, makeAdaptivePoolWindows());
    list(OpKind::kLayerNorm, makeLayerNormSimd());
    list(OpKind::kGroupNorm, makeGroupNormSimd());
    list(OpKind::kSoftmax, makeSoftmaxSimd());
    list(OpKind::kAttention, makeAttentionSimd());
    list(OpKind::kAttention, makeAttentionBf16());
    list(OpKind::kSqueezeExcite, makeSqueezeExciteSimd());
    list(OpKind::kPointwiseDepthwise, makePointwiseDepthwiseSimd());
    list(OpKind::kConcat, makeConcatCopy());
    list(OpKind::kEmbedding, makeEmbeddingCopy());
    list(OpKind::kEmbedding, makeEmbeddingRowsSimd());
    list(OpKind::kEmbeddingBag, makeEmbeddingBagSimd());
    list(OpKind::kEmbeddingBag, makeEmbeddingBagRowsSimd());
    listBoth(OpKind::kUpsample, makeUpsampleSimd());
    list(OpKind::kGather, makeGatherCopy());
    list(OpKind::kGatherElements, makeGatherElementsCopy());
    list(OpKind::kScatterElements, makeScatterElementsCopy());
    list(OpKind::kMaxMin, makeMaxMinSimd());
    list(OpKind::kMaxMin, makeMaxMinIntegers());
    list(OpKind::kSort, makeSortSimd());
    list(OpKind::kSort, makeSortIntegers());
    list(OpKind::kCumulativeSum, makeCumulativeSum());
    list(OpKind::kAffineGrid, makeAffineGridRows());
    list(OpKind::kGridSample, makeGridSampleSimd());
    list(OpKind::kIntegerMath, makeIntegerMath());
    listBoth(OpKind::kPad, makePadCopy());
    list(OpKind::kRecurrent, makeRecurrentSimd());
    list(OpKind::kReorder, makeReorderCopy());           // equal layouts and runs: memcpy
    list(OpKind::kReorder, makeReorderOnednn(engine_));  // other layouts, f32 and bf16
    list(OpKind::kReorder, makeCastCopy());              // other dtypes in the same layout
    list(OpKind::kCast, makeCastCopy());
    for (int kind = 0; kind <= static_cast<int>(OpKind::kCast); ++kind) {
      list(static_cast<OpKind>(kind), makeReference(static_cast<OpKind>(kind)));
    }
  }

  const std::vector<const Kernel*>& candidates(OpKind kind, DeviceKind device) const override {
    static const std::vector<const Kernel*> none;
    const auto found = candidates_.find({kind, device});
    return found == candidates_.end() ? none : found->second;
  }

 private:
  const Kernel* list(OpKind kind, std::unique_ptr<Kernel> kernel) {
    candidates_[{kind, DeviceKind::kCpu}].push_back(kernel.get());
    kernels_.push_back(std::move(kernel));
    return kernels_.back().get();
  }

  // A kernel for FP32, and the same for u8 and s8.
  const Kernel* listBoth(OpKind kind, std::unique_ptr<Kernel> kernel) {
    const Kernel* wide = list(kind, std::move(kernel));
    list(kind, makeUpconverted(wide));
    return wide;
  }

  dnnl::engine engine_;
  std::vector<std::unique_ptr<Kernel>> kernels_;
  std::map<std::pair<OpKind, DeviceKind>, std::vector<const Kernel*>> candidates_;
};

}  // namespace

std::unique_ptr<KernelList> makeKernelList() { return std::make_unique<OrderedKernelList>(); }

}  // namespace ipex_studio
