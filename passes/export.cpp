#include <fmt/format.h>
#include <torch/csrc/jit/passes/dead_code_elimination.h>
#include <torch/csrc/jit/passes/shape_analysis.h>

#include <algorithm>
#include <map>
#include <optional>

#include "core/base/error.h"
#include "core/export/decompose.h"
#include "core/export/decompose_newer.h"
#include "core/export/fit_target.h"
#include "core/extension/torchvision_operators.h"
#include "core/model/exported_methods.h"
#include "core/torch/torch_error.h"
#include "passes/optimize.h"

namespace ipex_studio {

namespace {

// Sets dtypes again: the operators written out depend on them, and the graph does not keep them.
void setDtypes(torch::jit::Graph& graph, const std::vector<std::optional<at::ScalarType>>& dtypes) {
  std::size_t place = 0;
  for (torch::jit::Node* node : allNodes(graph)) {
    for (torch::jit::Value* output : node->outputs()) {
      const auto dtype = place < dtypes.size() ? dtypes[place] : std::nullopt;
      ++place;
      if (dtype && output->type()->kind() == c10::TypeKind::TensorType)
        output->setType(c10::TensorType::get()->withScalarType(*dtype));
    }
  }
}

// Names of the author's modules by the names of values; only the outermost nodes have theirs.
std::map<std::string, std::string> modulesOfValues(torch::jit::Graph& graph, const OptimizedModel& model) {
  std::map<OriginId, std::string> paths;
  for (const Origin& origin : model.origins) paths[origin.id] = origin.module_path;
  std::map<std::string, std::string> modules;
  std::size_t place = 0;
  for (const torch::jit::Node* node : graph.nodes()) {
    if (node->kind() == c10::prim::Constant) continue;
    if (place == model.rewritten_origins.size()) break;
    for (const OriginId origin : model.rewritten_origins[place]) {
      for (const torch::jit::Value* output : node->outputs()) {
        if (!paths[origin].empty()) modules[output->debugName()] = paths[origin];
      }
    }
    ++place;
  }
  return modules;
}

// The module of a node or, for a part of something written out, of what reads it; else the name of its value.
std::string nameOf(const torch::jit::Node* node, const std::map<std::string, std::string>& modules) {
  constexpr int kFar = 16;
  const torch::jit::Node* at = node;
  for (int steps = 0; steps < kFar && !at->outputs().empty(); ++steps) {
    const auto found = modules.find(at->output(0)->debugName());
    if (found != modules.end()) return found->second;
    if (at->output(0)->uses().empty()) break;
    at = at->output(0)->uses().front().user;
  }
  return node->outputs().empty() ? "without result" : "%" + node->output(0)->debugName();
}

void checkTarget(torch::jit::Graph& graph, ExportForm form, const std::map<std::string, std::string>& modules,
                 const std::vector<std::string>& only) {
  constexpr std::size_t kNamed = 3;
  std::map<std::string, std::vector<std::string>> outside;
  for (const torch::jit::Node* node : nodesOutside(graph, only)) {
    outside[node->kind().toQualString()].push_back(nameOf(node, modules));
  }
  if (outside.empty()) return;
  std::vector<std::string> parts;
  for (auto& [kind, names] : outside) {
    const std::size_t count = names.size();
    names.resize(std::min(count, kNamed));
    parts.push_back(fmt::format("{} ({}{})", kind, fmt::join(names, ", "),
                                count > kNamed ? fmt::format(" and {} more", count - kNamed) : ""));
  }
  throw Error(ExitCode::kUnsupported, fmt::format("--only-ops: the target lacks {}; {}.", fmt::join(parts, ", "),
                                                  form == ExportForm::kCompiled
                                                      ? "use --form portable, which writes them in other operators"
                                                      : "add them to its list, or take these nodes out of the model"));
}

torch::jit::Module portableForm(const OptimizedModel& model, const std::vector<std::string>& only) {
  torch::jit::Module portable = model.rewritten.clone(/*inplace=*/true);  // it is not run, so it shares its state
  OriginTable origins;
  const auto graph = portable.get_method("forward").graph();
  const auto modules = only.empty() ? std::map<std::string, std::string>() : modulesOfValues(*graph, model);
  setDtypes(*graph, model.rewritten_dtypes);
  Rewriter rewriter(*graph, origins, -1);
  decomposeFusedOps(*graph, rewriter);
  decomposeNewerOperators(*graph);
  nameTorchvision(*graph);
  if (!only.empty()) fitToTarget(*graph, only);
  torch::jit::EliminateDeadCode(graph);
  if (!only.empty()) checkTarget(*graph, ExportForm::kPortable, modules, only);
  torch::jit::EraseShapeInformation(graph);  // inputs of other types may come
  return portable;
}

// `target`: a path or a stream, as Module::save takes both.
template <class Target>
void saveAs(const OptimizedModel& model, Target& target, ExportForm form, const std::vector<std::string>& only) {
  torch::jit::ExtraFilesMap extra;
  std::optional<TorchvisionNames> names;
  if (form == ExportForm::kPortable) names.emplace();
  if (!model.preprocess.empty()) extra["preprocess.toml"] = model.preprocess;
  if (form == ExportForm::kCompiled && !only.empty())
    checkTarget(*model.module.get_method("forward").graph(), form, {}, only);
  torch::jit::Module module = form == ExportForm::kPortable ? portableForm(model, only)
                              : model.method.empty()        ? model.module
                                                            : model.module.clone(/*inplace=*/true);
  if (!model.method.empty()) exchangeForward(module, model.method);
  module.save(target, extra);
}

}  // namespace

void exportModule(const OptimizedModel& model, const std::string& path, ExportForm form,
                  const std::vector<std::string>& only) {
  try {
    saveAs(model, path, form, only);
  } catch (const c10::Error& problem) {
    throw Error(ExitCode::kFailure, fmt::format("'{}' could not be written: {}; check the folder and the free space.",
                                                path, shortMessage(problem)));
  }
}

void exportModule(const OptimizedModel& model, std::ostream& stream, ExportForm form,
                  const std::vector<std::string>& only) {
  try {
    saveAs(model, stream, form, only);
  } catch (const c10::Error& problem) {
    throw Error(ExitCode::kFailure, fmt::format("The model could not be written: {}.", shortMessage(problem)));
  }
  stream.flush();
  if (!stream) throw Error(ExitCode::kFailure, "The model could not be written; check the free space.");
}

}  // namespace ipex_studio
