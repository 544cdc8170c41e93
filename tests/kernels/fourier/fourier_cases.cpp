// Fourier transforms of real frames: radices alone and together, odd sizes, overlapping and distant frames, windows,
// numbers of frames beside those of vectors.
#include "tests/kernels/cases.h"

namespace ipex_studio::kernel_test {

const std::vector<Case>& fourierCases() {
  using S = Source;
  static const std::vector<Case> cases = {
      {"fourier{}", {S::of({3, 8}), S::none()}, "fourier_simd"},
      {"fourier{}", {S::of({1}), S::none()}, "fourier_simd"},
      {"fourier{result=magnitude}", {S::of({19, 2}), S::none()}, "fourier_simd"},
      {"fourier{norm=ortho}", {S::of({2, 3, 7}), S::none()}, "fourier_simd"},
      {"fourier{norm=forward}", {S::of({9, 30}), S::of({30})}, "fourier_simd"},
      {"fourier{}", {S::of({17, 45}), S::none()}, "fourier_simd"},
      {"fourier{}", {S::of({2, 2662}), S::none()}, "fourier_simd"},
      {"fourier{}", {S::of({4, 62}), S::none()}, "fourier_simd"},
      {"fourier{}", {S::of({3, 74}), S::none()}},  // a prime factor of 37
      {"fourier{frame=400,hop=160}", {S::of({2, 3200}), S::of({400})}, "fourier_simd"},
      {"fourier{frame=400,hop=160,result=magnitude}", {S::of({1, 16400}), S::of({400})}, "fourier_simd", 2e-6, true},
      {"fourier{frame=512,hop=128}", {S::of({1, 16384}), S::of({512})}, "fourier_simd", 2e-6, true},
      {"fourier{frame=1024,hop=256,result=magnitude}", {S::of({4, 16384}), S::none()}, "fourier_simd", 2e-6, true},
      {"fourier{frame=25,hop=60,result=magnitude}", {S::of({3, 700}), S::of({25})}, "fourier_simd"},
      {"fourier{frame=12,hop=1,norm=ortho}", {S::of({31}), S::of({12})}, "fourier_simd"},
      {"fourier{frame=64,hop=64,result=magnitude}", {S::of({2, 3, 64}), S::none()}, "fourier_simd"},
  };
  return cases;
}

}  // namespace ipex_studio::kernel_test
