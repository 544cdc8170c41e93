// See first_fault.h.
#include "core/train/first_fault.h"

#include <fmt/format.h>
#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/function_hook.h>
#include <torch/csrc/jit/passes/inliner.h>

#include <algorithm>
#include <unordered_set>

#include "core/graph/origins.h"
#include "core/model/node_runner.h"

namespace ipex_studio {
namespace {

bool isFaulty(const at::Tensor& tensor, bool nan) {
  if (!tensor.defined() || !at::isFloatingType(tensor.scalar_type()) || tensor.is_sparse()) return false;
  return (nan ? tensor.isnan() : tensor.isinf()).any().item<bool>();
}

template <class Values>
bool anyFaulty(const NodeRunner& runner, const Values& values, bool nan) {
  return std::any_of(values.begin(), values.end(), [&](const torch::jit::Value* value) {
    const torch::jit::IValue& seen = runner.valueOf(value);
    return seen.isTensor() && isFaulty(seen.toTensor(), nan);
  });
}

using Tensors = std::vector<at::Tensor>;

bool anyNotFinite(const Tensors& tensors) {
  return std::any_of(tensors.begin(), tensors.end(), [](const at::Tensor& tensor) {
    return isFaulty(tensor, /*nan=*/true) || isFaulty(tensor, /*nan=*/false);
  });
}

// Looks at what a gradient function takes and gives.
class FiniteCheck : public torch::autograd::FunctionPostHook {
 public:
  FiniteCheck(const torch::autograd::Node* function, std::function<void(const torch::autograd::Node*)> found)
      : function_(function), found_(std::move(found)) {}
  Tensors operator()(const Tensors& outputs, const Tensors& inputs) override {
    if (anyNotFinite(outputs) && !anyNotFinite(inputs)) found_(function_);
    return outputs;
  }

 private:
  const torch::autograd::Node* function_;
  std::function<void(const torch::autograd::Node*)> found_;
};

// All gradient functions behind `root`.
std::vector<torch::autograd::Node*> gradientFunctions(torch::autograd::Node* root) {
  std::vector<torch::autograd::Node*> all;
  if (root == nullptr) return all;
  std::unordered_set<const torch::autograd::Node*> seen{root};
  all.push_back(root);
  for (std::size_t i = 0; i < all.size(); ++i) {
    for (const torch::autograd::Edge& edge : all[i]->next_edges()) {
      if (edge.function && seen.insert(edge.function.get()).second) all.push_back(edge.function.get());
    }
  }
  return all;
}

std::string placeOf(const torch::jit::Node* node) {
  std::string text = node->kind().toQualString();
  const std::string path = modulePath(node);
  if (!path.empty()) text += " of " + path;
  if (const auto line = node->sourceRange().file_line_col())
    text += fmt::format(" ({}:{})", std::get<0>(*line), std::get<1>(*line));
  return text;
}

}  // namespace

std::string firstFault(const torch::jit::Module& module, const Inputs& arguments, bool nan) {
  const auto graph = module.get_method("forward").graph()->copy();
  torch::jit::Inline(*graph);
  std::string found;
  std::unique_ptr<NodeRunner> runner;
  runner = std::make_unique<NodeRunner>(*graph, [&](torch::jit::Node* node, std::int64_t, std::int64_t) {
    if (!found.empty() || !node->blocks().empty() || !anyFaulty(*runner, node->outputs(), nan)) return;
    if (!anyFaulty(*runner, node->inputs(), nan) && !node->inputs().empty()) found = placeOf(node);
  });
  try {
    const at::NoGradGuard no_gradients;
    runner->run(copiedArguments(module, module, arguments));
  } catch (const std::exception&) {
    // A node found before the failure stays found.
  }
  return found;
}

std::string firstGradientFault(const at::Tensor& loss, const std::function<std::string(std::int64_t)>& layer_of) {
  std::string found;
  for (torch::autograd::Node* function : gradientFunctions(loss.grad_fn().get())) {
    function->add_post_hook(std::make_unique<FiniteCheck>(function, [&](const torch::autograd::Node* at) {
      if (!found.empty()) return;
      const std::string layer = layer_of(static_cast<std::int64_t>(at->sequence_nr()));
      const std::string name = at->name();
      const bool own = name.rfind("torch::autograd::", 0) == 0;  // a class of ours: its layer says more
      found = layer.empty() ? name : own ? "the gradient of " + layer : name + ", the gradient of " + layer;
    }));
  }
  loss.backward();
  return found;
}

}  // namespace ipex_studio
