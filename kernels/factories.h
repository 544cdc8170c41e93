// Makers of all kernels, for kernel_list.cpp alone.
#pragma once

#include <memory>

#include "core/op/kernel.h"

namespace dnnl {
struct engine;
}

namespace ipex_studio {

std::unique_ptr<Kernel> makeConvolutionOnednn(const dnnl::engine& engine);
std::unique_ptr<Kernel> makeConvolutionOnednnNhwc(const dnnl::engine& engine);
std::unique_ptr<Kernel> makeConvolutionOnednnBlocked(const dnnl::engine& engine);
std::unique_ptr<Kernel> makeConvolutionOnednnWinograd(const dnnl::engine& engine);
std::unique_ptr<Kernel> makeDeconvolutionOnednn(const dnnl::engine& engine, const Kernel* pointwise);
std::unique_ptr<Kernel> makeLinearOnednn(const dnnl::engine& engine);
std::unique_ptr<Kernel> makeLinearOnednnInnerProduct(const dnnl::engine& engine);
std::unique_ptr<Kernel> makeLinearOnednnConvolution(const dnnl::engine& engine);
std::unique_ptr<Kernel> makeMatmulOnednn(const dnnl::engine& engine);
std::unique_ptr<Kernel> makeMatmulFlipped(const Kernel* onednn);
std::unique_ptr<Kernel> makeMatmulUpconverted(const Kernel* onednn);
std::unique_ptr<Kernel> makePoolOnednn(const dnnl::engine& engine);
std::unique_ptr<Kernel> makeReorderOnednn(const dnnl::engine& engine);

std::unique_ptr<Kernel> makePointwiseSimd();
std::unique_ptr<Kernel> makeLinearGemvSimd(const Kernel* pointwise);
std::unique_ptr<Kernel> makeConvolutionGemvSimd(const Kernel* pointwise);
std::unique_ptr<Kernel> makeConvolutionSimd();
std::unique_ptr<Kernel> makeConvolutionInt8();
std::unique_ptr<Kernel> makeLinearInt8();
std::unique_ptr<Kernel> makeLinearUpconvertedWeights(const Kernel* wide);
std::unique_ptr<Kernel> makeLinearWoq(const Kernel* pointwise);
std::unique_ptr<Kernel> makeConvolutionDepthwiseInt8();
std::unique_ptr<Kernel> makeConvolutionDepthwiseSimd();
std::unique_ptr<Kernel> makeLinearSimd();
std::unique_ptr<Kernel> makeReduceBytesSimd();
std::unique_ptr<Kernel> makeReduceSimd();
std::unique_ptr<Kernel> makeSoftmaxSimd();
std::unique_ptr<Kernel> makeAttentionSimd();
std::unique_ptr<Kernel> makeAttentionBf16();
std::unique_ptr<Kernel> makeSqueezeExciteSimd();
std::unique_ptr<Kernel> makePointwiseDepthwiseSimd();
std::unique_ptr<Kernel> makeLayerNormSimd();
std::unique_ptr<Kernel> makeGroupNormSimd();

std::unique_ptr<Kernel> makeAdaptivePool(const char* name, const Kernel* reduce, const Kernel* pool);
std::unique_ptr<Kernel> makeAdaptivePoolWindows();
std::unique_ptr<Kernel> makePoolMaxSimd();
std::unique_ptr<Kernel> makePoolWindows();
std::unique_ptr<Kernel> makeUpsampleSimd();
std::unique_ptr<Kernel> makeUpconverted(const Kernel* wide);        // for u8 and s8
std::unique_ptr<Kernel> makeUpconvertedFloats(const Kernel* wide);  // products of bf16 and f16
std::unique_ptr<Kernel> makeConcatCopy();
std::unique_ptr<Kernel> makeReorderCopy();
std::unique_ptr<Kernel> makeCastCopy();
std::unique_ptr<Kernel> makeEmbeddingCopy();
std::unique_ptr<Kernel> makeEmbeddingBagSimd();
std::unique_ptr<Kernel> makeEmbeddingRowsSimd();  // tables of u8 with a scale per row
std::unique_ptr<Kernel> makeEmbeddingBagRowsSimd();
std::unique_ptr<Kernel> makeGatherCopy();
std::unique_ptr<Kernel> makeGatherElementsCopy();
std::unique_ptr<Kernel> makeScatterElementsCopy();
std::unique_ptr<Kernel> makeMaxMinSimd();
std::unique_ptr<Kernel> makeMaxMinIntegers();
std::unique_ptr<Kernel> makeSortSimd();
std::unique_ptr<Kernel> makeSortIntegers();
std::unique_ptr<Kernel> makeCumulativeSum();
std::unique_ptr<Kernel> makeAffineGridRows();
std::unique_ptr<Kernel> makeGridSampleSimd();
std::unique_ptr<Kernel> makeIntegerMath();
std::unique_ptr<Kernel> makePadCopy();
std::unique_ptr<Kernel> makeRecurrentSimd();

std::unique_ptr<Kernel> makeReference(OpKind kind);

}  // namespace ipex_studio
