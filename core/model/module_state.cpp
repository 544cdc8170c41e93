// Deep copies that keep what values share.
#include "core/model/module_state.h"

#include <map>
#include <unordered_map>

namespace ipex_studio {
namespace {

using torch::jit::IValue;
using torch::jit::Module;
using Object = c10::ivalue::Object;

// True for objects of C++ classes; their one slot holds a capsule.
bool isOfCpp(const Object& object) {
  const auto& type = object.type();
  return type->numAttributes() == 1 && type->getAttribute(0)->kind() == c10::TypeKind::CapsuleType;
}

bool isOfCpp(const IValue& value) { return value.isObject() && isOfCpp(value.toObjectRef()); }

// Copies values and remembers what was copied, so that whatever two of them share stays shared. Recursion goes as deep
// as values are nested.
class Copier {
 public:
  explicit Copier(std::optional<at::ScalarType> floats = std::nullopt) : floats_(floats) {}

  IValue copy(const IValue& value) {
    if (value.isTensor()) return copyTensor(value.toTensor());
    if (value.isTuple()) return copyTuple(value);
    if (value.isList()) return copyList(value);
    if (value.isGenericDict()) return copyDict(value);
    if (value.isObject() && !isOfCpp(value)) return copyObject(value);
    return value;
  }

 private:
  // The same elements in memory of their own, as long as the storage that they lie in.
  at::Tensor copyStorage(const at::Tensor& tensor) {
    at::Tensor& copied = storages_[{tensor.storage().unsafeGetStorageImpl(), tensor.scalar_type()}];
    if (copied.defined()) return copied;
    const auto count = static_cast<std::int64_t>(tensor.storage().nbytes() / tensor.element_size());
    const at::Tensor whole = at::empty({0}, tensor.options()).set_(tensor.storage(), 0, {count}, {1});
    copied = whole.to(typeOf(tensor), /*non_blocking=*/false, /*copy=*/true);
    return copied;
  }

  at::ScalarType typeOf(const at::Tensor& tensor) const {
    return floats_ && at::isFloatingType(tensor.scalar_type()) ? *floats_ : tensor.scalar_type();
  }

  at::Tensor copyTensor(const at::Tensor& tensor) {
    if (!tensor.defined()) return tensor;
    const bool plain = tensor.layout() == at::kStrided && tensor.has_storage() && tensor.device().is_cpu() &&
                       !tensor.is_quantized() && !tensor.is_nested() && !tensor.is_conj() && !tensor.is_neg();
    IValue& copied = values_[tensor.unsafeGetTensorImpl()];
    if (copied.isNone() && plain) {
      const at::Tensor whole = copyStorage(tensor);
      copied = at::empty({0}, whole.options())
                   .set_(whole.storage(), tensor.storage_offset(), tensor.sizes(), tensor.strides());
    } else if (copied.isNone()) {
      copied = tensor.detach().clone().to(typeOf(tensor));
    }
    return copied.toTensor();
  }

  IValue copyTuple(const IValue& value) {
    std::vector<IValue> elements;
    for (const IValue& element : value.toTupleRef().elements()) elements.push_back(copy(element));
    const auto type = value.type()->expect<c10::TupleType>();
    return type->name() ? c10::ivalue::Tuple::createNamed(std::move(elements), type)
                        : c10::ivalue::Tuple::create(std::move(elements));
  }

  IValue copyList(const IValue& value) {
    if (const IValue* known = find(value)) return *known;
    c10::impl::GenericList list(value.type()->expectRef<c10::ListType>().getElementType());
    values_[value.internalToPointer()] = list;
    for (const IValue& element : value.toListRef()) list.push_back(copy(element));
    return list;
  }

  IValue copyDict(const IValue& value) {
    if (const IValue* known = find(value)) return *known;
    const auto type = value.type()->expect<c10::DictType>();
    c10::impl::GenericDict dict(type->getKeyType(), type->getValueType());
    values_[value.internalToPointer()] = dict;
    for (const auto& entry : value.toGenericDict()) dict.insert(copy(entry.key()), copy(entry.value()));
    return dict;
  }

  IValue copyObject(const IValue& value) {
    if (const IValue* known = find(value)) return *known;
    const auto from = value.toObject();
    auto object = Object::create(c10::StrongTypePtr(from->compilation_unit(), from->type()), from->slots().size());
    values_[value.internalToPointer()] = object;
    for (std::size_t s = 0; s < from->slots().size(); ++s) object->setSlot(s, copy(from->getSlot(s)));
    return object;
  }

  const IValue* find(const IValue& value) const {
    const auto found = values_.find(value.internalToPointer());
    return found == values_.end() ? nullptr : &found->second;
  }

  std::optional<at::ScalarType> floats_;
  std::unordered_map<const void*, IValue> values_;  // by the address of what was copied
  std::map<std::pair<const c10::StorageImpl*, at::ScalarType>, at::Tensor> storages_;
};

}  // namespace

Module copyModule(const Module& module, std::optional<at::ScalarType> floats) {
  const torch::NoGradGuard no_grad;
  return Module(Copier(floats).copy(module._ivalue()).toObject());
}

ModuleState::ModuleState(const Module& module) {
  const torch::NoGradGuard no_grad;
  Copier copier;
  for (const Module& part : module.modules()) {
    const auto owner = part._ivalue();
    for (std::size_t s = 0; s < owner->slots().size(); ++s) {
      const IValue& value = owner->getSlot(s);
      if (value.isModule() || isOfCpp(value)) continue;
      slots_.push_back({owner, s});
      values_.push_back(copier.copy(value));
    }
  }
}

void ModuleState::restore() const {
  const torch::NoGradGuard no_grad;
  Copier copier;  // the values must serve again
  for (std::size_t s = 0; s < slots_.size(); ++s) slots_[s].owner->setSlot(slots_[s].index, copier.copy(values_[s]));
}

}  // namespace ipex_studio
