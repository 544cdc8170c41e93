// Rotary embedding: halves and neighbours, tables of all values or of pairs, rows rotated in part, tables of tokens,
// texts and single rows.
#include "tests/kernels/cases.h"

namespace ipex_studio::kernel_test {

const std::vector<Case>& rotaryCases() {
  using S = Source;
  const char* const simd = "rotary_simd";
  const auto tables = [](Dims x, Dims table) { return std::vector<S>{S::of(x), S::of(table), S::of(table)}; };
  static const std::vector<Case> cases = {
      {"rotary{}", tables({2, 3, 5, 32}, {5, 32}), simd},
      {"rotary{}", tables({2, 3, 5, 34}, {2, 1, 5, 34}), simd},
      {"rotary{}", tables({2, 3, 5, 2}, {2, 3, 5, 2}), simd},
      {"rotary{half=1}", tables({2, 5, 3, 66}, {5, 1, 33}), simd},
      {"rotary{half=1,rotated=16}", tables({2, 5, 3, 33}, {2, 5, 1, 8}), simd},
      {"rotary{rotated=6}", tables({1, 8, 1, 17}, {1, 1, 1, 6}), simd},
      {"rotary{interleaved=1}", tables({2, 3, 5, 100}, {5, 100}), simd},
      {"rotary{half=1,interleaved=1}", tables({2, 5, 3, 64}, {5, 1, 32}), simd},
      {"rotary{interleaved=1,rotated=34}", tables({2, 5, 3, 129}, {2, 5, 1, 34}), simd},
      {"rotary{interleaved=1}", tables({7, 6}, {6}), simd},
      {"rotary{}", {S::dying({2, 3, 5, 32}), S::of({5, 32}), S::of({5, 32})}, simd},
      {"rotary{interleaved=1}", {S::of({3, 5, 8}), S::dying({3, 5, 8}), S::of({3, 5, 8})}, simd},
      {"rotary{first=1,half=1,tokens=-3}", tables({2, 5, 3, 16}, {9, 1, 8}), simd},
      {"rotary{first=1,rotated=8,tokens=-2}", tables({2, 3, 5, 16}, {7, 8}), simd},
      {"rotary{rotated=0}", tables({2, 3, 4}, {3, 0}), ""},
      {"rotary{}", tables({0, 3, 4}, {3, 4}), ""},
      {"rotary{}", tables({1, 32, 512, 128}, {512, 128}), simd, 2e-6, true},
      {"rotary{half=1,interleaved=1}", tables({1, 512, 32, 128}, {512, 1, 64}), simd, 2e-6, true},
      {"rotary{}", tables({1, 32, 1, 128}, {1, 128}), simd, 2e-6, true},
  };
  return cases;
}

}  // namespace ipex_studio::kernel_test
