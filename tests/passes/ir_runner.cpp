// Runs one .ir case.
#include "tests/passes/ir_runner.h"

#include <dlfcn.h>

#include <algorithm>
#include <sstream>

#include <fmt/format.h>

#include "core/pipeline/pipeline.h"
#include "core/quantization/recipe.h"
#include "core/record/warning_reasons.h"
#include "passes/pipeline.h"
#include "tests/passes/ir_graph.h"

namespace ipex_studio {

using torch::jit::Graph;
using torch::jit::IValue;
using torch::jit::Node;
using torch::jit::Value;

namespace {

struct RemarkCollector : Observer {
  std::vector<Remark> remarks;
  bool changed = false;
  void onRemark(const Remark& remark) override { remarks.push_back(remark); }
  void onPass(const PassRecord& record) override { changed |= record.changed; }
};

std::vector<const Pass*> passesNamed(const std::vector<std::string>& names) {
  if (names == std::vector<std::string>{"all"}) return defaultPasses();
  std::vector<const Pass*> passes;
  for (const std::string& name : names) {
    for (const Pass* pass : defaultPasses()) {
      if (name == pass->name) passes.push_back(pass);
    }
  }
  return passes;
}

IValue defaultInput(const Value* input) {
  const std::string name = input->debugName();
  if (input->type()->kind() == c10::TypeKind::IntType) return std::int64_t{2};
  if (input->type()->kind() == c10::TypeKind::FloatType) return 0.5;
  if (input->type()->kind() == c10::TypeKind::BoolType) return true;
  const auto type = input->type()->cast<c10::TensorType>();
  if (!type) throw std::invalid_argument("input %" + name + " needs an `# input` line");
  const auto sizes = type->sizes().concrete_sizes();
  if (!sizes) throw std::invalid_argument("input %" + name + " has no sizes in its type; add an `# input` line");
  const auto dtype = type->scalarType().value_or(at::kFloat);
  const bool integral = c10::isIntegralType(dtype, true);
  const std::string dims = fmt::format("{}", fmt::join(*sizes, ","));
  return evaluate(name, (integral ? "randint(0,2; " + dims + "):" : "randn(" + dims + "):") + c10::toString(dtype));
}

std::vector<IValue> makeInputs(const Graph& graph, const std::map<std::string, std::string>& given) {
  std::vector<IValue> inputs;
  for (const Value* input : graph.inputs()) {
    const auto value = given.find(input->debugName());
    inputs.push_back(value == given.end() ? defaultInput(input) : evaluate(value->first, value->second));
  }
  return inputs;
}

std::vector<at::Tensor> tensorsOf(const std::vector<IValue>& values) {
  std::vector<at::Tensor> tensors;
  for (const IValue& value : values) {
    if (value.isTensor()) tensors.push_back(value.toTensor());
    if (value.isTensorList()) {
      for (const at::Tensor& tensor : value.toTensorVector()) tensors.push_back(tensor);
    }
    if (value.isTuple()) {
      const auto inner = tensorsOf(value.toTupleRef().elements().vec());
      tensors.insert(tensors.end(), inner.begin(), inner.end());
    }
  }
  return tensors;
}

std::string compareTensor(const at::Tensor& actual, const at::Tensor& expected, double rtol, const std::string& what) {
  if (actual.scalar_type() != expected.scalar_type()) {
    return fmt::format("{}: dtype {} became {}\n", what, c10::toString(expected.scalar_type()),
                       c10::toString(actual.scalar_type()));
  }
  if (actual.sizes() != expected.sizes()) {
    return fmt::format("{}: sizes {} became {}\n", what, fmt::join(expected.sizes(), "x"),
                       fmt::join(actual.sizes(), "x"));
  }
  if (expected.numel() == 0) return "";
  const at::Tensor a = actual.to(at::kDouble);
  const at::Tensor e = expected.to(at::kDouble);
  if (a.equal(e)) return "";
  const double largest = e.abs().max().item().toDouble();
  const double difference = (a - e).abs().max().item().toDouble();
  if (difference <= rtol * largest) return "";
  return fmt::format("{}: differs by {:.3g} of {:.3g}\n", what, difference, largest);
}

// Names the tensors that share memory: a pass must not change which memory a caller may write to.
std::string sharing(const std::vector<at::Tensor>& inputs, const std::vector<at::Tensor>& outputs) {
  std::string text;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    for (std::size_t j = 0; j < inputs.size(); ++j) {
      if (outputs[i].is_alias_of(inputs[j])) text += fmt::format("output {} shares memory with input {}; ", i, j);
    }
    for (std::size_t j = 0; j < i; ++j) {
      if (outputs[i].is_alias_of(outputs[j])) text += fmt::format("output {} shares memory with output {}; ", i, j);
    }
  }
  return text;
}

// Runs a graph; an error names which one it is: "before" or "after" the pass.
std::vector<IValue> runNamed(const Graph& graph, std::vector<IValue>& inputs, const char* which) {
  try {
    return runGraph(graph, inputs);
  } catch (const std::exception& error) {
    throw std::runtime_error(fmt::format("running the graph {} the pass failed: {}", which, error.what()));
  }
}

// Empty if the graph answers the inputs with an error.
std::string needRefusal(const Graph& graph, const std::map<std::string, std::string>& given, const char* which) {
  std::vector<IValue> inputs = makeInputs(graph, given);
  try {
    runGraph(graph, inputs);
  } catch (const std::exception&) {
    return "";
  }
  return fmt::format("the graph {} the pass takes inputs that are to be refused\n", which);
}

std::string compareRuns(const Graph& before, const Graph& after, const std::map<std::string, std::string>& given,
                        double rtol) {
  std::vector<IValue> inputs_before = makeInputs(before, given);
  std::vector<IValue> inputs_after = makeInputs(before, given);
  const auto expected = tensorsOf(runNamed(before, inputs_before, "before"));
  const auto results = runNamed(after, inputs_after, "after");
  const auto actual = tensorsOf(results);
  if (actual.size() != expected.size()) return "the number of tensor outputs changed\n";
  std::string wrong;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    wrong += compareTensor(actual[i], expected[i], rtol, fmt::format("output {}", i));
  }
  const auto written = tensorsOf(inputs_before);
  const auto rewritten = tensorsOf(inputs_after);
  for (std::size_t i = 0; i < written.size(); ++i) {
    wrong += compareTensor(rewritten[i], written[i], rtol, fmt::format("what is left in input {}", i));
  }
  const std::string shared_before = sharing(written, expected);
  const std::string shared_after = sharing(rewritten, actual);
  if (shared_before != shared_after) {
    wrong += fmt::format("memory sharing was \"{}\" and became \"{}\"\n", shared_before, shared_after);
  }
  return wrong;
}

