// OpSpec: one fused operation as data. Everything that is fused onto a primitive is a PostOp in its list, never a new
// operation name. The text form is what fused TorchScript operators carry as `spec`, what compiled exports store and
// what tuning records are keyed by:
//
//   convolution{dilation=[1,1],groups=1,padding=[1,1],stride=[2,2]}|add(0)|relu
//   pointwise{}|mul(0)|add(1)|clip(0,6)
//
// Attributes are printed sorted by name, so equal specs have equal text. The text is untrusted input when it comes from
// a file: parse checks syntax, known kinds and post-ops, and size limits; kernels and shape inference check meaning.
//
// Integers. A tensor of u8 or s8 is nothing but its integers: scales and zero points stand in the post-operations of
// what writes and reads it. Chains compute in FP32, in which their operands of any dtype take part as their values.
// result=f32|bf16|f16|u8|s8 (products, attention, pointwise, pools, reduce, embedding) is the dtype of the result; u8 and s8 are
// rounded to nearest even and saturated, NaN becomes the lowest number. Without it products and chains of u8 or s8 give
// f32, everything else its first source's dtype. Products of u8 or s8 by s8 weights are exact: the 32-bit sum of
// (x - src_zero)·w, padding counts as src_zero, there is no bias; the chain begins with the scales:
//   convolution{padding=[1,1],result=u8,src_zero=3}|mul(0)|add(1)|relu|linear(32.1,0.0)
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <variant>
#include <vector>

