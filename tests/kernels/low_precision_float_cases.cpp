// BF16 and FP16 operands, sums in FP32. The tolerance is one rounding of the result: 2^-8 or 2^-11 of its size.
#include "tests/kernels/cases.h"

namespace ipex_studio::kernel_test {
namespace {

constexpr double kOneRounding = 1.0 / 256;

Source bf16(Source source) {
  source.dtype = DType::kBf16;
  return source;
}

}  // namespace

const std::vector<Case>& bf16Cases() {
  using S = Source;
  static const std::vector<Case> cases = {
      {"pointwise{}|add(0)|relu",
       {bf16(S::of({1, 64, 28, 28})), bf16(S::of({1, 64, 28, 28}))},
       "pointwise_simd",
       kOneRounding,
       true},
      {"pointwise{}|mul(0)", {bf16(S::dying({2, 17, 5, 3})), S::of({17, 1, 1})}, "pointwise_simd", kOneRounding},
      {"pointwise{}|mul(0)", {bf16(S::of({3, 17, 4, 4})), bf16(S::of({3, 17, 1, 1}))}, "pointwise_simd", kOneRounding},
      {"pointwise{}|add(0)|mul(1)",
       {bf16(S::of({5, 33})), S::of({5, 33}), bf16(S::of({33}))},
       "pointwise_simd",
       kOneRounding},
      {"pointwise{}|add(0)|gelu_erf", {S::of({7, 65}), bf16(S::of({65}))}, "pointwise_simd"},
      {"pointwise{}|add(0)", {bf16(S::of({1, 4})), S::dying({2, 4})}, "pointwise_simd", kOneRounding},
      {"pointwise{}|silu|hardswish", {bf16(S::of({333}))}, "pointwise_simd", kOneRounding},
      {"pointwise{}|relu", {bf16(S::of({0, 5}))}, "pointwise_simd", kOneRounding},
      {"pool{kernel=[3,3],mode=max,padding=[1,1],stride=[2,2]}", {bf16(S::of({1, 64, 14, 14}))}, "", kOneRounding},
      {"pool{kernel=[2,2],mode=avg,stride=[2,2]}", {bf16(S::of({2, 17, 6, 6}))}, "", kOneRounding},
      {"softmax{axis=-1}", {bf16(S::dying({1, 4, 32, 32})), S::none()}, "softmax_simd", kOneRounding, true},
      {"softmax{axis=3,scale=0.125}", {bf16(S::of({2, 4, 7, 33})), S::of({2, 1, 1, 33})}, "softmax_simd", kOneRounding},
      {"softmax{axis=-1}", {bf16(S::of({2, 4, 7, 65})), bf16(S::of({1, 4, 7, 65}))}, "softmax_simd", kOneRounding},
      {"softmax{axis=-1}", {bf16(S::of({3, 5})), bf16(S::of({3, 1}))}, "softmax_simd", kOneRounding},
      {"softmax{axis=-1,log=1,scale=2.0}", {bf16(S::of({5, 1000})), S::none()}, "softmax_simd", kOneRounding},
      {"softmax{axis=0}", {bf16(S::of({7})), S::none()}, "softmax_simd", kOneRounding},
      {"softmax{axis=1}", {bf16(S::of({2, 21, 9, 5})), S::none()}, "", kOneRounding},
      {"concat{axis=1}", {bf16(S::of({2, 16, 5, 5})), bf16(S::of({2, 17, 5, 5}))}, "concat_copy", 0},
      {"cast{dtype=f32}", {bf16(S::of({2, 17, 5, 5}))}, "cast_copy", 0},
      {"convolution{dilation=[1,1],groups=1,padding=[1,1],stride=[1,1]}|add(0)|relu",
       {bf16(S::of({1, 64, 14, 14})), bf16(S::weight({64, 64, 3, 3})), S::weight({64}),
        bf16(S::dying({1, 64, 14, 14}))},
       "",
       kOneRounding,
       true},
      // Activations in pieces; the tail of a row is no whole vector.
      {"convolution{}|silu",
       {bf16(S::of({1, 16, 9, 11})), bf16(S::weight({43, 16, 1, 1})), S::weight({43})},
       "convolution_simd_bf16",
       kOneRounding},
      {"convolution{}|add(0)|gelu_tanh",
       {bf16(S::of({1, 16, 9, 11})), bf16(S::weight({24, 16, 1, 1})), S::none(), bf16(S::of({1, 24, 9, 11}))},
       "convolution_simd_bf16",
       kOneRounding},
      {"linear{}|mul(0)|silu",
       {bf16(S::of({17, 64})), bf16(S::weight({33, 64})), S::weight({33}), S::of({33})},
       "linear_simd_bf16",
       kOneRounding},
      {"convolution{groups=37,padding=[1,1]}|silu",
       {bf16(S::of({2, 37, 9, 13})), bf16(S::weight({37, 1, 3, 3})), S::weight({37})},
       "convolution_depthwise_simd",
       kOneRounding},
      {"convolution{groups=32,padding=[2,2],stride=[2,2]}|add(0)|gelu_erf",
       {bf16(S::of({1, 32, 11, 10})), bf16(S::weight({32, 1, 5, 5})), S::none(), S::dying({1, 32, 6, 5})},
       "convolution_depthwise_simd",
       kOneRounding},
      {"convolution{groups=24,padding=[1,1]}|hardswish|mul(0)|add(1)",
       {bf16(S::of({1, 24, 8, 9})), bf16(S::weight({24, 1, 3, 3})), S::weight({24}), bf16(S::of({24, 1, 1})),
        bf16(S::dying({1, 24, 8, 9}))},
       "convolution_depthwise_simd",
       kOneRounding},
      {"convolution{groups=16,padding=[3],result=f32}|add(0)",
       {bf16(S::of({1, 16, 40})), bf16(S::weight({16, 1, 7})), S::none(), bf16(S::of({1, 16, 40}))},
       "convolution_depthwise_simd",
       2e-5},
      // Pairs of pixels.
      {"convolution{padding=[3,3],stride=[2,2]}|relu",
       {bf16(S::of({2, 3, 33, 37})), bf16(S::weight({20, 3, 7, 7})), S::weight({20})},
       "convolution_simd_bf16",
       kOneRounding},
      {"convolution{padding=[1,1],result=f32}|add(0)",
       {bf16(S::of({1, 3, 19, 41})), bf16(S::weight({33, 3, 3, 3})), S::weight({33}), bf16(S::of({1, 33, 19, 41}))},
       "convolution_simd_bf16",
       2e-5},
      {"convolution{result=f32,stride=[16,16]}",
       {bf16(S::of({1, 3, 32, 48})), bf16(S::weight({40, 3, 16, 16})), S::none()},
       "convolution_simd_bf16",
       2e-5},
      {"convolution{padding=[2],result=f32,stride=[5]}",
       {bf16(S::of({2, 1, 203})), bf16(S::weight({24, 1, 10})), S::weight({24})},
       "convolution_simd_bf16",
       2e-5},
      {"convolution{padding=[0,1],padding_end=[2,3],result=f32,stride=[3,4]}",
       {bf16(S::of({1, 4, 11, 18})), bf16(S::weight({9, 4, 1, 5})), S::none()},
       "convolution_simd_bf16",
       2e-5},
      {"convolution{padding=[1,1,1],result=f32,stride=[1,2,1]}",
       {bf16(S::of({1, 2, 5, 9, 21})), bf16(S::weight({16, 2, 3, 3, 2})), S::weight({16})},
       "convolution_simd_bf16",
       2e-5},
      {"convolution{dilation=[3,1],padding=[2,0],result=f32}",
       {bf16(S::of({1, 3, 12, 5})), bf16(S::weight({8, 3, 2, 4})), S::none()},
       "convolution_simd_bf16",
       2e-5},
      {"convolution{padding=[1,1]}|mul(0)|add(1)|relu",
       {bf16(S::of({2, 17, 13, 14})), bf16(S::weight({37, 17, 3, 3})), S::weight({37}), bf16(S::of({37, 1, 1})),
        S::of({2, 37, 13, 14})},
       "convolution_winograd_4x4",
       kOneRounding},
      {"convolution{dilation=[2,1],padding=[2,1],result=f32}|add(0)",
       {bf16(S::of({1, 32, 17, 16})), bf16(S::weight({20, 32, 3, 3})), S::none(), bf16(S::of({1, 20, 17, 16}))},
       "convolution_winograd",
       4e-5},
      {"convolution{dilation=[1,1],groups=1,padding=[0,0],result=f32,stride=[1,1]}|gelu_erf",
       {bf16(S::of({1, 40, 7, 7})), bf16(S::weight({72, 40, 1, 1})), S::weight({72})},
       "",
       2e-5},
      {"convolution{dilation=[1,1],groups=72,padding=[2,2],stride=[2,2]}|hardswish",
       {bf16(S::of({1, 72, 28, 28})), bf16(S::weight({72, 1, 5, 5})), S::weight({72})},
       "",
       kOneRounding,
       true},
      {"linear{}|gelu_erf",
       {bf16(S::of({1, 128, 256})), bf16(S::weight({512, 256})), S::weight({512})},
       "",
       kOneRounding,
       true},
      {"linear{result=f32}|add(0)",
       {bf16(S::of({7, 65})), bf16(S::weight({33, 65})), S::weight({33}), S::of({7, 33})},
       "",
       2e-5},
      {"linear{}|mul(0)",
       {bf16(S::of({3, 64})), bf16(S::weight({16, 64})), S::none(), bf16(S::of({3, 16}))},
       "",
       kOneRounding},
      // products of pairs: rows in place, in windows, gathered; tails of rows and columns; groups; results in FP32
      {"convolution{}|silu",
       {bf16(S::of({1, 24, 9, 11})), bf16(S::weight({72, 24, 1, 1})), S::weight({72})},
       "convolution_simd_bf16",
       kOneRounding},
      {"convolution{stride=[2,2]}|add(0)|relu|mul(1)|silu",
       {bf16(S::of({2, 40, 28, 30})), bf16(S::weight({96, 40, 1, 1})), S::weight({96}), bf16(S::of({2, 96, 14, 15})),
        S::of({2, 96, 1, 1})},
       "convolution_simd_bf16",
       kOneRounding},
      {"convolution{padding=[1,1]}|add(0)",
       {bf16(S::of({2, 18, 12, 23})), bf16(S::weight({19, 18, 3, 3})), S::none(), bf16(S::dying({2, 19, 12, 23}))},
       "convolution_simd_bf16",
       kOneRounding},
      {"convolution{padding=[2,1],padding_end=[0,3],stride=[2,1]}|add(0)|hardswish",
       {bf16(S::of({1, 34, 9, 28})), bf16(S::weight({40, 34, 3, 5})), S::weight({40}), S::of({1, 40, 5, 28})},
       "convolution_simd_bf16",
       kOneRounding},
      {"convolution{groups=3,padding=[1,1],stride=[2,2]}|mul(0)",
       {bf16(S::of({2, 12, 7, 7})), bf16(S::weight({9, 4, 3, 3})), S::none(), bf16(S::of({9, 1, 1}))},
       "convolution_simd_bf16",
       kOneRounding},
      {"convolution{padding=[1,1],result=f32}|clip(-20.0,20.0)",
       {bf16(S::of({2, 512, 4, 14})), bf16(S::weight({33, 512, 3, 3})), S::weight({33})},
       "convolution_simd_bf16",
       1e-5},
      {"convolution{dilation=[5,14],padding=[5,14]}|relu",
       {bf16(S::of({1, 128, 9, 30})), bf16(S::weight({24, 128, 3, 3})), S::weight({24})},
       "convolution_simd_bf16",
       kOneRounding},
      {"convolution{padding=[1,0,1],stride=[1,2,1]}|gelu_erf",
       {bf16(S::of({2, 12, 4, 6, 17})), bf16(S::weight({25, 12, 3, 1, 3})), S::weight({25})},
       "convolution_simd_bf16",
       kOneRounding},
      {"linear{}|gelu_erf|add(0)",
       {bf16(S::of({3, 19, 66})), bf16(S::weight({51, 66})), S::weight({51}), bf16(S::of({3, 19, 51}))},
       "linear_simd_bf16",
       kOneRounding},
      {"linear{result=f32}|add(0)",
       {bf16(S::of({7, 64})), bf16(S::weight({33, 64})), S::none(), S::dying({7, 33})},
       "linear_simd_bf16",
       2e-5},
      {"upsample{mode=bilinear,output=[23,18]}", {bf16(S::of({2, 19, 9, 7}))}, "upsample_simd", kOneRounding},
      {"upsample{mode=nearest,output=[18,14]}", {bf16(S::of({1, 40, 9, 7}))}, "upsample_simd", 0},
      {"upsample{align_corners=1,mode=bicubic,output=[9,21]}",
       {bf16(S::of({1, 3, 9, 10}))},
       "upsample_simd",
       kOneRounding},
      {"squeeze_excite{activation=silu,axes=2,gate=sigmoid}",
       {bf16(S::of({2, 72, 14, 13})), S::weight({18, 72}), S::weight({18}), S::weight({72, 18}), S::weight({72})},
       "squeeze_excite_simd",
       kOneRounding},
      {"squeeze_excite{activation=relu,axes=2,gate=hardsigmoid}|add(0)|hardswish",
       {bf16(S::of({3, 29, 7, 7})), S::weight({8, 29}), S::none(), S::weight({29, 8}), S::none(),
        bf16(S::dying({3, 29, 7, 7}))},
       "squeeze_excite_simd",
       kOneRounding},
      {"matmul{scale=0.125,transpose_b=1}",
       {bf16(S::of({1, 12, 64, 64})), bf16(S::of({1, 12, 64, 64}))},
       "",
       kOneRounding,
       true},
      {"matmul{result=f32}", {bf16(S::of({2, 7, 33})), bf16(S::of({33, 9}))}, "", 2e-5},
  };
  return cases;
}

// The same operands in FP16 for the kinds that accept it; products that native code declines on most CPUs go by FP32.
const std::vector<Case>& f16Cases() {
  static const std::vector<Case> cases = [] {
    std::vector<Case> made;
    for (Case test : bf16Cases()) {
      if (test.spec.rfind("pool", 0) == 0 || test.kernel.find("_bf16") != std::string::npos) continue;
      if (test.spec.rfind("upsample", 0) == 0 || test.spec.rfind("squeeze_excite", 0) == 0) continue;
      for (Source& source : test.src) {
        if (source.dtype == DType::kBf16) source.dtype = DType::kF16;
      }
      if (test.tolerance == kOneRounding) test.tolerance /= 8;
      if (test.spec.rfind("convolution", 0) == 0) test.kernel = "convolution_onednn_upconverted_floats";
      if (test.spec.rfind("linear", 0) == 0) test.kernel = "linear_onednn_upconverted_floats";
      if (test.spec.rfind("matmul", 0) == 0) test.kernel = "matmul_onednn_upconverted_floats";
      made.push_back(test);
    }
    using S = Source;
    const auto f16 = [](Source source) {
      source.dtype = DType::kF16;
      return source;
    };
    // A bias in FP16, as models that are FP16 as a whole have it.
    made.push_back({"linear{}|relu",
                    {f16(S::of({5, 33})), f16(S::weight({17, 33})), f16(S::weight({17}))},
                    "linear_onednn_upconverted_floats",
                    kOneRounding / 8});
    made.push_back({"cast{dtype=f16}", {S::of({2, 17, 5, 5})}, "cast_copy", 0});
    made.push_back({"cast{dtype=f16}", {S::bf16({3, 700})}, "cast_copy", 0});
    made.push_back({"cast{dtype=f16}", {S::ids({33}, 5000)}, "cast_copy", 0});
    made.push_back({"cast{dtype=bf16}", {f16(S::of({3, 700}))}, "cast_copy", 0});
    made.push_back({"pointwise{result=f16}|square", {S::of({5, 65})}, "pointwise_simd", kOneRounding / 8});
    return made;
  }();
  return cases;
}

}  // namespace ipex_studio::kernel_test
