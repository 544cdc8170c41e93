#include "studio/python/arguments.h"

#include <torch/csrc/jit/python/pybind_utils.h>

#include "core/base/error.h"

namespace ipex_studio {

namespace py = pybind11;

Inputs argumentsOf(const torch::jit::Module& module, const py::object& object) {
  if (object.is_none()) return makeInputs(Model::fromModule(module).guessInputs(), /*seed=*/0);
  const auto given = object.cast<py::tuple>();
  const auto& arguments = module.get_method("forward").function().getSchema().arguments();
  if (given.size() + 1 > arguments.size()) {
    throw Error(ExitCode::kUsage, "The sample input has " + std::to_string(given.size()) +
                                      " values, but forward takes " + std::to_string(arguments.size() - 1) + ".");
  }
  Inputs inputs;
  for (std::size_t i = 1; i < arguments.size(); ++i) {
    const c10::Argument& argument = arguments[i];
    if (i <= given.size()) {
      inputs.push_back(torch::jit::toIValue(given[i - 1], argument.type(), argument.N()));
    } else if (argument.default_value()) {
      inputs.push_back(*argument.default_value());
    } else {
      throw Error(ExitCode::kUsage, "The sample input lacks a value for '" + argument.name() + "'.");
    }
  }
  return inputs;
}

}  // namespace ipex_studio