namespace ipex_studio {

enum class OpKind : std::uint8_t {
  // Operands are named src0, src1 …; [x] marks an optional operand (absent TensorDesc). Post-op operands follow after
  // the fixed ones listed here: post operand k is source baseSourceCount(kind) + k.
  kConvolution,    // x[N,C,(D,H,)W], w[O,C/g,…], [b[O]]; stride, padding, [padding_end], dilation, groups, [src_zero]
  kDeconvolution,  // x, w[C,O/g,…], [b]; stride, padding, output_padding, dilation, groups (transposed convolution),
                   //   [src_zero]
  kLinear,  // x[…,K], w[N,K], [b[N]]; [src_zero]. f32 or bf16 x may meet s8 w: they are numbers. Then dynamic=1
            //   rounds each row of x to u8 first: scale = (max - min) / 255 over the row and 0, zero =
            //   round(-min / scale). group=g: scales f32 [N,ceil(K/g)] stand in the place of b, each for g weights
            //   of a row; then also bits=4, depth=K (woq_weights.h)
  kMatmul,  // a[…,M,K], b[…,K,N], batch dims broadcast; [transpose_a], [transpose_b] (last two axes), [scale],
            //   [src_zero] of a, [weight_zero] of b (s8, or u8 where a is an integer)
  kPool,    // x; mode=max|avg|avg_exclude_pad, kernel, stride, padding, dilation, ceil_mode
  kAdaptivePool,  // x; mode=max|avg, output=[…]
  kReduce,        // x; mode=mean|sum|max|min, axes, keepdim
  kPointwise,     // x; result is the post-op chain applied to x, broadcast over all operands
  kLayerNorm,     // x, [gamma], [beta], [residual]; axes (count of trailing), eps; y = norm(x + residual).
                  //   sum_output=1 adds a second result: x + residual. rms=1: RMS norm (no mean); l2=1: x is divided by
                  //   its length, at least eps
  kGroupNorm,     // x, [gamma], [beta]; groups, eps, [channels]: refuse another number
  kSoftmax,       // x, [mask]; axis, scale, log; softmax(scale·x + mask)
  kAttention,  // q[…,S,D], k[…,T,D], v[…,T,E], [mask]; batch dims broadcast, the mask to […,S,T]; scale, causal=1: query i
  //   sees keys up to i; softmax(scale·q·kᵀ + mask) · v. fill=a: scores become a where the mask is not
  //   zero, keep=a: where it is zero, instead of the sum. heads_last=1: the result [N,H,S,E] will be read
  //   as [N,S,H,E], a kernel may lay it out so. products=bf16: q, k, v and the weights of v are rounded to
  //   bf16 for the products, whose sums are f32, as is the softmax; so they are where q, k or v is bf16
  kSqueezeExcite,  // x[N,C,…], reduce[R,C], [b[R]], expand[C,R], [b[C]]; axes (count of
                   //   pixels' axes), activation, gate: unary post-operations (namedPostOp).
                   //   x · gate(expand·activation(reduce·mean(x) + b) + b), the mean over all pixels
  kPointwiseDepthwise,  // x[N,I,…], expand[C,I,1…], [b[C]], w[C,1,…], [b[C]]; [activation]: a unary post-operation, stride, padding,
                        //   [padding_end], [dilation]. Made by the planner of two convolutions: a depthwise one of
                        //   activation(expand·x + b)
  kConcat,        // x0 … xn-1 (any number, all fixed operands); axis
  kEmbedding,     // ids(s64/s32), table[V,E]. scaled_rows=1: table u8 whose rows carry scale and offset (woq_weights.h)
  kEmbeddingBag,  // ids, offsets, table; mode=sum|mean, include_last_offset, [scaled_rows]
  kUpsample,      // x; mode=nearest|bilinear, output=[…] or whole factors=[…], align_corners
  kGather,  // x, index(s64 or s32, of any rank, whose sizes stand in the place of the axis); axis, [wrap=1]: negative
            //   indices count from the end
  kGatherElements,  // x, index(s64 or s32) of x's rank; axis: y[i][j] = x[index[i][j]][j] for axis 0
  kScatterElements,  // x, index, updates of index's sizes; axis, [reduction=add]: x with y[index[i][j]][j] = updates[i][j] for
  //   axis 0, of equal places the last one stays; or with += (f32), in the order of the index. An index of
  //   one dimension holds for whole slices: updates have x's sizes but its length along the axis
  kMaxMin,  // x; mode=max|min, axis, [keepdim]. Results: the extreme values and their s64 places, of equal ones the
            //   first; NaN is more extreme than all numbers, in both modes
  kSort,    // x; axis, [descending], [k]: only the first k. Results: values in order and their s64 places, equal
            //   ones in the order they had; NaN is greater than all numbers
  kCumulativeSum,  // x; axis
  kGridSample,     // x[N,C,H,W], grid[N,P,Q,2] of (x, y) from -1 to 1; mode=nearest|bilinear, padding=zeros|border,
                   //   align_corners
  kIntegerMath,    // a, [b] (s64, s32, u8 or bool, broadcast; without b the number `value`);
  //   op=add|sub|mul|floordiv|truncdiv|mod|rem|min|max (s64, wraps around; mod has the sign of b, rem that
  //   of a) or eq|ne|lt|le|gt|ge (bool)
  kPad,  // x; begin, end (per axis; constant: negative ones cut), mode=constant|reflect|replicate, value
  kRecurrent,  // gates[T,N,G·H] (what the inputs give, biases included), w[G·H,H], h[N,H], [c[N,H]], [b[H]]; cell=lstm (G = 4:
               //   input, forget, new, output) with c, or gru (G = 3: reset, update, new), b: hidden bias of its new
               //   gate; time_axis (1: N before T), reverse=1: from the last step on. Results y[T,N,H]; lstm: c'[N,H]
  // Views: no work where the source is strided; the plan copies where it is not.
  kReshape,    // x; shape (one entry may be -1), or flatten_begin, flatten_end
  kPermute,    // x; order
  kSlice,      // x; axis, begin, end, step>0, [of], [least]: refuse another, a smaller size of the axis; or axis,
               //   parts, part, [part_size]
  kSelect,     // x; axis, index (negative allowed), [of]
  kExpand,     // x; shape (-1 keeps)
  kUnsqueeze,  // x; axis
  kSqueeze,    // x; axes, [rank]: refuse another rank of the result
  // Made by the planner.
  kReorder,  // x; to another layout, dense copy or dtype
  kCast,     // x; dtype
};

using AttrValue = std::variant<std::int64_t, double, std::string, std::vector<std::int64_t>>;

enum class PostOpKind : std::uint8_t {
  // alpha, beta in the order of the arguments
  kRelu,
  kClip,
  kSigmoid,
  kTanh,
  kGeluErf,
  kGeluTanh,
  kSilu,
  kHardSwish,
  kHardSigmoid,
  kLeakyRelu,
  kElu,
  kMish,
  kAbs,
  kExp,
  kLog,
  kSqrt,
  kRsqrt,
  kSquare,
  kNeg,
  kReciprocal,
  kErf,
  kSoftplus,
  kFloor,
  kRound,
  kPow,
  kSin,
  kCos,
  kLinear,  // linear(alpha,beta): alpha·v + beta
  // operand k of the post operands, broadcast to the result
  kAdd,
  kSub,
  kRsub,
  kMul,
  kDiv,
  kRdiv,
  kMax,
  kMin,
  kFill,
  kKeep,  // alpha where the operand is not zero; alpha where it is zero; the value elsewhere
  kEq,
  kNe,
  kLt,
  kLe,
  kGt,
  kGe,  // value ⋛ operand as 1 or 0
};

struct PostOp {
  PostOpKind kind = PostOpKind::kRelu;
  double alpha =
      0;  // clip: low; leaky_relu: slope; elu: alpha; linear: factor; pow: exponent; add/sub/rsub: factor of the operand (default 1); fill/keep
  double beta = 0;            // clip: high; linear: offset; softplus: threshold
  std::int32_t operand = -1;  // binary kinds: post operand index; -1 otherwise
  bool operator==(const PostOp& o) const {
    return kind == o.kind && alpha == o.alpha && beta == o.beta && operand == o.operand;
  }
};

PostOp unaryPostOp(PostOpKind kind, double alpha = 0, double beta = 0);
PostOp binaryPostOp(PostOpKind kind, std::int32_t operand, double factor = 1);
bool isBinary(PostOpKind kind);
const char* postOpName(PostOpKind kind);

struct OpSpec {
  OpKind kind = OpKind::kPointwise;
  std::map<std::string, AttrValue> attributes;
  std::vector<PostOp> post_ops;

