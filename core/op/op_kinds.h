// The kinds of operations with their operands and attributes, and a table row per kind with the properties that layers
// use.
//
// A new kind is an enumerator here, a row in op_kinds.cpp, its plain version (kernels, …_ref.cpp), a kernel, cases for
// both (tests/kernels) and a lowering (core/lower). Another property of all kinds becomes another column, so that a
// kind without it does not compile.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace ipex_studio {

struct OpSpec;
struct TensorDesc;
struct Verdict;

// Operands are named src0, src1 …; [x] marks an optional operand (absent TensorDesc). Operands of post-operations
// follow the fixed ones listed here: post operand k is source baseSourceCount(kind) + k. Attributes stand behind the
// operands.
enum class OpKind : std::uint8_t {
  // x[N,C,(D,H,)W], w[O,C/g,…], [b[O]]; stride, padding, [padding_end], dilation, groups, [src_zero]
  kConvolution,
  // Transposed convolution. x, w[C,O/g,…], [b]; stride, padding, output_padding, dilation, groups, [src_zero]
  kDeconvolution,
  // x[…,K], w[N,K], [b[N]]; [src_zero]. x in f32 or bf16 with w in s8: weight-only quantization, w holds plain numbers.
  // dynamic=1 then quantizes each row of x to u8 first: scale = (max - min) / 255 over the row and 0, zero = round(-min
  // / scale). group=g: scales f32 [N,ceil(K/g)] take the place of b, each for g weights of a row; with these also
  // bits=4, depth=K, [levels=even|nf4] (woq_weights.h)
  kLinear,
  // a[…,M,K], b[…,K,N], batch dims broadcast; [transpose_a], [transpose_b] (last two axes), [scale], [src_zero] of a,
  // [weight_zero] of b (s8, or u8 where a is an integer)
  kMatmul,
  // x; mode=max|avg|avg_exclude_pad, kernel, stride, padding, dilation, ceil_mode
  kPool,
  // x; kernel, stride, padding, dilation, ceil_mode. Results: the maxima of a pool and their s64 places among the
  // pixels of x, of equal ones the first; NaN is greater than all numbers
  kPoolPlaces,
  // x; mode=max|avg, output=[…]
  kAdaptivePool,
  // x; mode=mean|sum|max|min, axes, keepdim
  kReduce,
  // x; the result is the post-op chain applied to x, broadcast over all operands
  kPointwise,
  // x, [gamma], [beta], [residual]; axes (count of trailing), eps; y = norm(x + residual). sum_output=1 adds a second
  // result: x + residual. rms=1: RMS norm (no mean); l2=1: x is divided by its length, at least eps
  kLayerNorm,
  // x, [gamma], [beta]; groups, eps, [channels]: the only number of channels accepted
  kGroupNorm,
  // x, [mask]; axis, scale, log; softmax(scale·x + mask)
  kSoftmax,
  // q[…,S,D], k[…,T,D], v[…,T,E], [mask]; batch dims broadcast, the mask to […,S,T]; scale, causal=1: query i sees keys
  // up to i. Result: softmax(scale·q·kᵀ + mask) · v. fill=a: instead of the sum, scores become a where the mask is not
  // zero; keep=a: where it is zero. heads_last=1: the result [N,H,S,E] is read as [N,S,H,E] later, and a kernel may lay
  // it out so; heads_last=2: [N,G,H,S,E] as [N,S,G,H,E]. products=bf16: q, k, v and the weights of v are rounded to
  // bf16 for the products, whose sums are f32, as is the softmax; the same holds if q, k or v is bf16
  kAttention,
  // x[…,D], cos, sin (f32, of equal sizes, which broadcast to x but for the last axis); [rotated=R]: the first R values
  // of each row (else all) are rotated, the others copied; [interleaved=1]: 2i and 2i + 1 are a pair, otherwise i and
  // i + R/2. Tables have R columns, or with half=1 R/2: one for each pair. [tokens]: an axis (negative) along which the
  // tables have x's size, whatever it is, or with first=1 at least that; of more rows the first are read.
  // y = x·cos + r(x)·sin, where r turns each pair (a, b) into (-b, a)
  kRotary,
  // x[N,C,…], reduce[R,C], [b[R]], expand[C,R], [b[C]]; axes (number of pixel axes), activation, gate: unary
  // post-operations (namedPostOp). Result: x · gate(expand·activation(reduce·mean(x) + b) + b), the mean over all
  // pixels
  kSqueezeExcite,
  // A depthwise convolution of activation(expand·x + b): two convolutions that the planner fused. x[N,I,…],
  // expand[C,I,1…], [b[C]], w[C,1,…], [b[C]]; [activation]: a unary post-operation, stride, padding, [padding_end],
  // [dilation]
  kPointwiseDepthwise,
  // x0 … xn-1 (any number, all fixed operands); axis
  kConcat,
  // ids (s64 or s32), table[V,E]. scaled_rows=1: table u8 whose rows carry scale and offset (woq_weights.h)
  kEmbedding,
  // ids, offsets, table; mode=sum|mean, include_last_offset, [scaled_rows]
  kEmbeddingBag,
  // Products of pairs of features (DLRM). x0 … xn-1 (any number, all fixed operands): [B,D], one feature of each
  // sample, or [B,K,D], K of them. triangle=lower|upper: result [B,pairs] of the products of features i and j for
  // j < i, or j > i, row by row; [diagonal=1]: j = i, too; [dense=1]: behind the values of x0[B,D];
  // [features]: the only number of them accepted
  kInteraction,
  // gradient[B,…] of such a result, then its operands, with its attributes; result [B,N,D]: the gradients of all
  // features
  kInteractionBackward,
  // x; mode=nearest|bilinear, output=[…] or whole factors=[…], align_corners
  kUpsample,
  // x, index (s64 or s32, of any rank, whose sizes replace the axis); axis, [wrap=1]: negative indices count from the
  // end
  kGather,
  // x, index (s64 or s32) of x's rank; axis: y[i][j] = x[index[i][j]][j] for axis 0
  kGatherElements,
  // x, index, updates of index's sizes; axis, [reduction=add]. Result: x with y[index[i][j]][j] = updates[i][j] for
  // axis 0, where of equal places the last one stays; with reduction=add += instead (f32), in the order of the index.
  // An index of one dimension holds for whole slices: updates have x's sizes except the length along the axis
  kScatterElements,
  // Sums over the edges of a graph. like[N,…] (only its sizes are read), to (s64 or s32) [E], x[S,…] (f32), [from [E]],
  // [weights[E,…]: x's other axes, of which the last ones may be 1]; reduction=add|mean|max|min, [wrap=1]: negative
  // ones of `from` count from the end, [rank]: the only rank of x accepted. y[n] = the sum, mean or extreme over all e
  // with to[e] = n of weights[e]·x[from[e]] (without from: x[e]), in the order of e; 0 where there are none
  kGatherScatter,
  // Maxima or minima with their indices. x; mode=max|min, axis, [keepdim]. Results: the values and their s64 indices,
  // the first of equal values; NaN is more extreme than all numbers, in both modes
  kMaxMin,
  // x; axis, [descending], [k]: only the first k. Results: sorted values and their s64 indices, equal values in their
  // original order, or with [ties=topk|sort] in that of libtorch's topk or sort; NaN is greater than all numbers. With
  // [ties=unsorted_topk] all values are in the order in which libtorch's topk leaves them unsorted
  kSort,
  // x; axis
  kCumulativeSum,
  // theta[N,2,3] (f32); output=[H,W], align_corners. The grid [N,H,W,2] that kGridSample reads: theta · (x, y, 1) for
  // the centres of H·W pixels. -1 and 1 are the centres of the outer pixels (align_corners=1) or their outer edges
  kAffineGrid,
  // x[N,C,H,W], grid[N,P,Q,2] of (x, y) from -1 to 1; mode=nearest|bilinear, padding=zeros|border, align_corners
  kGridSample,
  // x[…,S] (f32), [window[frame]]; frame, hop: Fourier transforms of x[…, t·hop + i] · window[i] over i < frame, bins
  // up to half of it: y[…,frame/2+1,T,2] of real and imaginary parts, T = (S - frame)/hop + 1. Without frame the whole
  // axis is one: y[…,S/2+1,2]. result=magnitude: the lengths of the pairs instead. norm=ortho|forward: divided by the
  // root of frame, or by frame
  kFourier,
  // Transforms along any axis. x: pairs of real and imaginary parts (f32, a last axis of 2, which `axis` does not
  // count), or source=real: numbers; axis, [size]: numbers that are transformed, cut from x or filled up with zeros,
  // [inverse=1], norm as kFourier. Result: pairs, or result=half: those up to half of `size` (of source=real), or
  // result=real: the numbers whose half x is (inverse=1; without `size` twice as many as x has, less two)
  kComplexFourier,
  // a, b: complex numbers as pairs on a last axis of 2, whose other axes broadcast; [conjugate=1]: of b. a · b
  kComplexProduct,
  // a, [b] (s64, s32, u8 or bool, broadcast; without b the number `value`);
  // op=add|sub|mul|floordiv|truncdiv|mod|rem|min|max (s64, wraps around; mod has the sign of b, rem that of a) or
  // eq|ne|lt|le|gt|ge (bool)
  kIntegerMath,
  // x; begin, end (per axis; negative ones cut with mode=constant), mode=constant|reflect|replicate, value
  kPad,
  // gates[T,N,G·H] (the inputs' part, biases included), w[G·H,H], h[N,H], [c[N,H]], [b[H]]; cell=lstm (G = 4: input,
  // forget, new, output) with c, or gru (G = 3: reset, update, new), b: hidden bias of its new gate; time_axis (1: N
  // before T), reverse=1: from the last step on; projected=1: w[5·H,P], h[N,P]. Results y[T,N,H or P]; c'[N,H]
  kRecurrent,
  // Views: no work if the source is strided; otherwise the plan copies.
  // x; shape (one entry may be -1), or flatten_begin, flatten_end, or split_last: the size of a new last axis, by which
  // the one before is divided
  kReshape,
  // x; order
  kPermute,
  // x; axis, begin, end, step>0, [of]: the only size of the axis accepted, [least]: the least size, [forward=1]:
  // no negative begin accepted; or axis, parts, part, [part_size]
  kSlice,
  // x; axis, index (negative allowed), [of]: the only size of the axis accepted
  kSelect,
  // x; shape (-1 keeps)
  kExpand,
  // x; axis
  kUnsqueeze,
  // x; axes, [rank]: the only rank of the result accepted
  kSqueeze,
  // Made by the planner.
  // x; to another layout, dense copy or dtype
  kReorder,
  // x; dtype
  kCast,
};
constexpr int kOpKindCount = static_cast<int>(OpKind::kCast) + 1;

