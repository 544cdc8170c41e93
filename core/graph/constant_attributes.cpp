#include "core/graph/constant_attributes.h"

#include <algorithm>
#include <utility>

namespace ipex_studio {
namespace {

using torch::jit::Module;
using torch::jit::Node;

bool hasForwardAlone(const Module& module) {
  const auto methods = module.get_methods();
  return std::all_of(methods.begin(), methods.end(), [](const auto& method) { return method.name() == "forward"; });
}

// True if the attribute at `path` is the one named, or lies below it.
bool isAtOrBelow(const std::string& path, const std::string& name) {
  return path == name || path.compare(0, name.size() + 1, name + ".") == 0;
}

// Reads that lead from the module itself to what the node reads, the first one first; empty: it begins elsewhere.
std::vector<const Node*> chainOf(const Node* node) {
  std::vector<const Node*> chain;
  for (; node->kind() == c10::prim::GetAttr; node = node->input()->node()) chain.push_back(node);
  const bool from_module =
      node->kind() == c10::prim::Param && !chain.empty() && node->owningGraph()->inputs()[0] == chain.back()->input();
  if (!from_module) return {};
  std::reverse(chain.begin(), chain.end());
  return chain;
}

}  // namespace

ConstantAttributes::ConstantAttributes(const Module& module, std::vector<std::string> preserved)
    : preserved_(std::move(preserved)) {
  for (const Module& inner : module.modules()) {
    if (!hasForwardAlone(inner)) return;
  }
  module_ = module;
}

std::optional<at::Tensor> ConstantAttributes::read(const Node* node) const {
  if (!module_ || node->output()->type()->kind() != c10::TypeKind::TensorType) return std::nullopt;
  std::string path;
  c10::IValue value = module_->_ivalue();
  for (const Node* get : chainOf(node)) {
    const std::string& name = get->s(c10::attr::name);
    if (!value.isModule() || !value.toModule().hasattr(name)) return std::nullopt;
    path += (path.empty() ? "" : ".") + name;
    value = value.toModule().attr(name);
  }
  const bool preserved = std::any_of(preserved_.begin(), preserved_.end(),
                                     [&](const std::string& name) { return isAtOrBelow(path, name); });
  if (preserved || !value.isTensor() || !value.toTensor().defined()) return std::nullopt;
  return value.toTensor().detach();
}

}  // namespace ipex_studio
