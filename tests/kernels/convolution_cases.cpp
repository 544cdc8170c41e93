#include "cases.h"

namespace ipex_studio::kernel_test {

const std::vector<Case>& convolutionCases() {
  using S = Source;
  static const std::vector<Case> cases = {
      // first layers: three channels
      {"convolution{dilation=[1,1],groups=1,padding=[3,3],stride=[2,2]}|relu",
       {S::of({1, 3, 64, 64}), S::weight({64, 3, 7, 7}), S::weight({64})}, "convolution_onednn", 5e-6, true},
      {"convolution{groups=1,padding=[1,1],stride=[2,2]}|hardswish",
       {S::of({5, 3, 17, 19}), S::weight({16, 3, 3, 3}), S::weight({16})}, "convolution_onednn", 5e-6},
      {"convolution{groups=1,padding=[0,0],padding_end=[1,1],stride=[2,2]}",
       {S::of({1, 3, 16, 16}), S::weight({32, 3, 3, 3}), S::none()}, "convolution_onednn"},
      // bodies
      {"convolution{padding=[1,1]}|relu", {S::of({1, 64, 56, 56}), S::weight({64, 64, 3, 3}), S::weight({64})},
       "convolution_onednn", 5e-6, true},
      {"convolution{}|add(0)|relu",
       {S::of({1, 64, 56, 56}), S::weight({256, 64, 1, 1}), S::weight({256}), S::dying({1, 256, 56, 56})},
       "convolution_onednn", 5e-6, true},
      {"convolution{}|add(0)|relu",
       {S::of({1, 64, 14, 14}), S::weight({48, 64, 1, 1}), S::weight({48}), S::of({1, 48, 14, 14})},
       "convolution_onednn"},
      {"convolution{}|mul(0)|add(1)|sigmoid",
       {S::of({2, 32, 7, 7}), S::weight({64, 32, 1, 1}), S::weight({64}), S::of({1, 64, 1, 1}), S::dying({2, 64, 7, 7})},
       "convolution_onednn"},
      {"convolution{}|mul(0)", {S::of({1, 32, 7, 7}), S::weight({32, 32, 1, 1}), S::none(), S::of({1})}, ""},
      {"convolution{padding=[2,2],dilation=[2,2]}|silu",
       {S::of({1, 17, 13, 11}), S::weight({33, 17, 3, 3}), S::weight({33})}, "convolution_onednn"},
      {"convolution{groups=2,padding=[1,1]}|leaky_relu(0.1)",
       {S::of({2, 32, 9, 9}), S::weight({64, 16, 3, 3}), S::weight({64})}, "convolution_onednn"},
      {"convolution{groups=4,padding=[1,1]}", {S::of({1, 20, 9, 9}), S::weight({12, 5, 3, 3}), S::none()}, ""},
      {"convolution{stride=[2,2]}|clip(0.0,6.0)",
       {S::of({1, 1, 1, 31}), S::weight({8, 1, 1, 3}), S::weight({8})}, "convolution_onednn"},
      {"convolution{padding=[1,1]}", {S::of({0, 16, 8, 8}), S::weight({16, 16, 3, 3}), S::none()}, ""},
      // depthwise
      {"convolution{groups=72,padding=[2,2],stride=[2,2]}|hardswish",
       {S::of({1, 72, 28, 28}), S::weight({72, 1, 5, 5}), S::weight({72})}, "convolution_onednn", 5e-6, true},
      {"convolution{groups=17,padding=[1,1]}|relu", {S::of({2, 17, 8, 8}), S::weight({17, 1, 3, 3}), S::weight({17})},
       "convolution_onednn"},
      // squeeze and excite
      {"convolution{}|hardsigmoid", {S::of({1, 24, 1, 1}), S::weight({72, 24, 1, 1}), S::weight({72})},
       "convolution_onednn"},
      {"convolution{}|hardsigmoid", {S::of({1, 960, 1, 1}), S::weight({240, 960, 1, 1}), S::weight({240})},
       "convolution_gemv_simd", 5e-6, true},
      {"convolution{}|relu", {S::of({1, 24, 1, 1}), S::weight({71, 24, 1, 1}), S::weight({71})},
       "convolution_gemv_simd"},
      {"convolution{stride=[2,2]}|mul(0)|add(1)|silu",
       {S::of({3, 37, 1, 1}), S::weight({20, 37, 1, 1}), S::none(), S::of({20, 1, 1}), S::dying({3, 20, 1, 1})},
       "convolution_gemv_simd"},
      {"convolution{}|add(0)", {S::of({4, 32, 1}), S::of({16, 32, 1}), S::of({16}), S::dying({4, 16, 1})},
       "convolution_gemv_simd"},
      {"convolution{}", {S::dying({2, 1, 1, 1, 1}), S::weight({1, 1, 1, 1, 1}), S::weight({1})}, "convolution_gemv_simd"},
      // the only result lies beside the pixel
      {"convolution{padding=[1,1],stride=[3,3]}", {S::of({1, 16, 1, 1}), S::weight({16, 16, 1, 1}), S::weight({16})},
       ""},
      // weights that are not constant
      {"convolution{padding=[1,1]}|gelu_erf", {S::of({1, 16, 8, 8}), S::of({32, 16, 3, 3}), S::of({32})},
       "convolution_onednn"},
      // activations
      {"convolution{}|gelu_tanh", {S::of({1, 16, 8, 8}), S::weight({16, 16, 1, 1}), S::none()}, "convolution_onednn"},
      {"convolution{}|mish", {S::of({1, 16, 8, 8}), S::weight({16, 16, 1, 1}), S::none()}, "convolution_onednn"},
      {"convolution{}|elu(1.0)|tanh|linear(2.0,0.5)", {S::of({1, 16, 8, 8}), S::weight({16, 16, 1, 1}), S::none()},
       "convolution_onednn"},
      {"convolution{}|abs|sqrt|square|neg", {S::of({1, 16, 8, 8}), S::weight({16, 16, 1, 1}), S::none()},
       "convolution_onednn"},
      // one and three dimensions
      {"convolution{dilation=[1],groups=1,padding=[2],stride=[1]}|relu",
       {S::of({2, 40, 50}), S::weight({64, 40, 5}), S::weight({64})}, "convolution_onednn"},
      {"convolution{groups=32,padding=[1]}", {S::of({1, 32, 21}), S::weight({32, 1, 3}), S::none()},
       "convolution_onednn"},
      {"convolution{dilation=[2],groups=40,padding=[4],padding_end=[0],stride=[2]}|mul(0)|add(1)|silu",
       {S::of({2, 40, 30}), S::weight({40, 1, 3}), S::weight({40}), S::of({40, 1}), S::dying({2, 40, 15})},
       "convolution_onednn"},
      {"convolution{padding=[1,1,1],stride=[1,2,2]}|relu",
       {S::of({1, 3, 4, 12, 12}), S::weight({16, 3, 3, 3, 3}), S::weight({16})}, "convolution_onednn"},
      // transposed
      {"deconvolution{stride=[2,2]}|relu", {S::of({1, 32, 14, 14}), S::weight({32, 16, 2, 2}), S::weight({16})},
       "deconvolution_onednn", 5e-6, true},
      {"deconvolution{stride=[2,2],padding=[1,1],output_padding=[1,1]}",
       {S::of({2, 16, 7, 7}), S::weight({16, 32, 3, 3}), S::none()}, "deconvolution_onednn"},
      {"deconvolution{groups=2,stride=[2,2]}", {S::of({1, 32, 7, 7}), S::weight({32, 16, 2, 2}), S::weight({32})}, ""},
      {"deconvolution{stride=[2,2]}|mul(0)|add(1)|hardswish",
       {S::of({1, 16, 6, 6}), S::weight({16, 17, 2, 2}), S::weight({17}), S::of({1, 17, 1, 1}), S::of({1, 17, 12, 12})},
       "deconvolution_onednn"},
      {"deconvolution{stride=[2,2]}|relu", {S::of({1, 64, 64, 64}), S::weight({64, 32, 2, 2}), S::weight({32})},
       "deconvolution_onednn", 5e-6, true},
      {"deconvolution{stride=[2]}", {S::of({1, 16, 9}), S::weight({16, 16, 4}), S::weight({16})}, "deconvolution_onednn"},
  };
  return cases;
}

const std::vector<Case>& matrixCases() {
  using S = Source;
  static const std::vector<Case> cases = {
      {"linear{}", {S::of({1, 2048}), S::weight({1000, 2048}), S::weight({1000})}, "linear_onednn", 5e-6, true},
      {"linear{}|hardswish", {S::of({1, 960}), S::weight({1280, 960}), S::weight({1280})}, "linear_gemv_simd", 5e-6, true},
      {"linear{}", {S::of({2, 2048}), S::weight({1000, 2048}), S::weight({1000})}, "linear_gemv_simd", 5e-6, true},
      {"linear{}", {S::of({3, 2048}), S::weight({1000, 2048}), S::weight({1000})}, "linear_gemv_simd", 5e-6, true},
      {"linear{}", {S::of({4, 2048}), S::weight({1000, 2048}), S::weight({1000})}, "linear_onednn", 5e-6, true},
      {"linear{}", {S::of({8, 2048}), S::weight({1000, 2048}), S::weight({1000})}, "linear_onednn", 5e-6, true},
      {"linear{}", {S::of({1, 13}), S::weight({7, 13}), S::weight({7})}, "linear_gemv_simd"},
      {"linear{}|erf", {S::of({2, 1}), S::weight({9, 1}), S::none()}, "linear_gemv_simd"},
      {"linear{}|mul(0)|add(1)|sigmoid",
       {S::of({3, 1, 67}), S::weight({17, 67}), S::weight({17}), S::of({17}), S::dying({3, 1, 17})}, "linear_gemv_simd"},
      {"linear{}|add(0)|relu", {S::dying({1, 3, 33}), S::of({33, 33}), S::of({33}), S::dying({1, 3, 33})},
       "linear_gemv_simd"},
      {"linear{}|add(0)", {S::of({3, 1, 8}), S::weight({8, 8}), S::none(), S::of({3, 1, 1})}, "linear_gemv_simd"},
      {"linear{}", {S::dying({3, 19}), S::weight({19, 19}), S::none()}, "linear_gemv_simd"},
      {"linear{}|gelu_erf", {S::of({2, 1000}), S::weight({1, 1000}), S::weight({1})}, "linear_gemv_simd"},
      {"linear{}|relu", {S::of({128, 13}), S::weight({512, 13}), S::weight({512})}, "linear_onednn", 5e-6, true},
      {"linear{}|gelu_erf", {S::of({1, 128, 768}), S::weight({3072, 768}), S::weight({3072})}, "linear_onednn", 1e-5, true},
      {"linear{}|add(0)", {S::of({1, 49, 64}), S::weight({64, 64}), S::weight({64}), S::dying({1, 49, 64})}, "linear_onednn"},
      {"linear{}|add(0)", {S::of({2, 49, 64}), S::weight({64, 64}), S::none(), S::of({2, 49, 64})}, "linear_onednn"},
      {"linear{}|mul(0)|add(1)|tanh",
       {S::of({2, 5, 33}), S::weight({17, 33}), S::none(), S::of({17}), S::of({2, 5, 17})}, "linear_onednn"},
      {"linear{}|mul(0)", {S::of({7, 16}), S::weight({1, 16}), S::weight({1}), S::of({1})}, "linear_onednn"},
      {"linear{}", {S::of({16}), S::weight({8, 16}), S::weight({8})}, "linear_onednn"},
      {"linear{}", {S::of({0, 16}), S::weight({8, 16}), S::weight({8})}, ""},
      {"linear{}|sigmoid", {S::of({3, 40}), S::of({20, 40}), S::of({20})}, "linear_onednn"},
      {"matmul{}", {S::of({1, 12, 128, 64}), S::of({1, 12, 64, 128})}, "matmul_onednn", 5e-6, true},
      {"matmul{scale=0.125,transpose_b=1}", {S::of({1, 12, 128, 64}), S::of({1, 12, 128, 64})}, "matmul_onednn", 5e-6, true},
      {"matmul{transpose_a=1}", {S::of({3, 40, 17}), S::of({3, 40, 9})}, "matmul_onednn"},
      {"matmul{}", {S::of({17, 33}), S::of({33, 5})}, "matmul_onednn"},
      {"matmul{}|relu", {S::of({2, 3, 7, 16}), S::of({16, 8})}, "matmul_onednn"},
      {"matmul{}", {S::of({7, 16}), S::of({4, 16, 8})}, ""},
      {"matmul{}", {S::of({4, 1, 7, 16}), S::of({1, 3, 16, 8})}, ""},
      {"matmul{}|add(0)", {S::of({2, 7, 16}), S::of({2, 16, 8}), S::dying({2, 7, 8})}, "matmul_onednn"},
      {"matmul{}|add(0)", {S::of({2, 7, 16}), S::of({2, 16, 8}), S::of({2, 7, 8})}, "matmul_onednn"},
      {"matmul{scale=0.5}|add(0)", {S::of({2, 4, 16, 16}), S::of({2, 4, 16, 16}), S::of({2, 1, 1, 16})}, ""},
      {"matmul{}", {S::of({1, 1}), S::of({1, 1})}, "matmul_onednn"},
      {"matmul{}", {S::of({1, 27, 128}), S::of({1, 128, 27})}, "matmul_onednn"},
  };
  return cases;
}

}  // namespace ipex_studio::kernel_test
