// Products of floats and weights of 8 or 4 bits, and look-ups in tables of bytes.
#include "tests/kernels/cases.h"

namespace ipex_studio::kernel_test {

const std::vector<Case>& narrowWeightCases() {
  using S = Source;
  const Source none = S::none();
  const char* const linear = "linear_simd_narrow_weights";
  const char* const wide = "linear_onednn_widened_weights";
  const char* const rows = "embedding_simd_int8";
  const char* const bags = "embedding_bag_simd_int8";
  constexpr double kFloat = 3e-6;
  constexpr double kBf16 = 1.0 / 256;
  static const std::vector<Case> cases = {
      // a scale per channel, in the chain
      {"linear{}|mul(0)", {S::of({1, 64}), S::s8Weight({40, 64}), none, S::scales({40})}, linear, kFloat},
      {"linear{}|mul(0)|add(1)|gelu_erf", {S::of({2, 65}), S::s8Weight({33, 65}), none, S::scales({33}), S::weight({33})}, linear, kFloat},
      {"linear{}|mul(0)", {S::of({3, 31}), S::s8Weight({7, 31}), S::weight({7}), S::scales({7})}, linear, kFloat},
      {"linear{}", {S::of({4, 100}), S::s8Weight({1, 100}), none}, linear, kFloat},
      {"linear{}|mul(0)|add(1)", {S::of({5, 96}), S::s8Weight({70, 96}), none, S::scales({70}), S::weight({70})}, linear, kFloat},
      {"linear{}|mul(0)|add(1)|add(2)", {S::of({2, 3, 129}), S::s8Weight({50, 129}), none, S::scales({50}), S::weight({50}), S::dying({2, 3, 50})}, linear, kFloat},
      {"linear{}|mul(0)", {S::of({1, 1}), S::s8Weight({5, 1}), none, S::scales({5})}, linear, kFloat},
      {"linear{}|mul(0)", {S::of({40, 45}), S::s8Weight({12, 45}), none, S::scales({12})}, wide, kFloat},
      {"linear{}", {S::of({0, 64}), S::s8Weight({5, 64}), none}, "", kFloat},
      {"linear{result=f32}|mul(0)", {S::bf16({3, 64}), S::s8Weight({20, 64}), none, S::scales({20})}, linear, kFloat},
      {"linear{}|mul(0)", {S::bf16({2, 45}), S::s8Weight({20, 45}), none, S::scales({20})}, linear, kBf16},
      {"linear{}|mul(0)", {S::bf16({40, 45}), S::s8Weight({20, 45}), none, S::scales({20})}, linear, kBf16},
      // a scale per group
      {"linear{group=32}", {S::of({1, 96}), S::s8Weight({37, 96}), S::scales({37, 3})}, linear, kFloat},
      {"linear{group=64}|add(0)|relu", {S::of({2, 3, 200}), S::s8Weight({30, 200}), S::scales({30, 4}), S::weight({30})}, linear, kFloat},
      {"linear{group=128}|add(0)", {S::of({3, 70}), S::s8Weight({11, 70}), S::scales({11, 1}), S::weight({11})}, linear, kFloat},
      {"linear{group=32}", {S::of({9, 65}), S::s8Weight({41, 65}), S::scales({41, 3})}, linear, kFloat},
      {"linear{group=32}", {S::of({23, 70}), S::s8Weight({77, 70}), S::scales({77, 3})}, wide, kFloat},
      {"linear{group=32,result=bf16}|silu", {S::bf16({7, 64}), S::s8Weight({21, 64}), S::scales({21, 2})}, linear, kBf16},
      {"linear{group=32}", {S::bf16({23, 70}), S::s8Weight({77, 70}), S::scales({77, 3})}, linear, kBf16},
      // 4 bits
      {"linear{bits=4,depth=50,group=32,result=f32}", {S::bf16({26, 50}), S::nibbleWeight({17, 32}), S::scales({17, 2})}, linear, kFloat},
      {"linear{bits=4,depth=96,group=32}", {S::of({1, 96}), S::nibbleWeight({37, 48}), S::scales({37, 3})}, linear, kFloat},
      {"linear{bits=4,depth=128,group=64}|add(0)|gelu_tanh", {S::of({2, 128}), S::nibbleWeight({64, 64}), S::scales({64, 2}), S::weight({64})}, linear, kFloat},
      {"linear{bits=4,depth=256,group=128}|add(0)", {S::of({3, 256}), S::nibbleWeight({19, 128}), S::scales({19, 2}), S::weight({19})}, linear, kFloat},
      {"linear{bits=4,depth=77,group=32}", {S::of({4, 77}), S::nibbleWeight({23, 48}), S::scales({23, 3})}, linear, kFloat},
      {"linear{bits=4,depth=33,group=64}", {S::of({1, 33}), S::nibbleWeight({3, 32}), S::scales({3, 1})}, linear, kFloat},
      {"linear{bits=4,depth=1,group=32}", {S::of({2, 1}), S::nibbleWeight({6, 16}), S::scales({6, 1})}, linear, kFloat},
      {"linear{bits=4,depth=160,group=32}|add(0)|add(1)", {S::of({2, 11, 160}), S::nibbleWeight({45, 80}), S::scales({45, 5}), S::weight({45}), S::dying({2, 11, 45})}, wide, kFloat},
      {"linear{bits=4,depth=50,group=32,result=f32}", {S::bf16({6, 50}), S::nibbleWeight({17, 32}), S::scales({17, 2})}, linear, kFloat},
      // language models, timed: one step of decoding, and a prompt
      {"linear{}|mul(0)|add(1)", {S::of({1, 768}), S::s8Weight({2304, 768}), none, S::scales({2304}), S::weight({2304})}, linear, kFloat, true},
      {"linear{bits=4,depth=768,group=32}|add(0)", {S::of({1, 768}), S::nibbleWeight({3072, 384}), S::scales({3072, 24}), S::weight({3072})}, linear, kFloat, true},
      {"linear{bits=4,depth=3072,group=128}|add(0)", {S::of({1, 3072}), S::nibbleWeight({768, 1536}), S::scales({768, 24}), S::weight({768})}, linear, kFloat, true},
      {"linear{}|mul(0)|add(1)", {S::of({128, 768}), S::s8Weight({2304, 768}), none, S::scales({2304}), S::weight({2304})}, "", kFloat, true},
      {"linear{bits=4,depth=768,group=64}|add(0)", {S::of({128, 768}), S::nibbleWeight({768, 384}), S::scales({768, 12}), S::weight({768})}, wide, kFloat, true},
      // tables
      {"embedding{scaled_rows=1}", {S::ids({2, 3}, 11), S::scaledRows({11, 13})}, rows, kFloat},
      {"embedding{scaled_rows=1}", {S::ids({40}, 100, DType::kS32), S::scaledRows({100, 136})}, rows, kFloat},
      {"embedding{scaled_rows=1}", {S::ids({}, 11), S::scaledRows({11, 72})}, rows, kFloat},
      {"embedding{scaled_rows=1}", {S::ids({0}, 11), S::scaledRows({11, 72})}, rows, kFloat},
      {"embedding_bag{include_last_offset=0,mode=sum,scaled_rows=1}", {S::ids({2048}, 20000), S::offsets(128, 2048), S::scaledRows({20000, 136})}, bags, kFloat, true},
      {"embedding_bag{include_last_offset=1,mode=mean,scaled_rows=1}", {S::ids({40}, 50), S::offsets(9, 40), S::scaledRows({50, 25})}, bags, kFloat},
      {"embedding_bag{include_last_offset=0,mode=sum,scaled_rows=1}", {S::ids({0}, 50), S::offsets(3, 0), S::scaledRows({50, 25})}, bags, kFloat},
  };
  return cases;
}

}  // namespace ipex_studio::kernel_test
