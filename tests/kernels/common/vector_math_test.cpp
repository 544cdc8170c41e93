// Accuracy of the vector functions against libm in double precision, for every instruction set that the code is built
// for.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <functional>
#include <limits>

#include "kernels/common/reference.h"
#include "kernels/kernel_list.h"

namespace ipex_studio {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

std::vector<float> apply(const std::string& chain, std::vector<float> x, const std::string& isa) {
  const auto list = makeKernelList();
  PrepareArgs args;
  args.spec = parseOpSpec("pointwise{}|" + chain);
  args.src = {contiguousDesc(DType::kF32, Dims{static_cast<std::int64_t>(x.size())})};
  args.dst = args.src;
  args.constant = {nullptr};
  args.src_dies = {false};
  args.target.isa = isa;
  std::string reason;
  const auto op = list->candidates(OpKind::kPointwise, DeviceKind::kCpu).front()->prepare(args, &reason);
  const Buffer scratch(op->scratch_bytes);
  std::vector<float> y(x.size());
  const void* src[] = {x.data()};
  void* dst[] = {y.data()};
  op->execute(nullptr, src, dst, scratch.data());
  return y;
}

double ulpsBetween(float got, double wanted) {
  if (std::isnan(got) && std::isnan(wanted)) return 0;
  const float near = static_cast<float>(wanted);
  if (got == near) return 0;
  if (std::isinf(near) || std::isinf(got)) return HUGE_VAL;
  const double ulp = std::max(std::ldexp(1.0, std::ilogb(near == 0 ? 1e-38f : near) - 23), 1.5e-45);
  return std::fabs(static_cast<double>(got) - wanted) / ulp;
}

struct Function {
  const char* chain;
  float low, high;
  double ulps;
};

class VectorMath : public testing::TestWithParam<const char*> {};

TEST_P(VectorMath, StaysNearLibm) {
  const Function functions[] = {{"exp", -103, 88.7f, 2},
                                {"log", 1e-37f, 100, 4},
                                {"log", 0.5f, 2, 4},
                                {"tanh", -9.5f, 9.5f, 3},
                                {"tanh", -0.7f, 0.7f, 3},
                                {"erf", -4.2f, 4.2f, 2},
                                {"erf", -0.01f, 0.01f, 2},
                                {"sigmoid", -80, 80, 4},
                                {"silu", -80, 80, 5},
                                {"mish", -10, 30, 8},
                                {"softplus(1.0,20.0)", -20, 30, 6},
                                {"elu(1.0)", -20, 5, 6},
                                {"hardswish", -5, 5, 4},
                                {"sin", -7, 7, 4},
                                {"sin", -39000, 39000, 4},
                                {"cos", -7, 7, 4},
                                {"cos", -39000, 39000, 4},
                                {"sqrt", 0, 100, 0.51},
                                {"rsqrt", 0.01f, 100, 2}};
  constexpr int kPoints = 40001;
  for (const Function& f : functions) {
    std::vector<float> x(kPoints);
    for (int i = 0; i < kPoints; ++i) x[i] = f.low + (f.high - f.low) * static_cast<float>(i) / (kPoints - 1);
    const std::vector<float> y = apply(f.chain, x, GetParam());
    const PostOp op = parseOpSpec(std::string("pointwise{}|") + f.chain).post_ops[0];
    double worst = 0;
    float at = 0;
    for (int i = 0; i < kPoints; ++i) {
      const double ulps = ulpsBetween(y[i], refPostOp(op, x[i], 0));
      if (ulps > worst) {
        worst = ulps;
        at = x[i];
      }
    }
    EXPECT_LE(worst, f.ulps) << f.chain << " at " << at;
  }
}

TEST_P(VectorMath, GeluIsRightToItsLargestTerm) {
  std::vector<float> x;
  for (int i = -4000; i <= 4000; ++i) x.push_back(static_cast<float>(i) * 0.002f);
  for (const char* chain : {"gelu_erf", "gelu_tanh"}) {
    const std::vector<float> y = apply(chain, x, GetParam());
    const PostOp op = parseOpSpec(std::string("pointwise{}|") + chain).post_ops[0];
    for (std::size_t i = 0; i < x.size(); ++i) {
      ASSERT_NEAR(y[i], refPostOp(op, x[i], 0), 2e-7 * std::max(1.0f, std::fabs(x[i]))) << chain << " at " << x[i];
    }
  }
}

TEST_P(VectorMath, EndsOfTheRange) {
  const std::vector<float> x = {kInf, -kInf, kNan, 0.0f, -0.0f, 200, -200, 1e30f, -1e30f, 1e-40f, 89, -110};
  for (const char* chain :
       {"exp", "log", "tanh", "erf", "sigmoid", "relu", "clip(-1.0,1.0)", "elu(1.0)", "abs", "sqrt", "square",
        "reciprocal", "softplus(1.0,20.0)", "leaky_relu(0.1)", "floor", "round", "sin", "cos"}) {
    const std::vector<float> y = apply(chain, x, GetParam());
    const PostOp op = parseOpSpec(std::string("pointwise{}|") + chain).post_ops[0];
    for (std::size_t i = 0; i < x.size(); ++i) {
      const float wanted = static_cast<float>(refPostOp(op, x[i], 0));
      if (std::isnan(wanted)) {
        EXPECT_TRUE(std::isnan(y[i])) << chain << " of " << x[i] << " gives " << y[i];
      } else if (std::isinf(wanted)) {
        EXPECT_EQ(y[i], wanted) << chain << " of " << x[i];
      } else {
        EXPECT_NEAR(y[i], wanted, 1e-6 * std::fabs(wanted) + 1e-37) << chain << " of " << x[i];
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Isa, VectorMath, testing::Values("avx512_core", "avx2", "sse41"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace ipex_studio