std::string checkOrigins(Graph& graph, const OriginTable& origins) {
  std::string wrong;
  for (const Node* node : allNodes(graph)) {
    if (!node->outputs().empty() && origins.of(node).empty()) {
      wrong += fmt::format("%{} = {} has no origins\n", node->output(0)->debugName(), node->kind().toQualString());
    }
  }
  return wrong;
}

std::string leftOut(const std::vector<Remark>& remarks) {
  std::string wrong;
  for (const Remark& remark : remarks) {
    if (remark.reason == kLeftOutReason) wrong += remark.text + '\n';
  }
  return wrong;
}

std::string checkRemarks(const IrCase& test, const std::vector<Remark>& remarks) {
  std::string wrong;
  for (const std::string& expected : test.remarks) {
    const bool said = std::any_of(remarks.begin(), remarks.end(), [&](const Remark& remark) {
      return expected == (remark.kind == RemarkKind::kApplied ? "applied" : "missed " + remark.reason);
    });
    if (expected == "none" ? !remarks.empty() : !said) wrong += fmt::format("remark \"{}\" expected\n", expected);
  }
  if (wrong.empty()) return wrong;
  wrong += "remarks:\n";
  for (const Remark& remark : remarks) {
    wrong += fmt::format("  {} {} {}\n", remark.kind == RemarkKind::kApplied ? "applied" : "missed", remark.reason,
                         remark.text);
  }
  return wrong;
}

std::string compareGraph(const IrCase& test, Graph& before, Graph& after, const NamedTensors& constants) {
  const CanonicalGraph actual = canonicalGraph(after);
  CanonicalGraph expected;
  std::string wrong;
  if (test.unchanged) {
    expected = canonicalGraph(before);
  } else if (!test.expected.empty()) {
    NamedTensors all = constants;
    std::map<std::string, Fingerprint> known;
    for (const auto& [name, text] : test.expected_constants) {
      known[name] = parseFingerprint(text);
      all[name] = at::zeros(known[name].sizes, known[name].dtype);
    }
    try {
      expected = canonicalGraph(*parseGraph(test.expected, all), known);
    } catch (const std::exception& error) {
      wrong = fmt::format("the expected graph cannot be read: {}\n", error.what());
    }
  }
  if (actual.text != expected.text) {
    wrong += "the graph is not the expected one\nexpected:\n" + expected.text + "actual:\n" + actual.text;
  }
  for (std::size_t i = 0; wrong.empty() && i < actual.tensors.size(); ++i) {
    if (!actual.tensors[i].matches(expected.tensors[i])) {
      wrong +=
          fmt::format("tensor#{} is {} and should be {}\n", i, actual.tensors[i].text(), expected.tensors[i].text());
    }
  }
  return wrong;
}

// What a thrown error says, as a line; libtorch's may be very long.
std::string lineOf(const std::exception& error) { return std::string(error.what()).substr(0, 2000) + "\n"; }

