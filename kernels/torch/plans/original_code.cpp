#include "kernels/torch/plans/original_code.h"

#include <algorithm>
#include <optional>
#include <unordered_map>

#include "core/base/error.h"
#include "core/torch/silent_writes.h"
#include "core/torch/torch_compat.h"

namespace ipex_studio {
namespace {

using torch::jit::Graph;
using torch::jit::IValue;
using torch::jit::Node;
using torch::jit::Stack;
using torch::jit::Value;

[[noreturn]] void refuse(const std::string& why) {
  throw Error(ExitCode::kBadModel, "The original code of a region in this file " + why + "; export the model again.");
}

bool isOneOf(const Node& node, std::initializer_list<const char*> kinds) {
  return std::any_of(kinds.begin(), kinds.end(),
                     [&](const char* kind) { return node.kind() == c10::Symbol::fromQualString(kind); });
}

// True for operators that write to nothing and reach nothing but their operands: words name files, devices and modes,
// so only operators known for their modes take any.
bool isHarmless(const Node& node) {
  const std::string space = node.kind().ns().toUnqualString();
  if (space != "aten" && space != "ipex_studio") return false;
  if (isOneOf(node, {"aten::as_strided", "aten::as_strided_copy", "ipex_studio::region", "ipex_studio::region_loop"}))
    return false;
  const c10::FunctionSchema& schema = node.schema();
  if (writesOperands(&node) || node.hasSideEffects()) return false;
  const auto& arguments = schema.arguments();
  const bool words = std::any_of(arguments.begin(), arguments.end(), [](const c10::Argument& argument) {
    return argument.type()->kind() == c10::TypeKind::StringType && !argument.default_value();
  });
  return !words || space == "ipex_studio" ||
         isOneOf(node, {"aten::Float", "aten::div", "aten::pad", "aten::einsum", "aten::gelu", "aten::meshgrid",
                        "aten::searchsorted", "aten::scatter", "aten::scatter_reduce", "aten::index_reduce"});
}

}  // namespace

// The nodes in order; values are numbered, first the inputs.
struct OriginalCode::Program {
  enum class Kind { kConstant, kOperator, kList, kUnpackList, kTuple, kUnpackTuple };
  struct Step {
    Kind kind = Kind::kOperator;
    mutable std::optional<torch::jit::Operation> operation;  // whose call is not const, and changes nothing
    IValue constant;
    c10::TypePtr element;  // of a list
    std::vector<std::size_t> inputs, outputs;
    std::vector<std::size_t> dead;  // values that no later step reads
  };
  std::size_t values = 0, inputs = 0;
  std::vector<Step> steps;
  std::vector<std::size_t> outputs;

  explicit Program(const std::string& text) {
    const auto graph = std::make_shared<Graph>();
    try {
      torch::jit::parseIR(text, graph.get());
    } catch (const std::exception&) {
      refuse("cannot be read");
    }
    for (const Value* input : graph->inputs()) number(input);
    inputs = values;
    for (Node* node : graph->nodes()) addStep(node);
    for (const Value* output : graph->outputs()) outputs.push_back(numberOf(output));
    findDead();
  }

 private:
  void number(const Value* value) { numbers_[value] = values++; }
  std::size_t numberOf(const Value* value) const {
    const auto found = numbers_.find(value);
    if (found == numbers_.end()) refuse("reads a value before it is computed");
    return found->second;
  }

