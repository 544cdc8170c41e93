// Constants, shape facts and uses of values, which every fusion asks for.
#include "core/graph/fused_op.h"

#include <algorithm>

namespace ipex_studio {

using torch::jit::Node;
using torch::jit::Value;

namespace {

// True if no user appends to the list, or keeps it where another name may.
bool onlyRead(const Value* list) {
  const auto reads = [&](const torch::jit::Use& use) {
    const Node* user = use.user;
    if (user->kind() == torch::jit::prim::ListUnpack || user == user->owningGraph()->return_node()) return true;
    if (user->kind() == torch::jit::aten::format) return true;  // its schema names no operands
    const c10::FunctionSchema* schema = user->maybeSchema();
    if (schema == nullptr || use.offset >= schema->arguments().size()) return false;
    const c10::AliasInfo* alias = schema->arguments()[use.offset].alias_info();
    return alias == nullptr || (!alias->isWrite() && !alias->isWildcardAfter());
  };
  return std::all_of(list->uses().begin(), list->uses().end(), reads);
}

}  // namespace

std::optional<at::Tensor> constantTensor(const Value* value) {
  const auto constant = torch::jit::toIValue(value);
  if (!constant || !constant->isTensor() || !constant->toTensor().defined()) return std::nullopt;
  return constant->toTensor();
}

std::optional<std::int64_t> constantInt(const Value* value) {
  const auto constant = torch::jit::toIValue(value);
  if (!constant || !constant->isInt()) return std::nullopt;
  return constant->toInt();
}

std::optional<double> constantNumber(const Value* value) {
  const auto constant = torch::jit::toIValue(value);
  if (!constant) return std::nullopt;
  if (constant->isInt()) return static_cast<double>(constant->toInt());
  if (constant->isDouble()) return constant->toDouble();
  if (!constant->isTensor()) return std::nullopt;
  const at::Tensor tensor = constant->toTensor();
  if (!tensor.defined() || tensor.numel() != 1 || tensor.is_complex() || tensor.scalar_type() == at::kBool) {
    return std::nullopt;
  }
  return tensor.item().toDouble();
}

std::optional<bool> constantBool(const Value* value) {
  const auto constant = torch::jit::toIValue(value);
  if (!constant || !constant->isBool()) return std::nullopt;
  return constant->toBool();
}

std::optional<c10::ArrayRef<const Value*>> decidedElements(const Value* list) {
  if (list->node()->kind() != torch::jit::prim::ListConstruct || !onlyRead(list)) return std::nullopt;
  return list->node()->inputs();
}

std::optional<std::vector<std::int64_t>> constantInts(const Value* value) {
  if (const auto constant = torch::jit::toIValue(value)) {
    if (constant->isIntList()) return constant->toIntVector();
    if (constant->isInt()) return std::vector<std::int64_t>{constant->toInt()};
    return std::nullopt;
  }
  const auto elements = decidedElements(value);
  if (!elements) return std::nullopt;
  std::vector<std::int64_t> list;
  for (const Value* element : *elements) {
    const auto number = constantInt(element);
    if (!number) return std::nullopt;
    list.push_back(*number);
  }
  return list;
}

bool isNone(const Value* value) {
  if (value->type()->kind() == c10::TypeKind::NoneType) return true;
  const auto constant = torch::jit::toIValue(value);
  return constant && constant->isNone();
}

std::optional<std::vector<std::int64_t>> knownSizes(const Value* value) {
  if (const auto tensor = constantTensor(value)) return tensor->sizes().vec();
  const auto* type = value->type()->castRaw<c10::TensorType>();
  if (!type) return std::nullopt;
  const auto sizes = type->sizes().concrete_sizes();
  if (!sizes) return std::nullopt;
  return *sizes;
}

std::optional<at::ScalarType> knownDtype(const Value* value) {
  if (const auto tensor = constantTensor(value)) return tensor->scalar_type();
  const auto* type = value->type()->castRaw<c10::TensorType>();
  if (!type || !type->scalarType()) return std::nullopt;
  return *type->scalarType();
}

bool usedOnlyBy(const Value* value, const torch::jit::Node* user) {
  return value->uses().size() == 1 && value->uses().front().user == user;
}

at::Tensor floatContiguous(const at::Tensor& tensor) {
  return tensor.detach().to(at::kCPU, at::kFloat, /*non_blocking=*/false, /*copy=*/true).contiguous();
}

}  // namespace ipex_studio
