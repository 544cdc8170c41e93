// Removal of a module's methods from its compilation unit.
#include "core/model/model_memory.h"

namespace ipex_studio {

void releaseMethods(const torch::jit::Module& module) {
  const auto type = module.type();
  const auto unit = module._ivalue()->compilation_unit();
  std::vector<c10::QualifiedName> names;
  for (const torch::jit::Function* method : type->methods()) names.push_back(method->qualname());
  for (const c10::QualifiedName& name : names) {
    type->unsafeRemoveMethod(name.name());
    unit->unsafeRemoveMethod(name);
  }
}

}  // namespace ipex_studio
