// Every case of the table on every kernel of its list against the reference: in all layouts, on one and two threads, on
// lower instruction sets, and with results in the memory of a dying source.
#include <gtest/gtest.h>

#include "kernels/kernel_list.h"
#include "tests/kernels/harness.h"

namespace ipex_studio::kernel_test {
namespace {

class KernelCases : public testing::TestWithParam<Case> {
 protected:
  static const KernelList& list() {
    static const std::unique_ptr<KernelList> kernels = makeKernelList();
    return *kernels;
  }

  static std::string text(const Conditions& conditions) {
    return std::string(layoutText(conditions.layout)) + " threads " + std::to_string(conditions.threads) + " " +
           conditions.isa + " alias " + std::to_string(conditions.alias_src);
  }

  // Returns the outcome, which says whether the kernel accepted the case.
  static Outcome check(const Kernel& kernel, const Case& test, const Problem& problem, const Conditions& conditions) {
    SCOPED_TRACE(std::string(kernel.name()) + " " + test.spec + " " + text(conditions));
    const Outcome outcome = runCase(kernel, test, problem, conditions);
    EXPECT_EQ(outcome.problem, "");
    if (!outcome.declined) {
      EXPECT_LE(outcome.error, toleranceOf(kernel, test));
    }
    return outcome;
  }
};

TEST_P(KernelCases, AgreesWithReference) {
  const Case& test = GetParam();
  const Problem problem = makeProblem(test);
  const auto& candidates = list().candidates(problem.spec.kind, DeviceKind::kCpu);
  bool taken = false;
  for (const Kernel* kernel : candidates) {
    if (kernel == candidates.back() && test.bench) break;  // the reference is too slow to repeat large cases
    const std::string name = kernel->name();
    const bool simd = name.find("_simd") != std::string::npos, bf16 = name.find("_bf16") != std::string::npos;
    for (const Layout layout :
         {Layout::kPlain, Layout::kChannelsLast, Layout::kBlocked16, Layout::kBlocked8, Layout::kGaps}) {
      Conditions conditions{layout, 1, "avx512_core", -1};
      const Outcome plain = check(*kernel, test, problem, conditions);
      if (layout == Layout::kPlain && test.kernel == kernel->name()) {
        taken = true;
        EXPECT_FALSE(plain.declined) << test.spec << ": " << kernel->name() << " declines: " << plain.reason;
      }
      if (plain.declined) continue;
      conditions.threads = 2;
      check(*kernel, test, problem, conditions);
      if (test.bench) continue;
      for (std::size_t s = 0; s < test.src.size(); ++s) {
        if (!test.src[s].dies) continue;
        conditions.alias_src = static_cast<int>(s);
        check(*kernel, test, problem, conditions);
      }
      conditions.alias_src = -1;
      for (const char* isa : {"avx512_core_vnni", "avx2", "sse41"}) {
        conditions.isa = isa;
        if (simd) check(*kernel, test, problem, conditions);
      }
      conditions.isa = "avx512_core_bf16";
      if (bf16) check(*kernel, test, problem, conditions);
    }
  }
  EXPECT_TRUE(taken || test.kernel.empty()) << test.kernel << " is not in the list";
}

// Layers of networks are large, so each is tried in one layout.
class LayerCases : public KernelCases {};

TEST_P(LayerCases, AgreesWithReference) {
  const Case& test = GetParam();
  const Problem problem = makeProblem(test);
  const auto& candidates = list().candidates(problem.spec.kind, DeviceKind::kCpu);
  int taken = 0;
  for (std::size_t k = 0; k + 1 < candidates.size(); ++k) {
    taken += !check(*candidates[k], test, problem, Conditions{Layout::kPlain, 2, "avx512_core", -1}).declined;
  }
  EXPECT_GE(taken, 2) << "nothing to compare";
}

#define IPEX_TEST(name, cases) INSTANTIATE_TEST_SUITE_P(name, KernelCases, testing::ValuesIn(cases()), CaseName());
IPEX_CASE_LISTS(IPEX_TEST)
#undef IPEX_TEST
INSTANTIATE_TEST_SUITE_P(Layer, LayerCases, testing::ValuesIn(layerCases()), CaseName());

}  // namespace
}  // namespace ipex_studio::kernel_test
