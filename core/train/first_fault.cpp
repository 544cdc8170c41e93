// See first_fault.h.
#include "core/train/first_fault.h"

#include <fmt/format.h>
#include <torch/csrc/jit/passes/inliner.h>

#include <algorithm>

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

}  // namespace ipex_studio
