// The passes of a Fourier transform and their factors.
#include "kernels/fourier/fourier_turns.h"

#include <cmath>
#include <utility>

namespace ipex_studio {
namespace {

constexpr std::int64_t kLargestRadix = 31;

// The radices of passes over `points` numbers; empty: a prime factor is too large.
std::vector<std::int64_t> radicesOf(std::int64_t points) {
  std::vector<std::int64_t> radices;
  const auto take = [&](std::int64_t radix) {
    for (; points % radix == 0; points /= radix) radices.push_back(radix);
  };
  take(4);
  take(2);
  for (std::int64_t radix = 3; radix <= kLargestRadix; radix += 2) take(radix);
  if (points > 1) return {};
  if (radices.empty()) radices.push_back(1);
  return radices;
}

void addTurn(double turns, std::vector<float>* to) {
  const double angle = -2 * std::acos(-1.0) * turns;
  to->push_back(static_cast<float>(std::cos(angle)));
  to->push_back(static_cast<float>(std::sin(angle)));
}

// k/n of a turn, for any k, of which whole turns are taken away before rounding.
void addTurn(std::int64_t k, std::int64_t n, std::vector<float>* to) {
  addTurn(static_cast<double>(k % n) / static_cast<double>(n), to);
}

std::vector<FourierStage> stagesOf(std::int64_t points) {
  std::vector<FourierStage> stages;
  std::int64_t length = points, stride = 1;
  for (const std::int64_t radix : radicesOf(points)) {
    if (radix == 1) continue;
    FourierStage stage;
    stage.radix = radix;
    stage.parts = length / radix;
    stage.stride = stride;
    for (std::int64_t p = 0; p < stage.parts; ++p) {
      for (std::int64_t k = 1; k < radix; ++k) addTurn(p * k, length, &stage.turns);
    }
    for (std::int64_t jk = 0; radix > 5 && jk < radix * radix; ++jk)
      addTurn(jk / radix * (jk % radix), radix, &stage.matrix);
    stages.push_back(std::move(stage));
    length /= radix;
    stride *= radix;
  }
  return stages;
}

}  // namespace

bool hasRadices(std::int64_t points) { return points > 0 && !radicesOf(points).empty(); }

FourierTurns fourierTurns(std::int64_t points, bool pairs) {
  FourierTurns turns;
  turns.points = points;
  turns.stages = stagesOf(points);
  for (std::int64_t k = 0; pairs && k <= points; ++k) addTurn(k, 2 * points, &turns.half_turns);
  return turns;
}

}  // namespace ipex_studio
