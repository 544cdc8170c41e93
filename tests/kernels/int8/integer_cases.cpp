// Products of integers and chains over them. Sums are exact; a result in u8 or s8 may be one step off where the chain in
// FP32 falls on the other side of a half, a result in FP32 has its rounding.
#include "tests/kernels/cases.h"

namespace ipex_studio::kernel_test {
namespace {

constexpr double kOneStep = 1.01 / 255;  // the harness measures bytes against 255
constexpr double kFloat = 3e-6;
constexpr double kRounding = 2e-3;  // a value on the other side of a half, one of many in a sum

Source dying(Source source) {
  source.dies = true;
  return source;
}

Source extreme(Source source) {
  source.fill = Fill::kExtreme;
  return source;
}

// Weights of 7 bits.
Source small(Source source) {
  source.fill = Fill::kExtreme;
  source.limit = 63;
  return source;
}

// Which kernel of ours must take a product that names none.
std::vector<Case> takenByOurs(std::vector<Case> cases) {
  for (Case& test : cases) {
    const Dims &x = test.src[0].dims, &w = test.src[1].dims;
    const bool image = test.spec.rfind("convolution", 0) == 0;
    const bool depthwise = image && w.rank < 5 && w[1] == 1 && w[0] == x[1] && x[1] > 1;
    if (!test.kernel.empty() || x[0] == 0) continue;
    if (image) test.kernel = depthwise ? "convolution_depthwise_simd_int8" : "convolution_simd_int8";
    if (test.spec.rfind("linear", 0) == 0) test.kernel = "linear_simd_int8";
  }
  return cases;
}

}  // namespace

const std::vector<Case>& integerProductCases() {
  using S = Source;
  const Source none = S::none();
  const auto bias = [](Dims dims) { return S::weight(dims); };
  static const std::vector<Case> cases = takenByOurs({
      // bodies
      {"convolution{padding=[1,1],result=u8}|mul(0)|add(1)|relu|linear(0.05,0.0)",
       {S::u8({1, 64, 14, 14}), S::s8Weight({64, 64, 3, 3}), none, S::scales({64, 1, 1}), bias({64, 1, 1})}, "", kOneStep},
      {"convolution{padding=[1,1],result=s8,src_zero=9}|mul(0)|add(1)|linear(0.03,-3.0)",
       {S::u8({2, 32, 9, 7}), S::s8Weight({48, 32, 3, 3}), none, S::scales({48, 1, 1}), bias({48, 1, 1})}, "", kOneStep},
      {"convolution{result=u8}|mul(0)|add(1)|add(2,3.5)|relu|linear(0.08,0.0)",
       {S::u8({1, 64, 14, 14}), S::s8Weight({256, 64, 1, 1}), none, S::scales({256, 1, 1}), bias({256, 1, 1}), dying(S::u8({1, 256, 14, 14}))}, "", kOneStep},
      {"convolution{result=u8}|mul(0)|add(1)|add(2,2.5)|linear(1.0,-17.5)|relu|linear(0.08,3.0)",
       {S::u8({1, 64, 7, 7}), S::s8Weight({40, 64, 1, 1}), none, S::scales({40, 1, 1}), bias({40, 1, 1}), S::u8({1, 40, 7, 7})}, "", kOneStep},
      {"convolution{result=u8,src_zero=128}|mul(0)|add(1)|add(2,2.5)|relu|linear(0.08,0.0)",
       {S::u8({1, 64, 7, 7}), S::s8Weight({48, 64, 1, 1}), none, S::scales({48, 1, 1}), bias({48, 1, 1}), dying(S::s8({1, 48, 7, 7}))}, "", kOneStep},
      {"convolution{result=u8}|mul(0)|add(1)|add(2)|relu|linear(0.08,0.0)",
       {S::u8({1, 64, 7, 7}), S::s8Weight({48, 64, 1, 1}), none, S::scales({48, 1, 1}), bias({48, 1, 1}), S::of({1, 48, 7, 7})}, "", kOneStep},
      {"convolution{}|mul(0)|add(1)|add(2,100.0)",
       {S::u8({1, 64, 7, 7}), S::s8Weight({48, 64, 1, 1}), none, S::scales({48, 1, 1}), bias({48, 1, 1}), dying(S::of({1, 48, 7, 7}))}, "", kFloat},
      {"convolution{padding=[1,1],result=bf16}|mul(0)|add(1)|relu",
       {S::u8({1, 16, 7, 7}), S::s8Weight({32, 16, 3, 3}), none, S::scales({32, 1, 1}), bias({32, 1, 1})}, "", 1.0 / 256},
      {"convolution{padding=[1,1],result=u8,src_zero=-7}|mul(0)|add(1)|clip(0.0,600.0)|linear(0.2,0.0)",
       {S::s8({1, 36, 9, 9}), S::s8Weight({24, 36, 3, 3}), none, S::scales({24, 1, 1}), bias({24, 1, 1})}, "", kOneStep},
      {"convolution{padding=[1,1],result=s8,src_zero=100}|mul(0)|add(1)|linear(-0.05,20.0)",
       {S::s8({1, 36, 9, 9}), S::s8Weight({24, 36, 3, 3}), none, S::scales({1}), bias({24, 1, 1})}, "", kOneStep},
      {"convolution{padding=[1,1],result=u8}|mul(0)|add(1)|silu|linear(0.05,7.0)",
       {S::u8({1, 32, 8, 8}), S::s8Weight({72, 32, 3, 3}), none, S::scales({72, 1, 1}), bias({72, 1, 1})}, "", kOneStep},
      {"convolution{result=u8}|mul(0)|add(1)|hardswish|add(2,3.0)|linear(0.05,7.0)",
       {S::u8({1, 32, 8, 8}), S::s8Weight({72, 32, 1, 1}), none, S::scales({72, 1, 1}), bias({72, 1, 1}), S::u8({1, 72, 8, 8})}, "", kOneStep},
      {"convolution{result=u8}|mul(0)|add(1)|mul(2)|add(3,4.0)|linear(0.05,7.0)",
       {S::u8({2, 32, 5, 5}), S::s8Weight({20, 32, 1, 1}), none, S::scales({20, 1, 1}), bias({20, 1, 1}), S::of({2, 20, 1, 1}), S::u8({2, 20, 5, 5})}, "", kOneStep},
      {"convolution{}", {S::u8({1, 32, 5, 5}), S::s8Weight({20, 32, 3, 3}), none}, "", kFloat},
      // results that end as bytes in the registers: panels of one to four vectors, lanes that do not exist, bounds, saturation
      {"convolution{result=u8,src_zero=11}|mul(0)|add(1)|add(2,2.5)|clip(20.0,300.0)|linear(0.4,9.0)",
       {S::u8({2, 64, 9, 9}), S::s8Weight({120, 64, 1, 1}), none, S::scales({120, 1, 1}), bias({120, 1, 1}), S::u8({2, 120, 9, 9})}, "", kOneStep},
      {"convolution{result=u8}|mul(0)|add(1)|relu|linear(0.2,0.0)",
       {S::u8({2, 32, 7, 7}), S::s8Weight({80, 32, 1, 1}), none, S::scales({80, 1, 1}), bias({80, 1, 1})}, "", kOneStep},
      {"convolution{result=u8}|mul(0)|add(1)|add(2,3.0)|linear(0.2,40.0)",
       {S::u8({1, 24, 11, 11}), S::s8Weight({16, 24, 1, 1}), none, S::scales({16, 1, 1}), bias({16, 1, 1}), dying(S::u8({1, 16, 11, 11}))}, "", kOneStep},
      {"convolution{groups=2,result=u8,stride=[2,2]}|mul(0)|add(1)|add(2,3.0)|relu|linear(0.2,0.0)",
       {S::u8({1, 64, 15, 15}), S::s8Weight({224, 32, 1, 1}), none, S::scales({224, 1, 1}), bias({224, 1, 1}), dying(S::u8({1, 224, 8, 8}))}, "", kOneStep},
      {"convolution{padding=[1,1],result=u8,src_zero=-50}|mul(0)|add(1)|add(2,3.0)|linear(0.05,90.0)",
       {S::s8({1, 16, 14, 14}), S::s8Weight({96, 16, 3, 3}), none, S::scales({96, 1, 1}), bias({96, 1, 1}), S::u8({1, 96, 14, 14})}, "", kOneStep},
      {"linear{result=u8,src_zero=7}|mul(0)|add(1)|add(2,2.0)|relu|linear(0.1,5.0)",
       {S::u8({61, 128}), S::s8Weight({192, 128}), none, S::scales({192}), bias({192}), dying(S::u8({61, 192}))}, "", kOneStep},
      {"linear{result=u8}|mul(0)|linear(60.0,0.0)", {S::u8({13, 256}), S::s8Weight({128, 256}), none, S::scales({128})}, "", kOneStep},
      {"linear{result=u8}|mul(0)|linear(-3000000.0,40.0)", {S::u8({13, 256}), S::s8Weight({128, 256}), none, S::scales({128})}, "linear_simd_int8", kOneStep},
      // padding that is left out, at one end of lines or at both
      {"convolution{padding=[1,1],result=u8}|mul(0)|add(1)|add(2,3.0)|linear(0.05,30.0)",
       {S::u8({2, 8, 5, 7}), S::s8Weight({32, 8, 3, 3}), none, S::scales({32, 1, 1}), bias({32, 1, 1}), dying(S::u8({2, 32, 5, 7}))}, "", kOneStep},
      {"convolution{padding=[2,2],result=u8,stride=[2,2]}|mul(0)|add(1)|relu|linear(0.02,0.0)",
       {S::u8({1, 16, 31, 33}), S::s8Weight({96, 16, 5, 5}), none, S::scales({96, 1, 1}), bias({96, 1, 1})}, "", kOneStep},
      {"convolution{dilation=[3,1],padding=[3,0],padding_end=[2,1],result=u8}|mul(0)|linear(0.05,99.0)",
       {S::u8({1, 12, 9, 16}), S::s8Weight({64, 12, 3, 2}), none, S::scales({64, 1, 1})}, "", kOneStep},
      {"convolution{padding=[1,1],result=u8,src_zero=-128}|mul(0)|add(1)|relu|linear(0.05,0.0)",
       {S::s8({1, 16, 8, 8}), S::s8Weight({32, 16, 3, 3}), none, S::scales({32, 1, 1}), bias({32, 1, 1})}, "", kOneStep},
      {"convolution{padding=[0,4],result=u8}|mul(0)|linear(0.05,99.0)",
       {S::u8({1, 12, 3, 8}), S::s8Weight({64, 12, 1, 9}), none, S::scales({64, 1, 1})}, "", kOneStep},
      // windows of few channels
      {"convolution{padding=[2,2],result=s8,src_zero=-30}|mul(0)|add(1)|linear(0.1,0.0)",
       {S::s8({2, 3, 21, 19}), S::s8Weight({24, 3, 5, 5}), none, S::scales({24, 1, 1}), bias({24, 1, 1})}, "", kOneStep},
      {"convolution{dilation=[2,1],padding=[2,0],padding_end=[1,3],result=u8,src_zero=200,stride=[1,3]}|mul(0)|add(1)|linear(0.1,128.0)",
       {S::u8({2, 2, 17, 40}), S::s8Weight({64, 2, 3, 17}), none, S::scales({64, 1, 1}), bias({64, 1, 1})}, "", kOneStep},
      {"convolution{src_zero=3,stride=[4,4]}|mul(0)|add(1)|add(2,2.0)",
       {S::u8({2, 3, 18, 37}), S::s8Weight({20, 3, 2, 2}), none, S::scales({20, 1, 1}), bias({20, 1, 1}), S::of({2, 20, 1, 1})}, "", kFloat},
      {"convolution{padding=[5],result=u8,src_zero=9}|mul(0)|linear(0.1,128.0)",
       {S::u8({3, 1, 50}), S::s8Weight({32, 1, 11}), none, S::scales({32, 1})}, "", kOneStep},
      // first layers, odd channels, groups, other ranks
      {"convolution{padding=[3,3],result=u8,src_zero=114,stride=[2,2]}|mul(0)|add(1)|relu|linear(0.1,0.0)",
       {S::u8({1, 3, 32, 32}), S::s8Weight({64, 3, 7, 7}), none, S::scales({64, 1, 1}), bias({64, 1, 1})}, "", kOneStep},
      {"convolution{padding=[1,1],result=u8,src_zero=3,stride=[2,2]}|mul(0)|add(1)|relu|linear(0.1,0.0)",
       {S::u8({2, 1, 28, 28}), S::s8Weight({8, 1, 3, 3}), none, S::scales({8, 1, 1}), bias({8, 1, 1})}, "", kOneStep},
      {"convolution{dilation=[2,2],padding=[2,2],result=u8,src_zero=77}|mul(0)|add(1)|linear(0.05,99.0)",
       {S::u8({2, 17, 13, 11}), S::s8Weight({33, 17, 3, 3}), none, S::scales({33, 1, 1}), bias({33, 1, 1})}, "", kOneStep},
      {"convolution{groups=4,padding=[1,1],result=u8,src_zero=7}|mul(0)|add(1)|relu|linear(0.2,0.0)",
       {S::u8({1, 20, 9, 9}), S::s8Weight({12, 5, 3, 3}), none, S::scales({12, 1, 1}), bias({12, 1, 1})}, "", kOneStep},
      {"convolution{groups=2,padding=[1,1],result=s8}|mul(0)|add(1)|linear(0.1,-20.0)",
       {S::s8({2, 32, 9, 9}), S::s8Weight({64, 16, 3, 3}), none, S::scales({64, 1, 1}), bias({64, 1, 1})}, "", kOneStep},
      {"convolution{padding=[0,0],padding_end=[1,1],result=u8,src_zero=60,stride=[2,2]}|mul(0)|linear(0.1,128.0)",
       {S::u8({1, 16, 16, 16}), S::s8Weight({32, 16, 3, 3}), none, S::scales({32, 1, 1})}, "", kOneStep},
      {"convolution{padding=[1],result=u8,src_zero=6}|mul(0)|linear(0.1,128.0)",
       {S::u8({2, 20, 31}), S::s8Weight({24, 20, 3}), none, S::scales({24, 1})}, "", kOneStep},
      {"convolution{padding=[1,1,1],result=u8,src_zero=6}|mul(0)|linear(0.05,128.0)",
       {S::u8({1, 8, 4, 5, 6}), S::s8Weight({16, 8, 3, 3, 3}), none, S::scales({16, 1, 1, 1})}, "", kOneStep},
      {"convolution{result=u8}|mul(0)|add(1)|relu|linear(0.4,0.0)",
       {S::u8({1, 24, 1, 1}), S::s8Weight({72, 24, 1, 1}), none, S::scales({72, 1, 1}), bias({72, 1, 1})}, "", kOneStep},
      {"convolution{result=u8}|mul(0)", {S::u8({0, 16, 8, 8}), S::s8Weight({16, 16, 3, 3}), none, S::scales({16, 1, 1})}, "", kOneStep},
      // depthwise
      {"convolution{groups=32,padding=[1,1],result=u8,src_zero=5}|mul(0)|add(1)|clip(0.0,300.0)|linear(0.8,0.0)",
       {S::u8({1, 32, 14, 14}), S::s8Weight({32, 1, 3, 3}), none, S::scales({32, 1, 1}), bias({32, 1, 1})}, "", kOneStep},
      {"convolution{groups=72,padding=[2,2],result=u8,src_zero=40,stride=[2,2]}|mul(0)|add(1)|hardswish|linear(0.3,10.0)",
       {S::u8({1, 72, 28, 28}), S::s8Weight({72, 1, 5, 5}), none, S::scales({72, 1, 1}), bias({72, 1, 1})}, "", kOneStep},
      {"convolution{groups=72,padding=[2,2],result=u8,src_zero=40,stride=[2,2]}|mul(0)|add(1)|silu|linear(0.3,10.0)",
       {S::u8({1, 72, 28, 28}), S::s8Weight({72, 1, 5, 5}), none, S::scales({72, 1, 1}), bias({72, 1, 1})}, "", kOneStep},
      {"convolution{groups=72,padding=[2,2],result=u8,src_zero=40,stride=[2,2]}|mul(0)|add(1)|gelu_erf|linear(0.3,10.0)",
       {S::u8({1, 72, 28, 28}), S::s8Weight({72, 1, 5, 5}), none, S::scales({72, 1, 1}), bias({72, 1, 1})}, "", kOneStep},
      {"convolution{groups=17,padding=[1,1],result=s8,src_zero=-5}|mul(0)|add(1)|linear(0.4,3.0)",
       {S::s8({2, 17, 8, 9}), S::s8Weight({17, 1, 3, 3}), none, S::scales({17, 1, 1}), bias({17, 1, 1})}, "", kOneStep},
      {"convolution{groups=24,padding=[3,3],src_zero=250}|mul(0)|add(1)|add(2,100.0)|relu",
       {S::u8({1, 24, 10, 10}), S::s8Weight({24, 1, 7, 7}), none, S::scales({24, 1, 1}), bias({24, 1, 1}), S::of({1, 24, 10, 10})}, "", kFloat},
      {"convolution{dilation=[2,2],groups=33,padding=[2,2],result=u8,src_zero=5}|mul(0)|add(1)|add(2,9.0)|relu|linear(0.08,1.0)",
       {S::u8({1, 33, 10, 10}), S::s8Weight({33, 1, 3, 3}), none, S::scales({33, 1, 1}), bias({33, 1, 1}), S::u8({1, 33, 10, 10})}, "", kOneStep},
      {"convolution{groups=40,padding=[4],result=u8,src_zero=5}|mul(0)|relu|linear(0.5,1.0)",
       {S::u8({2, 40, 21}), S::s8Weight({40, 1, 9}), none, S::scales({40, 1})}, "", kOneStep},
      // matrices
      {"linear{result=u8,src_zero=3}|mul(0)|add(1)|relu|linear(0.1,0.0)", {S::u8({7, 64}), S::s8Weight({33, 64}), none, S::scales({33}), bias({33})}, "", kOneStep},
      {"linear{result=u8}|mul(0)|add(1)|silu|linear(60.0,17.0)", {S::u8({5, 96}), S::s8Weight({33, 96}), none, S::scales({33}), bias({33})}, "linear_simd_int8", kOneStep},
      {"linear{result=u8,src_zero=3}|mul(0)|add(1)|gelu_erf|linear(300.0,52.0)", {S::u8({7, 64}), S::s8Weight({64, 64}), none, S::scales({64}), bias({64})}, "linear_simd_int8", kOneStep},
      {"linear{result=u8}|mul(0)|add(1)|gelu_tanh|linear(60.0,11.0)", {S::u8({5, 96}), S::s8Weight({33, 96}), none, S::scales({33}), bias({33})}, "linear_simd_int8", kOneStep},
      {"linear{result=s8}|mul(0)|gelu_tanh|linear(2000.0,0.0)", {S::u8({5, 96}), S::s8Weight({33, 96}), none, S::scales({33})}, "linear_simd_int8", kOneStep},
      {"linear{result=u8,src_zero=120}|mul(0)|add(1)|gelu_erf|linear(0.1,2.0)", {S::u8({2, 9, 65}), S::s8Weight({50, 65}), none, S::scales({50}), bias({50})}, "", kOneStep},
      {"linear{result=bf16,src_zero=7}|mul(0)|add(1)", {S::u8({7, 64}), S::s8Weight({48, 64}), none, S::scales({48}), bias({48})}, "linear_simd_int8", 1.0 / 256},
      {"linear{result=bf16}|mul(0)|add(1)|gelu_erf", {S::u8({5, 33}), S::s8Weight({35, 33}), none, S::scales({35}), bias({35})}, "linear_simd_int8", 1.0 / 256},
      {"linear{src_zero=120}|mul(0)|add(1)|add(2)", {S::u8({2, 9, 64}), S::s8Weight({48, 64}), none, S::scales({48}), bias({48}), dying(S::of({2, 9, 48}))}, "", kFloat},
      {"linear{result=s8}|mul(0)|linear(0.1,-5.0)", {S::s8({40, 128}), S::s8Weight({96, 128}), none, S::scales({1})}, "", kOneStep},
      {"linear{result=u8}|mul(0)|add(1)|relu|linear(0.02,0.0)", {S::u8({1, 1024}), S::s8Weight({100, 1024}), none, S::scales({100}), bias({100})}, "", kOneStep},
      {"linear{}|mul(0)|add(1)", {S::u8({3, 1}), S::s8Weight({5, 1}), none, S::scales({5}), bias({5})}, "", kFloat},
      // weights that are numbers
      {"linear{}|mul(0)|add(1)|gelu_erf", {S::of({7, 64}), S::s8Weight({33, 64}), none, S::scales({33}), bias({33})}, "linear_onednn_widened_weights", kFloat},
      {"linear{}|mul(0)", {S::of({1, 65}), S::s8Weight({40, 65}), S::weight({40}), S::scales({40})}, "linear_onednn_widened_weights", kFloat},
      // rows rounded on the fly
      {"linear{dynamic=1}|mul(0)|add(1)", {S::of({7, 64}), S::s8Weight({33, 64}), none, S::scales({33}), bias({33})}, "", kRounding},
      {"linear{dynamic=1}|mul(0)|gelu_erf", {S::of({2, 9, 65}), S::s8Weight({50, 65}), S::weight({50}), S::scales({50})}, "", kRounding},
      {"linear{dynamic=1}|mul(0)|add(1)|add(2)", {S::positive({1, 301}), S::s8Weight({64, 301}), none, S::scales({64}), bias({64}), S::of({1, 64})}, "", kRounding},
      {"linear{dynamic=1,result=u8}|mul(0)|relu|linear(10.0,0.0)", {S::of({33, 40}), S::s8Weight({24, 40}), none, S::scales({24})}, "", 0.02},
      {"matmul{result=u8,scale=0.125,transpose_b=1}|linear(0.01,128.0)", {S::u8({2, 3, 20, 32}), S::s8({2, 3, 18, 32})}, "", kOneStep},
      {"matmul{src_zero=9}|linear(0.01,0.0)|add(0)", {S::u8({2, 7, 33}), S::s8({33, 9}), S::of({1, 1, 9})}, "", kFloat},
      {"matmul{result=s8,src_zero=9,weight_zero=100}|linear(0.0005,0.0)", {S::u8({2, 7, 33}), S::u8({2, 33, 9})}, "", kOneStep},
      {"matmul{scale=0.125,src_zero=120,transpose_b=1,weight_zero=131}|linear(0.01,0.0)|add(0)",
       {S::u8({2, 3, 20, 64}), S::u8({2, 3, 18, 64}), S::of({2, 1, 1, 18})}, "matmul_onednn_widened", kFloat},
      {"matmul{result=u8,transpose_a=1}|linear(0.001,3.0)", {S::s8({2, 33, 7}), S::s8({33, 9})}, "", kOneStep},
  });
  return cases;
}

// Operands at the ends of their ranges: sums are exact all the same. With 7-bit weights the library computes on every
// instruction set, with 8 bits only where it has VNNI.
const std::vector<Case>& integerExtremeCases() {
  using S = Source;
  const Source none = S::none();
  static const std::vector<Case> cases = takenByOurs({
      {"convolution{padding=[1,1]}|mul(0)", {extreme(S::u8({1, 256, 5, 5})), extreme(S::s8Weight({32, 256, 3, 3})), none, S::scales({32, 1, 1})}, "", kFloat},
      {"convolution{padding=[1,1],src_zero=255}|mul(0)", {extreme(S::u8({1, 64, 5, 5})), extreme(S::s8Weight({32, 64, 3, 3})), none, S::scales({32, 1, 1})}, "", kFloat},
      {"convolution{src_zero=-128}|mul(0)", {extreme(S::s8({1, 512, 5, 5})), extreme(S::s8Weight({32, 512, 1, 1})), none, S::scales({32, 1, 1})}, "", kFloat},
      {"convolution{padding=[1,1],result=u8,src_zero=128}|mul(0)|relu|linear(0.01,3.0)",
       {extreme(S::u8({1, 60, 9, 9})), extreme(S::s8Weight({40, 60, 3, 3})), none, S::scales({40, 1, 1})}, "", kOneStep},
      {"convolution{groups=32,padding=[2,2],src_zero=127}|mul(0)", {extreme(S::s8({1, 32, 8, 8})), extreme(S::s8Weight({32, 1, 5, 5})), none, S::scales({32, 1, 1})}, "", kFloat},
      {"convolution{groups=32,padding=[1,1]}|mul(0)", {extreme(S::u8({1, 32, 8, 8})), extreme(S::s8Weight({32, 1, 3, 3})), none, S::scales({32, 1, 1})}, "", kFloat},
      {"linear{}|mul(0)", {extreme(S::u8({5, 2048})), extreme(S::s8Weight({40, 2048})), none, S::scales({40})}, "", kFloat},
      {"linear{src_zero=-128}|mul(0)", {extreme(S::s8({5, 2050})), extreme(S::s8Weight({40, 2050})), none, S::scales({40})}, "", kFloat},
      {"convolution{padding=[1,1]}|mul(0)", {extreme(S::u8({1, 256, 5, 5})), small(S::s8Weight({32, 256, 3, 3})), none, S::scales({32, 1, 1})}, "convolution_onednn", kFloat},
      {"convolution{padding=[1,1],src_zero=200}|mul(0)", {extreme(S::u8({1, 64, 5, 5})), small(S::s8Weight({32, 64, 3, 3})), none, S::scales({32, 1, 1})}, "", kFloat},
      {"convolution{groups=32,padding=[1,1]}|mul(0)", {extreme(S::u8({1, 32, 8, 8})), small(S::s8Weight({32, 1, 3, 3})), none, S::scales({32, 1, 1})}, "", kFloat},
      {"linear{}|mul(0)", {extreme(S::u8({64, 2048})), small(S::s8Weight({40, 2048})), none, S::scales({40})}, "", kFloat},
      {"linear{result=u8}|mul(0)|relu|linear(0.02,0.0)", {extreme(S::u8({64, 260})), small(S::s8Weight({48, 260})), none, S::scales({48})}, "", kOneStep},
  });
  return cases;
}

const std::vector<Case>& integerChainCases() {
  using S = Source;
  static const std::vector<Case> cases = {
      {"pointwise{result=u8}|linear(40.0,128.0)", {S::of({1, 64, 28, 28})}, "pointwise_simd", kOneStep, true},
      {"pointwise{}|linear(0.02,-2.5)", {S::u8({1, 64, 28, 28})}, "pointwise_simd", kFloat, true},
      {"pointwise{result=s8}|linear(0.7,-12.0)", {S::u8({2, 17, 5, 3})}, "pointwise_simd", kOneStep},
      {"pointwise{result=u8}|linear(0.02,-2.5)|add(0,0.03)|relu|linear(50.0,4.0)", {S::u8({1, 33, 7, 7}), S::u8({1, 33, 7, 7})}, "pointwise_simd", kOneStep},
      {"pointwise{result=s8}|mul(0)|add(1)|linear(0.1,0.0)", {S::s8({2, 17, 5, 5}), S::of({17, 1, 1}), S::s8({2, 17, 1, 1})}, "pointwise_simd", kOneStep},
      {"pointwise{result=u8}|linear(0.01,0.0)|sigmoid|linear(255.0,0.0)", {S::s8({5, 65})}, "pointwise_simd", kOneStep},
      {"pointwise{result=bf16}|linear(0.01,0.0)", {S::s8({5, 65})}, "pointwise_simd", 1.0 / 256},
      {"pointwise{}|add(0)", {S::of({5, 65}), S::u8({65})}, "pointwise_simd", kFloat},
      {"pointwise{result=u8}", {S::u8({3, 40})}, "pointwise_simd", 0},
      {"pointwise{result=u8}|linear(3.0,0.0)", {S::of({0, 5})}, "pointwise_simd", kOneStep},
      {"pool{kernel=[3,3],mode=max,padding=[1,1],stride=[2,2]}", {S::u8({1, 64, 28, 28})}, "pool_onednn", 0, true},
      {"pool{kernel=[3,3],mode=max,padding=[1,1],stride=[2,2]}", {S::s8({2, 17, 9, 7})}, "pool_onednn", 0},
      {"pool{kernel=[3,3],mode=max,padding=[1,1],stride=[2,2]}", {S::u8({1, 64, 112, 112})}, "pool_onednn", 0, true},
      {"pool{ceil_mode=1,dilation=[2,1],kernel=[2,5],mode=max,padding=[1,2],stride=[1,3]}", {S::u8({2, 70, 8, 11})}, "", 0},
      {"pool{kernel=[3],mode=max,stride=[1]}", {S::s8({2, 5, 9})}, "", 0},
      {"pool{kernel=[2,2],mode=avg,stride=[2,2]}", {S::u8({2, 17, 6, 6})}, "pool_onednn", kOneStep},
      {"pool{kernel=[3,3],mode=avg,padding=[1,1],result=f32,stride=[2,2]}", {S::s8({2, 16, 7, 6})}, "", kFloat},
      {"pool{ceil_mode=1,kernel=[3,3],mode=avg_exclude_pad,padding=[1,1],stride=[2,2]}", {S::u8({1, 16, 8, 8})}, "pool_onednn", kOneStep},
      {"adaptive_pool{mode=avg,output=[1,1]}", {S::u8({1, 512, 7, 7})}, "", kOneStep, true},
      {"adaptive_pool{mode=avg,output=[1,1],result=f32}", {S::s8({2, 33, 5, 7})}, "", kFloat},
      {"adaptive_pool{mode=avg,output=[3,2]}", {S::u8({2, 33, 5, 7})}, "", kOneStep},
      {"adaptive_pool{mode=max,output=[3,3]}", {S::u8({2, 16, 6, 9})}, "", 0},
      {"reduce{axes=[2,3],keepdim=1,mode=mean,result=f32}", {S::u8({2, 40, 7, 7})}, "reduce_simd_int8", kFloat},
      {"reduce{axes=[1],keepdim=0,mode=mean}", {S::u8({2, 12, 33})}, "reduce_bytes_simd", kOneStep},
      {"reduce{axes=[1],keepdim=1,mode=sum,result=f32}", {S::s8({2, 600, 85})}, "reduce_bytes_simd", kFloat},
      {"reduce{axes=[0],keepdim=0,mode=sum,result=f32}", {S::u8({300, 700})}, "reduce_bytes_simd", kFloat, true},
      {"reduce{axes=[2,3],keepdim=1,mode=mean,result=f32}", {S::u8({1, 2048, 7, 7})}, "", kFloat, true},
      {"reduce{axes=[1,2],keepdim=0,mode=max}", {S::s8({2, 12, 33})}, "reduce_simd_int8", 0},
      {"concat{axis=1}", {S::u8({2, 16, 5, 5}), S::u8({2, 17, 5, 5}), S::u8({2, 3, 5, 5})}, "concat_copy", 0},
      {"upsample{mode=nearest,output=[10,14]}", {S::u8({2, 17, 5, 7})}, "upsample_simd_int8", 0},
      {"pad{begin=[0,0,1,2],end=[0,0,3,1],mode=constant,value=7}", {S::u8({2, 17, 5, 7})}, "pad_copy_int8", 0},
      {"embedding{result=f32}", {S::ids({2, 3}, 11), S::s8Weight({11, 5})}, "embedding_ref", 0},
      {"embedding{}", {S::ids({2, 3}, 11), S::s8Weight({11, 5})}, "", 0},
      {"gather{axis=1}", {S::u8({3, 7, 5}), S::ids({4}, 7)}, "", 0},
      {"reorder{}", {S::u8({2, 17, 5, 3})}, "", 0},
      {"reorder{}", {S::s8({1, 64, 28, 28})}, "", 0, true},
      {"cast{dtype=f32}", {S::u8({2, 17, 5, 5})}, "cast_copy", 0},
      {"reshape{shape=[2,-1]}", {S::u8({4, 3})}, "", 0},
      {"permute{order=[0,2,1]}", {S::s8({2, 3, 4})}, "", 0},
  };
  return cases;
}

}  // namespace ipex_studio::kernel_test
