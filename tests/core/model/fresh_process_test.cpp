// Properties that need a process of their own: compiled forms loaded anew, one thread on one core.
#include <gtest/gtest.h>

#include <ATen/Parallel.h>
#include <sys/wait.h>
#include <torch/csrc/jit/serialization/pickle.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <ctime>
#include <fstream>
#include <map>
#include <sstream>

#include "core/base/error.h"
#include "core/file/pt_file.h"
#include "core/lower/region_object.h"
#include "core/model/measure.h"
#include "tests/core/graph/script_models.h"
#include "tests/profiler/temp_directory.h"

namespace ipex_studio {
namespace {

using namespace testing;  // NOLINT: the fixture's names

constexpr const char* kFolderVariable = "IPEX_TEST_FOLDER";

// Runs one disabled test of this program in a new process, with `folder` in its environment; returns its exit code.
int runChild(const std::string& test, const std::string& folder,
             const std::vector<std::pair<std::string, std::string>>& environment = {}) {
  const pid_t child = fork();
  if (child == 0) {
    setenv(kFolderVariable, folder.c_str(), 1);
    for (const auto& [name, value] : environment) setenv(name.c_str(), value.c_str(), 1);
    const std::string filter = "--gtest_filter=" + test;
    execl("/proc/self/exe", "graph_tests", filter.c_str(), "--gtest_also_run_disabled_tests", "--gtest_brief=1",
          static_cast<char*>(nullptr));
    _exit(127);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

std::string folderOfParent() {
  const char* folder = std::getenv(kFolderVariable);
  return folder != nullptr ? folder : "";
}

void save(const IValue& value, const std::string& path) {
  const std::vector<char> bytes = torch::jit::pickle_save(value);
  std::ofstream(path, std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

IValue load(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  const std::string bytes = text.str();
  return torch::jit::pickle_load(std::vector<char>(bytes.begin(), bytes.end()));
}

Module network(std::int64_t channels = 16) {
  return scriptModule(R"(
def forward(self, x):
    y = torch.relu(torch.conv2d(x, self.w1, self.b, [1, 1], [1, 1], [1, 1], 1))
    y = torch.relu(torch.conv2d(y, self.w2, self.b, [1, 1], [1, 1], [1, 1], 1) + x)
    if bool(y.sum() > -1e9):
        y = y * 2
    return torch.softmax(torch.linear(y.mean([2, 3]), self.w3), -1), y
)",
                      {{"w1", weight({channels, channels, 3, 3})},
                       {"w2", weight({channels, channels, 3, 3})},
                       {"b", weight({channels})},
                       {"w3", weight({10, channels})}});
}

// In the child process, the file gives the numbers that the parent got, bit by bit.
TEST(FreshProcess, DISABLED_RunsTheCompiledForm) {
  const std::string folder = folderOfParent();
  if (folder.empty()) GTEST_SKIP();
  setThreads(1);
  Module module = torch::jit::load(folder + "/compiled.pt");
  const IValue expected = load(folder + "/expected.pt");
  const IValue results = call(module, {load(folder + "/input.pt")});
  for (std::size_t o = 0; o < 2; ++o) {
    const at::Tensor result = results.toTupleRef().elements()[o].toTensor(),
                     reference = expected.toTupleRef().elements()[o].toTensor();
    EXPECT_TRUE(at::equal(result, reference))
        << "output " << o << " differs by " << (result - reference).abs().max().item<float>();
  }
}

TEST(FreshProcess, CompiledFormGivesTheSameNumbers) {
  const TempDirectory directory;
  const Module module = network();
  const at::Tensor x = at::randn({2, 16, 12, 12});
  const int threads = at::get_num_threads();
  setThreads(1);
  OptimizedModel result = optimized(module, {x});
  ASSERT_GE(regionsIn(result.module), 2);
  const IValue expected = call(result.module, {x});
  exportModule(result, directory.file("compiled.pt"), ExportForm::kCompiled);
  save(expected, directory.file("expected.pt"));
  save(x, directory.file("input.pt"));
  // In this process as well.
  Module loaded = torch::jit::load(directory.file("compiled.pt"));
  EXPECT_EQ(difference(call(loaded, {x}), expected), "");
  EXPECT_EQ(difference(module, loaded, {at::randn({1, 16, 5, 7})}), "");
  setThreads(threads);
  EXPECT_EQ(runChild("FreshProcess.DISABLED_RunsTheCompiledForm", directory.path()), 0);
}

// Counts the operators that the file names; only the compiled form must name ours.
std::map<std::string, std::int32_t> operatorsIn(const std::string& path) {
  const int file = openModelFile(path);
  const PtFileReport report = inspectPtFile(file, path);
  close(file);
  return report.operators;
}

bool namesOurs(const std::map<std::string, std::int32_t>& operators) {
  return std::any_of(operators.begin(), operators.end(),
                     [](const auto& entry) { return entry.first.rfind("ipex_studio::", 0) == 0; });
}

TEST(Export, PortableFormHasStockOperatorsOnly) {
  const TempDirectory directory;
  const Module module = network();
  const at::Tensor x = at::randn({2, 16, 12, 12});
  OptimizedModel result = optimized(module, {x});
  exportModule(result, directory.file("portable.pt"), ExportForm::kPortable);
  exportModule(result, directory.file("compiled.pt"), ExportForm::kCompiled);
  EXPECT_FALSE(namesOurs(operatorsIn(directory.file("portable.pt"))));
  EXPECT_TRUE(namesOurs(operatorsIn(directory.file("compiled.pt"))));
  Module portable = torch::jit::load(directory.file("portable.pt"));
  EXPECT_EQ(difference(call(portable, {x}), call(result.rewritten, {x})), "");
  for (const std::int64_t batch : {1, 3}) EXPECT_EQ(difference(module, portable, {at::randn({batch, 16, 6, 5})}), "");
  try {
    exportModule(result, directory.file("no/such/folder.pt"), ExportForm::kPortable);
    ADD_FAILURE() << "exported into a folder that is not there";
  } catch (const Error& error) {
    EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos);
  }
}

// States of regions that another version of ipex-studio saved.
TEST(Export, RegionsWithAnotherStateAreRefusedInOneSentence) {
  const c10::ClassTypePtr type = regionType();
  const std::vector<std::vector<IValue>> states = {
      {"{}", std::vector<at::Tensor>()}, {"{}", std::vector<at::Tensor>(), "0.0.9"}, {1, 2, 3, 4}};
  for (const std::vector<IValue>& state : states) {
    torch::jit::Stack stack{c10::ivalue::Object::create(c10::StrongTypePtr(nullptr, type), 1),
                            c10::ivalue::Tuple::create(state)};
    try {
      type->getMethod("__setstate__").run(stack);
      ADD_FAILURE() << "read a state of " << state.size() << " parts";
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find("export the model again"), std::string::npos) << error.what();
      EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos);
    }
  }
}

TEST(FreshProcess, DISABLED_OneThreadUsesOneCore) {
  if (folderOfParent().empty()) GTEST_SKIP();
  setThreads(1);
  const Module module = network(64);
  const Inputs inputs{at::randn({1, 64, 28, 28})};
  OptimizedModel result = optimized(module, inputs);
  Module baseline = freezeBaseline(module, {});
  for (Module* variant : {&result.module, &baseline}) {
    timeForward(*variant, inputs, 0.2, 0);
    timespec before{}, after{};
    const auto begin = std::chrono::steady_clock::now();
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &before);
    timeForward(*variant, inputs, 0.8, 0);
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &after);
    const double wall = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    const double cpu =
        static_cast<double>(after.tv_sec - before.tv_sec) + static_cast<double>(after.tv_nsec - before.tv_nsec) * 1e-9;
    EXPECT_LE(cpu, 1.05 * wall) << (variant == &baseline ? "baseline" : "optimized");
  }
}

TEST(FreshProcess, OneThreadUsesOneCore) {
  const TempDirectory directory;
  int code = 1;
  for (int attempt = 0; attempt < 3 && code != 0; ++attempt) {
    code = runChild("FreshProcess.DISABLED_OneThreadUsesOneCore", directory.path(), {{"OMP_NUM_THREADS", "1"}});
  }
  EXPECT_EQ(code, 0);
}

}  // namespace
}  // namespace ipex_studio
