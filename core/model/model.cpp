// Loading, freezing and shape recording of modules.
#include "core/model/model.h"

#include <fmt/format.h>
#include <torch/csrc/jit/api/module.h>
#include <torch/csrc/jit/passes/inliner.h>
#include <torch/csrc/jit/passes/lower_tuples.h>
#include <unistd.h>

#include <algorithm>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "core/base/error.h"
#include "core/extension/declare_extension.h"
#include "core/extension/torchvision_operators.h"
#include "core/extension/write_out_extension.h"
#include "core/file/pt_file.h"
#include "core/graph/graph_heap.h"
#include "core/graph/inline_forks.h"
#include "core/graph/origins.h"
#include "core/model/constant_operands.h"
#include "core/model/evaluation_mode.h"
#include "core/model/exported_methods.h"
#include "core/model/file_descriptor.h"
#include "core/model/loaded_form.h"
#include "core/model/module_state.h"
#include "core/model/node_runner.h"
#include "core/model/run_mode.h"
#include "core/torch/torch_error.h"

namespace ipex_studio {
namespace {

// libtorch 2 prints the scopes that tracing leaves, which its parser does not read.
void dropScopes(torch::jit::Graph& graph) {
  const auto nowhere = c10::make_intrusive<torch::jit::Scope>();
  for (torch::jit::Node* node : allNodes(graph, /*with_constants=*/true)) node->setScope(nowhere);
}

// The type of values that were seen as one and as the other: sizes that differ are no facts, nor are rank and dtype.
c10::TypePtr commonType(const c10::TensorType& one, const c10::TensorType& other) {
  if (one.dim() != other.dim() || one.scalarType() != other.scalarType() || !one.dim()) return c10::TensorType::get();
  std::vector<c10::optional<std::int64_t>> sizes;
  for (std::size_t d = 0; d < *one.dim(); ++d)
    sizes.push_back(one.sizes()[d] == other.sizes()[d] ? one.sizes()[d] : c10::nullopt);
  return c10::TensorType::create(one.scalarType(), one.device(), c10::VaryingShape<std::int64_t>(sizes),
                                 c10::VaryingShape<std::int64_t>(sizes.size()), c10::nullopt);
}

// Writes a seen value's type into the graph. `again`: the value was seen before, in an earlier round of a loop.
void noteShape(const torch::jit::Value* value, const torch::jit::IValue& seen, bool again = false) {
  if (!seen.isTensor() || !seen.toTensor().defined()) return;
  // An optional that was given may be None the next time.
  if (!value->type()->isSubtypeOf(*c10::TensorType::get())) return;
  // The example's sizes are facts about this run; strides are not, since layouts are the planner's.
  const at::Tensor& tensor = seen.toTensor();
  // A nested tensor (a fast path of transformers packs padded batches so) has neither sizes nor a layout that plans
  // know.
  const c10::TensorTypePtr type =
      tensor.is_nested() ? c10::TensorType::get()
                         : c10::TensorType::createContiguous(tensor.scalar_type(), tensor.device(), tensor.sizes());
  const bool differs = again && *value->type() != *type;
  const_cast<torch::jit::Value*>(value)->setType(differs ? commonType(*value->type()->expect<c10::TensorType>(), *type)
                                                         : c10::TypePtr(type));
}

// Values that loops carry, with the rank and dtype of their first round.
class CarriedValues {
 public:
  void note(const torch::jit::Value* value, const torch::jit::IValue& seen) {
    if (!seen.isTensor() || !seen.toTensor().defined()) return;
    const Kind kind{seen.toTensor().dim(), seen.toTensor().scalar_type()};
    const Kind first = first_.emplace(value, kind).first->second;
    changing_.add(value, {first.rank != kind.rank, first.dtype != kind.dtype});
  }

  ChangingTypes& changing() { return changing_; }

