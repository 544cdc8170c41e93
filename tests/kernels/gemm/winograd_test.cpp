// Values that are not finite, or too large to be added, reach the results whose windows they are in, and no others; the
// error is near that of sums of products.
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

class Winograd : public testing::TestWithParam<const char*> {};

TEST_P(Winograd, ValuesThatAreNotFiniteStayWhereTheyBelong) {
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
  const Values one = resultOf(kernelNamed(*kernels, GetParam()), layer(), problem, 1, &reason);
  const Values two = resultOf(kernelNamed(*kernels, GetParam()), layer(), problem, 2, &reason);
  ASSERT_EQ(one.size(), expected.size()) << reason;
  int special = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    if (std::isfinite(expected[i])) {
      // The large values of a window cancel.
      const double scale = std::fabs(expected[i]) > 1e30 ? 3e38 : 30;
      EXPECT_NEAR(one[i], expected[i], 1e-5 * scale) << i;
    } else {
      ++special;
      EXPECT_TRUE(one[i] == expected[i] || (std::isnan(one[i]) && std::isnan(expected[i]))) << i;
    }
    EXPECT_TRUE(one[i] == two[i] || (std::isnan(one[i]) && std::isnan(two[i]))) << i;
  }
  EXPECT_GT(special, 19 * 9 * 2);
}

TEST_P(Winograd, LeavesWeightsThatAreNotFinite) {
  const auto kernels = makeKernelList();
  Problem problem = makeProblem(layer(), false);
  problem.values[1][77] = std::numeric_limits<double>::infinity();
  std::string reason;
  EXPECT_TRUE(resultOf(kernelNamed(*kernels, GetParam()), layer(), problem, 1, &reason).empty());
  EXPECT_EQ(reason, "weights-not-finite");
}

// Root of the sum of squared distances from the reference, which adds in double precision.
double distance(const Values& values, const Values& expected) {
  double sum = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) sum += (values[i] - expected[i]) * (values[i] - expected[i]);
  return std::sqrt(sum);
}

TEST_P(Winograd, RoundsLittleMoreThanSumsOfProducts) {
  const auto kernels = makeKernelList();
  for (const std::int64_t channels : {16, 64, 256}) {
    const Case test{"convolution{padding=[1,1]}",
                    {Source::of({1, channels, 24, 24}), Source::weight({32, channels, 3, 3}), Source::weight({32})}};
    const Problem problem = makeProblem(test);
    std::string reason;
    const auto error = [&](const char* name) {
      const Values values = resultOf(kernelNamed(*kernels, name), test, problem, 1, &reason);
      EXPECT_EQ(values.size(), problem.expected[0].size()) << reason;
      return values.empty() ? 0 : distance(values, problem.expected[0]);
    };
    const double sums = error("convolution_simd");
    EXPECT_GT(sums, 0);
    EXPECT_LE(error(GetParam()), 3 * sums) << channels;
  }
}

INSTANTIATE_TEST_SUITE_P(Tiles, Winograd, testing::Values("convolution_winograd", "convolution_winograd_4x4"),
                         [](const testing::TestParamInfo<const char*>& info) { return std::string(info.param); });

}  // namespace
}  // namespace ipex_studio::kernel_test
