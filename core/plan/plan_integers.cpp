// Size arithmetic of a plan: it is done when the plan is compiled, since the sizes of its inputs are known then.
#include <limits>

#include "core/plan/plan_compiler.h"

namespace ipex_studio {
namespace {

// Python's floor division and modulus; false on a zero divisor or overflow.
bool evaluate(IntOp op, std::int64_t a, std::int64_t b, std::int64_t* out) {
  switch (op) {
    case IntOp::kAdd:
      return !__builtin_add_overflow(a, b, out);
    case IntOp::kSub:
      return !__builtin_sub_overflow(a, b, out);
    case IntOp::kMul:
      return !__builtin_mul_overflow(a, b, out);
    case IntOp::kNeg:
      return !__builtin_sub_overflow(std::int64_t{0}, a, out);
    case IntOp::kFloorDiv:
    case IntOp::kMod: {
      if (b == 0 || (b == -1 && a == std::numeric_limits<std::int64_t>::min())) return false;
      const std::int64_t remainder = a % b;
      const bool adjust = remainder != 0 && (remainder < 0) != (b < 0);
      *out = op == IntOp::kMod ? remainder + (adjust ? b : 0) : a / b - (adjust ? 1 : 0);
      return true;
    }
    default:
      return false;
  }
}

}  // namespace

void PlanCompiler::emitInt(const PlanNode& node) {
  Value& value = values_[node.dst[0]];
  value.is_int = true;
  const Label label{"size arithmetic", {}};
  if (node.int_op == IntOp::kLiteral) {
    value.integer = node.literal;
  } else if (node.int_op == IntOp::kSize) {
    const Dims& dims = values_[node.src[0]].desc.dims;
    const std::int64_t axis = node.literal < 0 ? node.literal + dims.rank : node.literal;
    if (axis < 0 || axis >= dims.rank) fail(label, "a dimension is out of range");
    value.integer = dims[static_cast<int>(axis)];
  } else {
    const std::int64_t right = node.src.size() > 1 ? values_[node.src[1]].integer : 0;
    if (!evaluate(node.int_op, values_[node.src[0]].integer, right, &value.integer)) fail(label, "it overflows");
  }
}

OpSpec PlanCompiler::resolve(const PlanNode& node) const {
  OpSpec op = node.op;
  for (const AttrRef& ref : node.refs) {
    const std::int64_t integer = values_[ref.value].integer;
    AttrValue& attribute = op.attributes.at(ref.attribute);
    if (ref.index < 0) {
      attribute = integer;
    } else {
      std::get<std::vector<std::int64_t>>(attribute)[static_cast<std::size_t>(ref.index)] = integer;
    }
  }
  return op;
}

}  // namespace ipex_studio
