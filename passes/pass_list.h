// Every pass by name; each is defined in the file of that name. The order they run in is pipeline.cpp's.
#pragma once

#include "core/graph/pass.h"

namespace ipex_studio {

extern const Pass kCanonicalizeAttention;
extern const Pass kCanonicalizeBaddbmm;
extern const Pass kCanonicalizeBatchNorm;
extern const Pass kCanonicalizeBroadcastProduct;
extern const Pass kCanonicalizeConvolution;
extern const Pass kCanonicalizeEinsum;
extern const Pass kCanonicalizeFakeQuantize;
extern const Pass kCanonicalizeGelu;
extern const Pass kCanonicalizeGroupedAttention;
extern const Pass kCanonicalizeHardswish;
extern const Pass kCanonicalizeInplace;
extern const Pass kCanonicalizeLayerNorm;
extern const Pass kCanonicalizeLinear;
extern const Pass kCanonicalizeLists;
extern const Pass kCanonicalizeMish;
extern const Pass kCanonicalizeNested;
extern const Pass kCanonicalizeOneHot;
extern const Pass kCanonicalizePackedSequences;
extern const Pass kCanonicalizeQuantized;
extern const Pass kCanonicalizeSilu;
extern const Pass kCanonicalizeSizeArithmetic;
extern const Pass kCanonicalizeSizes;
extern const Pass kCanonicalizeSoftmax;
extern const Pass kCanonicalizeViews;
extern const Pass kCanonicalizeWindowMask;
extern const Pass kEliminateBranchResult;
extern const Pass kEliminateCommonSubexpressions;
extern const Pass kEliminateConcat;
extern const Pass kEliminateDeadCode;
extern const Pass kEliminateDict;
extern const Pass kEliminateDropout;
extern const Pass kEliminateIdentity;
extern const Pass kEliminateList;
extern const Pass kEliminateLoop;
extern const Pass kEliminateReshape;
extern const Pass kEliminateTranspose;
extern const Pass kEliminateTransposeAround;
extern const Pass kEliminateTuple;
extern const Pass kEliminateUpcast;
extern const Pass kEqualizeLayers;
extern const Pass kFoldAttribute;
extern const Pass kFoldBatchNorm;
extern const Pass kFoldConstants;
extern const Pass kFoldCrop;
extern const Pass kSinkUpsample;
extern const Pass kFoldInferenceMode;
extern const Pass kFoldIsQuantized;
extern const Pass kFoldIsinstance;
extern const Pass kFoldTensorFacts;
extern const Pass kFoldMulAdd;
extern const Pass kFoldPad;
extern const Pass kFoldSize;
extern const Pass kFuseActivation;
extern const Pass kFuseAddLayerNorm;
extern const Pass kFuseAttention;
extern const Pass kFuseBinary;
extern const Pass kFuseConcatLinear;
extern const Pass kFuseDequantize;
extern const Pass kFuseInteraction;
extern const Pass kFuseGatherScatter;
extern const Pass kFuseMatmulTranspose;
extern const Pass kFusePointwise;
extern const Pass kFuseResidualAdd;
extern const Pass kFuseRmsNorm;
extern const Pass kFuseSoftmax;
extern const Pass kFuseSpectrum;
extern const Pass kFuseSplitConvolution;
extern const Pass kFuseSqueezeExcite;
extern const Pass kInsertCasts;
extern const Pass kInsertIdentityBranch;
extern const Pass kInsertIntegerWeights;
extern const Pass kInsertNestedBranch;
extern const Pass kInsertNoneBranch;
extern const Pass kInsertQuantize;
extern const Pass kInsertQuantizedTensors;
extern const Pass kNarrowDouble;
extern const Pass kPropagateChecks;
extern const Pass kQuantizeEmbeddings;
extern const Pass kRecordShapes;

}  // namespace ipex_studio
