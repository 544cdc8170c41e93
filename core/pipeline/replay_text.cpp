// The writer of replayable graphs: constants as expressions, then the printed graph.
#include "core/pipeline/replay_text.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <sstream>
#include <unordered_set>
#include <vector>

#include <fmt/format.h>

#include "core/graph/origins.h"

namespace ipex_studio {

using torch::jit::Graph;
using torch::jit::Node;
using torch::jit::Value;
namespace prim = torch::jit::prim;

namespace {

// Tensors up to this size are written out.
constexpr std::int64_t kExactElements = 64;

std::string exactNumbers(const at::Tensor& tensor) {
  std::string text;
  const at::Tensor flat = tensor.contiguous().view({-1});
  const bool integral = c10::isIntegralType(tensor.scalar_type(), true);
  const int digits = tensor.scalar_type() == at::kDouble ? 17 : 9;
  for (std::int64_t i = 0; i < flat.numel(); ++i) {
    const at::Scalar value = flat[i].item();
    if (i > 0) text += ',';
    text += integral ? fmt::format("{}", value.toLong()) : fmt::format("{:.{}g}", value.toDouble(), digits);
  }
  return text;
}

// An expression for random numbers in the tensor's range; normal ones with its spread if it holds both signs.
std::string similarNumbers(const at::Tensor& tensor, const std::string& dims) {
  if (c10::isIntegralType(tensor.scalar_type(), true)) {
    const at::Tensor whole = tensor.to(at::kLong);
    const std::int64_t high = std::min(whole.max().item<std::int64_t>(), std::numeric_limits<std::int64_t>::max() - 1);
    return fmt::format("randint({},{}; {})", whole.min().item<std::int64_t>(), high + 1, dims);
  }
  const at::Tensor real = tensor.to(at::kDouble);
  const double low = real.min().item<double>(), high = real.max().item<double>(), spread = high - low;
  if (!std::isfinite(spread)) return fmt::format("randn({})", dims);
  if (spread == 0) return fmt::format("full({:.9g}; {})", low, dims);
  if (low >= 0) return fmt::format("{:.6g}*{:.6g}+rand({})", spread, low / spread, dims);
  const double deviation = real.std().item<double>();
  return fmt::format("{:.6g}*{:.6g}+randn({})", deviation, real.mean().item<double>() / deviation, dims);
}

// An expression of tests/passes/ir_case.h for the tensor.
std::string expressionOf(const at::Tensor& tensor) {
  const std::string dims = fmt::format("{}", fmt::join(tensor.sizes(), ","));
  const auto dtype = tensor.scalar_type();
  const std::string suffix = dtype == at::kFloat ? "" : std::string(":") + c10::toString(dtype);
  const bool known =
      tensor.layout() == at::kStrided && (c10::isIntegralType(dtype, true) || c10::isFloatingType(dtype));
  if (!known || tensor.numel() == 0) return fmt::format("zeros({}){}", dims, suffix);
  if (tensor.numel() > kExactElements) return similarNumbers(tensor, dims) + suffix;
  if (tensor.dim() == 0) return fmt::format("scalar({}){}", exactNumbers(tensor), suffix);
  return fmt::format("values({}; {}){}", exactNumbers(tensor), dims, suffix);
}

// Writes lists of tensors as nodes, since no constant of that type can be read back.
void buildTensorLists(Graph& graph) {
  for (Node* node : allNodes(graph, true)) {
    if (node->kind() != prim::Constant) continue;
    const auto value = torch::jit::toIValue(node->output());
    if (!value || !value->isTensorList()) continue;
    torch::jit::WithInsertPoint here(node);
    std::vector<Value*> items;
    for (const at::Tensor& tensor : value->toTensorVector()) items.push_back(graph.insertConstant(tensor));
    Node* list = graph.insertNode(graph.createList(c10::TensorType::get(), items));
    node->output()->replaceAllUsesWith(list->output());
    node->destroy();
  }
}

void dropUnusedModules(Graph& graph) {
  for (std::size_t i = graph.inputs().size(); i-- > 0;) {
    const Value* input = graph.inputs()[i];
    if (input->type()->kind() == c10::TypeKind::ClassType && !input->hasUses()) graph.eraseInput(i);
  }
}

}  // namespace

std::string replayText(Graph& graph, const std::string& title) {
  const std::shared_ptr<Graph> copy = graph.copy();
  dropUnusedModules(*copy);
  buildTensorLists(*copy);
  std::string constants;
  std::unordered_set<std::string> names;
  for (Node* node : allNodes(*copy, true)) {
    if (node->kind() != prim::Constant) continue;
    const auto value = torch::jit::toIValue(node->output());
    if (!value || !value->isTensor() || !value->toTensor().defined()) continue;
    // The reader takes no numbers as names.
    if (!node->output()->hasDebugName()) node->output()->setDebugName(fmt::format("constant.{}", names.size()));
    const std::string name = node->output()->debugName();
    names.insert(name);
    constants += fmt::format("# const %{} {}\n", name, expressionOf(value->toTensor()));
    node->removeAttribute(torch::jit::attr::value);
  }
  std::istringstream lines(copy->toString(false));
  std::string body;
  for (std::string line; std::getline(lines, line);) {
    const std::size_t begin = line.find('%');
    const bool is_constant = line.find("= prim::Constant()") != std::string::npos &&
                             names.count(line.substr(begin + 1, line.find(' ', begin) - begin - 1)) != 0;
    if (!is_constant) body += line + "\n";
  }
  return fmt::format("# case: {}\n{}{}# expect: numbers\n", title, constants, body);
}

}  // namespace ipex_studio
