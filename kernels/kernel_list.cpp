// See kernel_list.h. A new kernel is its file and a row here.
#include "kernels/kernel_list.h"

#include <iterator>
#include <map>
#include <oneapi/dnnl/dnnl.hpp>
#include <utility>

#include "core/base/error.h"
#include "kernels/common/kernel_parts.h"
#include "kernels/common/reference.h"

// The kernels of each kind, most special first. Each row declares a maker, which the kernel's file defines, and lists
// what it makes:
//   KERNEL(kind, Name)               makeName()
//   KERNEL_ON(kind, Name, kernels…)  makeName(const KernelParts&): built on oneDNN's engine or on kernels of rows
//                                    above, which stand here by name
// clang-format off: a longer name leaves the other lines as they are.
#define IPEX_KERNELS(KERNEL, KERNEL_ON)                                                                          \
  KERNEL(kPointwise, PointwiseSimd)                                                                              \
  KERNEL_ON(kConvolution, ConvolutionGemvSimd, "pointwise_simd") /* one pixel */                                 \
  KERNEL(kConvolution, ConvolutionDepthwiseInt8)                                                                 \
  KERNEL_ON(kConvolution, ConvolutionOnednn)                                                                     \
  KERNEL_ON(kConvolution, ConvolutionOnednnNhwc)                                                                 \
  KERNEL_ON(kConvolution, ConvolutionOnednnBlocked)                                                              \
  KERNEL_ON(kConvolution, ConvolutionOnednnWinograd)                                                             \
  KERNEL(kConvolution, ConvolutionInt8) /* chains and weights that the library leaves */                         \
  KERNEL(kConvolution, ConvolutionSimd)                                                                          \
  KERNEL(kConvolution, ConvolutionSimdBf16)                                                                      \
  KERNEL_ON(kConvolution, ConvolutionGroupsSimd, "convolution_onednn", "convolution_simd")                       \
  KERNEL_ON(kConvolution, ConvolutionOnednnGemm) /* groups that no kernel above takes */                         \
  KERNEL(kConvolution, ConvolutionWinograd)                                                                      \
  KERNEL(kConvolution, ConvolutionWinograd4x4)                                                                   \
  KERNEL(kConvolution, ConvolutionDepthwiseSimd)                                                                 \
  KERNEL_ON(kConvolution, UpconvertedFloats, "convolution_onednn") /* dtypes that no kernel above multiplies */  \
  KERNEL_ON(kConvolution, UpconvertedFloats, "convolution_simd")                                                 \
  KERNEL_ON(kDeconvolution, DeconvolutionOnednn, "pointwise_simd")                                               \
  KERNEL_ON(kLinear, LinearGemvSimd, "pointwise_simd") /* few rows */                                            \
  KERNEL_ON(kLinear, LinearWoq, "pointwise_simd")                                                                \
  KERNEL_ON(kLinear, LinearOnednn)                                                                               \
  KERNEL_ON(kLinear, LinearUpconvertedWeights, "linear_onednn")                                                  \
  KERNEL_ON(kLinear, LinearOnednnInnerProduct)                                                                   \
  KERNEL_ON(kLinear, LinearOnednnConvolution)                                                                    \
  KERNEL(kLinear, LinearInt8)                                                                                    \
  KERNEL(kLinear, LinearSimd)                                                                                    \
  KERNEL(kLinear, LinearSimdBf16)                                                                                \
  KERNEL_ON(kLinear, LinearUpconvertedWeights, "linear_simd")                                                    \
  KERNEL_ON(kLinear, UpconvertedFloats, "linear_onednn")                                                         \
  KERNEL_ON(kLinear, UpconvertedFloats, "linear_simd")                                                           \
  KERNEL_ON(kMatmul, MatmulOnednn)                                                                               \
  KERNEL_ON(kMatmul, MatmulFlipped, "matmul_onednn")                                                             \
  KERNEL_ON(kMatmul, MatmulUpconverted, "matmul_onednn")                                                         \
  KERNEL_ON(kMatmul, UpconvertedFloats, "matmul_onednn")                                                         \
  KERNEL(kPool, PoolMaxSimd)                                                                                     \
  KERNEL_ON(kPool, PoolOnednn)                                                                                   \
  KERNEL(kPool, PoolWindows)                    /* windows that the library leaves to its reference */           \
  KERNEL_ON(kPool, Upconverted, "pool_windows") /* u8 and s8 by a kernel for FP32 */                             \
  KERNEL(kReduce, ReduceBytesSimd)                                                                               \
  KERNEL(kReduce, ReduceSimd)                                                                                    \
  KERNEL_ON(kReduce, Upconverted, "reduce_simd")                                                                 \
  KERNEL_ON(kAdaptivePool, AdaptivePoolBytes, "reduce_bytes_simd", "pool_onednn")                                \
  KERNEL_ON(kAdaptivePool, AdaptivePoolEven, "reduce_simd", "pool_onednn") /* even windows, by one of the two */ \
  KERNEL_ON(kAdaptivePool, AdaptivePoolMax, "reduce_simd", "pool_max_simd")                                      \
  KERNEL_ON(kAdaptivePool, Upconverted, "adaptive_pool_even")                                                    \
  KERNEL(kAdaptivePool, AdaptivePoolWindows)                                                                     \
  KERNEL_ON(kAdaptivePool, Upconverted, "adaptive_pool_windows")                                                 \
  KERNEL(kLayerNorm, LayerNormSimd)                                                                              \
  KERNEL(kGroupNorm, GroupNormSimd)                                                                              \
  KERNEL(kSoftmax, SoftmaxSimd)                                                                                  \
  KERNEL(kAttention, AttentionSimd)                                                                              \
  KERNEL(kAttention, AttentionBf16)                                                                              \
  KERNEL(kRotary, RotarySimd)                                                                                    \
  KERNEL(kSqueezeExcite, SqueezeExciteSimd)                                                                      \
  KERNEL(kPointwiseDepthwise, PointwiseDepthwiseSimd)                                                            \
  KERNEL(kConcat, ConcatInterleavedSimd)                                                                         \
  KERNEL(kConcat, ConcatCopy)                                                                                    \
  KERNEL(kEmbedding, EmbeddingCopy)                                                                              \
  KERNEL(kEmbedding, EmbeddingRowsSimd) /* tables of u8 with a scale per row */                                  \
  KERNEL(kEmbeddingBag, EmbeddingBagSimd)                                                                        \
  KERNEL(kEmbeddingBag, EmbeddingBagRowsSimd)                                                                    \
  KERNEL(kInteraction, InteractionSimd)                                                                          \
  KERNEL(kInteractionBackward, InteractionBackwardSimd)                                                          \
  KERNEL(kUpsample, UpsampleSimd)                                                                                \
  KERNEL_ON(kUpsample, Upconverted, "upsample_simd")                                                             \
  KERNEL(kGather, GatherCopy)                                                                                    \
  KERNEL(kGatherElements, GatherElementsCopy)                                                                    \
  KERNEL(kScatterElements, ScatterReduceSimd)                                                                    \
  KERNEL(kScatterElements, ScatterElementsCopy)                                                                  \
  KERNEL(kGatherScatter, GatherScatterRows)                                                                      \
  KERNEL(kMaxMin, MaxMinSimd)                                                                                    \
  KERNEL(kMaxMin, MaxMinIntegers)                                                                                \
  KERNEL(kSort, SortSimd)                                                                                        \
  KERNEL(kSort, SortIntegers)                                                                                    \
  KERNEL(kCumulativeSum, CumulativeSumSimd) /* the last axis */                                                  \
  KERNEL(kCumulativeSum, CumulativeSum)                                                                          \
  KERNEL(kAffineGrid, AffineGridRows)                                                                            \
  KERNEL(kGridSample, GridSampleSimd)                                                                            \
  KERNEL(kFourier, FourierSimd)                                                                                  \
  KERNEL(kComplexFourier, ComplexFourierSimd)                                                                    \
  KERNEL(kComplexProduct, ComplexProductSimd)                                                                    \
  KERNEL(kIntegerMath, IntegerMath)                                                                              \
  KERNEL(kPad, PadCopy)                                                                                          \
  KERNEL_ON(kPad, Upconverted, "pad_copy")                                                                       \
  KERNEL(kRecurrent, RecurrentSimd)                                                                              \
  KERNEL(kPoolPlaces, PoolPlacesSimd)                                                                            \
  KERNEL(kReorder, ReorderCopy) /* equal layouts and runs: memcpy */                                             \
  KERNEL(kReorder, ReorderTransposedSimd)                                                                        \
  KERNEL_ON(kReorder, ReorderOnednn)    /* other layouts, f32 and bf16 */                                        \
  KERNEL(kReorder, ReorderElementsCopy) /* layouts that the library leaves to its reference */                   \
  KERNEL(kReorder, CastCopy)            /* other dtypes in the same layout */                                    \
  KERNEL(kCast, CastCopy)