// The condition under which an operation keeps the samples of a batch apart (decided by sizes and attributes in
// core/plan/batch_independence.cpp).
enum class BatchRule : std::uint8_t {
  kMayMix,     // never proven
  kView,       // where the view keeps the samples' axis whole
  kAligned,    // operands broadcast without one sample's rows meeting another's
  kWeighted,   // samples come with source 0 on axis 0; weights are the other fixed operands
  kLinear,     // as kWeighted, for sources of two axes and more
  kAxisApart,  // samples on axis 0 of source 0, and `axis` is another one
  kSoftmax,
  kLayerNorm,
  kMatmul,
  kAttention,
  kConcat,
  kReduce,
  kPad,
  kGather,
  kAllSamples,  // samples come on axis 0 of every fixed operand
};

// Floats below FP32 in which plans compute the kind.
enum class LowPrecision : std::uint8_t { kNone, kBf16, kBf16AndFp16 };

// The treatment of the kind under INT8 (core/quantization/quantizable_ops.cpp).
enum class IntegerRule : std::uint8_t {
  kNone,
  kWeightedProduct,    // a product with constant weights
  kActivationProduct,  // a product of two activations
  kAttention,
  kChain,           // pointwise: the chain reads and writes integers
  kMoves,           // moves integers unchanged
  kPools,           // mode=max moves integers, other modes average them
  kMovesNearest,    // moves integers with mode=nearest
  kAveragesMean,    // averages integers with mode=mean
  kAveragesPooled,  // averages integers with mode=avg
};

