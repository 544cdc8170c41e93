// Every case of the table of all kernels on every kernel of the device, against the reference.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <map>

#include "kernels/kernel_list.h"
#include "tests/kernels/harness.h"
#include "tests/kernels/xpu/on_device.h"
#include "tests/kernels/xpu/opencl_machine.h"

namespace ipex_studio::kernel_test {
namespace {

using testing::OnDevice;

constexpr Layout kLayouts[] = {Layout::kPlain, Layout::kChannelsLast, Layout::kGaps};

class XpuCases : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    static const testing::TemporaryFolder programs;
    device_ = testing::openTestDevice(programs.path());
    list_ = makeKernelList();
  }
  void SetUp() override { IPEX_NEEDS_OPENCL(device_); }
  static void TearDownTestSuite() {
    list_.reset();
    device_.reset();
  }

  // True if the kernel took the case.
  static bool check(const Kernel& kernel, const Case& test, const Problem& problem, const Conditions& conditions) {
    SCOPED_TRACE(std::string(kernel.name()) + " " + test.spec + " " + layoutText(conditions.layout) + " alias " +
                 std::to_string(conditions.alias_src));
    const Outcome outcome = runCase(OnDevice(kernel, *device_), test, problem, conditions);
    EXPECT_EQ(outcome.problem, "");
    if (outcome.declined) return false;
    EXPECT_LE(outcome.error, std::max(test.tolerance, 4e-6));
    return true;
  }

  static bool usesTiles(OpKind kind) {
    return kind == OpKind::kConvolution || kind == OpKind::kLinear || kind == OpKind::kMatmul ||
           kind == OpKind::kSoftmax || kind == OpKind::kLayerNorm || kind == OpKind::kAttention ||
           kind == OpKind::kSqueezeExcite || kind == OpKind::kRecurrent;
  }

  // Those of kinds that are computed otherwise there, on a device that takes itself for a GPU of so many units.
  static void checkTiles(const std::vector<Case>& cases, int units) {
    const testing::TemporaryFolder programs;
    auto own = std::move(device_);
    device_ = testing::openTestDevice(programs.path());
    device_->assumeTiles(units);
    std::vector<Case> with_tiles;
    std::copy_if(cases.begin(), cases.end(), std::back_inserter(with_tiles),
                 [](const Case& test) { return usesTiles(parseOpSpec(test.spec).kind); });
    checkAll(with_tiles);
    device_ = std::move(own);
  }

  static void checkAll(const std::vector<Case>& cases) {
    for (const Case& test : cases) {
      const OpSpec spec = parseOpSpec(test.spec);
      const auto& candidates = list_->candidates(spec.kind, DeviceKind::kXpu);
      if (candidates.empty()) continue;
      const Problem problem = makeProblem(test);
      for (const Kernel* kernel : candidates) {
        for (const Layout layout : kLayouts) {
          taken_[kernel->name()] += check(*kernel, test, problem, {layout, 1, "avx2", -1});
          for (std::size_t s = 0; s < test.src.size(); ++s) {
            if (test.src[s].dies) check(*kernel, test, problem, {layout, 1, "avx2", static_cast<int>(s)});
          }
        }
      }
    }
  }

  static std::unique_ptr<OpenClDevice> device_;
  static std::unique_ptr<KernelList> list_;
  static std::map<std::string, int> taken_;
};
std::unique_ptr<OpenClDevice> XpuCases::device_;
std::unique_ptr<KernelList> XpuCases::list_;
std::map<std::string, int> XpuCases::taken_;

#define IPEX_TEST(name, cases) \
  TEST_F(XpuCases, name) { checkAll(cases()); }
IPEX_CASE_LISTS(IPEX_TEST)
#undef IPEX_TEST

// Few units take large tiles, many take small ones. A campaign takes all cases by each, the suite each case by one.
std::vector<Case> casesByTiles(const std::vector<Case>& cases, std::size_t first, std::size_t step) {
  if (std::getenv("IPEX_CAMPAIGN") != nullptr) return cases;
  std::vector<Case> some;
  for (std::size_t i = first; i < cases.size(); i += step) some.push_back(cases[i]);
  return some;
}
constexpr int kUnits[] = {1, 3, 10000};

TEST_F(XpuCases, ConvolutionsByTiles) {
  for (std::size_t i = 0; i < std::size(kUnits); ++i)
    checkTiles(casesByTiles(convolutionCases(), i, std::size(kUnits)), kUnits[i]);
}
TEST_F(XpuCases, ProductsByTiles) {
  for (std::size_t i = 0; i < std::size(kUnits); ++i)
    checkTiles(casesByTiles(matrixCases(), i, std::size(kUnits)), kUnits[i]);
}
TEST_F(XpuCases, RecurrentStepsByUnits) { checkTiles(recurrentCases(), 1); }
// In a process of its own with loops over work items: on CPUs with AVX-512, PoCL 3.1's own way to vectorize them writes
// beside its memory where teams wait for each other. Only GPUs have teams outside of this test.
TEST_F(XpuCases, RowsByTeams) {
  constexpr char kMethod[] = "POCL_WORK_GROUP_METHOD";
  if (std::getenv(kMethod) == nullptr) {
    const std::string self = std::filesystem::read_symlink("/proc/self/exe").string();
    const std::string command =
        std::string(kMethod) + "=loops '" + self + "' --gtest_brief=1 --gtest_filter=XpuCases.RowsByTeams";
    EXPECT_EQ(std::system(command.c_str()), 0) << "by itself: " << command;
    return;
  }
  checkTiles(normCases(), 1);
  checkTiles(casesByTiles(attentionCases(), 0, 3), 1);
  checkTiles(squeezeExciteCases(), 1);
}

// Last of the suite: a kernel that declines everything would pass everything.
TEST_F(XpuCases, ZEveryKernelTookCases) {
  for (int kind = 0; kind < kOpKindCount; ++kind) {
    for (const Kernel* kernel : list_->candidates(static_cast<OpKind>(kind), DeviceKind::kXpu)) {
      std::printf("%s took %d\n", kernel->name(), taken_[kernel->name()]);
      EXPECT_GE(taken_[kernel->name()], 5) << kernel->name();
    }
  }
}

}  // namespace
}  // namespace ipex_studio::kernel_test
