// The lines that load an exported file, for inputs of every kind.
#include "studio/snapshot/load_code.h"

#include <gtest/gtest.h>

namespace ipex_studio {
namespace {

const std::vector<InputRecord> kInputs = {{"x", "1..8x3:float32", false},
                                          {"ids", "5:int64[0,9]", false},
                                          {"z", "scalar:complex64", false},
                                          {"m", "2x2:bool", false},
                                          {"n", "3", false},
                                          {"flag", "true", false},
                                          {"nothing", "None", false},
                                          {"how", "\"max\"", false},
                                          {"images", "[1x6:float32]", false}};

TEST(LoadCode, PythonOfACompiledFile) {
  ExportResult file;
  file.path = "/tmp/fast.pt";
  file.library = "/usr/lib/libipex_studio_ops.so";
  EXPECT_EQ(
      pythonCode(file, kInputs),
      "import torch\n\n"
      "torch.ops.load_library(\"/usr/lib/libipex_studio_ops.so\")\n"
      "model = torch.jit.load(\"/tmp/fast.pt\")\n"
      "with torch.no_grad():\n"
      "    result = model(torch.randn(1, 3), torch.randint(0, 9 + 1, (5,)), torch.randn((), dtype=torch.complex64), "
      "torch.randint(0, 1 + 1, (2, 2), dtype=torch.bool), 3, True, None, \"max\", images)\n");
}

TEST(LoadCode, CppOfBothForms) {
  ExportResult file;
  file.path = "/tmp/fast.pt";
  file.form = ExportForm::kPortable;
  EXPECT_EQ(cppCode(file, {kInputs[0]}),
            "#include <torch/script.h>\n\n"
            "torch::NoGradGuard no_grad;\n"
            "torch::jit::Module model = torch::jit::load(\"/tmp/fast.pt\");\n"
            "torch::jit::IValue result = model.forward({torch::randn({1, 3})});\n");
  EXPECT_EQ(pythonCode(file, {}).find("load_library"), std::string::npos);
  file.form = ExportForm::kCompiled;
  const std::string code = cppCode(file, {kInputs[1], kInputs[6]});
  EXPECT_NE(code.find("ipex_studio_ops_problem()"), std::string::npos);
  EXPECT_NE(code.find("model.forward({torch::randint(0, 9 + 1, {5}, torch::kLong), torch::jit::IValue()})"),
            std::string::npos);
}

}  // namespace
}  // namespace ipex_studio
