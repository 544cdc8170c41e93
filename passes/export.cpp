#include <fmt/format.h>
#include <torch/csrc/jit/passes/dead_code_elimination.h>

#include "core/graph/decompose.h"
#include "passes/optimize.h"
#include "core/graph/torch_error.h"
#include "core/plan/error.h"

namespace ipex_studio {

void exportModule(const OptimizedModel& model, const std::string& path, ExportForm form) {
  try {
    if (form == ExportForm::kCompiled) {
      model.module.save(path);
      return;
    }
    torch::jit::Module portable = model.rewritten.clone();
    OriginTable origins;
    const auto graph = portable.get_method("forward").graph();
    Rewriter rewriter(*graph, origins, -1);
    decomposeFusedOps(*graph, rewriter);
    torch::jit::EliminateDeadCode(graph);
    portable.save(path);
  } catch (const c10::Error& problem) {
    throw Error(ExitCode::kFailure, fmt::format("'{}' could not be written: {}; check the folder and the free space.", path, shortMessage(problem)));
  }
}

}  // namespace ipex_studio
