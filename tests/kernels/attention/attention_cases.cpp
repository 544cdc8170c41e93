// Attention in all shapes: heads, few and many queries, other numbers of keys, masks, causal.
#include "tests/kernels/cases.h"

namespace ipex_studio::kernel_test {

const std::vector<Case>& attentionCases() {
  const auto of = [](Dims dims) { return Source::of(dims); };
  const Source none = Source::none();
  const char* const simd = "attention_simd";
  static const std::vector<Case> cases = {
      {"attention{scale=0.25}", {of({2, 3, 20, 16}), of({2, 3, 20, 16}), of({2, 3, 20, 16}), none}, simd},
      {"attention{heads_last=1,scale=0.35}", {of({2, 3, 33, 8}), of({2, 3, 33, 8}), of({2, 3, 33, 8}), none}, simd},
      {"attention{heads_last=1}", {of({6, 9, 5}), of({6, 9, 5}), of({6, 9, 5}), none}, simd},
      {"attention{heads_last=2,scale=0.35}",
       {of({2, 3, 4, 33, 8}), of({2, 3, 1, 35, 8}), of({2, 3, 1, 35, 7}), of({2, 1, 1, 33, 35})},
       simd},
      {"attention{heads_last=2}", {of({2, 3, 1, 16}), of({2, 1, 40, 16}), of({2, 1, 40, 16}), none}, simd},
      {"attention{}", {of({7, 5}), of({11, 5}), of({11, 3}), none}, simd},
      // More queries than one block, more keys than one block, all tails.
      {"attention{scale=0.2}", {of({2, 131, 24}), of({2, 531, 24}), of({2, 531, 17}), none}, simd},
      {"attention{scale=0.1}", {of({65, 70}), of({257, 70}), of({257, 70}), none}, simd},
      // One and a few queries.
      {"attention{scale=0.125}", {of({2, 3, 1, 64}), of({2, 3, 77, 64}), of({2, 3, 77, 64}), of({2, 1, 1, 77})}, simd},
      {"attention{heads_last=1}", {of({3, 4, 19}), of({3, 40, 19}), of({3, 40, 21}), of({4, 40})}, simd},
      {"attention{causal=1}", {of({2, 4, 16}), of({2, 9, 16}), of({2, 9, 5}), none}, simd},
      {"attention{}", {of({2, 1, 16}), of({2, 1, 16}), of({2, 1, 16}), none}, simd},
      // Masks: along keys, per head, per query, of lower rank, a single number.
      {"attention{scale=0.5}", {of({2, 3, 10, 8}), of({2, 3, 12, 8}), of({2, 3, 12, 8}), of({2, 1, 1, 12})}, simd},
      {"attention{scale=0.5}", {of({2, 3, 10, 8}), of({2, 3, 12, 8}), of({2, 3, 12, 8}), of({1, 3, 10, 12})}, simd},
      {"attention{scale=0.5}", {of({2, 3, 10, 8}), of({2, 3, 12, 8}), of({2, 3, 12, 8}), of({10, 1})}, simd},
      {"attention{scale=0.5}", {of({2, 3, 10, 8}), of({2, 3, 12, 8}), of({2, 3, 12, 8}), of({12})}, simd},
      {"attention{scale=0.5}", {of({2, 3, 10, 8}), of({2, 3, 12, 8}), of({2, 3, 12, 8}), of({1})}, simd},
      {"attention{scale=0.3}", {of({4, 2, 49, 32}), of({4, 2, 49, 32}), of({4, 2, 49, 32}), of({4, 2, 49, 49})}, simd},
      {"attention{}", {of({5, 8}), of({6, 8}), of({6, 8}), of({3, 5, 6})}, simd},
      {"attention{fill=-1e9,scale=0.3}",
       {of({2, 3, 20, 8}), of({2, 3, 12, 8}), of({2, 3, 12, 8}), Source::flags({1, 1, 20, 12})},
       simd},
      {"attention{keep=-2.0,scale=0.3}",
       {of({2, 3, 20, 8}), of({2, 3, 12, 8}), of({2, 3, 12, 8}), Source::flags({2, 1, 1, 12})},
       simd},
      {"attention{keep=-1e4,scale=0.3}",
       {of({2, 3, 2, 8}), of({2, 3, 12, 8}), of({2, 3, 12, 8}), Source::flags({2, 12})},
       simd},
      // Heads that share keys and values.
      {"attention{scale=0.4}", {of({2, 4, 9, 8}), of({2, 1, 9, 8}), of({1, 1, 9, 8}), none}, simd},
      {"attention{causal=1,scale=0.25}", {of({2, 70, 16}), of({2, 70, 16}), of({2, 70, 16}), none}, simd},
      {"attention{causal=1,scale=0.25}", {of({300, 12}), of({600, 12}), of({600, 12}), of({300, 600})}, simd},
      {"attention{causal=1}", {of({2, 90, 4}), of({2, 40, 4}), of({2, 40, 4}), none}, simd},
      // A mask that is constant, as position biases are, and one that heads share; one query, or two beside whole
      // vectors.
      {"attention{heads_last=1,scale=0.2}",
       {of({4, 3, 49, 32}), of({4, 3, 49, 32}), of({4, 3, 49, 32}), Source::weight({1, 3, 49, 49})},
       simd,
       4e-6,
       true},
      {"attention{scale=0.3}",
       {of({2, 3, 18, 8}), of({2, 3, 12, 8}), of({2, 3, 12, 8}), Source::weight({2, 3, 18, 12})},
       simd},
      {"attention{causal=1,scale=0.3}", {of({3, 34, 8}), of({3, 34, 8}), of({3, 34, 8}), of({34, 34})}, simd},
      // Results in u8 and s8.
      {"attention{heads_last=1,result=u8,scale=0.35}|linear(64.0,128.0)",
       {of({2, 3, 33, 8}), of({2, 3, 33, 8}), of({2, 3, 33, 8}), none},
       simd,
       0.01},
      {"attention{result=s8,scale=0.35}|linear(64.0,0.0)",
       {of({2, 3, 3, 24}), of({2, 3, 33, 24}), of({2, 3, 33, 19}), none},
       simd,
       0.01},
      {"attention{result=bf16,scale=0.35}", {of({7, 24}), of({33, 24}), of({33, 19}), none}, simd, 0.004},
      {"attention{heads_last=1,scale=0.125}",
       {of({1, 12, 128, 64}), of({1, 12, 128, 64}), of({1, 12, 128, 64}), of({1, 1, 1, 128})},
       simd,
       4e-6,
       true},
      {"attention{heads_last=1,scale=0.125}",
       {of({1, 6, 197, 64}), of({1, 6, 197, 64}), of({1, 6, 197, 64}), none},
       simd,
       4e-6,
       true},
      {"attention{heads_last=1,scale=0.125}",
       {of({1, 12, 1, 64}), of({1, 12, 1024, 64}), of({1, 12, 1024, 64}), none},
       simd,
       4e-6,
       true},
  };
  return cases;
}

// The same shapes with products in BF16, from FP32 and from BF16; results in every type. The largest errors come from
// scores whose sources are rounded: a score of 10 is known to 0.03.
const std::vector<Case>& attentionBf16Cases() {
  static const std::vector<Case> cases = [] {
    constexpr double kSourcesRounded = 0.05, kWeightsRounded = 1.0 / 128;
    std::vector<Case> made;
    for (Case test : attentionCases()) {
      OpSpec spec = parseOpSpec(test.spec);
      if (spec.has("result")) continue;
      spec.attributes["products"] = std::string("bf16");
      const auto add = [&](const char* result, double tolerance) {
        Case next = test;
        OpSpec own = spec;
        own.attributes["result"] = std::string(result);
        // Bytes of values between -2 and 2: a step is 1/64.
        if (own.stringOr("result", "") == "u8") own.post_ops.push_back(unaryPostOp(PostOpKind::kLinear, 64, 128));
        if (own.stringOr("result", "") == "s8") own.post_ops.push_back(unaryPostOp(PostOpKind::kLinear, 64, 0));
        next.spec = own.text();
        next.kernel = "attention_simd_bf16";
        next.tolerance = tolerance;
        made.push_back(next);
      };
      // The reference is slow on large cases.
      const std::int64_t queries = test.src[0].dims[test.src[0].dims.rank - 2],
                         keys = test.src[1].dims[test.src[1].dims.rank - 2];
      const bool large = test.bench || queries * keys > 10000;
      if (!large) add("f32", kSourcesRounded);
      const std::size_t number = large ? 0 : made.size() / 4 % 3;
      for (std::size_t s = 0; s < 3; ++s) {
        if (number != 1 || s != 1) test.src[s].dtype = DType::kBf16;  // some keys stay FP32
      }
      const double tolerance = number != 1 ? kWeightsRounded : kSourcesRounded;
      add("bf16", tolerance);
      if (large) continue;
      add("f32", tolerance);
      add(number == 2 ? "s8" : "u8", 0.02 + tolerance);
    }
    return made;
  }();
  return cases;
}

}  // namespace ipex_studio::kernel_test
