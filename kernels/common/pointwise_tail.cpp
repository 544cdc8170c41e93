// See pointwise_tail.h.
#include "kernels/common/pointwise_tail.h"

#include <algorithm>

namespace ipex_studio {
namespace {

class TailState final : public ExecState {
 public:
  std::unique_ptr<ExecState> own;
  std::vector<const void*> src;
};

constexpr std::int64_t kAlignment = 64;

}  // namespace

bool PointwiseTail::prepare(const Kernel& pointwise, const PrepareArgs& args, std::size_t first_operand, PreparedOp* op,
                            std::string* reason) {
  const TensorDesc dst = contiguousDesc(args.dst[0].dtype, args.dst[0].dims);
  op->dst = {dst};
  if (args.spec.post_ops.empty() && dst.dtype == DType::kF32) return true;
  PrepareArgs tail;
  tail.target = args.target;
  tail.spec.post_ops = args.spec.post_ops;
  if (args.spec.has("result")) tail.spec.attributes["result"] = args.spec.stringOr("result", "");
  tail.dst = {dst};
  tail.src = {contiguousDesc(DType::kF32, dst.dims)};
  for (std::size_t s = first_operand; s < args.src.size(); ++s) {
    // The chain works in the result's row-major layout.
    tail.src.push_back(args.src[s].block == 0 ? args.src[s] : contiguousDesc(args.src[s].dtype, args.src[s].dims));
  }
  tail.constant.assign(tail.src.size(), nullptr);
  tail.src_dies.assign(tail.src.size(), false);
  const Verdict verdict = pointwise.supports(tail);
  *reason = verdict.reason;
  if (!verdict.ok) return false;
  op_ = pointwise.prepare(tail, reason);
  if (!op_) return false;
  if (!op_->dst[0].sameLayout(dst) || !op_->src[0].sameLayout(dst)) {
    *reason = "post-ops";
    return false;
  }
  first_operand_ = first_operand;
  std::copy(op_->src.begin() + 1, op_->src.end(), op->src.begin() + static_cast<std::ptrdiff_t>(first_operand));
  scratch_offset_ = (static_cast<std::int64_t>(tail.src[0].bytes()) + kAlignment - 1) / kAlignment * kAlignment;
  op->scratch_bytes = static_cast<std::size_t>(scratch_offset_) + op_->scratch_bytes;
  op->may_alias = op_->may_alias;
  return true;
}

std::unique_ptr<ExecState> PointwiseTail::newState() const {
  if (empty()) return nullptr;
  auto state = std::make_unique<TailState>();
  state->own = op_->newState();
  state->src.resize(op_->src.size());
  return state;
}

void PointwiseTail::execute(ExecState* state, const void* const* src, void* const* dst, void* scratch) const {
  if (empty()) return;
  auto& own = static_cast<TailState&>(*state);
  own.src[0] = scratch;
  const void* const* const operands = src + first_operand_;
  std::copy(operands, operands + own.src.size() - 1, own.src.begin() + 1);
  op_->execute(own.own.get(), own.src.data(), dst, static_cast<char*>(scratch) + scratch_offset_);
}

}  // namespace ipex_studio
