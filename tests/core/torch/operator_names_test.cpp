// The list of operators that files may call knows all of the libtorch in use, and files of ours raise no alarm.
#include <ATen/core/dispatch/Dispatcher.h>
#include <gtest/gtest.h>
#include <torch/csrc/jit/runtime/operator.h>
#include <unistd.h>

#include <filesystem>
#include <set>

#include "core/file/operator_table.h"
#include "core/file/pt_file.h"

namespace ipex_studio {
namespace {

TEST(OperatorNames, AreAllListed) {
  std::set<std::string> missing;
  const auto judge = [&](const std::string& name) {
    const std::string space = name.substr(0, name.find("::"));
    const bool ours = isStockNamespace(space) || space == "ipex_studio";
    if (ours && operatorRisk(name) == nullptr) missing.insert(name);
  };
  for (const auto& known : torch::jit::getAllOperators()) judge(known->schema().name());
  for (const c10::OperatorName& name : c10::Dispatcher::singleton().getAllOpNames()) judge(name.name);
  std::string names;
  for (const std::string& name : missing) names += " " + name;
  EXPECT_TRUE(missing.empty()) << "judge what these can reach and add them to core/file/operators.txt:" << names;
}

TEST(OperatorNames, OfOurModelsRaiseNoAlarm) {
  std::error_code none;
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(std::string(IPEX_BINARY_DIR) + "/models", none)) {
    if (entry.path().extension() != ".pt") continue;
    ++files;
    const int fd = openModelFile(entry.path().string());
    const PtFileReport report = inspectPtFile(fd, entry.path().string(), InspectOptions{false, false});
    ::close(fd);
    for (const Finding& finding : report.findings) {
      EXPECT_FALSE(finding.dangerous) << entry.path() << ": " << finding.text;
    }
  }
  if (files == 0) GTEST_SKIP() << "no networks: run ctest -R export_tiny_models first";
}

}  // namespace
}  // namespace ipex_studio
