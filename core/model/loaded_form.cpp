// Walks over all methods and attributes of a module.
#include "core/model/loaded_form.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <unordered_map>

#include "core/extension/mixed_norms.h"
#include "core/extension/refused_bf16.h"
#include "core/extension/torchvision_operators.h"
#include "core/extension/write_out_extension.h"
#include "core/file/pt_file.h"
#include "core/graph/fused_op.h"
#include "core/graph/origins.h"
#include "core/torch/module_graphs.h"

namespace ipex_studio {

using torch::jit::Graph;
using torch::jit::IValue;
using torch::jit::Module;
using torch::jit::Node;

namespace {

// Replaces the attributes of a module and its submodules for which `change` returns a value.
void changeAttributes(const Module& module, const std::function<c10::optional<IValue>(const IValue&)>& change) {
  for (const Module& part : module.modules()) {
    const auto object = part._ivalue();
    for (std::size_t slot = 0; slot < object->type()->numAttributes(); ++slot) {
      if (auto changed = change(object->getSlot(slot))) object->setSlot(slot, *std::move(changed));
    }
  }
}

bool isGpu(const IValue& value) {
  return value.isDevice() && value.toDevice().type() != at::kCPU && value.toDevice().type() != at::kMeta;
}

bool namesGpu(const IValue& value) { return value.isString() && value.toStringRef().rfind("cuda", 0) == 0; }

void replaceConstant(Node* constant, const IValue& value) {
  const torch::jit::WithInsertPoint point(constant);
  constant->output()->replaceAllUsesWith(constant->owningGraph()->insertConstant(value));
  constant->destroy();
}

// Devices in the code and in attributes become the CPU; returns their number.
int readGpuAsCpu(const Module& module) {
  int changed = 0;
  const IValue cpu{at::Device(at::kCPU)};
  forEachGraph(module, [&](Graph& graph) {
    for (Node* node : allNodes(graph, /*with_constants=*/true)) {
      if (node->kind() == c10::prim::Constant) {
        const auto value = torch::jit::toIValue(node->output());
        if (!value || !isGpu(*value)) continue;
        replaceConstant(node, cpu);
        ++changed;
      } else if (node->kind() == c10::Symbol::fromQualString("aten::device")) {  // of a text
        const auto text = torch::jit::toIValue(node->input(0));
        if (!text || !namesGpu(*text)) continue;
        const torch::jit::WithInsertPoint point(node);
        node->replaceInput(0, graph.insertConstant("cpu"));
        ++changed;
      } else if (node->kind() == c10::Symbol::fromQualString("aten::cuda")) {
        node->output()->replaceAllUsesWith(node->input(0));
        node->destroy();
        ++changed;
      }
    }
  });
  changeAttributes(module, [&](const IValue& value) -> c10::optional<IValue> {
    if (!isGpu(value)) return c10::nullopt;
    ++changed;
    return cpu;
  });
  return changed;
}

// True if all floating tensors of one axis or more are FP16, and there is one.
bool isFp16(const Module& module) {
  bool any = false, others = false;
  const auto count = [&](const IValue& value) {
    if (!value.isTensor() || !value.toTensor().defined() || value.toTensor().dim() == 0) return;
    const at::ScalarType type = value.toTensor().scalar_type();
    any = any || type == at::kHalf;
    others = others || (at::isFloatingType(type) && type != at::kHalf);
  };
  for (const Module& part : module.modules()) {
    const auto object = part._ivalue();
    for (std::size_t slot = 0; slot < object->type()->numAttributes(); ++slot) {
      const IValue value = object->getSlot(slot);
      others = others || (value.isObject() && !value.toObjectRef().type()->is_module());  // weights of their own kind
      count(value);
    }
  }
  forEachGraph(module, [&](Graph& graph) {
    for (const Node* node : allNodes(graph, true)) {
      if (node->kind() != c10::prim::Constant) continue;
      if (const auto value = torch::jit::toIValue(node->output())) count(*value);
    }
  });
  return any && !others;
}

// FP16 becomes FP32 in attributes, in constants of the code, and where the code names it.
void widenFp16(const Module& module) {
  const torch::NoGradGuard no_grad;
  std::unordered_map<const at::TensorImpl*, at::Tensor> wide;  // what is shared stays shared
  const auto changed = [&](const IValue& value) -> c10::optional<IValue> {
    if (!value.isTensor() || !value.toTensor().defined() || value.toTensor().scalar_type() != at::kHalf)
      return c10::nullopt;
    const at::Tensor narrow = value.toTensor();
    at::Tensor& tensor = wide[narrow.unsafeGetTensorImpl()];
    if (!tensor.defined()) tensor = narrow.to(at::kFloat).set_requires_grad(narrow.requires_grad());
    return IValue(tensor);
  };
  changeAttributes(module, changed);
  forEachGraph(module, [&](Graph& graph) {
    changeDtypes(graph, at::kHalf, at::kFloat);
    for (Node* node : allNodes(graph, /*with_constants=*/true)) {
      if (node->kind() != c10::prim::Constant) continue;
      const auto value = torch::jit::toIValue(node->output());
      if (!value) continue;
      if (const auto tensor = changed(*value)) replaceConstant(node, *tensor);
    }
  });
}

}  // namespace

const char* const kTrainingModeNote =
    "The model was saved in training mode; it runs in evaluation mode here, and so does the export.";

FormHints formHints(const PtFileReport& report) {
  FormHints hints;
  hints.has_own_operators = std::any_of(report.findings.begin(), report.findings.end(),
                                        [](const Finding& finding) { return finding.kind == kOwnOperatorFinding; });
  hints.names_gpu = std::any_of(report.findings.begin(), report.findings.end(),
                                [](const Finding& finding) { return finding.kind == "names-gpu"; });
  hints.of_extension = std::any_of(report.findings.begin(), report.findings.end(),
                                   [](const Finding& finding) { return finding.kind == kExtensionFinding; });
  hints.holds_fp16 = report.tensor_bytes.count("float16") != 0;
  hints.holds_bf16 = report.tensor_bytes.count("bfloat16") != 0;
  return hints;
}

void changeDtypes(Graph& graph, at::ScalarType from, at::ScalarType to) {
  for (Node* node : allNodes(graph)) {
    const c10::FunctionSchema* schema = node->maybeSchema();
    if (schema == nullptr) continue;
    for (std::size_t a = 0; a < schema->arguments().size() && a < node->inputs().size(); ++a) {
      if (schema->arguments()[a].name() != "dtype") continue;
      const auto value = constantInt(node->input(a));
      if (!value || *value != static_cast<std::int64_t>(from)) continue;
      const torch::jit::WithInsertPoint point(node);
      node->replaceInput(a, graph.insertConstant(static_cast<std::int64_t>(to)));
    }
  }
}

LoadedForm bringIntoForm(Module& module, const FormHints& hints) {
  LoadedForm form;
  if (module.hasattr("training") && module.is_training()) {
    form.notes.push_back(kTrainingModeNote);
  }
  module.eval();
  if (hints.of_extension) {
    const int operators = writeOutExtension(module);
    form.notes.push_back(fmt::format(
        "The file was written by Intel Extension for PyTorch; {} of its operators became operators of PyTorch.",
        operators));
  }
  if (hints.holds_bf16) {
    widenMixedNorms(module);
    widenRefusedBf16(module);
  }
  const std::vector<std::string> own = hints.has_own_operators ? takeOwnOperators(module) : std::vector<std::string>();
  if (!own.empty()) {
    form.notes.push_back(fmt::format("{} of torchvision {} computed by ipex-studio; a portable export names {} again.",
                                     fmt::join(own, ", "), own.size() == 1 ? "is" : "are",
                                     own.size() == 1 ? "it" : "them"));
  }
  const int devices = hints.names_gpu ? readGpuAsCpu(module) : 0;
  if (devices > 0) {
    form.notes.push_back(
        fmt::format("The code names a GPU in {} place{}; the CPU is taken instead.", devices, devices == 1 ? "" : "s"));
  }
  form.fp16_as_fp32 = hints.holds_fp16 && isFp16(module);
  if (form.fp16_as_fp32) {
    widenFp16(module);
    form.notes.push_back("The file holds FP16; it is computed in FP32, and the export takes and gives FP32.");
  }
  return form;
}

}  // namespace ipex_studio
