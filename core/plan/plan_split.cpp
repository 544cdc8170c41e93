// Splits an operation before its post-operations, or where an operand no longer fits, and computes both halves.
#include "core/plan/plan_split.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "core/op/shape_inference.h"

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

// Two operations, both of which were inferred, with the value between them.
struct Halves {
  OpSpec first;
  std::vector<std::int32_t> first_src;
  std::int32_t middle = -1;
  OpSpec second;
  std::vector<std::int32_t> second_src;
};

// Computes both halves. Operands of the second are still needed after the first, so they must not count as dying while
// that is placed.
void computeBoth(Halves halves, const std::vector<std::int32_t>& dst, const StepLabel& label,
                 const StepChoice* measured, PlanValues& values, OperationSink& sink) {
  std::vector<std::pair<std::int32_t, std::int32_t>> held;
  for (std::int32_t value : halves.second_src) {
    if (value < 0 || value == halves.middle) continue;
    held.emplace_back(value, values.lastUse(value));
    values.setLastUse(value, std::numeric_limits<std::int32_t>::max());
  }
  std::vector<TensorDesc> dims;
  values.infer(halves.first, halves.first_src, &dims);
  sink.compute({std::move(halves.first), std::move(halves.first_src), {halves.middle}, dims, label}, measured);
  for (auto entry = held.rbegin(); entry != held.rend(); ++entry) values.setLastUse(entry->first, entry->second);
  values.infer(halves.second, halves.second_src, &dims);
  sink.compute({std::move(halves.second), std::move(halves.second_src), dst, dims, label}, nullptr);
}

// Computes layer_norm(x + residual) as a sum and a normalization; false, with nothing computed, if that is invalid,
// too.
bool computeSumApart(const SizedOp& op, PlanValues& values, OperationSink& sink) {
  OpSpec norm = op.op;
  const std::vector<std::int32_t>& src = op.src;
  const bool sum_output = norm.intOr("sum_output", 0) != 0;
  if (src.size() != 4 || src[0] < 0 || src[3] < 0 || !norm.post_ops.empty() || op.dst.size() != (sum_output ? 2u : 1u))
    return false;
  const OpSpec sum = pointwise({binaryPostOp(PostOpKind::kAdd, 0)});
  std::vector<TensorDesc> dims, ignored;
  if (!values.infer(sum, {src[0], src[3]}, &dims)) return false;
  norm.attributes.erase("sum_output");
  std::vector<TensorDesc> descs = values.descsOf({-1, src[1], src[2], -1});
  descs[0] = dims[0];
  if (!inferShapes(norm, descs, &ignored).ok) return false;
  const std::int32_t middle = sum_output ? op.dst[1] : values.newValue(dims[0], -1);
  computeBoth({sum, {src[0], src[3]}, middle, std::move(norm), {middle, src[1], src[2], -1}}, {op.dst[0]}, op.label,
              nullptr, values, sink);
  return true;
}

// Computes softmax(scale · x + mask) as a pointwise chain and a softmax; false, with nothing computed, if that is
// invalid, too.
bool computeMaskApart(const SizedOp& op, PlanValues& values, OperationSink& sink) {
  OpSpec softmax = op.op;
  const std::vector<std::int32_t>& src = op.src;
  if (src.size() != 2 || src[0] < 0 || src[1] < 0 || !softmax.post_ops.empty() || op.dst.size() != 1) return false;
  const OpSpec masked =
      pointwise({unaryPostOp(PostOpKind::kLinear, softmax.floatOr("scale", 1), 0), binaryPostOp(PostOpKind::kAdd, 0)});
  std::vector<TensorDesc> dims, ignored;
  if (!values.infer(masked, src, &dims)) return false;
  // A mask with more dimensions would shift the axis.
  if (dims[0].dims.rank != values[src[0]].desc.dims.rank) return false;
  softmax.attributes.erase("scale");
  if (!inferShapes(softmax, {dims[0], TensorDesc()}, &ignored).ok) return false;
  const std::int32_t middle = values.newValue(dims[0], -1);
  computeBoth({masked, src, middle, std::move(softmax), {middle, -1}}, op.dst, op.label, nullptr, values, sink);
  return true;
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

void computeSplit(const SizedOp& op, std::size_t kept, const StepChoice* measured, PlanValues& values,
                  OperationSink& sink) {
  SplitOp halves = splitOp(op.op, kept, op.src);
  std::vector<TensorDesc> dims;
  values.infer(halves.head, halves.head_src, &dims);
  const std::int32_t middle = values.newValue(dims[0], -1);
  halves.tail_src.insert(halves.tail_src.begin(), middle);
  computeBoth(
      {std::move(halves.head), std::move(halves.head_src), middle, std::move(halves.tail), std::move(halves.tail_src)},
      op.dst, op.label, measured, values, sink);
}

bool computeApart(const SizedOp& op, PlanValues& values, OperationSink& sink) {
  if (op.op.kind == OpKind::kLayerNorm) return computeSumApart(op, values, sink);
  if (op.op.kind == OpKind::kSoftmax) return computeMaskApart(op, values, sink);
  const bool chained =
      op.op.kind != OpKind::kPointwise && !isView(op.op.kind) && op.dst.size() == 1 && !op.op.post_ops.empty();
  if (!chained || !namesOperands(op.op, op.src.size())) return false;
  const SplitOp halves = splitOp(op.op, 0, op.src);
  std::vector<TensorDesc> dims;
  if (!values.infer(halves.head, halves.head_src, &dims) || dims.size() != 1) return false;
  std::vector<TensorDesc> descs = values.descsOf(halves.tail_src);
  descs.insert(descs.begin(), dims[0]);
  if (!inferShapes(halves.tail, descs, &dims).ok) return false;
  computeSplit(op, 0, nullptr, values, sink);
  return true;
}

}  // namespace ipex_studio
