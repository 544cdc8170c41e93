// Makes modules from the Python text that saved models hold, with script classes and interfaces, which
// torch::jit::Module::define() cannot compile.
#pragma once

#include <torch/csrc/jit/serialization/import_source.h>

#include <memory>
#include <string>
#include <vector>

#include "tests/core/graph/script_models.h"

namespace ipex_studio::testing {

// Text of torch.no_grad() as PyTorch saves it.
inline constexpr const char kNoGradClass[] = R"(
class no_grad:
  prev : bool
  def __enter__(self: __torch__.no_grad) -> NoneType:
    self.prev = torch.is_grad_enabled()
    torch.set_grad_enabled(False)
    return None
  def __exit__(self: __torch__.no_grad, exc_type: Any, exc_value: Any, traceback: Any) -> NoneType:
    prev = self.prev
    torch.set_grad_enabled(prev)
    return None
  def __init__(self: __torch__.no_grad) -> NoneType:
    self.prev = False
    return None
)";

// Makes an object of class `name` of `source`, a text of classes as in code/__torch__.py, and sets its attributes. The
// text calls `constants` CONSTANTS.c0, CONSTANTS.c1 …
class ScriptClasses {
 public:
  explicit ScriptClasses(std::string source, std::vector<IValue> constants = {})
      : source_(std::make_shared<torch::jit::Source>(std::move(source))),
        unit_(std::make_shared<torch::jit::CompilationUnit>()),
        constants_(std::move(constants)),
        importer_(
            unit_, &constants_, [this](const std::string&) { return source_; }, /*version=*/2) {}

  Module module(const std::string& name, const std::vector<std::pair<std::string, IValue>>& attributes) {
    const auto type = importer_.loadType("__torch__." + name)->expect<c10::ClassType>();
    Module module(unit_, type);
    for (const auto& [attribute, value] : attributes) module._ivalue()->setAttr(attribute, value);
    module._ivalue()->setAttr("training", false);
    return module;
  }

 private:
  std::shared_ptr<torch::jit::Source> source_;
  std::shared_ptr<torch::jit::CompilationUnit> unit_;
  std::vector<IValue> constants_;
  torch::jit::SourceImporter importer_;
};

// Makes a module M with a weight w, and the classes of `more`; `body` is that of forward(self, x), each line indented
// by four columns.
inline Module classModule(const std::string& body, const at::Tensor& w, const std::string& more = "") {
  ScriptClasses classes(
      "class M(Module):\n"
      "  __parameters__ = [\"w\", ]\n"
      "  __buffers__ = []\n"
      "  w : Tensor\n"
      "  training : bool\n"
      "  def forward(self: __torch__.M, x: Tensor) -> Tensor:\n" +
      body + more);
  return classes.module("M", {{"w", w}});
}

}  // namespace ipex_studio::testing
