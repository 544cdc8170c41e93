// Sampled and resized images and their grids: nearest and bilinear, corners and edges, sizes beside those of vectors.
#include "tests/kernels/cases.h"

namespace ipex_studio::kernel_test {

const std::vector<Case>& visionCases() {
  using S = Source;
  static const std::vector<Case> cases = {
      {"affine_grid{align_corners=1,output=[5,7]}", {S::of({3, 2, 3})}, "affine_grid_rows"},
      {"affine_grid{align_corners=0,output=[33,1]}", {S::of({1, 2, 3})}, "affine_grid_rows"},
      {"affine_grid{align_corners=0,output=[96,128]}", {S::of({2, 2, 3})}, "affine_grid_rows", 1e-5, true},
      {"grid_sample{align_corners=1,mode=bilinear,padding=zeros}",
       {S::of({2, 3, 7, 9}), S::of({2, 5, 11, 2})},
       "grid_sample_simd",
       2e-5},
      {"grid_sample{align_corners=0,mode=bilinear,padding=zeros}",
       {S::of({2, 3, 7, 9}), S::of({2, 5, 11, 2})},
       "grid_sample_simd",
       2e-5},
      {"grid_sample{align_corners=0,mode=bilinear,padding=border}",
       {S::of({1, 17, 6, 4}), S::of({1, 1, 3, 2})},
       "grid_sample_simd",
       2e-5},
      {"grid_sample{align_corners=1,mode=nearest,padding=border}",
       {S::of({1, 2, 8, 8}), S::of({1, 20, 20, 2})},
       "grid_sample_simd"},
      {"grid_sample{align_corners=0,mode=nearest,padding=zeros}",
       {S::of({2, 2, 8, 5}), S::of({2, 7, 9, 2})},
       "grid_sample_simd"},
      {"grid_sample{align_corners=1,mode=bilinear,padding=zeros}",
       {S::of({1, 16, 96, 128}), S::of({1, 96, 128, 2})},
       "grid_sample_simd",
       1e-4,
       true},
      {"upsample{mode=nearest,output=[56,56]}", {S::of({1, 64, 28, 28})}, "upsample_simd", 0, true},
      {"upsample{align_corners=0,mode=bilinear,output=[56,56]}", {S::of({1, 64, 28, 28})}, "upsample_simd", 2e-6, true},
      {"upsample{align_corners=1,mode=bilinear,output=[9,17]}", {S::of({2, 17, 5, 7})}, "upsample_simd"},
      {"upsample{align_corners=0,mode=bilinear,output=[3,2]}", {S::of({2, 3, 5, 7})}, "upsample_simd"},
      {"upsample{align_corners=0,mode=bicubic,output=[9,17]}", {S::of({2, 17, 5, 7})}, "upsample_simd"},
      {"upsample{mode=nearest,output=[7,11]}", {S::of({2, 17, 5, 7})}, "upsample_simd", 0},
      {"upsample{mode=nearest,output=[21]}", {S::of({2, 17, 7})}, "upsample_simd", 0},
      {"upsample{mode=nearest,output=[4,4,4]}", {S::of({1, 3, 2, 2, 2})}, "", 0},
  };
  return cases;
}

}  // namespace ipex_studio::kernel_test
