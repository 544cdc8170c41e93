// The shape rules of maxima with indices, sorts and cumulative sums along an axis, and of integer arithmetic.
#include "core/op/shape_rules.h"

namespace ipex_studio {
namespace {

bool isOrdered(DType dtype) { return dtype == DType::kF32 || isIndex(dtype); }
bool isCountable(DType dtype) { return isIndex(dtype) || dtype == DType::kU8 || dtype == DType::kBool; }

bool isOneOf(const std::string& word, const std::vector<const char*>& words) {
  for (const char* each : words) {
    if (word == each) return true;
  }
  return false;
}

}  // namespace

int axisIn(const OpSpec& spec, int rank) {
  const std::int64_t axis = spec.intOr("axis", 0);
  return axis < -rank || axis >= rank ? -1 : wrappedAxis(axis, rank);
}

Verdict inferMaxMin(const OpSpec& spec, const std::vector<TensorDesc>& src, std::vector<TensorDesc>* dst) {
  const Dims& x = src[0].dims;
  const int axis = axisIn(spec, x.rank);
  if (axis < 0 || x[axis] < 1) return Verdict::no("axis is out of range or empty");
  if (!isOrdered(src[0].dtype)) return Verdict::no("values of this type have no order here");
  if (!isOneOf(spec.stringOr("mode", ""), {"max", "min"})) return Verdict::no("the mode is unknown");
  Dims y;
  for (int a = 0; a < x.rank; ++a) {
    if (a != axis) {
      y[y.rank++] = x[a];
    } else if (spec.intOr("keepdim", 0) != 0) {
      y[y.rank++] = 1;
    }
  }
  const Verdict values = addResult(src[0].dtype, y, dst);
  return values.ok ? addResult(DType::kS64, y, dst) : values;
}

Verdict inferSort(const OpSpec& spec, const std::vector<TensorDesc>& src, std::vector<TensorDesc>* dst) {
  Dims y = src[0].dims;
  const int axis = axisIn(spec, y.rank);
  if (axis < 0) return Verdict::no("axis is out of range");
  if (!isOrdered(src[0].dtype)) return Verdict::no("values of this type have no order here");
  // Kernels count places along an axis in 32 bits.
  if (y[axis] > std::int64_t{0xFFFFFFFF}) return Verdict::no("the axis is too long");
  const std::int64_t k = spec.intOr("k", y[axis]);
  if (k < 0 || k > y[axis]) return Verdict::no("there are fewer values than are asked for");
  if (spec.has("ties") && !isOneOf(spec.stringOr("ties", ""), {"topk", "unsorted_topk", "sort"}))
    return Verdict::no("the order of equal values is unknown");
  y[axis] = k;
  const Verdict values = addResult(src[0].dtype, y, dst);
  return values.ok ? addResult(DType::kS64, y, dst) : values;
}

Verdict inferCumulativeSum(const OpSpec& spec, const std::vector<TensorDesc>& src, std::vector<TensorDesc>* dst) {
  if (axisIn(spec, src[0].dims.rank) < 0) return Verdict::no("axis is out of range");
  if (src[0].dtype != DType::kF32 && src[0].dtype != DType::kS64)
    return Verdict::no("values of this type are not summed");
  return addResult(src[0].dtype, src[0].dims, dst);
}

Verdict inferIntegerMath(const OpSpec& spec, const std::vector<TensorDesc>& src, std::vector<TensorDesc>* dst) {
  const std::string op = spec.stringOr("op", "");
  const bool computes = isOneOf(op, {"add", "sub", "mul", "floordiv", "truncdiv", "mod", "rem", "min", "max"});
  if (!computes && !isOneOf(op, {"eq", "ne", "lt", "le", "gt", "ge"})) return Verdict::no("the arithmetic is unknown");
  const bool has_number = src[1].absent() && spec.has("value");
  if (!isCountable(src[0].dtype) || (!has_number && !isCountable(src[1].dtype)))
    return Verdict::no("operands are no integers");
  Dims y = src[0].dims;
  if (!has_number && !broadcastInto(src[0].dims, src[1].dims, &y)) return Verdict::no("operands do not broadcast");
  return addResult(computes ? DType::kS64 : DType::kBool, y, dst);
}

}  // namespace ipex_studio
