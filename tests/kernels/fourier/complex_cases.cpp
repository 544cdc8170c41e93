// Transforms of complex numbers along any axis, from real ones and back, and products of complex numbers.
#include "tests/kernels/cases.h"

namespace ipex_studio::kernel_test {

const std::vector<Case>& complexCases() {
  using S = Source;
  static const char* const kSimd = "complex_fourier_simd";
  static const char* const kProduct = "complex_product_simd";
  static const std::vector<Case> cases = {
      {"complex_fourier{axis=1}", {S::of({3, 8, 2})}, kSimd},
      {"complex_fourier{axis=0}", {S::of({8, 37, 2})}, kSimd},
      {"complex_fourier{axis=1,inverse=1}", {S::of({2, 30, 19, 2})}, kSimd},
      {"complex_fourier{axis=1,inverse=1,norm=ortho}", {S::of({17, 45, 2})}, kSimd},
      {"complex_fourier{axis=1,norm=forward}", {S::of({2, 7, 3, 2})}, kSimd},
      {"complex_fourier{axis=1,size=12}", {S::of({2, 7, 3, 2})}, kSimd},
      {"complex_fourier{axis=1,size=5,inverse=1}", {S::of({2, 7, 20, 2})}, kSimd},
      {"complex_fourier{axis=0,size=4}", {S::of({1, 2})}, kSimd},
      {"complex_fourier{axis=1}", {S::of({3, 74, 2})}},  // a prime factor of 37
      {"complex_fourier{axis=1,source=real}", {S::of({3, 16})}, kSimd},
      {"complex_fourier{axis=0,source=real}", {S::of({15, 33})}, kSimd},
      {"complex_fourier{axis=1,inverse=1,source=real}", {S::of({2, 12, 18})}, kSimd},
      {"complex_fourier{axis=1,inverse=1,source=real}", {S::of({2, 9, 3})}, kSimd},
      {"complex_fourier{axis=1,result=half,source=real}", {S::of({2, 14, 20})}, kSimd},
      {"complex_fourier{axis=1,norm=ortho,result=half,source=real}", {S::of({2, 15, 5})}, kSimd},
      {"complex_fourier{axis=0,result=half,size=10,source=real}", {S::of({6, 17})}, kSimd},
      {"complex_fourier{axis=1,inverse=1,result=real}", {S::of({3, 9, 2})}, kSimd},
      {"complex_fourier{axis=1,inverse=1,norm=ortho,result=real}", {S::of({2, 14, 19, 2})}, kSimd},
      {"complex_fourier{axis=1,inverse=1,result=real,size=15}", {S::of({3, 8, 2})}, kSimd},
      {"complex_fourier{axis=1,inverse=1,norm=forward,result=real,size=24}", {S::of({3, 8, 2})}, kSimd},
      {"complex_fourier{axis=0,inverse=1,result=real,size=6}", {S::of({9, 21, 2})}, kSimd},
      {"complex_fourier{axis=1,inverse=1,result=real,size=1}", {S::of({3, 1, 2})}, kSimd},
      {"complex_fourier{axis=1}", {S::of({4, 128, 96, 2})}, kSimd, 2e-6, true},
      {"complex_fourier{axis=2,inverse=1,result=real}", {S::of({16, 64, 65, 2})}, kSimd, 2e-6, true},
      {"complex_fourier{axis=2,source=real}", {S::of({4, 128, 256})}, kSimd, 2e-6, true},
      {"complex_product{}", {S::of({3, 5, 2}), S::of({3, 5, 2})}, kProduct},
      {"complex_product{conjugate=1}", {S::of({2, 33, 2}), S::of({33, 2})}, kProduct},
      {"complex_product{}", {S::of({2, 1, 7, 2}), S::of({2, 3, 1, 2})}, kProduct},
      {"complex_product{}", {S::of({2}), S::of({4, 9, 2})}, kProduct},
      {"complex_product{}", {S::of({2, 3, 8, 2}), S::of({3, 1, 2})}, kProduct},
      {"complex_product{}", {S::of({2, 16, 4, 32, 2}), S::of({1, 16, 1, 32, 2})}, kProduct},
      {"complex_product{}", {S::of({1, 128, 12, 32, 2}), S::of({128, 1, 32, 2})}, kProduct, 2e-6, true},
  };
  return cases;
}

}  // namespace ipex_studio::kernel_test