// clang-format on

// The kernels of OpenCL devices, in the same way. A kind without a row runs on the host, between copies.
#define IPEX_XPU_KERNELS(KERNEL)           \
  KERNEL(kConvolution, ConvolutionXpu)     \
  KERNEL(kDeconvolution, DeconvolutionXpu) \
  KERNEL(kLinear, LinearXpu)               \
  KERNEL(kMatmul, MatmulXpu)               \
  KERNEL(kPool, PoolXpu)                   \
  KERNEL(kAdaptivePool, PoolXpu)           \
  KERNEL(kReduce, ReduceXpu)               \
  KERNEL(kPointwise, PointwiseXpu)         \
  KERNEL(kLayerNorm, LayerNormXpu)         \
  KERNEL(kGroupNorm, GroupNormXpu)         \
  KERNEL(kSoftmax, SoftmaxXpu)             \
  KERNEL(kAttention, AttentionXpu)         \
  KERNEL(kSqueezeExcite, SqueezeExciteXpu) \
  KERNEL(kConcat, ConcatXpu)               \
  KERNEL(kEmbedding, EmbeddingXpu)         \
  KERNEL(kEmbeddingBag, EmbeddingBagXpu)   \
  KERNEL(kGather, GatherXpu)               \
  KERNEL(kInteraction, InteractionXpu)     \
  KERNEL(kRecurrent, RecurrentXpu)         \
  KERNEL(kRotary, RotaryXpu)               \
  KERNEL(kUpsample, UpsampleXpu)           \
  KERNEL(kReorder, ReorderXpu)             \
  KERNEL(kCast, CastXpu)

