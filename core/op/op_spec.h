// OpSpec: one fused operation as data. Everything that is fused onto a primitive is a PostOp in its list, never a new
// operation name. Fused TorchScript operators carry the text form as `spec`, compiled exports store it, and tuning
// records are keyed by it:
//
//   convolution{dilation=[1,1],groups=1,padding=[1,1],stride=[2,2]}|add(0)|relu
//   pointwise{}|mul(0)|add(1)|clip(0,6)
//
// Attributes are printed sorted by name, so equal specs have equal text. The text is untrusted input when it comes from
// a file: parse checks syntax, known kinds and post-ops, and size limits; kernels and shape inference check meaning.
//
// Integers. A tensor of u8 or s8 holds plain integers: scales and zero points stand in the post-operations of the
// operations that write and read it. Chains compute in FP32 on the values of their operands, whatever their dtype.
// result=f32|bf16|f16|u8|s8 (products, attention, pointwise, pools, reduce, embedding) is the dtype of the result; u8
// and s8 are rounded to nearest even and saturated, NaN becomes the lowest number. Without it products and chains of u8
// or s8 give f32, everything else its first source's dtype. Products of u8 or s8 by s8 weights are exact: the 32-bit
// sum of (x - src_zero)·w, padding counts as src_zero, there is no bias; the chain begins with the scales:
//   convolution{padding=[1,1],result=u8,src_zero=3}|mul(0)|add(1)|relu|linear(32.1,0.0)
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <variant>
#include <vector>

#include "core/op/op_kinds.h"

namespace ipex_studio {

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
  kFill,  // alpha where the operand is not zero; the value elsewhere
  kKeep,  // alpha where the operand is zero; the value elsewhere
  kEq,
  kNe,
  kLt,
  kLe,
  kGt,
  kGe,  // value ⋛ operand as 1 or 0
};
constexpr int kPostOpKindCount = static_cast<int>(PostOpKind::kGe) + 1;

struct PostOp {
  PostOpKind kind = PostOpKind::kRelu;
  // clip: low; leaky_relu: slope; elu: alpha; linear: factor; pow: exponent; add/sub/rsub: factor of the operand
  // (default 1); fill/keep: the number put in.
  double alpha = 0;
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

// Reads a unary post-operation from attributes: attribute `name` names it, name_alpha and name_beta are its numbers.
// False if there is none.
bool namedPostOp(const OpSpec& spec, const std::string& name, PostOp* op);
void setNamedPostOp(const std::string& name, const PostOp& op, OpSpec* spec);

// Throws Error(kBadModel) with position and reason when the text is not a spec.
OpSpec parseOpSpec(const std::string& text);

}  // namespace ipex_studio