std::string compareNumbers(const IrCase& test, const Graph& before, Graph& after) {
  if (!test.numeric || !operatorsKnown(after)) return "";
  try {
    std::string wrong = compareRuns(before, after, test.inputs, test.rtol);
    for (auto given : test.reruns) {
      given.insert(test.inputs.begin(), test.inputs.end());
      wrong += compareRuns(before, after, given, test.rtol);
    }
    for (auto given : test.refused) {
      given.insert(test.inputs.begin(), test.inputs.end());
      wrong += needRefusal(before, given, "before") + needRefusal(after, given, "after");
    }
    return wrong;
  } catch (const std::exception& error) {
    return lineOf(error);
  }
}

// Writes the graph after the pass as the case's expectation.
void blessGraph(const IrCase& test, const Graph& before, Graph& after, const NamedTensors& constants) {
  const auto copy = after.copy();
  const bool unchanged = canonicalGraph(after).text == canonicalGraph(before).text;
  blessCase(test, unchanged ? "# expect: unchanged\n" : printExpectation(*copy, constants));
}

// Turns "KEY=low..high KEY=fp32 …" into a recipe; every key names an operation, too.
std::string recipeText(const std::string& written) {
  Recipe recipe;
  std::istringstream words(written);
  for (std::string word; words >> word;) {
    const auto equals = word.rfind('=');
    const auto dots = word.find("..", equals);
    if (equals == std::string::npos) throw std::invalid_argument("a recipe needs KEY=low..high: " + word);
    const std::string key = word.substr(0, equals);
    if (key == "mode") {
      recipe.mode = word.substr(equals + 1) == "dynamic" ? QuantizationMode::kDynamic : QuantizationMode::kWeightOnly;
      continue;
    }
    if (key == "levels") {
      recipe.weight_levels = word.substr(equals + 1);
      continue;
    }
    if (key == "equalization" || key == "bits" || key == "group" || key == "tensors") {
      const int value = std::stoi(word.substr(equals + 1));
      if (key == "equalization") recipe.equalization = value != 0;
      if (key == "tensors") recipe.quantized_tensors = value != 0;
      if (key == "bits") recipe.weight_bits = value;
      if (key == "group") recipe.group = value;
      continue;
    }
    recipe.nodes.push_back({key, "", "", dots == std::string::npos ? word.substr(equals + 1) : "int8", ""});
    if (dots == std::string::npos) continue;
    RecipeValue value;
    value.key = key;
    value.low = value.least = std::stod(word.substr(equals + 1, dots - equals - 1));
    value.high = value.greatest = std::stod(word.substr(dots + 2));
    const AffineParameters affine = affineParameters({value.low, value.high});
    value.scale = affine.scale;
    value.zero_point = affine.zero_point;
    recipe.values.push_back(std::move(value));
  }
  return recipeToText(recipe);
}

std::string runParsed(const IrCase& test, bool bless) {
  NamedTensors constants;
  NamedTensors pristine;
  for (const auto& [name, expression] : test.constants) {
    constants[name] = evaluate(name, expression).toTensor();
    pristine[name] = constants[name].clone();
  }
  const auto passes = passesNamed(test.passes);
  if (passes.empty() || (passes.size() != test.passes.size() && test.passes[0] != "all")) {
    return "no such pass in the pipeline\n";
  }
  const auto before = parseGraph(test.before, constants);
  const auto graph = parseGraph(test.before, constants);
  OriginTable origins;
  origins.assign(*graph);

  OptimizeOptions options;
  options.precision = test.precision;
  options.weight_bits = 8;
  options.precision_overrides = test.decided;
  options.capabilities = Capabilities{true, true};  // independent of this machine
  if (test.precision == Precision::kInt8) options.quantization_recipe = recipeText(test.recipe);
  RemarkCollector first;
  runPipeline(*graph, origins, passes, options, first);
  std::string wrong = leftOut(first.remarks);
  if (!test.any_graph) wrong += compareGraph(test, *before, *graph, constants);
  const std::string wrong_numbers = compareNumbers(test, *before, *graph);
  if (bless && !wrong.empty()) {
    if (wrong_numbers.empty()) {
      blessGraph(test, *before, *graph, constants);
      wrong.clear();
    } else {
      wrong += "the graph is not written as the new expectation, because its numbers do not hold:\n";
    }
  }
  wrong += wrong_numbers;
  wrong += checkOrigins(*graph, origins);
  wrong += checkRemarks(test, first.remarks);
  RemarkCollector second;
  runPipeline(*graph, origins, passes, options, second);
  if (second.changed) wrong += "a second run changed the graph again:\n" + canonicalGraph(*graph).text;
  for (const auto& [name, tensor] : constants) {
    if (!tensor.equal(pristine[name])) wrong += fmt::format("the constant %{} was written to\n", name);
  }
  return wrong;
}

}  // namespace

std::string runCase(const IrCase& test, bool bless) {
  if (!test.error.empty()) return test.error;
  try {
    return runParsed(test, bless);
  } catch (const std::exception& error) {
    return lineOf(error);
  }
}

bool loadOperators() { return dlopen(IPEX_BINARY_DIR "/libipex_studio_ops.so", RTLD_NOW | RTLD_GLOBAL) != nullptr; }

}  // namespace ipex_studio