// The plain version of each kind, in the order of OpKind: the last candidate, which takes anything. Each row declares
// the function, which a …_ref.cpp defines.
// clang-format off: a longer name leaves the other lines as they are.
#define IPEX_REFERENCES(REFERENCE)                        \
  REFERENCE(kConvolution, refConvolution)                 \
  REFERENCE(kDeconvolution, refDeconvolution)             \
  REFERENCE(kLinear, refLinear)                           \
  REFERENCE(kMatmul, refMatmul)                           \
  REFERENCE(kPool, refPool)                               \
  REFERENCE(kPoolPlaces, refPoolPlaces)                   \
  REFERENCE(kAdaptivePool, refAdaptivePool)               \
  REFERENCE(kReduce, refReduce)                           \
  REFERENCE(kPointwise, refPointwise)                     \
  REFERENCE(kLayerNorm, refLayerNorm)                     \
  REFERENCE(kGroupNorm, refGroupNorm)                     \
  REFERENCE(kSoftmax, refSoftmax)                         \
  REFERENCE(kAttention, refAttention)                     \
  REFERENCE(kRotary, refRotary)                           \
  REFERENCE(kSqueezeExcite, refSqueezeExcite)             \
  REFERENCE(kPointwiseDepthwise, refPointwiseDepthwise)   \
  REFERENCE(kConcat, refConcat)                           \
  REFERENCE(kEmbedding, refEmbedding)                     \
  REFERENCE(kEmbeddingBag, refEmbeddingBag)               \
  REFERENCE(kInteraction, refInteraction)                 \
  REFERENCE(kInteractionBackward, refInteractionBackward) \
  REFERENCE(kUpsample, refUpsample)                       \
  REFERENCE(kGather, refGather)                           \
  REFERENCE(kGatherElements, refGatherElements)           \
  REFERENCE(kScatterElements, refScatterElements)         \
  REFERENCE(kGatherScatter, refGatherScatter)             \
  REFERENCE(kMaxMin, refMaxMin)                           \
  REFERENCE(kSort, refSort)                               \
  REFERENCE(kCumulativeSum, refCumulativeSum)             \
  REFERENCE(kAffineGrid, refAffineGrid)                   \
  REFERENCE(kGridSample, refGridSample)                   \
  REFERENCE(kFourier, refFourier)                         \
  REFERENCE(kComplexFourier, refComplexFourier)           \
  REFERENCE(kComplexProduct, refComplexProduct)           \
  REFERENCE(kIntegerMath, refIntegerMath)                 \
  REFERENCE(kPad, refPad)                                 \
  REFERENCE(kRecurrent, refRecurrent)                     \
  REFERENCE(kReshape, refCopy)                            \
  REFERENCE(kPermute, refPermute)                         \
  REFERENCE(kSlice, refSlice)                             \
  REFERENCE(kSelect, refSelect)                           \
  REFERENCE(kExpand, refPointwise)                        \
  REFERENCE(kUnsqueeze, refCopy)                          \
  REFERENCE(kSqueeze, refCopy)                            \
  REFERENCE(kReorder, refCopy)                            \
  REFERENCE(kCast, refCopy)
