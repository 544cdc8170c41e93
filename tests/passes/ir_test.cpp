// Every case of every .ir file below tests/passes is one test. IPEX_IR=FILE runs the cases of another file instead,
// such as one that --dump wrote.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "tests/passes/ir_runner.h"

namespace ipex_studio {
namespace {

std::vector<IrCase> allCases() {
  const char* other = std::getenv("IPEX_IR");
  if (other != nullptr) return readCases(other);
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(IPEX_SOURCE_DIR "/tests/passes")) {
    if (entry.path().extension() == ".ir") files.push_back(entry.path().string());
  }
  std::sort(files.begin(), files.end());
  std::vector<IrCase> cases;
  for (const std::string& file : files) {
    for (IrCase& test : readCases(file)) cases.push_back(std::move(test));
  }
  return cases;
}

// IPEX_BLESS=1 writes the current results of the passes into the files where the numbers hold; read the difference
// before you commit it.
bool bless() {
  const char* wish = std::getenv("IPEX_BLESS");
  return wish != nullptr && std::string(wish) == "1";
}

class IrFile : public ::testing::TestWithParam<IrCase> {
 protected:
  static void SetUpTestSuite() { loadOperators(); }
};

TEST_P(IrFile, Holds) {
  const std::string wrong = runCase(GetParam(), bless());
  EXPECT_TRUE(wrong.empty()) << GetParam().file << ": " << GetParam().title << "\n" << wrong;
}

INSTANTIATE_TEST_SUITE_P(Case, IrFile, ::testing::ValuesIn(allCases()),
                         [](const ::testing::TestParamInfo<IrCase>& info) { return info.param.name; });

}  // namespace
}  // namespace ipex_studio
