// The polynomials are as near to the activations as their description says, everywhere; the kernels' use of them is
// tested by the case table.
#include "kernels/common/smooth_activation.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

namespace ipex_studio {
namespace {

double approximation(const SmoothActivation& activation, float x) {
  const float distance = std::min(std::fabs(x), SmoothActivation::kFar);
  const float named = std::max(distance, SmoothActivation::kNear);
  std::uint32_t bits;
  std::memcpy(&bits, &named, sizeof bits);
  const std::size_t piece = (bits >> SmoothActivation::kShift) % SmoothActivation::kPieces;
  double p = 0;
  for (std::size_t power = 4; power-- > 0;) p = p * distance + activation.coefficients[power][piece];
  return p + std::max(x, 0.0f);
}

double silu(double x) { return x / (1 + std::exp(-x)); }
double geluErf(double x) { return x * 0.5 * std::erfc(-x / std::sqrt(2.0)); }
double geluTanh(double x) { return 0.5 * x * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x))); }

struct Named {
  PostOpKind kind;
  double (*exact)(double);
};

TEST(SmoothActivation, IsNearTheActivation) {
  for (const Named& named :
       {Named{PostOpKind::kSilu, silu}, Named{PostOpKind::kGeluErf, geluErf}, Named{PostOpKind::kGeluTanh, geluTanh}}) {
    const SmoothActivation* const activation = smoothActivationOf(named.kind);
    ASSERT_NE(activation, nullptr);
    for (int i = -400000; i <= 400000; ++i) {
      const float x = static_cast<float>(i) * 5e-5f;
      const double exact = named.exact(x), found = approximation(*activation, x);
      ASSERT_LE(std::fabs(found - exact), std::min(2e-5, 2e-4 * std::fabs(x) + 1e-12)) << x;
    }
    EXPECT_EQ(approximation(*activation, 0.0f), 0.0);
    EXPECT_EQ(approximation(*activation, 1e30f), 1e30f);
    EXPECT_EQ(approximation(*activation, -1e30f), 0.0);
    for (const float x : {1e-3f, -1e-6f, 1e-30f}) {
      EXPECT_NEAR(approximation(*activation, x) / named.exact(x), 1.0, 2e-4) << x;
    }
  }
}

TEST(SmoothActivation, OthersHaveNone) {
  EXPECT_EQ(smoothActivationOf(PostOpKind::kRelu), nullptr);
  EXPECT_EQ(smoothActivationOf(PostOpKind::kHardSwish), nullptr);
}

}  // namespace
}  // namespace ipex_studio
