// The C++ interface in one page: load, optimize, compare, export.
//
//   build/optimize_model model.pt fast.pt x:1x3x224x224
#include <cstdio>
#include <exception>

#include "core/base/error.h"
#include "core/model/measure.h"
#include "core/verify/verify.h"
#include "passes/optimize.h"

namespace {

int run(const char* model_path, const char* export_path, const std::vector<std::string>& inputs) {
  using namespace ipex_studio;
  setThreads(0);
  Model model = Model::load(model_path);
  std::vector<InputSpec> given;
  for (const std::string& input : inputs) given.push_back(parseInputSpec(input));
  const Inputs example = makeInputs(model.completeInputs(given), /*seed=*/0);

  Observer silent;
  OptimizedModel fast = optimizeModel(model.module(), example, OptimizeOptions(), silent);
  const AccuracyRecord worst = verifyModule(model.module(), fast.module, {example}, "").front();
  std::printf("%s: %s\n", worst.pass ? "results agree" : "results differ", worst.text.c_str());
  if (!worst.pass) return static_cast<int>(ExitCode::kAccuracy);

  exportModule(fast, export_path, ExportForm::kCompiled);
  std::printf("%.0f %% of the nodes are compiled; written to %s\n", 100 * fast.coverage.nodes, export_path);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) {
    std::fprintf(stderr, "usage: optimize_model MODEL.pt OUT.pt [NAME:SIZES …]\n");
    return static_cast<int>(ipex_studio::ExitCode::kUsage);
  }
  try {
    return run(argv[1], argv[2], {argv + 3, argv + argc});
  } catch (const ipex_studio::Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return static_cast<int>(error.code());
  } catch (const std::exception& error) {
    std::fprintf(stderr, "optimize_model stopped: %s\n", error.what());
    return static_cast<int>(ipex_studio::ExitCode::kFailure);
  }
}
