#include "core/extension/declare_extension.h"

#include <torch/custom_class.h>

#include <mutex>

#include "core/extension/extension_operators.h"

namespace ipex_studio {
namespace {

// An object of the extension as a file has it: its state, which is looked at when the module is written out.
template <int which>
struct PackedObject : torch::CustomClassHolder {
  torch::jit::IValue state;
};

[[noreturn]] void refuseToRun() {
  TORCH_CHECK(false, "a layer of Intel Extension for PyTorch is not run; it is written out when its file is loaded");
}

template <int which>
void declareClass() {
  using Object = PackedObject<which>;
  using Pointer = c10::intrusive_ptr<Object>;
  const PackedLayer& layer = packedLayers()[which];
  if (torch::getCustomClass(packedClassName(layer)) != nullptr) return;
  torch::class_<Object>("ipex_prepack", std::string(layer.name) + "OpContext")
      .def("get_data_handle", [](const Pointer&) -> at::Tensor { refuseToRun(); })
      .def_pickle([](const Pointer& object) { return object->state; },
                  [](torch::jit::IValue state) {
                    auto object = c10::make_intrusive<Object>();
                    object->state = std::move(state);
                    return object;
                  });
}

void declareOperator(const ExtensionOperator& of) {
  torch::jit::registerOperator(torch::jit::Operator(
      of.schema, [](torch::jit::Stack&) { refuseToRun(); }, c10::AliasAnalysisKind::FROM_SCHEMA));
}

bool isDeclared(const ExtensionOperator& of) {
  return !torch::jit::getAllOperatorsFor(c10::Symbol::fromQualString(of.name)).empty();
}

void declareAll() {
  declareClass<0>();
  declareClass<1>();
  declareClass<2>();
  declareClass<3>();
  declareClass<4>();
  std::vector<const ExtensionOperator*> missing;  // an operator may have several forms
  for (const ExtensionOperator& one : extensionOperators()) {
    if (!isDeclared(one)) missing.push_back(&one);
  }
  for (const ExtensionOperator* one : missing) declareOperator(*one);
}

}  // namespace

void declareExtension() {
  static std::once_flag once;
  std::call_once(once, declareAll);
}

}  // namespace ipex_studio