 private:
  struct Kind {
    std::int64_t rank;
    at::ScalarType dtype;
  };
  std::unordered_map<const torch::jit::Value*, Kind> first_;
  ChangingTypes changing_;
};

// Freezes a copy; `module` stays as it is. The copy shares its weights, as torch::jit::freeze does: a second copy of
// them would cost time and memory, and freeing the first one would move the allocator's thresholds away from those of a
// plain program.
torch::jit::Module frozenCopy(const torch::jit::Module& module, const std::vector<std::string>& preserved,
                              bool optimize_numerics) {
  torch::jit::Module copy = module.clone(/*inplace=*/true);
  copy.eval();
  std::vector<std::string> names = preserved;
  for (const std::string& method : exportedMethods(copy)) {
    if (std::find(names.begin(), names.end(), method) == names.end()) names.push_back(method);
  }
  if (!optimize_numerics) {
    const auto graph = copy.get_method("forward").graph();
    torch::jit::Inline(*graph);
    inlineForks(*graph);
    writeConstantOperandsAsNumbers(*graph);
  }
  torch::jit::Module frozen = torch::jit::freeze(copy, names, optimize_numerics);
  // The baseline is run node by node, too: with the numbers that libtorch's executor makes of its constants.
  if (optimize_numerics) writeConstantOperandsAsNumbers(*frozen.get_method("forward").graph());
  // The remaining attributes are state that runs may write to, so the copy gets its own.
  return frozen.attributes().size() == 0 ? frozen : copyModule(frozen);
}

void refuseUnknownOperators(const PtFileReport& report, const std::string& path) {
  std::vector<std::string> names;
  for (const auto& [name, count] : report.operators) names.push_back(name);
  const std::vector<std::string> unknown = unknownToUs(names);
  if (unknown.empty()) return;
  throw Error(
      ExitCode::kBadModel,
      fmt::format("'{}' calls {} of Intel Extension for PyTorch, which cannot be written in operators of PyTorch "
                  "here; save the model without ipex.optimize, or load a library that defines {} with --library "
                  "FILE.",
                  path, fmt::join(unknown, ", "), unknown.size() == 1 ? "it" : "them"));
}

// Refuses a method that is not exported, and a model without forward if no method is named.
void requireMethod(const torch::jit::Module& module, const std::string& method) {
  const std::vector<std::string> methods = exportedMethods(module);
  const bool has_forward = module.find_method("forward").has_value();
  if (method.empty() ? has_forward : std::find(methods.begin(), methods.end(), method) != methods.end()) return;
  const std::string which = methods.empty()
                                ? "it exports no other"
                                : fmt::format("name one of its methods with --method: {}", fmt::join(methods, ", "));
  throw Error(ExitCode::kUsage, method.empty() ? fmt::format("The model has no forward; {}.", which)
                                               : fmt::format("The model has no method '{}' to be optimized in the "
                                                             "place of forward; {}.",
                                                             method, which));
}

}  // namespace

Model Model::load(const std::string& path, const std::string& method) {
  const FileDescriptor file(openModelFile(path));
  const PtFileReport report = inspectPtFile(file.get(), path, InspectOptions{false, false});
  refuseLostWeights(report, path);
  const FormHints hints = formHints(report);
  if (hints.of_extension) declareExtension();
  std::optional<TorchvisionNames> names;
  if (hints.has_own_operators) names.emplace();
  refuseUnknownOperators(report, path);
  Model model;
  model.path_ = path;
  try {
    model.module_ = torch::jit::load(fmt::format("/proc/self/fd/{}", file.get()), at::kCPU);
  } catch (const c10::Error& problem) {
    throw loadError(path, problem);
  }
  LoadedForm form = bringIntoForm(model.module_, hints);
  model.notes_ = std::move(form.notes);
  model.reads_fp16_as_fp32_ = form.fp16_as_fp32;
  requireMethod(model.module_, method);
  if (!method.empty()) exchangeForward(model.module_, method);
  return model;
}

void Model::evaluate() {
  const int changed = bringIntoEvaluation(module_);
  notes_.push_back(changed == 0
                       ? std::string("No operator was recorded in training mode.")
                       : fmt::format("{} operator{} recorded in training mode run{} in evaluation mode, and so "
                                     "does the export.",
                                     changed, changed == 1 ? "" : "s", changed == 1 ? "s" : ""));
}

Model Model::fromModule(torch::jit::Module module) {
  Model model;
  model.module_ = std::move(module);
  return model;
}

torch::jit::Module freezeForPasses(const torch::jit::Module& module, const std::vector<std::string>& preserved) {
  const GraphHeap heap;
  torch::jit::Module frozen = frozenCopy(module, preserved, /*optimize_numerics=*/false);
  auto graph = frozen.get_method("forward").graph();
  torch::jit::Inline(*graph);
  torch::jit::LowerSimpleTuples(graph);
  dropScopes(*graph);
  return frozen;
}

torch::jit::Module freezeBaseline(const torch::jit::Module& module, const std::vector<std::string>& preserved) {
  return frozenCopy(module, preserved, /*optimize_numerics=*/true);
}

void recordShapes(torch::jit::Module& module, const Inputs& inputs) {
  const RunMode mode(module);
  // The run must leave a stateful model, and inputs that it writes into, as they were.
  torch::jit::Module copy = copyModule(module);
  auto graph = module.get_method("forward").graph();
  std::vector<torch::jit::IValue> arguments{copy._ivalue()};
  const c10::FunctionSchema& schema = module.get_method("forward").function().getSchema();
  for (const torch::jit::IValue& input : inputs) arguments.push_back(copyValue(input));
  for (std::size_t a = arguments.size(); a < schema.arguments().size(); ++a) {
    if (!schema.arguments()[a].default_value()) break;
    arguments.push_back(*schema.arguments()[a].default_value());
  }
  if (arguments.size() != graph->inputs().size()) {
    throw Error(ExitCode::kUsage,
                fmt::format("The model takes {} inputs and {} were given; add or remove --input flags.",
                            graph->inputs().size() - 1, inputs.size()));
  }
  std::unique_ptr<NodeRunner> runner;
  std::unordered_set<const torch::jit::Value*> seen;
  const auto note = [&](const torch::jit::Value* value) {
    noteShape(value, runner->valueOf(value), !seen.insert(value).second);
  };
  runner = std::make_unique<NodeRunner>(*graph, [&](torch::jit::Node* node, std::int64_t, std::int64_t) {
    for (const torch::jit::Value* output : node->outputs()) note(output);
  });
  CarriedValues carried_values;
  runner->onRound([&](const torch::jit::Block* body) {
    for (const torch::jit::Value* carried : body->inputs()) {
      note(carried);
      carried_values.note(carried, runner->valueOf(carried));
    }
  });
  for (std::size_t a = 1; a < arguments.size(); ++a) noteShape(graph->inputs()[a], arguments[a]);
  runner->run(std::move(arguments));
  carried_values.changing().forget(*graph);
}

}  // namespace ipex_studio
