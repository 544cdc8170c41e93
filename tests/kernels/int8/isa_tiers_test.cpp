// Products of integers at the ends of their ranges on lower instruction sets. The library reads its limit once, when a
// process begins, so each limit gets a process.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

#include "core/runtime/machine_facts.h"
#include "kernels/kernel_list.h"
#include "tests/kernels/harness.h"

namespace ipex_studio::kernel_test {
namespace {

constexpr const char* kLimit = "ONEDNN_MAX_CPU_ISA";

class IsaTiers : public testing::TestWithParam<const char*> {};

// Runs the extreme cases in a process of this program under the limit.
TEST_P(IsaTiers, ExtremesAreExact) {
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    setenv(kLimit, GetParam(), 1);
    execl("/proc/self/exe", "kernel_tests", "--gtest_brief=1", "--gtest_filter=IntegerExtreme/*:IsaLimit.*", nullptr);
    _exit(127);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << GetParam();
}

INSTANTIATE_TEST_SUITE_P(Library, IsaTiers, testing::Values("AVX512_CORE", "AVX2", "SSE41"),
                         [](const auto& info) { return std::string(info.param); });

std::string refusal(const Case& test) {
  const auto list = makeKernelList();
  for (const Kernel* kernel : list->candidates(parseOpSpec(test.spec).kind, DeviceKind::kCpu)) {
    if (std::string(kernel->name()) != "convolution_onednn") continue;
    const Outcome outcome = runCase(*kernel, test, makeProblem(test), Conditions());
    EXPECT_EQ(outcome.problem, "");
    return outcome.reason;
  }
  return "not in the list";
}

// Without VNNI the library would add pairs of products in 16 bits.
TEST(IsaLimit, WideWeightsAreLeftToTheUpconvertingKernel) {
  const std::string isa = machineFacts().isa;
  const bool limited = std::getenv(kLimit) != nullptr || isa.rfind("avx512_core_", 0) != 0;
  for (const Case& test : integerExtremeCases()) {
    if (test.spec.rfind("convolution", 0) != 0) continue;
    const bool small = test.src[1].limit > 0, is_unsigned = test.src[0].dtype == DType::kU8;
    const std::string reason = refusal(test);
    EXPECT_EQ(reason == "inexact", limited && (!small || !is_unsigned)) << test.spec << ": " << reason;
  }
}

}  // namespace
}  // namespace ipex_studio::kernel_test
