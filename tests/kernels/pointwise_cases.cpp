#include "cases.h"

namespace ipex_studio::kernel_test {

const std::vector<Case>& pointwiseCases() {
  using S = Source;
  static const std::vector<Case> cases = {
      {"pointwise{}|add(0)|relu", {S::of({1, 256, 56, 56}), S::of({1, 256, 56, 56})}, "pointwise_simd", 2e-6, true},
      {"pointwise{}|hardswish", {S::of({1, 240, 28, 28})}, "pointwise_simd", 2e-6, true},
      {"pointwise{}|mul(0)", {S::dying({1, 240, 28, 28}), S::of({1, 240, 1, 1})}, "pointwise_simd", 2e-6, true},
      {"pointwise{}|gelu_erf", {S::of({1, 128, 3072})}, "pointwise_simd", 2e-6, true},
      {"pointwise{}|mul(0)|add(1)|clip(0.0,6.0)", {S::dying({2, 17, 5, 3}), S::of({17, 1, 1}), S::of({1, 17, 1, 1})},
       "pointwise_simd"},
      {"pointwise{}|mul(0)", {S::of({3, 17, 4, 4}), S::of({3, 17, 1, 1})}, "pointwise_simd"},
      {"pointwise{}|add(0)", {S::of({2, 16, 4, 5}), S::of({2, 1, 4, 5})}, "pointwise_simd"},
      {"pointwise{}|add(0)", {S::of({2, 16, 4, 5}), S::of({1, 16, 4, 5})}, "pointwise_simd"},
      {"pointwise{}|add(0)", {S::of({2, 17, 4, 5}), S::of({17, 4, 5})}, "pointwise_simd"},
      {"pointwise{}|add(0)|mul(0)", {S::of({1, 16, 1, 1}), S::dying({4, 16, 7, 7})}, "pointwise_simd"},
      {"pointwise{}|sub(0)|div(1)", {S::of({7, 1}), S::of({1, 9}), S::positive({1})}, "pointwise_simd"},
      {"pointwise{}|rsub(0,2.0)|abs|sqrt", {S::of({5, 33}), S::of({33})}, "pointwise_simd"},
      {"pointwise{}|rdiv(0)", {S::positive({5, 33}), S::of({5, 1})}, "pointwise_simd"},
      {"pointwise{}|max(0)|min(1)", {S::of({5, 33}), S::of({5, 33}), S::of({5, 33})}, "pointwise_simd"},
      {"pointwise{}|add(0,0.5)|linear(2.0,-1.0)", {S::of({1000}), S::of({1000})}, "pointwise_simd"},
      {"pointwise{}|sub(0,-3.0)", {S::of({1, 1, 7}), S::of({1, 1, 7})}, "pointwise_simd"},
      {"pointwise{}|tanh|sigmoid", {S::of({2, 3, 4, 5, 6})}, "pointwise_simd"},
      {"pointwise{}|gelu_tanh|silu|mish|elu(0.7)", {S::of({333})}, "pointwise_simd"},
      {"pointwise{}|hardsigmoid|leaky_relu(0.2)|square|neg", {S::of({333})}, "pointwise_simd"},
      {"pointwise{}|log|exp|reciprocal|rsqrt", {S::positive({333})}, "pointwise_simd", 5e-6},
      {"pointwise{}|erf|softplus(2.0,20.0)|floor|round", {S::of({333})}, "pointwise_simd"},
      {"pointwise{}|pow(2.0)|pow(1.7)|pow(0.5)|pow(3.0)", {S::positive({333})}, "pointwise_simd", 1e-5},
      {"pointwise{}|sin|cos", {S::of({333})}, "pointwise_simd"},
      {"pointwise{}", {S::of({2, 17, 5, 5})}, "pointwise_simd"},
      {"pointwise{}|relu", {S::of({})}, "pointwise_simd"},
      {"pointwise{}|relu", {S::of({0, 5})}, "pointwise_simd"},
      {"pointwise{}|add(0)", {S::of({1, 12, 32, 32}), S::of({1, 1, 1, 32})}, "pointwise_simd"},
      {"pointwise{}|add(0)|gelu_erf|mul(1)", {S::of({2048, 65}), S::of({65}), S::dying({2048, 65})}, "pointwise_simd"},
      {"pointwise{}|add(0)|mul(0)|add(0)", {S::of({3000}), S::of({3000})}, "pointwise_simd"},
      {"pointwise{}|add(0)", {S::ids({7}, 5), S::ids({7}, 5)}, ""},
  };
  return cases;
}

const std::vector<Case>& normCases() {
  using S = Source;
  static const std::vector<Case> cases = {
      {"reduce{axes=[2,3],keepdim=1,mode=mean}", {S::of({1, 960, 7, 7})}, "reduce_simd", 2e-6, true},
      {"reduce{axes=[2,3],keepdim=1,mode=mean}", {S::of({1, 64, 112, 112})}, "reduce_simd", 2e-5, true},
      {"reduce{axes=[2,3],keepdim=0,mode=mean}", {S::of({5, 2048, 7, 7})}, "reduce_simd", 2e-6, true},
      {"reduce{axes=[-2,-1],keepdim=0,mode=max}", {S::of({2, 17, 5, 3})}, "reduce_simd"},
      {"reduce{axes=[2,3],keepdim=1,mode=min}", {S::of({2, 17, 5, 3})}, "reduce_simd"},
      {"reduce{axes=[1],keepdim=1,mode=sum}", {S::of({2, 17, 5, 3})}, "reduce_simd"},
      {"reduce{axes=[1],keepdim=0,mode=max}", {S::of({2, 32, 5, 3})}, "reduce_simd"},
      {"reduce{axes=[0,2],keepdim=0,mode=sum}", {S::of({4, 5, 6})}, "reduce_simd"},
      {"reduce{axes=[0],keepdim=1,mode=sum}", {S::of({33, 5})}, "reduce_simd"},
      {"reduce{axes=[1],keepdim=0,mode=mean}", {S::of({1, 128, 384})}, "reduce_simd", 2e-6, true},
      {"reduce{axes=[0,1],keepdim=0,mode=mean}", {S::of({70, 70})}, "reduce_simd"},
      {"reduce{axes=[1],keepdim=0,mode=sum}", {S::of({7, 1})}, "reduce_simd"},
      {"reduce{axes=[1],keepdim=0,mode=sum}", {S::of({7, 0})}, ""},
  };
  return cases;
}

const std::vector<Case>& movementCases() {
  using S = Source;
  static const std::vector<Case> cases = {
      {"pool{kernel=[3,3],mode=max,padding=[1,1],stride=[2,2]}", {S::of({1, 64, 112, 112})}, "pool_onednn", 2e-6, true},
      {"pool{kernel=[2,2],mode=avg,stride=[2,2]}", {S::of({2, 32, 14, 14})}, "pool_onednn"},
      {"pool{kernel=[3,3],mode=avg,padding=[1,1],stride=[2,2]}", {S::of({2, 17, 9, 9})}, "pool_onednn"},
      {"pool{kernel=[3,3],mode=avg_exclude_pad,padding=[1,1],stride=[1,1]}", {S::of({2, 16, 9, 9})}, "pool_onednn"},
      {"pool{ceil_mode=1,kernel=[3,3],mode=max,stride=[2,2]}", {S::of({1, 16, 8, 8})}, "pool_onednn"},
      {"pool{ceil_mode=1,kernel=[3,3],mode=avg,padding=[1,1],stride=[2,2]}", {S::of({1, 16, 8, 8})}, ""},
      {"pool{ceil_mode=1,kernel=[3,3],mode=avg_exclude_pad,padding=[1,1],stride=[2,2]}", {S::of({1, 16, 8, 8})}, "pool_onednn"},
      {"pool{dilation=[2,2],kernel=[2,2],mode=max,stride=[1,1]}", {S::of({1, 16, 8, 8})}, ""},
      {"pool{kernel=[2],mode=max,stride=[2]}", {S::of({1, 16, 9})}, "pool_onednn"},
      {"pool{kernel=[2,2,2],mode=max,stride=[2,2,2]}", {S::of({1, 16, 4, 6, 6})}, "pool_onednn"},
      {"concat{axis=1}", {S::of({1, 64, 28, 28}), S::of({1, 32, 28, 28})}, "concat_copy", 0, true},
      {"concat{axis=1}", {S::of({2, 3, 4, 4}), S::of({2, 17, 4, 4}), S::of({2, 1, 4, 4})}, "concat_copy", 0},
      {"concat{axis=2}", {S::of({2, 17, 4, 4}), S::of({2, 17, 1, 4})}, "concat_copy", 0},
      {"concat{axis=-1}", {S::of({4, 5}), S::of({4, 0}), S::of({4, 7})}, "concat_copy", 0},
      {"concat{axis=0}", {S::ids({4}, 9), S::ids({2}, 9)}, "concat_copy", 0},
      {"reorder{}", {S::of({1, 64, 28, 28})}, "", 0, true},
      {"reorder{}", {S::of({2, 17, 5, 3})}, "", 0},
      {"reorder{}", {S::ids({7, 3}, 5)}, "", 0},
      {"permute{order=[0,2,1]}", {S::of({2, 3, 4})}, "", 0},
      {"slice{axis=1,begin=1,end=7,step=2}", {S::of({2, 9})}, "", 0},
      {"select{axis=1,index=-1}", {S::of({2, 9, 3})}, "", 0},
      {"expand{shape=[4,-1,5]}", {S::of({1, 3, 1})}, "", 0},
      {"reshape{shape=[2,-1]}", {S::of({4, 3})}, "", 0},
  };
  return cases;
}

}  // namespace ipex_studio::kernel_test
