// The order in which passes run, with the reason for each place.
#include "passes/pipeline.h"

#include "passes/pass_list.h"

namespace ipex_studio {

const std::vector<const Pass*>& defaultPasses() {
  static const std::vector<const Pass*> passes = {
      // First of all: both graphs go through all passes.
      &kInsertNoneBranch,
      // Before the branch that its answers make needless.
      &kFoldAttentionIdentity,
      &kInsertIdentityBranch,
      // Before all others: in eval mode dropout hands its input through, which no alias analysis knows.
      &kEliminateDropout,
      // Every later pattern is written for the out-of-place operators only.
      &kCanonicalizeInplace,
      // Before whatever asks for dtypes.
      &kNarrowDouble,
      &kCanonicalizeAutocast,
      // After the casts of autocast are plain, so that they cost nothing in FP32; before whatever knows FP32 only.
      &kWidenBf16,
      // Before canonicalize-einsum, which writes the products that it finds.
      &kCanonicalizeBroadcastProduct,
      // Before all that looks for products and permutations, and before fold-constants, which then permutes weights.
      &kCanonicalizeEinsum,
      // Before whatever looks for views.
      &kCanonicalizeViews,
      // Before fold-size, which decides single sizes, and fold-constants, which takes the branch that a rank decides.
      &kCanonicalizeSizes,
      // Before the arithmetic on sizes, which is constant where they are.
      &kFoldSize,
      // Before fold-constants, which merges constant ones of the integers that it brings back.
      &kCanonicalizeSizeArithmetic,
      // Before fold-constants, which takes the branch that the answer leaves.
      &kFoldIsQuantized,
      &kFoldInferenceMode,
      &kFoldIsinstance,
      &kEliminateBranchResult,
      &kFoldTensorFacts,
      // Before fold-constants, for which a list that is written to is none.
      &kCanonicalizeLists,
      // After it, which writes lists that are filled as lists; before whatever reads elements.
      &kEliminateLoopList,
      // Before the lists, of which it makes some.
      &kEliminateDict,
      &kEliminateTuple,
      // After the lists that are filled are written as lists.
      &kEliminateList,
      // After it, which reads what is at a constant index.
      &kCanonicalizeUnbind,
      &kPropagateChecks,
      // Before fold-constants, which takes the branches that it decides.
      &kPropagateConditions,
      // Before fold-constants, which runs it again when a branch that might write to an attribute is gone.
      &kFoldAttribute,
      // Before fold-constants, which runs it again when it knows how many rounds there are.
      &kEliminateLoop,
      // Before whatever asks for constants, weights behind a transpose first of all.
      &kFoldConstants,
      // After it, which writes loops out; before whatever asks for sizes.
      &kRecordShapes,
      // After the shapes; before all that leaves alone what shows its order in memory.
      &kCanonicalizeAsStrided,
      // After fold-constants, which makes tables constant, and after the shapes; before whatever looks for products.
      &kCanonicalizeOneHot,
      // Before whatever looks for products and activations.
      &kCanonicalizeRnnCell,
      // After the writes are out of place and the shapes are known; before the places, which it does without.
      &kCanonicalizeMaskedUpdate,
      // Before fuse-gather-scatter and the common subexpressions, which find the same places together.
      &kCanonicalizeMaskPlaces,
      // After record-shapes, which brings its question to the top level.
      &kInsertNestedBranch,
      // After the branches that pack a batch; before the passes of whole batches.
      &kCanonicalizeNested,
      // After fold-constants, which makes the weights one constant; before whatever looks for views.
      &kCanonicalizePackedSequences,
      // After fold-constants: branches choose the fast path, and whether the weights of attention are read. Before all
      // that looks for products.
      &kCanonicalizeAttention,
      // After it, whose attention asks masks of numbers where they are zero.
      &kFoldMask,
      // Before the reshapes are joined, of which it makes some.
      &kCanonicalizeGroupedAttention,
      // After fold-constants, which makes tables constant; before whatever takes FP32 alone.
      &kEliminateUpcast,
      // Before the canonical forms: a copy or view in between hides a pattern.
      &kEliminateIdentity,
      // After it, which takes away slices of everything.
      &kEliminateConcat,
      &kEliminateTranspose,
      // After the identities, which leave fewer shapes in a row.
      &kEliminateReshape,
      // After fold-constants, which makes windows constant; before whatever looks at readers of its results.
      &kFuseSpectrum,
      // One form per operation, before anything looks for it.
      &kCanonicalizeConvolution,
      &kCanonicalizeBatchNorm,
      &kCanonicalizeLinear,
      // Before fold-mul-add: a factor or sum behind a normalization reaches the weights only once the normalization is
      // gone.
      &kFoldBatchNorm,
      &kFoldMulAdd,
      // After the folds into weights: normalizations of single branches are gone. Before fold-pad, which may make a
      // convolution one of ours.
      &kFuseSplitConvolution,
      // After the folds into weights: unequal sides turn a convolution into one of ours.
      &kFoldPad,
      // After it, which brings all padding to the convolution.
      &kFoldCrop,
      // After the folds into weights, which leave no normalization behind a convolution; before fusions.
      &kSinkUpsample,
      // Parallel branches of one source are one node before anything is fused into either.
      &kEliminateCommonSubexpressions,
      // Only for INT8: after the folds into weights, which it levels, and before activations are fused onto the layers
      // before them.
      &kEqualizeLayers,
      // One node per activation and normalization, before any fusion looks for it; common subexpressions are one by
      // now.
      &kCanonicalizeGelu,
      &kCanonicalizeSilu,
      &kCanonicalizeMish,
      &kCanonicalizeHardswish,
      &kCanonicalizeLayerNorm,
      &kCanonicalizeSoftmax,
      // After the forms that it knows; before the fusions, for which a permutation is in the way.
      &kEliminateTransposeAround,
      // Before fuse-matmul-transpose, which then scales the product alone, and before the fusions of attention.
      &kCanonicalizeBaddbmm,
      // After common subexpressions are one; before the products of attention, which it leaves alone, and before the
      // fusions that would take its sums.
      &kFuseRotary,
      // Before any other fusion: here transposes and factors cost nothing.
      &kFuseMatmulTranspose,
      // After it, which leaves the product of features with themselves.
      &kFuseInteraction,
      // Before fuse-pointwise, which would take the product with the weights of edges.
      &kFuseGatherScatter,
      // After it, which leaves plain products, and before what looks for the mask next to the softmax.
      &kCanonicalizeWindowMask,
      // Before fuse-residual-add, which would make the mask a post-operation of the scores' product.
      &kFuseSoftmax,
      // After the two passes above, whose results it matches.
      &kFuseAttention,
      // After it, whose operation broadcasts the heads of keys and values.
      &kEliminateRepeatedHeads,
      // After fuse-attention, which moves factors of the scores; before the pass that fuses residuals onto
      // normalizations.
      &kFuseRmsNorm,
      // Before the two-tensor fusions, so that a sum of activations finds operations that carry their activations.
      &kFuseActivation,
      // Before the sum behind a gate, which only a fused gate can take along.
      &kFuseBinary,
      // Takes the activation behind the sum itself: fuse-activation has run.
      &kFuseResidualAdd,
      // After fuse-residual-add: a sum is cheaper in the product before it than in the normalization behind it.
      &kFuseAddLayerNorm,
      // After all that gives a linear post-operations, which keep it out of a group.
      &kFuseConcatLinear,
      // Takes the elementwise operations that no other one absorbed.
      &kFusePointwise,
      // After all passes that fuse activations onto its products and make a chain of the operations behind its gate.
      &kFuseSqueezeExcite,
      // After all fusions, which know FP32 only: from here on there are integers.
      &kCanonicalizeQuantized,
      &kCanonicalizeFakeQuantize,
      // After quantized tensors are integers: values that are read in between may become integers, too.
      &kFuseDequantize,
      // After all fusions, which know FP32 only; before the casts, which take what stays above INT8.
      &kInsertQuantize,
      // In its place, for files that any PyTorch runs.
      &kInsertQuantizedTensors,
      // The same without ranges, for linear layers alone.
      &kInsertIntegerWeights,
      // After the passes of linear layers, which own the weights that they share with tables.
      &kQuantizeEmbeddings,
      // After all fusions, which know FP32 only and leave fewer borders to cast at.
      &kInsertCasts,
      // Last: what lost its users on the way.
      &kEliminateDeadCode,
  };
  return passes;
}

}  // namespace ipex_studio