// The shape rule of a kind: appends the results' descriptions to `dst`, or declines. Required sources are present and
// their sizes are in range when it is called.
using ShapeRule = Verdict(const OpSpec& spec, const std::vector<TensorDesc>& src, std::vector<TensorDesc>* dst);

struct OpKindRow {
  OpKind kind;
  const char* name;              // in specs, the database and tables; the stem of kernel names
  const char* former_name;       // name in the specs of earlier versions; nullptr: never had another name
  int base_sources;              // fixed operands before the post operands; -1: all are fixed, any number
  std::uint32_t absent_sources;  // bit s: fixed operand s may be absent
  bool is_view;
  bool is_measured;  // false: the tuner does not time kernels of it
  ShapeRule* infer;
  BatchRule batch;
  LowPrecision low_precision;
  IntegerRule integers;
  const char* group;  // decides the colour in the window and the word in its tables (studio/snapshot/kind_group.h)
};

const OpKindRow& opKindRow(OpKind kind);
const char* opKindName(OpKind kind);
// Stores the kind that has or had this name; false if there is none.
bool opKindFromName(const std::string& name, OpKind* kind);
// Number of fixed operands before the post operands; -1 where all are fixed (concat).
int baseSourceCount(OpKind kind);
bool isView(OpKind kind);

}  // namespace ipex_studio
