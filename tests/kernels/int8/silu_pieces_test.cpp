// SiLU by parabolas against the definition in double precision.
#include "kernels/int8/silu_pieces.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace ipex_studio::kernel_test {
namespace {

float byPieces(const SiluPieces& pieces, float x) {
  const float distance = std::abs(x);
  const auto piece =
      static_cast<std::size_t>(std::min(SiluPieces::kPieces - 1.0f, distance * SiluPieces::kPieces / SiluPieces::kEnd));
  const float square = pieces.coefficients[2][piece], line = pieces.coefficients[1][piece];
  return x * pieces.half + ((square * distance + line) * distance + pieces.coefficients[0][piece]);
}

TEST(SiluPieces, AreNearTheDefinition) {
  for (const double scale : {1.0, 43.8, 0.02, -60.0}) {
    const SiluPieces pieces(scale, 12.0);
    double worst = 0;
    for (int i = -400000; i <= 400000; ++i) {
      const float x = static_cast<float>(i) * 5e-5f;
      const double exact = scale * x / (1 + std::exp(-static_cast<double>(x))) + 12;
      worst = std::max(worst, std::abs(byPieces(pieces, x) - exact));
    }
    EXPECT_LT(worst, 1.3e-4 * std::abs(scale) + 4e-6 * (12 + 20 * std::abs(scale)) / 16) << scale;
  }
}

TEST(SiluPieces, KeepLargeValues) {
  const SiluPieces pieces(2.0, 0.0);
  EXPECT_NEAR(byPieces(pieces, 1e6f), 2e6, 1);
  EXPECT_NEAR(byPieces(pieces, -1e6f), 0, 1);
}

}  // namespace
}  // namespace ipex_studio::kernel_test
