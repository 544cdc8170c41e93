// See graph_values.h.
#include "core/compare/graph_values.h"

#include <ATen/Functions.h>
#include <torch/csrc/jit/ir/constants.h>

namespace ipex_studio {

using torch::jit::IValue;
using torch::jit::Value;

bool isComputed(const Value* value) {
  const auto kind = value->node()->kind();
  return kind != c10::prim::Constant && kind != c10::prim::Param;
}

bool equalConstants(const Value* a, const Value* b) {
  const auto left = torch::jit::toIValue(a), right = torch::jit::toIValue(b);
  return left && right && equalValues(*left, *right);
}

bool equalValues(const IValue& a, const IValue& b) {
  if (a.tagKind() != b.tagKind()) return false;
  if (!a.isTensor()) return a.isObject() || a == b;
  const at::Tensor &l = a.toTensor(), &r = b.toTensor();
  if (!l.defined() || !r.defined()) return l.defined() == r.defined();
  return l.sizes().equals(r.sizes()) && l.scalar_type() == r.scalar_type() && at::equal(l, r);
}

}  // namespace ipex_studio