  void addStep(Node* node) {
    Step step;
    for (const Value* input : node->inputs()) step.inputs.push_back(numberOf(input));
    if (node->kind() == c10::prim::Constant) {
      const auto constant = torch::jit::toIValue(node->output());
      if (!constant) refuse("has a constant of an unknown type");
      step.kind = Kind::kConstant;
      step.constant = *constant;
    } else if (node->kind() == c10::prim::ListConstruct) {
      step.kind = Kind::kList;
      const auto list = node->output()->type()->cast<c10::ListType>();
      if (!list) refuse("has a list of an unknown type");
      step.element = list->getElementType();
    } else if (node->kind() == c10::prim::ListUnpack) {
      step.kind = Kind::kUnpackList;
    } else if (node->kind() == c10::prim::TupleConstruct) {
      step.kind = Kind::kTuple;
    } else if (node->kind() == c10::prim::TupleUnpack) {
      step.kind = Kind::kUnpackTuple;
    } else {
      if (node->maybeOperator() == nullptr || !node->blocks().empty() || !isHarmless(*node)) {
        refuse(std::string("has the operator ") + node->kind().toQualString() + ", which regions do not have");
      }
      step.operation = node->getOperation();
    }
    for (const Value* output : node->outputs()) {
      number(output);
      step.outputs.push_back(values - 1);
    }
    steps.push_back(std::move(step));
  }

  void findDead() {
    std::vector<bool> read(values, false);
    for (const std::size_t output : outputs) read[output] = true;
    for (std::size_t s = steps.size(); s-- > 0;) {
      const auto dies = [&](std::size_t value) {
        if (read[value]) return;
        read[value] = true;
        if (steps[s].kind != Kind::kConstant) steps[s].dead.push_back(value);
      };
      for (const std::size_t output : steps[s].outputs) dies(output);
      for (const std::size_t input : steps[s].inputs) dies(input);
    }
  }

  std::unordered_map<const Value*, std::size_t> numbers_;
};

namespace {

c10::impl::GenericList listOf(const c10::TypePtr& element, const Stack& elements) {
  c10::impl::GenericList list(element);
  list.reserve(elements.size());
  for (const IValue& value : elements) list.push_back(value);
  return list;
}

}  // namespace

OriginalCode::OriginalCode(std::string text, std::vector<at::Tensor> tensors)
    : text_(std::move(text)), tensors_(std::move(tensors)) {}

OriginalCode::~OriginalCode() = default;

// Node by node instead of through libtorch's interpreter, which would put a second trace around what operators throw.
std::vector<at::Tensor> OriginalCode::run(c10::ArrayRef<const at::Tensor*> inputs, at::IntArrayRef sizes,
                                          const std::vector<at::Tensor>& constants) {
  std::call_once(read_, [&] { program_ = std::make_unique<const Program>(text_); });
  const torch::NoGradGuard no_grad;
  std::vector<IValue> values;
  values.reserve(program_->values);
  for (const at::Tensor* input : inputs) values.emplace_back(*input);
  for (const std::int64_t size : sizes) values.emplace_back(size);
  for (const at::Tensor& constant : constants) values.emplace_back(constant);
  for (const at::Tensor& tensor : tensors_) values.emplace_back(tensor);
  if (values.size() != program_->inputs) refuse("takes another number of inputs than it gets");
  values.resize(program_->values);
  for (const Program::Step& step : program_->steps) {
    Stack stack;
    for (const std::size_t input : step.inputs) stack.push_back(values[input]);
    switch (step.kind) {
      case Program::Kind::kConstant:
        stack.push_back(step.constant);
        break;
      case Program::Kind::kOperator:
        (*step.operation)(stack);
        break;
      case Program::Kind::kList:
        stack = {IValue(listOf(step.element, stack))};
        break;
      case Program::Kind::kUnpackList:
        stack = stack.at(0).toListRef().vec();
        break;
      case Program::Kind::kTuple:
        stack = {IValue(c10::ivalue::Tuple::create(std::move(stack)))};
        break;
      case Program::Kind::kUnpackTuple: {
        const auto tuple = stack.at(0).toTuple();
        stack.clear();
        for (std::size_t e = 0; e < tuple->elements().size(); ++e) stack.push_back(tuple->elements()[e]);
        break;
      }
    }
    if (stack.size() != step.outputs.size()) refuse("gives another number of results");
    for (std::size_t o = 0; o < stack.size(); ++o) values[step.outputs[o]] = std::move(stack[o]);
    for (const std::size_t value : step.dead) values[value] = IValue();
  }
  std::vector<at::Tensor> results;
  for (const std::size_t output : program_->outputs) results.push_back(values[output].toTensor());
  return results;
}

}  // namespace ipex_studio
