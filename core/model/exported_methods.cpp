// Methods are functions of the module's class; a new name takes a new function.
#include "core/model/exported_methods.h"

#include <fmt/format.h>
#include <torch/csrc/jit/api/function_impl.h>
#include <torch/csrc/jit/passes/inliner.h>

#include <optional>

#include "core/base/error.h"

namespace ipex_studio {
namespace {

struct TakenMethod {
  std::shared_ptr<torch::jit::Graph> graph;
  c10::FunctionSchema schema;
};

// Removes the method from the module; nullopt if it has none of this name.
std::optional<TakenMethod> take(const torch::jit::Module& module, const std::string& method) {
  torch::jit::Function* function = module.type()->findMethod(method);
  if (function == nullptr) return std::nullopt;
  TakenMethod taken{torch::jit::toGraphFunction(*function).graph()->copy(), function->getSchema()};
  const c10::QualifiedName name = function->qualname();
  module.type()->unsafeRemoveMethod(method);
  module._ivalue()->compilation_unit()->unsafeRemoveMethod(name);
  return taken;
}

void give(const torch::jit::Module& module, const std::string& method, const TakenMethod& taken) {
  torch::jit::Function* function = module._ivalue()->compilation_unit()->create_function(
      c10::QualifiedName(*module.type()->name(), method), taken.graph);
  function->setSchema(taken.schema.cloneWithName(method, taken.schema.overload_name()));
  module.type()->addMethod(function);
}

}  // namespace

std::vector<std::string> exportedMethods(const torch::jit::Module& module) {
  std::vector<std::string> names;
  for (const torch::jit::Function* method : module.type()->methods()) {
    if (method->name() != "forward" && method->name().rfind('_', 0) != 0) names.push_back(method->name());
  }
  return names;
}

void exchangeForward(torch::jit::Module& module, const std::string& method) {
  if (!module.type()->findMethod(method) && !module.type()->findMethod("forward")) {
    throw Error(ExitCode::kUsage, fmt::format("The model has neither forward nor a method '{}'.", method));
  }
  for (torch::jit::Function* function : module.type()->methods())
    torch::jit::Inline(*torch::jit::toGraphFunction(*function).graph());
  const auto forward = take(module, "forward");
  const auto other = take(module, method);
  if (other) give(module, "forward", *other);
  if (forward) give(module, method, *forward);
}

}  // namespace ipex_studio
