// One operation of a spec as two steps: where no kernel takes its post-operations, and where an operand that was fused
// onto it broadcasts the other way at these sizes.
#include <algorithm>
#include <limits>

#include "core/op/shape_inference.h"
#include "core/plan/plan_compiler.h"
#include "core/plan/plan_split.h"

namespace ipex_studio {
namespace {

OpSpec pointwise(std::vector<PostOp> chain) {
  OpSpec op;
  op.kind = OpKind::kPointwise;
  op.post_ops = std::move(chain);
  return op;
}

// True if the operands that the post-operations name exist; shape inference may have failed before it checked.
bool namesOperands(const OpSpec& op, std::size_t sources) {
  const int base = baseSourceCount(op.kind);
  return base >= 0 && sources >= static_cast<std::size_t>(base) &&
         std::all_of(op.post_ops.begin(), op.post_ops.end(), [&](const PostOp& post) {
           return !isBinary(post.kind) ||
                  (post.operand >= 0 && static_cast<std::size_t>(base + post.operand) < sources);
         });
}

}  // namespace

SplitOp splitOp(const OpSpec& op, std::size_t kept, const std::vector<std::int32_t>& src) {
  const int declared = baseSourceCount(op.kind);
  const std::size_t base = declared < 0 ? src.size() : static_cast<std::size_t>(declared);
  SplitOp halves{op, pointwise({}), {src.begin(), src.begin() + static_cast<std::ptrdiff_t>(base)}, {}};
  halves.head.post_ops.clear();
  // The value between the two steps is not rounded to the result's smaller type.
  const std::string result = op.stringOr("result", "");
  if (kept < op.post_ops.size() && !result.empty() && result != "f32") {
    halves.head.attributes["result"] = std::string("f32");
    halves.tail.attributes["result"] = result;
  }
  for (std::size_t p = 0; p < op.post_ops.size(); ++p) {
    PostOp post = op.post_ops[p];
    const bool stays = p < kept;
    if (isBinary(post.kind)) {
      std::vector<std::int32_t>& side = stays ? halves.head_src : halves.tail_src;
      side.push_back(src[base + static_cast<std::size_t>(post.operand)]);
      post.operand = static_cast<std::int32_t>(side.size() - (stays ? base : 0) - 1);
    }
    (stays ? halves.head : halves.tail).post_ops.push_back(post);
  }
  return halves;
}

bool PlanCompiler::infer(const OpSpec& op, const std::vector<std::int32_t>& src, std::vector<TensorDesc>* dims) const {
  std::vector<TensorDesc> descs;
  for (std::int32_t value : src) descs.push_back(value < 0 ? TensorDesc() : values_[value].desc);
  return inferShapes(op, descs, dims).ok;
}

// Two steps; both were inferred. Operands of the second are still needed after the first: while that is placed they must
// not count as dying.
void PlanCompiler::emitBefore(const OpSpec& first, const std::vector<std::int32_t>& first_src, std::int32_t middle,
                              const OpSpec& second, const std::vector<std::int32_t>& second_src,
                              const std::vector<std::int32_t>& dst, const Label& label) {
  std::vector<std::pair<std::int32_t, std::int32_t>> held;
  for (std::int32_t value : second_src) {
    if (value < 0 || value == middle) continue;
    const std::int32_t group = values_[value].group;
    held.emplace_back(group, last_use_[group]);
    last_use_[group] = std::numeric_limits<std::int32_t>::max();
  }
  std::vector<TensorDesc> dims;
  infer(first, first_src, &dims);
  emitCompute(first, first_src, {middle}, dims, label);
  for (auto entry = held.rbegin(); entry != held.rend(); ++entry) last_use_[entry->first] = entry->second;
  infer(second, second_src, &dims);
  emitCompute(second, second_src, dst, dims, label);
}

void PlanCompiler::emitSplit(const OpSpec& op, std::size_t kept, const std::vector<std::int32_t>& src,
                             const std::vector<std::int32_t>& dst, const Label& label) {
  SplitOp halves = splitOp(op, kept, src);
  std::vector<TensorDesc> dims;
  infer(halves.head, halves.head_src, &dims);
  const std::int32_t middle = newValue(dims[0], -1);
  halves.tail_src.insert(halves.tail_src.begin(), middle);
  emitBefore(halves.head, halves.head_src, middle, halves.tail, halves.tail_src, dst, label);
}

// Handles an operand that was fused when it had the size of the result, which would have to grow now. False if the
// operation failed for another reason.
bool PlanCompiler::emitApart(const OpSpec& op, const std::vector<std::int32_t>& src,
                             const std::vector<std::int32_t>& dst, const Label& label) {
  if (op.kind == OpKind::kLayerNorm) return emitSumApart(op, src, dst, label);
  if (op.kind == OpKind::kSoftmax) return emitMaskApart(op, src, dst, label);
  const bool chained = op.kind != OpKind::kPointwise && !isView(op.kind) && dst.size() == 1 && !op.post_ops.empty();
  if (!chained || !namesOperands(op, src.size())) return false;
  const SplitOp halves = splitOp(op, 0, src);
  std::vector<TensorDesc> dims;
  if (!infer(halves.head, halves.head_src, &dims) || dims.size() != 1) return false;
  std::vector<TensorDesc> descs{dims[0]};
  for (std::int32_t value : halves.tail_src) descs.push_back(value < 0 ? TensorDesc() : values_[value].desc);
  if (!inferShapes(halves.tail, descs, &dims).ok) return false;
  emitSplit(op, 0, src, dst, label);
  return true;
}

// layer_norm(x + residual) as a sum and a normalization.
bool PlanCompiler::emitSumApart(OpSpec norm, const std::vector<std::int32_t>& src, const std::vector<std::int32_t>& dst,
                                const Label& label) {
  const bool sum_output = norm.intOr("sum_output", 0) != 0;
  if (src.size() != 4 || src[0] < 0 || src[3] < 0 || !norm.post_ops.empty() || dst.size() != (sum_output ? 2u : 1u))
    return false;
  const OpSpec sum = pointwise({binaryPostOp(PostOpKind::kAdd, 0)});
  std::vector<TensorDesc> dims, ignored;
  if (!infer(sum, {src[0], src[3]}, &dims)) return false;
  norm.attributes.erase("sum_output");
  std::vector<TensorDesc> descs{dims[0], src[1] < 0 ? TensorDesc() : values_[src[1]].desc,
                                src[2] < 0 ? TensorDesc() : values_[src[2]].desc, TensorDesc()};
  if (!inferShapes(norm, descs, &ignored).ok) return false;
  const std::int32_t middle = sum_output ? dst[1] : newValue(dims[0], -1);
  emitBefore(sum, {src[0], src[3]}, middle, norm, {middle, src[1], src[2], -1}, {dst[0]}, label);
  return true;
}

// softmax(scale · x + mask) as a chain and a softmax.
bool PlanCompiler::emitMaskApart(OpSpec softmax, const std::vector<std::int32_t>& src,
                                 const std::vector<std::int32_t>& dst, const Label& label) {
  if (src.size() != 2 || src[0] < 0 || src[1] < 0 || !softmax.post_ops.empty() || dst.size() != 1) return false;
  const OpSpec masked =
      pointwise({unaryPostOp(PostOpKind::kLinear, softmax.floatOr("scale", 1), 0), binaryPostOp(PostOpKind::kAdd, 0)});
  std::vector<TensorDesc> dims, ignored;
  if (!infer(masked, src, &dims)) return false;
  // A mask with more dimensions would shift the axis.
  if (dims[0].dims.rank != values_[src[0]].desc.dims.rank) return false;
  softmax.attributes.erase("scale");
  if (!inferShapes(softmax, {dims[0], TensorDesc()}, &ignored).ok) return false;
  const std::int32_t middle = newValue(dims[0], -1);
  emitBefore(masked, src, middle, softmax, {middle, -1}, dst, label);
  return true;
}

}  // namespace ipex_studio
