// Values that are not finite, or too large to be added, reach the results whose windows they are in, and no others.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "core/runtime/device.h"
#include "kernels/kernel_list.h"
#include "tests/kernels/harness.h"

namespace ipex_studio::kernel_test {
namespace {

const Kernel& kernelNamed(const KernelList& kernels, const std::string& name) {
  for (const Kernel* kernel : kernels.candidates(OpKind::kConvolution, DeviceKind::kCpu)) {
    if (kernel->name() == name) return *kernel;
  }
  throw std::runtime_error(name);
}

Values resultOf(const Kernel& kernel, const Case& test, const Problem& problem, std::int32_t threads,
                std::string* reason) {
  WeightCache cache;
  std::vector<std::unique_ptr<GuardedBytes>> memory;
  Conditions conditions;
  conditions.threads = threads;
  const PrepareArgs args = makeArgs(test, problem, conditions, &cache, &memory);
  const auto op = kernel.prepare(args, reason);
  if (op == nullptr) return {};
  std::vector<const void*> src;
  for (std::size_t s = 0; s < args.src.size(); ++s) {
    src.push_back(args.constant[s]);
    if (args.src[s].absent() || args.constant[s] != nullptr) continue;
    memory.push_back(std::make_unique<GuardedBytes>(op->src[s].bytes()));
    writeTensor(op->src[s], problem.values[s], memory.back()->data());
    src.back() = memory.back()->data();
  }
  GuardedBytes dst(op->dst[0].bytes());
  void* const to[] = {dst.data()};
  Buffer scratch(op->scratch_bytes);
  const auto state = op->newState();
  op->execute(state.get(), src.data(), to, scratch.data());
  EXPECT_TRUE(dst.intact());
  return readTensor(op->dst[0], dst.data());
}

const Case& layer() {
  static const Case test{"convolution{padding=[1,1]}",
                         {Source::of({2, 17, 9, 13}), Source::weight({19, 17, 3, 3}), Source::weight({19})}};
  return test;
}

TEST(Winograd, ValuesThatAreNotFiniteStayWhereTheyBelong) {
  const auto kernels = makeKernelList();
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  Problem problem = makeProblem(layer(), false);
  Values& x = problem.values[0];
  x[5] = std::nan("");
  x[1000] = kInfinity;
  x[1500] = -kInfinity;
  x[2222] = 3e38;  // twice that is too large
  x[2223] = -3e38;
  std::string reason;
  const Values expected = resultOf(kernelNamed(*kernels, "convolution_simd"), layer(), problem, 1, &reason);
  const Values one = resultOf(kernelNamed(*kernels, "convolution_winograd"), layer(), problem, 1, &reason);
  const Values two = resultOf(kernelNamed(*kernels, "convolution_winograd"), layer(), problem, 2, &reason);
  ASSERT_EQ(one.size(), expected.size()) << reason;
  int special = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    if (std::isfinite(expected[i])) {
      EXPECT_NEAR(one[i], expected[i], 1e-5 * std::max(30.0, std::fabs(expected[i]))) << i;
    } else {
      ++special;
      EXPECT_TRUE(one[i] == expected[i] || (std::isnan(one[i]) && std::isnan(expected[i]))) << i;
    }
    EXPECT_TRUE(one[i] == two[i] || (std::isnan(one[i]) && std::isnan(two[i]))) << i;
  }
  EXPECT_GT(special, 19 * 9 * 2);
}

TEST(Winograd, LeavesWeightsThatAreNotFinite) {
  const auto kernels = makeKernelList();
  Problem problem = makeProblem(layer(), false);
  problem.values[1][77] = std::numeric_limits<double>::infinity();
  std::string reason;
  EXPECT_TRUE(resultOf(kernelNamed(*kernels, "convolution_winograd"), layer(), problem, 1, &reason).empty());
  EXPECT_EQ(reason, "weights-not-finite");
}

}  // namespace
}  // namespace ipex_studio::kernel_test
