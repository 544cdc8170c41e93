// Recurrent layers: both cells, projections, directions and orders of axes; one and many rows; units that fill no
// vector.
#include "tests/kernels/cases.h"

namespace ipex_studio::kernel_test {

const std::vector<Case>& recurrentCases() {
  const auto of = [](Dims dims) { return Source::of(dims); };
  const auto weight = [](Dims dims) { return Source::weight(dims); };
  const Source none = Source::none();
  const char* const simd = "recurrent_simd";
  // States feed back into themselves, so rounding in one step reaches all later ones.
  constexpr double kFedBack = 2e-5;
  static const std::vector<Case> cases = {
      {"recurrent{cell=lstm,time_axis=0}",
       {of({5, 3, 64}), weight({64, 16}), of({3, 16}), of({3, 16}), none},
       simd,
       kFedBack},
      {"recurrent{cell=lstm,time_axis=1}",
       {of({3, 5, 64}), weight({64, 16}), of({3, 16}), of({3, 16}), none},
       simd,
       kFedBack},
      {"recurrent{cell=lstm,reverse=1,time_axis=0}",
       {of({6, 1, 52}), weight({52, 13}), of({1, 13}), of({1, 13}), none},
       simd,
       kFedBack},
      {"recurrent{cell=lstm,reverse=1,time_axis=1}",
       {of({9, 4, 132}), weight({132, 33}), of({9, 33}), of({9, 33}), none},
       simd,
       kFedBack},
      {"recurrent{cell=lstm,time_axis=0}",
       {of({1, 2, 4}), weight({4, 1}), of({2, 1}), of({2, 1}), none},
       simd,
       kFedBack},
      {"recurrent{cell=gru,time_axis=0}",
       {of({5, 7, 48}), weight({48, 16}), of({7, 16}), none, weight({16})},
       simd,
       kFedBack},
      {"recurrent{cell=gru,time_axis=1}", {of({2, 8, 57}), weight({57, 19}), of({2, 19}), none, none}, simd, kFedBack},
      {"recurrent{cell=gru,reverse=1,time_axis=1}",
       {of({5, 3, 63}), weight({63, 21}), of({5, 21}), none, weight({21})},
       simd,
       kFedBack},
      {"recurrent{cell=lstm,projected=1,time_axis=0}",
       {of({5, 3, 64}), weight({80, 10}), of({3, 10}), of({3, 16}), none},
       simd,
       kFedBack},
      {"recurrent{cell=lstm,projected=1,reverse=1,time_axis=1}",
       {of({6, 4, 84}), weight({105, 20}), of({6, 20}), of({6, 21}), none},
       simd,
       kFedBack},
      {"recurrent{cell=lstm,projected=1,time_axis=1}",
       {of({1, 2, 4}), weight({5, 1}), of({1, 1}), of({1, 1}), none},
       simd,
       kFedBack},
      // Enough products for all units of a device in each step.
      {"recurrent{cell=lstm,projected=1,reverse=1,time_axis=0}",
       {of({3, 1, 2560}), Source::scales({3200, 500}), of({1, 500}), of({1, 640}), none},
       simd,
       kFedBack},
      {"recurrent{cell=gru,time_axis=0}",
       {of({2, 1, 1800}), Source::scales({1800, 600}), of({1, 600}), none, weight({600})},
       simd,
       kFedBack},
      {"recurrent{cell=lstm,projected=1,time_axis=1}",
       {of({1, 100, 512}), Source::scales({640, 64}), of({1, 64}), of({1, 128}), none},
       simd,
       kFedBack,
       true},
      {"recurrent{cell=lstm,time_axis=1}",
       {of({1, 100, 512}), Source::scales({512, 128}), of({1, 128}), of({1, 128}), none},
       simd,
       kFedBack,
       true},
      {"recurrent{cell=gru,time_axis=1}",
       {of({1, 100, 768}), Source::scales({768, 256}), of({1, 256}), none, weight({256})},
       simd,
       kFedBack,
       true},
  };
  return cases;
}

}  // namespace ipex_studio::kernel_test
