#include <fmt/format.h>
#include <torch/csrc/jit/passes/dead_code_elimination.h>
#include <torch/csrc/jit/passes/shape_analysis.h>

#include "core/base/error.h"
#include "core/export/decompose.h"
#include "core/export/decompose_newer.h"
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

torch::jit::Module portableForm(const OptimizedModel& model) {
  torch::jit::Module portable = model.rewritten.clone(/*inplace=*/true);  // it is not run, so it shares its state
  OriginTable origins;
  const auto graph = portable.get_method("forward").graph();
  setDtypes(*graph, model.rewritten_dtypes);
  Rewriter rewriter(*graph, origins, -1);
  decomposeFusedOps(*graph, rewriter);
  decomposeNewerOperators(*graph);
  torch::jit::EliminateDeadCode(graph);
  torch::jit::EraseShapeInformation(graph);  // inputs of other types may come
  return portable;
}

// `target`: a path or a stream, as Module::save takes both.
template <class Target>
void saveAs(const OptimizedModel& model, Target& target, ExportForm form) {
  torch::jit::ExtraFilesMap extra;
  if (!model.preprocess.empty()) extra["preprocess.toml"] = model.preprocess;
  torch::jit::Module module = form == ExportForm::kPortable ? portableForm(model)
                              : model.method.empty()        ? model.module
                                                            : model.module.clone(/*inplace=*/true);
  if (!model.method.empty()) exchangeForward(module, model.method);
  module.save(target, extra);
}

}  // namespace

void exportModule(const OptimizedModel& model, const std::string& path, ExportForm form) {
  try {
    saveAs(model, path, form);
  } catch (const c10::Error& problem) {
    throw Error(ExitCode::kFailure, fmt::format("'{}' could not be written: {}; check the folder and the free space.",
                                                path, shortMessage(problem)));
  }
}

void exportModule(const OptimizedModel& model, std::ostream& stream, ExportForm form) {
  try {
    saveAs(model, stream, form);
  } catch (const c10::Error& problem) {
    throw Error(ExitCode::kFailure, fmt::format("The model could not be written: {}.", shortMessage(problem)));
  }
  stream.flush();
  if (!stream) throw Error(ExitCode::kFailure, "The model could not be written; check the free space.");
}

}  // namespace ipex_studio
