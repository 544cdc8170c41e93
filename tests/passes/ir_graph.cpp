// Graphs of .ir files: parsing, canonical text, printing, running.
#include "tests/passes/ir_graph.h"

#include <regex>
#include <sstream>
#include <stdexcept>

#include <ATen/core/dispatch/Dispatcher.h>
#include <fmt/format.h>
#include <torch/csrc/jit/runtime/interpreter.h>

#include "core/graph/origins.h"

namespace ipex_studio {

using torch::jit::AttributeKind;
using torch::jit::Block;
using torch::jit::Graph;
using torch::jit::IValue;
using torch::jit::Node;
using torch::jit::Value;
namespace prim = torch::jit::prim;

namespace {

class Canonicalizer {
 public:
  Canonicalizer(const std::map<std::string, Fingerprint>& known, CanonicalGraph& result)
      : known_(known), result_(result) {}

  void graph(const Graph& graph) {
    define(graph.inputs());
    result_.text += "graph" + list(graph.inputs()) + "\n";
    block(graph.block(), "  ");
  }

 private:
  void define(at::ArrayRef<const Value*> values) {
    for (const Value* value : values) names_.emplace(value, fmt::format("%{}", names_.size()));
  }

  void block(const Block* block, const std::string& indent) {
    for (const Node* node : block->nodes()) {
      if (node->kind() == prim::Constant || constantList(node)) continue;
      std::string operands = list(node->inputs());
      define(node->outputs());
      result_.text +=
          indent + list(node->outputs()) + " = " + node->kind().toQualString() + attributes(node) + operands + "\n";
      for (const Block* nested : node->blocks()) {
        define(nested->inputs());
        result_.text += indent + "  block" + list(nested->inputs()) + "\n";
        this->block(nested, indent + "    ");
      }
    }
    result_.text += indent + "return " + list(block->outputs()) + "\n";
  }

  // A list of constants reads the same whether it is built or constant.
  static bool constantList(const Node* node) {
    if (node->kind() != prim::ListConstruct || node->output()->type()->str() == "Tensor[]") return false;
    for (const Value* input : node->inputs()) {
      if (input->node()->kind() != prim::Constant) return false;
    }
    return true;
  }

  std::string list(at::ArrayRef<const Value*> values) {
    std::string text = "(";
    for (const Value* value : values) text += (text.size() > 1 ? ", " : "") + name(value);
    return text + ")";
  }

  std::string name(const Value* value) {
    const auto known = names_.find(value);
    if (known != names_.end()) return known->second;
    if (value->node()->kind() == prim::ListConstruct) {
      std::string text = "[";
      for (const Value* input : value->node()->inputs()) text += (text.size() > 1 ? ", " : "") + name(input);
      return text + "]";
    }
    const auto constant = torch::jit::toIValue(value);
    if (!constant) return "?" + value->debugName();
    if (constant->isTensor()) return tensor(value, constant->toTensor());
    std::ostringstream text;
    text << *constant;
    return constant->isString() ? "\"" + text.str() + "\"" : text.str();
  }

  std::string tensor(const Value* value, const at::Tensor& tensor) {
    const auto found = known_.find(value->debugName());
    const Fingerprint print = found != known_.end() ? found->second : fingerprintOf(tensor);
    for (std::size_t i = 0; i < result_.tensors.size(); ++i) {
      if (result_.tensors[i].matches(print)) return fmt::format("tensor#{}", i);
    }
    result_.tensors.push_back(print);
    return fmt::format("tensor#{}", result_.tensors.size() - 1);
  }

  static std::string attributes(const Node* node) {
    std::string text;
    for (const auto name : node->attributeNames()) {
      text += fmt::format("[{}", name.toUnqualString());
      if (node->kindOf(name) == AttributeKind::s) text += "=" + node->s(name);
      if (node->kindOf(name) == AttributeKind::i) text += fmt::format("={}", node->i(name));
      text += "]";
    }
    return text;
  }

