// Cases of products of pairs of features and of their gradients.
#include "tests/kernels/cases.h"

namespace ipex_studio::kernel_test {

const std::vector<Case>& interactionCases() {
  using S = Source;
  const char* const forward = "interaction_simd";
  const char* const backward = "interaction_backward_simd";
  const std::vector<Source> dlrm = {S::of({128, 128}), S::of({128, 26, 128})};
  std::vector<Source> dlrm_gradients = dlrm;
  dlrm_gradients.insert(dlrm_gradients.begin(), S::of({128, 128 + 351}));
  static const std::vector<Case> cases = {
      {"interaction{dense=1,triangle=lower}", {S::of({3, 17}), S::of({3, 17}), S::of({3, 17})}, forward},
      {"interaction{dense=1,triangle=upper}", {S::of({5, 33}), S::of({5, 6, 33}), S::of({5, 33})}, forward},
      {"interaction{diagonal=1,triangle=lower}", {S::of({2, 7, 3})}, forward},
      {"interaction{diagonal=1,triangle=upper}", {S::of({2, 5, 16}), S::of({2, 4, 16})}, forward},
      {"interaction{triangle=upper}", {S::of({1, 100}), S::of({1, 8, 100})}, forward},
      {"interaction{triangle=lower}", {S::of({4, 1, 8})}, forward},
      {"interaction{diagonal=1,triangle=lower}", {S::of({4, 129})}, forward},
      {"interaction{triangle=lower}", {S::of({0, 3, 8})}, forward},
      {"interaction{dense=1,triangle=lower}", dlrm, forward, 2e-6, true},
      {"interaction_backward{dense=1,triangle=lower}",
       {S::of({3, 20}), S::of({3, 17}), S::of({3, 17}), S::of({3, 17})},
       backward},
      {"interaction_backward{dense=1,triangle=upper}",
       {S::of({5, 61}), S::of({5, 33}), S::of({5, 6, 33}), S::of({5, 33})},
       backward},
      {"interaction_backward{diagonal=1,triangle=lower}", {S::of({2, 28}), S::of({2, 7, 3})}, backward},
      {"interaction_backward{diagonal=1,triangle=upper}",
       {S::of({2, 45}), S::of({2, 5, 16}), S::of({2, 4, 16})},
       backward},
      {"interaction_backward{triangle=lower}", {S::of({4, 0}), S::of({4, 1, 8})}, backward},
      {"interaction_backward{dense=1,triangle=lower}", dlrm_gradients, backward, 2e-6, true},
  };
  return cases;
}

}  // namespace ipex_studio::kernel_test
