// Reads operators.txt, and compiles bodies when they are asked for.
#include "core/extension/extension_operators.h"

#include <fmt/format.h>
#include <torch/csrc/jit/passes/inliner.h>
#include <torch/jit.h>

#include <algorithm>
#include <cctype>
#include <mutex>
#include <sstream>
#include <unordered_map>

#include "core/base/error.h"
#include "core/base/string_util.h"

namespace ipex_studio {

extern const char kExtensionOperatorText[];

namespace {

void replaceEach(std::string* text, const std::string& from, const std::string& to) {
  for (std::size_t at = text->find(from); at != std::string::npos; at = text->find(from, at + to.size()))
    text->replace(at, from.size(), to);
}

// The arguments of a schema, "Tensor input", "int[]? padding" …; no type in the text holds a comma.
std::vector<std::string> argumentsOf(const std::string& schema) {
  const std::size_t open = schema.find('('), close = schema.find(") ->");
  IPEX_CHECK(open != std::string::npos && close != std::string::npos, "operators.txt: " + schema);
  std::vector<std::string> arguments;
  std::istringstream text(schema.substr(open + 1, close - open - 1));
  for (std::string argument; std::getline(text, argument, ',');) {
    argument.erase(0, argument.find_first_not_of(' '));
    arguments.push_back(argument);
  }
  return arguments;
}

const PackedLayer* layerNamed(const std::string& name) {
  for (const PackedLayer& layer : packedLayers()) {
    if (name == layer.name) return &layer;
  }
  return nullptr;
}

// A type of a schema as TorchScript writes it.
std::string scriptType(std::string type) {
  static const std::unordered_map<std::string, std::string> kNames = {{"Scalar", "number"}, {"ScalarType", "int"}};
  if (endsWith(type, "?")) return fmt::format("Optional[{}]", scriptType(type.substr(0, type.size() - 1)));
  if (endsWith(type, "[]")) return fmt::format("List[{}]", scriptType(type.substr(0, type.size() - 2)));
  const auto known = kNames.find(type);
  return known == kNames.end() ? type : known->second;
}

// Packed layers in functions get the types of their states.
std::string withStates(std::string code) {
  for (const PackedLayer& layer : packedLayers())
    replaceEach(&code, fmt::format(": {})", layer.name), fmt::format(": {})", layer.state));
  return code;
}

class TableReader {
 public:
  TableReader() {
    std::istringstream text(kExtensionOperatorText);
    for (std::string line; std::getline(text, line);) readLine(line);
  }

  std::vector<ExtensionOperator> operators;
  std::string functions;

 private:
  void readLine(const std::string& line) {
    if (line.empty() || line.front() == '#') return;
    if (line.front() == ' ') return continueLine(line);
    in_function_ = startsWith(line, "def ");
    if (in_function_) return continueLine(line);
    first_ = operators.size();
    if (line.find("<layer>") == std::string::npos) return add(line);
    for (const char* layer : kFamily) {
      std::string one = line;
      nameLayer(&one, layer);
      add(one);
    }
  }

  void continueLine(const std::string& line) {
    if (in_function_) {
      functions += withStates(line) + "\n";
      return;
    }
    for (std::size_t i = first_; i < operators.size(); ++i) {
      std::string one = line;
      if (operators.size() - first_ > 1) nameLayer(&one, kFamily[i - first_]);
      operators[i].body += one + "\n";
    }
  }

  static void nameLayer(std::string* text, const std::string& layer) {
    replaceEach(text, "<layer>", layer);
    replaceEach(text, "<Layer>",
                layer == "convolution" ? "Convolution"
                : layer == "linear"    ? "Linear"
                                       : "ConvTranspose");
  }

  // Forms of one name differ in their arguments alone; an overload of ours tells them apart.
  void add(const std::string& line) {
    ExtensionOperator made;
    made.name = line.substr(0, line.find('('));
    made.schema = line;
    for (const std::string& argument : argumentsOf(line)) readArgument(argument, &made);
    const auto result = layerNamed(line.substr(line.find(") -> ") + 5));
    if (result != nullptr)
      replaceEach(&made.schema, fmt::format("-> {}", result->name), "-> " + packedClassName(*result));
    made.schema.insert(made.name.size(), fmt::format(".form{}", operators.size()));
    operators.push_back(std::move(made));
  }

  void readArgument(const std::string& argument, ExtensionOperator* made) {
    if (argument == "*") return;
    const std::size_t blank = argument.rfind(' ');
    std::string type = argument.substr(0, blank);
    const std::string name = argument.substr(blank + 1, argument.find('=') - blank - 1);
    const bool address = startsWith(type, "handle:");
    const PackedLayer* layer = layerNamed(address ? type.substr(7) : type);
    if (layer != nullptr) {
      made->layers[made->arguments.size()] = layer;
      replaceEach(&made->schema, argument, (address ? "Tensor" : packedClassName(*layer)) + " " + name);
    }
    made->arguments.push_back(fmt::format("{}: {}", name, layer == nullptr ? scriptType(type) : layer->state));
  }

  static constexpr const char* kFamily[] = {"convolution", "conv_transpose", "linear"};
  std::size_t first_ = 0;  // of the operators that the lines now read belong to
  bool in_function_ = false;
};

const TableReader& table() {
  static const TableReader read;
  return read;
}

// A body, and the functions that it was inlined from: its nodes name them, and errors of a run tell the names.
struct CompiledBody {
  std::shared_ptr<torch::jit::CompilationUnit> unit;
  std::shared_ptr<torch::jit::Graph> graph;
};

CompiledBody compileBody(const ExtensionOperator& of) {
  CompiledBody body;
  body.unit = torch::jit::compile(
      fmt::format("{}def written({}):\n{}", table().functions, fmt::join(of.arguments, ", "), of.body));
  body.graph = torch::jit::toGraphFunction(body.unit->get_function("written")).graph()->copy();
  torch::jit::Inline(*body.graph);
  return body;
}

}  // namespace

const std::vector<ExtensionOperator>& extensionOperators() { return table().operators; }

const ExtensionOperator* extensionOperator(const c10::FunctionSchema& schema) {
  static const auto by_form = [] {
    std::unordered_map<std::string, const ExtensionOperator*> forms;
    for (const ExtensionOperator& one : extensionOperators()) forms[one.schema.substr(0, one.schema.find('('))] = &one;
    return forms;
  }();
  const auto found = by_form.find(schema.name() + "." + schema.overload_name());
  return found == by_form.end() ? nullptr : found->second;
}

std::shared_ptr<torch::jit::Graph> writtenOut(const c10::FunctionSchema& schema) {
  static std::mutex mutex;
  static std::unordered_map<const ExtensionOperator*, CompiledBody> compiled;
  const ExtensionOperator* of = extensionOperator(schema);
  if (of == nullptr) return nullptr;
  const std::lock_guard<std::mutex> lock(mutex);
  CompiledBody& body = compiled[of];
  if (body.graph == nullptr) body = compileBody(*of);
  return body.graph;
}

}  // namespace ipex_studio