  const std::map<std::string, Fingerprint>& known_;
  CanonicalGraph& result_;
  std::unordered_map<const Value*, std::string> names_;
};

// Removes facts that the tests never state.
std::string withoutLayout(const std::string& text) {
  static const std::regex layout(R"(, strides=\[[^\]]*\](, requires_grad=\d)?(, device=\w+)?)");
  static const std::regex scalar_layout(R"(\(requires_grad=\d(, device=\w+)?\))");
  static const std::regex empty_layout(R"(\(strides=\[\](, requires_grad=\d)?(, device=\w+)?\))");
  return std::regex_replace(std::regex_replace(std::regex_replace(text, layout, ""), scalar_layout, "()"), empty_layout,
                            "()");
}

// PyTorch 2.5 added the argument enable_gqa to attention, which must be false here. Repeats is_causal, two places
// before it, which is false as well.
std::string withNewArguments(const std::string& text) {
  const auto schema = c10::Dispatcher::singleton().findSchema({"aten::scaled_dot_product_attention", ""});
  if (!schema || schema->schema().arguments().size() < 8) return text;
  static const std::regex attention(R"((scaled_dot_product_attention\((?:%\w+, ){5}(%\w+), %\w+)\))");
  return std::regex_replace(text, attention, "$1, $2)");
}

}  // namespace

std::shared_ptr<Graph> parseGraph(const std::string& given, const NamedTensors& constants) {
  const std::string text = withNewArguments(given);
  const auto header_end = text.find("):");
  if (header_end == std::string::npos) throw std::invalid_argument("no graph header");
  std::string placeholders;
  for (const auto& [name, tensor] : constants) {
    if (text.find("%" + name) != std::string::npos) {
      placeholders += fmt::format("\n  %{} : Tensor = prim::Constant()", name);
    }
  }
  auto graph = std::make_shared<Graph>();
  std::unordered_map<std::string, Value*> values;
  torch::jit::parseIR(text.substr(0, header_end + 2) + placeholders + text.substr(header_end + 2), graph.get(), values);
  for (const auto& [name, tensor] : constants) {
    const auto placeholder = values.find(name);
    if (placeholder == values.end()) continue;
    Node* node = placeholder->second->node();
    torch::jit::WithInsertPoint guard(node);
    Value* constant = graph->insertConstant(tensor);
    placeholder->second->replaceAllUsesWith(constant);
    node->destroy();
    constant->setDebugName(name);
  }
  for (const auto& [name, value] : values) {
    const bool is_constant = constants.count(name) != 0;  // renamed above; the placeholder no longer exists
    const bool is_number = name.find_first_not_of("0123456789") == std::string::npos;
    if (!is_constant && !is_number) value->setDebugName(name);
  }
  graph->lint();
  return graph;
}

CanonicalGraph canonicalGraph(const Graph& graph, const std::map<std::string, Fingerprint>& known) {
  CanonicalGraph result;
  Canonicalizer(known, result).graph(graph);
  return result;
}

std::string printExpectation(Graph& graph, const NamedTensors& constants) {
  std::string prints;
  std::map<std::string, bool> dropped;  // names of tensor constants, whose definitions are left out
  int made = 0;
  for (Node* node : allNodes(graph, true)) {
    if (node->kind() != prim::Constant) continue;
    const auto value = torch::jit::toIValue(node->output());
    if (!value || !value->isTensor()) continue;
    if (!node->output()->hasUses()) {
      node->destroy();
      continue;
    }
    const Fingerprint print = fingerprintOf(value->toTensor());
    std::string name;
    for (const auto& [known, tensor] : constants) {
      if (fingerprintOf(tensor).matches(print)) name = known;
    }
    const bool is_new = name.empty();
    if (is_new) name = fmt::format("made{}", made++);
    if (!dropped.emplace(name, true).second) {
      for (Node* other : allNodes(graph, true)) {
        if (other->kind() == prim::Constant && other->output()->debugName() == name) {
          node->output()->replaceAllUsesWith(other->output());
        }
      }
      node->destroy();
      continue;
    }
    node->output()->setDebugName(name);
    node->removeAttribute(torch::jit::attr::value);  // small tensors would be printed on several lines
    if (is_new) prints += fmt::format("# const %{} {}\n", name, print.text());
  }
  std::istringstream lines(withoutLayout(graph.toString(false)));
  std::string body;
  for (std::string line; std::getline(lines, line);) {
    const auto begin = line.find('%');
    const std::string name =
        begin == std::string::npos ? "" : line.substr(begin + 1, line.find(' ', begin) - begin - 1);
    const bool is_tensor = line.find("= prim::Constant()") != std::string::npos && dropped.count(name) != 0;
    if (!is_tensor && !line.empty()) body += line + "\n";
  }
  return "# expect:\n" + prints + body;
}

std::vector<IValue> runGraph(const Graph& graph, std::vector<IValue>& inputs) {
  at::NoGradGuard no_gradients;
  auto copy = const_cast<Graph&>(graph).copy();
  torch::jit::Code code(copy, "case");
  torch::jit::Stack stack(inputs.begin(), inputs.end());
  torch::jit::InterpreterState(code).run(stack);
  return stack;
}

bool operatorsKnown(Graph& graph) {
  for (Node* node : allNodes(graph)) {
    const bool ours = std::string(node->kind().toQualString()).rfind("ipex_studio::", 0) == 0;
    if (ours && node->maybeSchema() == nullptr) return false;
  }
  return true;
}

}  // namespace ipex_studio