  // Readers with defaults; a missing attribute or one of another type reads as the default. Specs from files are
  // validated by inferShapes before any kernel reads them.
  bool has(const std::string& name) const { return attributes.count(name) != 0; }
  std::int64_t intOr(const std::string& name, std::int64_t otherwise) const;
  double floatOr(const std::string& name, double otherwise) const;
  std::string stringOr(const std::string& name, const std::string& otherwise) const;
  std::vector<std::int64_t> ints(const std::string& name) const;  // empty when absent

  std::string text() const;
  bool operator==(const OpSpec& o) const {
    return kind == o.kind && attributes == o.attributes && post_ops == o.post_ops;
  }
};

const char* opKindName(OpKind kind);
bool opKindFromName(const std::string& name, OpKind* kind);
// Number of fixed operands before the post operands; concat: all (no post operands), -1.
int baseSourceCount(OpKind kind);
// A unary post-operation among the attributes: attribute `name` names it, name_alpha and name_beta are its numbers. False where
// there is none.
bool namedPostOp(const OpSpec& spec, const std::string& name, PostOp* op);
void setNamedPostOp(const std::string& name, const PostOp& op, OpSpec* spec);
bool isView(OpKind kind);

// Throws Error(kBadModel) with position and reason when the text is not a spec.
OpSpec parseOpSpec(const std::string& text);

}  // namespace ipex_studio
