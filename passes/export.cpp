#include <fmt/format.h>
#include <torch/csrc/jit/passes/dead_code_elimination.h>

#include "core/graph/decompose.h"
#include "core/graph/decompose_sdpa.h"
#include "core/graph/torch_error.h"
#include "core/plan/error.h"
#include "passes/optimize.h"

namespace ipex_studio {

namespace {

torch::jit::Module portableForm(const OptimizedModel& model) {
  torch::jit::Module portable = model.rewritten.clone();
  OriginTable origins;
  const auto graph = portable.get_method("forward").graph();
  Rewriter rewriter(*graph, origins, -1);
  decomposeFusedOps(*graph, rewriter);
  decomposeAttention(*graph);
  torch::jit::EliminateDeadCode(graph);
  return portable;
}

// `target`: a path or a stream, as Module::save takes both.
template <class Target>
void saveAs(const OptimizedModel& model, Target& target, ExportForm form) {
  torch::jit::ExtraFilesMap extra;
  if (!model.preprocess.empty()) extra["preprocess.toml"] = model.preprocess;
  if (form == ExportForm::kCompiled) {
    model.module.save(target, extra);
  } else {
    portableForm(model).save(target, extra);
  }
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