// clang-format on

namespace ipex_studio {

#define IPEX_DECLARE(kind, Name) std::unique_ptr<Kernel> make##Name();
#define IPEX_DECLARE_ON(kind, Name, ...) std::unique_ptr<Kernel> make##Name(const KernelParts& parts);
#define IPEX_DECLARE_REFERENCE(kind, function) void function(const RefCall& call);
IPEX_KERNELS(IPEX_DECLARE, IPEX_DECLARE_ON)
IPEX_XPU_KERNELS(IPEX_DECLARE)
IPEX_REFERENCES(IPEX_DECLARE_REFERENCE)
#undef IPEX_DECLARE
#undef IPEX_DECLARE_ON
#undef IPEX_DECLARE_REFERENCE

namespace {

struct Reference {
  OpKind kind;
  RefFunction function;
};
#define IPEX_LIST_REFERENCE(kind, function) {OpKind::kind, function},
constexpr Reference kReferences[] = {IPEX_REFERENCES(IPEX_LIST_REFERENCE)};
#undef IPEX_LIST_REFERENCE
static_assert(std::size(kReferences) == kOpKindCount, "a kind without a reference");

constexpr bool referencesAreInOrder() {
  for (int kind = 0; kind < kOpKindCount; ++kind) {
    if (kReferences[kind].kind != static_cast<OpKind>(kind)) return false;
  }
  return true;
}
static_assert(referencesAreInOrder(), "references stand in the order of the enumerators");

class OrderedKernelList final : public KernelList {
 public:
  OrderedKernelList() : engine_(dnnl::engine::kind::cpu, 0) {
#define IPEX_LIST(kind, Name) list(OpKind::kind, DeviceKind::kCpu, make##Name());
#define IPEX_LIST_ON(kind, Name, ...) list(OpKind::kind, DeviceKind::kCpu, make##Name(parts(__VA_ARGS__)));
#define IPEX_LIST_XPU(kind, Name) list(OpKind::kind, DeviceKind::kXpu, make##Name());
    IPEX_KERNELS(IPEX_LIST, IPEX_LIST_ON)
    IPEX_XPU_KERNELS(IPEX_LIST_XPU)
#undef IPEX_LIST
#undef IPEX_LIST_ON
#undef IPEX_LIST_XPU
    for (const Reference& reference : kReferences)
      list(reference.kind, DeviceKind::kCpu, makeReference(reference.kind, reference.function));
  }

  const std::vector<const Kernel*>& candidates(OpKind kind, DeviceKind device) const override {
    static const std::vector<const Kernel*> none;
    const auto found = candidates_.find({kind, device});
    return found == candidates_.end() ? none : found->second;
  }

 private:
  void list(OpKind kind, DeviceKind device, std::unique_ptr<Kernel> kernel) {
    candidates_[{kind, device}].push_back(kernel.get());
    kernels_.push_back(std::move(kernel));
  }

  KernelParts parts(const std::string& first = "", const std::string& second = "") const {
    return {engine_, listed(first), listed(second)};
  }

  // The kernel of this name in the rows before; null for the empty name.
  const Kernel* listed(const std::string& name) const {
    if (name.empty()) return nullptr;
    for (const std::unique_ptr<Kernel>& kernel : kernels_) {
      if (kernel->name() == name) return kernel.get();
    }
    IPEX_CHECK(false, "no row above makes the kernel " + name);
    return nullptr;
  }

  dnnl::engine engine_;
  std::vector<std::unique_ptr<Kernel>> kernels_;
  std::map<std::pair<OpKind, DeviceKind>, std::vector<const Kernel*>> candidates_;
};

}  // namespace

std::unique_ptr<KernelList> makeKernelList() { return std::make_unique<OrderedKernelList>(); }

}  // namespace ipex_studio
