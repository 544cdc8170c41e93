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
      {"concat{axis=1}", {bf16(S::of({2, 16, 5, 5})), bf16(S::of({2, 17, 5, 5}))}, "concat_copy", 0},
      {"cast{dtype=f32}", {bf16(S::of({2, 17, 5, 5}))}, "cast_copy", 0},
      {"convolution{dilation=[1,1],groups=1,padding=[1,1],stride=[1,1]}|add(0)|relu",
       {bf16(S::of({1, 64, 14, 14})), bf16(S::weight({64, 64, 3, 3})), S::weight({64}),
        bf16(S::dying({1, 64, 14, 14}))},
       "",
       kOneRounding,
       true},
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
      if (test.spec.rfind("pool", 0) == 0) continue;
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
