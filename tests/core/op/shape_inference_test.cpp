// Result sizes against brute force, and refusals.
#include "core/op/shape_inference.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/core/op/random_spec.h"

namespace ipex_studio {
namespace {

using testing::Random;

TensorDesc f32(const Dims& dims) { return contiguousDesc(DType::kF32, dims); }
TensorDesc s64(const Dims& dims) { return contiguousDesc(DType::kS64, dims); }

// Dims of the only result; a rank of -1 when refused.
Dims resultOf(const std::string& text, const std::vector<TensorDesc>& src) {
  std::vector<TensorDesc> dst;
  const Verdict verdict = inferShapes(parseOpSpec(text), src, &dst);
  EXPECT_EQ(verdict.ok, !dst.empty());
  EXPECT_EQ(verdict.ok, verdict.reason.empty());
  Dims refused;
  refused.rank = -1;
  return verdict.ok ? dst[0].dims : refused;
}
bool refused(const std::string& text, const std::vector<TensorDesc>& src) { return resultOf(text, src).rank == -1; }

// Number of windows of `span` that fit at steps of `stride`; with ceil_mode one more that hangs over the end but begins
// before it.
std::int64_t windows(std::int64_t size, std::int64_t pad_begin, std::int64_t pad_end, std::int64_t span,
                     std::int64_t stride, bool ceil_mode) {
  std::int64_t count = 0;
  while (count * stride + span <= size + pad_begin + pad_end) ++count;
  const bool uncovered = count > 0 && (count - 1) * stride + span < size + pad_begin + pad_end;
  if (ceil_mode && uncovered && count * stride < size + pad_begin) ++count;
  return count;
}

TEST(ShapeInference, WoqWeightsAndTables) {
  const auto of = [](DType dtype, const Dims& dims) { return contiguousDesc(dtype, dims); };
  const TensorDesc x = f32(Dims{2, 70}), bytes = of(DType::kS8, Dims{5, 70}), nibbles = of(DType::kU8, Dims{5, 48}),
                   three = f32(Dims{5, 3});
  EXPECT_EQ(resultOf("linear{group=32}", {x, bytes, three}), (Dims{2, 5}));
  EXPECT_EQ(resultOf("linear{bits=4,depth=70,group=32}", {x, nibbles, three}), (Dims{2, 5}));
  EXPECT_EQ(resultOf("linear{bits=4,depth=70,group=128}", {x, nibbles, f32(Dims{5, 1})}), (Dims{2, 5}));
  for (const char* text :
       {"linear{group=0}", "linear{group=-32}", "linear{group=33}", "linear{group=64}", "linear{bits=8}",
        "linear{bits=4,group=32}", "linear{bits=4,depth=70,group=32}", "linear{dynamic=1,group=32}",
        "linear{group=32,src_zero=1}", "linear{group=4611686018427387904}"}) {
    EXPECT_TRUE(refused(text, {x, bytes, three})) << text;
  }
  EXPECT_EQ(resultOf("linear{bits=4,depth=70,group=32,levels=nf4}", {x, nibbles, three}), (Dims{2, 5}));
  for (const char* text : {"linear{bits=4,depth=70,group=32,levels=fp4}", "linear{bits=4,depth=69,group=32}",
                           "linear{bits=3,depth=70,group=32}", "linear{bits=4,depth=70,group=64}", "linear{group=32}",
                           "linear{bits=4,depth=70}"}) {
    EXPECT_TRUE(refused(text, {x, nibbles, three})) << text;
  }
  EXPECT_TRUE(refused("linear{group=32}", {x, bytes, TensorDesc()}));
  EXPECT_TRUE(refused("linear{group=32}", {of(DType::kU8, Dims{2, 70}), bytes, three}));
  const TensorDesc ids = s64(Dims{3}), rows = of(DType::kU8, Dims{9, 24});
  EXPECT_EQ(resultOf("embedding{scaled_rows=1}", {ids, rows}), (Dims{3, 16}));
  EXPECT_EQ(resultOf("embedding_bag{mode=sum,scaled_rows=1}", {ids, s64(Dims{2}), rows}), (Dims{2, 16}));
  EXPECT_TRUE(refused("embedding{scaled_rows=1}", {ids, of(DType::kU8, Dims{9, 7})}));
  EXPECT_TRUE(refused("embedding{scaled_rows=1}", {ids, of(DType::kS8, Dims{9, 24})}));
  EXPECT_TRUE(refused("embedding_bag{mode=sum,scaled_rows=1}", {ids, s64(Dims{2}), f32(Dims{9, 24})}));
}

TEST(ShapeInference, OrderAndLookUps) {
  const TensorDesc x = f32(Dims{2, 5, 3}), ids = s64(Dims{2, 7, 3}),
                   flags = contiguousDesc(DType::kBool, Dims{2, 5, 3});
  EXPECT_EQ(resultOf("max_min{axis=1,mode=max}", {x}), (Dims{2, 3}));
  EXPECT_EQ(resultOf("max_min{axis=-1,keepdim=1,mode=min}", {ids}), (Dims{2, 7, 1}));
  for (const char* text : {"max_min{axis=3,mode=max}", "max_min{axis=1}", "max_min{axis=1,mode=sum}"})
    EXPECT_TRUE(refused(text, {x})) << text;
  EXPECT_TRUE(refused("max_min{axis=0,mode=max}", {f32(Dims{0, 2})}));
  EXPECT_TRUE(refused("max_min{axis=0,mode=max}", {flags}));
  EXPECT_EQ(resultOf("sort{axis=1}", {x}), (Dims{2, 5, 3}));
  EXPECT_EQ(resultOf("sort{axis=1,descending=1,k=4}", {x}), (Dims{2, 4, 3}));
  for (const char* text : {"sort{axis=1,k=6}", "sort{axis=1,k=-1}", "sort{axis=-4}"})
    EXPECT_TRUE(refused(text, {x})) << text;
  EXPECT_TRUE(refused("sort{axis=0}", {f32(Dims{})}));
  EXPECT_TRUE(refused("cumulative_sum{axis=0}", {flags}));
  EXPECT_EQ(resultOf("gather_elements{axis=1}", {x, ids}), (Dims{2, 7, 3}));
  EXPECT_TRUE(refused("gather_elements{axis=0}", {x, ids}));
  EXPECT_TRUE(refused("gather_elements{axis=1}", {x, f32(Dims{2, 7, 3})}));
  EXPECT_TRUE(refused("gather_elements{axis=1}", {x, s64(Dims{2, 7})}));
  EXPECT_EQ(resultOf("scatter_elements{axis=1}", {x, ids, f32(Dims{2, 7, 3})}), (Dims{2, 5, 3}));
  EXPECT_TRUE(refused("scatter_elements{axis=1}", {x, ids, x}));
  EXPECT_TRUE(refused("scatter_elements{axis=1}", {x, ids, ids}));
  EXPECT_EQ(resultOf("scatter_elements{axis=1,reduction=add}", {x, s64(Dims{9}), f32(Dims{2, 9, 3})}), (Dims{2, 5, 3}));
  EXPECT_TRUE(refused("scatter_elements{axis=1,reduction=add}", {x, s64(Dims{9}), f32(Dims{1, 9, 3})}));
  EXPECT_TRUE(refused("scatter_elements{axis=1,reduction=add}", {ids, ids, ids}));
  EXPECT_TRUE(refused("scatter_elements{axis=1,reduction=median}", {x, ids, f32(Dims{2, 7, 3})}));
  EXPECT_EQ(resultOf("gather{axis=1}", {x, s64(Dims{4, 6})}), (Dims{2, 4, 6, 3}));
  EXPECT_EQ(resultOf("gather{axis=1}", {x, s64(Dims{})}), (Dims{2, 3}));
  EXPECT_TRUE(refused("gather{axis=1}", {x, s64(Dims{1, 1, 1, 1, 1, 1, 1})}));
  EXPECT_EQ(resultOf("integer_math{op=add}", {ids, s64(Dims{7, 1})}), (Dims{2, 7, 3}));
  EXPECT_EQ(resultOf("integer_math{op=add,value=3}", {ids, TensorDesc()}), (Dims{2, 7, 3}));
  EXPECT_TRUE(refused("integer_math{op=add}", {ids, TensorDesc()}));
  EXPECT_TRUE(refused("integer_math{op=add}", {ids, x}));
  EXPECT_TRUE(refused("integer_math{op=pow}", {ids, ids}));
  EXPECT_TRUE(refused("integer_math{op=add}", {ids, s64(Dims{2})}));
  EXPECT_EQ(resultOf("affine_grid{output=[6,7]}", {f32(Dims{2, 2, 3})}), (Dims{2, 6, 7, 2}));
  for (const char* text : {"affine_grid{}", "affine_grid{output=[6]}", "affine_grid{output=[0,7]}"})
    EXPECT_TRUE(refused(text, {f32(Dims{2, 2, 3})})) << text;
  EXPECT_TRUE(refused("affine_grid{output=[6,7]}", {f32(Dims{2, 3, 3})}));
  const TensorDesc one = f32(Dims{2, 8}), three = f32(Dims{2, 3, 8});
  EXPECT_EQ(resultOf("interaction{dense=1,triangle=lower}", {one, three}), (Dims{2, 14}));
  EXPECT_EQ(resultOf("interaction{diagonal=1,triangle=upper}", {three, one}), (Dims{2, 10}));
  EXPECT_TRUE(refused("interaction{dense=1,triangle=lower}", {three, one}));
  EXPECT_TRUE(refused("interaction{features=5,triangle=lower}", {one, three}));
  EXPECT_TRUE(refused("interaction{triangle=middle}", {one, three}));
  EXPECT_TRUE(refused("interaction{triangle=lower}", {one, f32(Dims{2, 3, 9})}));
  EXPECT_TRUE(refused("interaction{triangle=lower}", {one, f32(Dims{3, 8})}));
  EXPECT_EQ(resultOf("interaction_backward{dense=1,triangle=lower}", {f32(Dims{2, 14}), one, three}), (Dims{2, 4, 8}));
  EXPECT_TRUE(refused("interaction_backward{dense=1,triangle=lower}", {f32(Dims{2, 13}), one, three}));
  EXPECT_TRUE(refused("interaction_backward{triangle=lower}", {f32(Dims{2, 14})}));
  const TensorDesc like = f32(Dims{9, 4, 3}), ends = s64(Dims{7}), rows = f32(Dims{5, 4, 3}), none;
  const char* const add = "gather_scatter{rank=3,reduction=add}";
  EXPECT_EQ(resultOf(add, {like, ends, rows, ends, none}), (Dims{9, 4, 3}));
  EXPECT_EQ(resultOf(add, {like, ends, rows, ends, f32(Dims{7, 4, 1})}), (Dims{9, 4, 3}));
  EXPECT_EQ(resultOf(add, {like, ends, f32(Dims{7, 4, 3}), none, none}), (Dims{9, 4, 3}));
  EXPECT_TRUE(refused(add, {like, ends, rows, none, none}));
  EXPECT_TRUE(refused(add, {like, ends, rows, s64(Dims{6}), none}));
  EXPECT_TRUE(refused(add, {like, ends, rows, ends, f32(Dims{7, 1, 3})}));
  EXPECT_TRUE(refused(add, {like, ends, rows, ends, f32(Dims{1, 4, 1})}));
  EXPECT_TRUE(refused(add, {f32(Dims{9, 4, 2}), ends, rows, ends, none}));
  EXPECT_TRUE(refused("gather_scatter{rank=2,reduction=add}", {like, ends, rows, ends, none}));
  EXPECT_TRUE(refused("gather_scatter{reduction=median}", {like, ends, rows, ends, none}));
  const auto rotary = [](Dims table) { return std::vector<TensorDesc>{f32(Dims{2, 3, 5, 8}), f32(table), f32(table)}; };
  EXPECT_EQ(resultOf("rotary{}", rotary({2, 1, 5, 8})), (Dims{2, 3, 5, 8}));
  EXPECT_EQ(resultOf("rotary{half=1,rotated=6}", rotary({5, 3})), (Dims{2, 3, 5, 8}));
  EXPECT_EQ(resultOf("rotary{first=1,tokens=-2}", rotary({7, 8})), (Dims{2, 3, 5, 8}));
  EXPECT_TRUE(refused("rotary{}", rotary({7, 8})));
  EXPECT_TRUE(refused("rotary{}", rotary({3, 1, 5, 8})));
  EXPECT_TRUE(refused("rotary{}", rotary({1, 2, 3, 5, 8})));
  EXPECT_TRUE(refused("rotary{tokens=-2}", rotary({1, 8})));
  EXPECT_TRUE(refused("rotary{first=1,tokens=-2}", rotary({4, 8})));
  EXPECT_TRUE(refused("rotary{first=1,tokens=-1}", rotary({5, 8})));
  EXPECT_TRUE(refused("rotary{first=1,tokens=-3}", rotary({5, 8})));
  for (const char* text : {"rotary{half=1}", "rotary{rotated=6}", "rotary{rotated=10}", "rotary{rotated=7}"})
    EXPECT_TRUE(refused(text, rotary({5, 8}))) << text;
  EXPECT_TRUE(refused("rotary{}", {f32(Dims{5, 8}), f32(Dims{5, 8}), f32(Dims{1, 8})}));
  EXPECT_TRUE(refused("rotary{}", {s64(Dims{5, 8}), f32(Dims{5, 8}), f32(Dims{5, 8})}));
  EXPECT_EQ(resultOf("fourier{}", {f32(Dims{2, 3, 9}), TensorDesc()}), (Dims{2, 3, 5, 2}));
  EXPECT_EQ(resultOf("fourier{frame=8,hop=3,result=magnitude}", {f32(Dims{2, 20}), f32(Dims{8})}), (Dims{2, 5, 5}));
  for (const char* text : {"fourier{frame=21}", "fourier{frame=0}", "fourier{frame=8,hop=0}", "fourier{frame=7}",
                           "fourier{frame=8,norm=half}", "fourier{frame=8,result=phase}"})
    EXPECT_TRUE(refused(text, {f32(Dims{2, 20}), f32(Dims{8})})) << text;
  EXPECT_TRUE(refused("fourier{}", {s64(Dims{8}), TensorDesc()}));
  EXPECT_EQ(resultOf("grid_sample{}", {f32(Dims{2, 3, 4, 5}), f32(Dims{2, 6, 7, 2})}), (Dims{2, 3, 6, 7}));
  EXPECT_TRUE(refused("grid_sample{}", {f32(Dims{2, 3, 4, 5}), f32(Dims{1, 6, 7, 2})}));
  EXPECT_TRUE(refused("grid_sample{mode=bicubic}", {f32(Dims{2, 3, 4, 5}), f32(Dims{2, 6, 7, 2})}));
  EXPECT_TRUE(refused("grid_sample{padding=reflection}", {f32(Dims{2, 3, 4, 5}), f32(Dims{2, 6, 7, 2})}));
}

TEST(ShapeInference, ConvolutionsAndPools) {
  Random random(6);
  for (int round = 0; round < 3000; ++round) {
    const std::int64_t groups = random.between(1, 3), in = groups * random.between(1, 3),
                       out = groups * random.between(1, 3);
    const std::int64_t h = random.between(1, 12), k = random.between(1, 4), stride = random.between(1, 3),
                       dilation = random.between(1, 2);
    const std::int64_t pad = random.between(0, 2), pad_end = random.between(0, 2);
    const std::string window = "dilation=[" + std::to_string(dilation) + "],padding=[" + std::to_string(pad) +
                               "],padding_end=[" + std::to_string(pad_end) + "],stride=[" + std::to_string(stride) +
                               "]";
    const std::int64_t span = dilation * (k - 1) + 1;
    const Dims conv = resultOf(
        "convolution{groups=" + std::to_string(groups) + "," + window + "}",
        {f32(Dims{2, in, h}), f32(Dims{out, in / groups, k}), random.chance(50) ? TensorDesc() : f32(Dims{out})});
    const std::int64_t fits = windows(h, pad, pad_end, span, stride, false);
    ASSERT_TRUE(fits == 0 ? conv.rank == -1 : conv == (Dims{2, out, fits})) << window;
    for (const bool ceil_mode : {false, true}) {
      const Dims pool = resultOf("pool{ceil_mode=" + std::to_string(ceil_mode) + "," + window + ",kernel=[" +
                                     std::to_string(k) + "],mode=max}",
                                 {f32(Dims{2, in, h})});
      const std::int64_t expected =
          std::max(pad, pad_end) >= span ? 0 : windows(h, pad, pad_end, span, stride, ceil_mode);
      ASSERT_TRUE(expected == 0 ? pool.rank == -1 : pool == (Dims{2, in, expected})) << window << " of " << h;
    }
    // A transposed convolution reaches from 0 to the last tap of the last input.
    const std::int64_t extra = random.between(0, 1);
    const std::int64_t reach = (h - 1) * stride + (k - 1) * dilation + 1 + extra - pad - pad_end;
    const Dims transposed = resultOf("deconvolution{groups=" + std::to_string(groups) + ",output_padding=[" +
                                         std::to_string(extra) + "]," + window + "}",
                                     {f32(Dims{1, in, h}), f32(Dims{in, out / groups, k}), TensorDesc()});
    ASSERT_TRUE(reach < 1 ? transposed.rank == -1 : transposed == (Dims{1, out, reach})) << window;
  }
}

TEST(ShapeInference, OtherOperations) {
  EXPECT_EQ(resultOf("linear{}", {f32(Dims{2, 3, 8}), f32(Dims{5, 8}), f32(Dims{5})}), (Dims{2, 3, 5}));
  EXPECT_EQ(resultOf("matmul{}", {f32(Dims{4, 1, 2, 3}), f32(Dims{5, 3, 6})}), (Dims{4, 5, 2, 6}));
  EXPECT_EQ(resultOf("matmul{transpose_a=1,transpose_b=1}", {f32(Dims{3, 2}), f32(Dims{6, 3})}), (Dims{2, 6}));
  EXPECT_EQ(resultOf("reduce{axes=[-1,0],mode=sum}", {f32(Dims{2, 3, 4})}), (Dims{3}));
  EXPECT_EQ(resultOf("reduce{axes=[1],keepdim=1,mode=max}", {f32(Dims{2, 3, 4})}), (Dims{2, 1, 4}));
  EXPECT_EQ(resultOf("pointwise{}|add(0)|mul(1)", {f32(Dims{3, 1}), f32(Dims{4}), f32(Dims{2, 1, 1})}),
            (Dims{2, 3, 4}));
  EXPECT_EQ(resultOf("concat{axis=-1}", {f32(Dims{2, 3}), f32(Dims{2, 0}), f32(Dims{2, 4})}), (Dims{2, 7}));
  EXPECT_EQ(resultOf("embedding{}", {s64(Dims{2, 7}), f32(Dims{100, 16})}), (Dims{2, 7, 16}));
  EXPECT_EQ(resultOf("embedding_bag{include_last_offset=1,mode=sum}", {s64(Dims{9}), s64(Dims{4}), f32(Dims{50, 8})}),
            (Dims{3, 8}));
  EXPECT_EQ(resultOf("gather{axis=1}", {f32(Dims{2, 9, 3}), s64(Dims{4})}), (Dims{2, 4, 3}));
  EXPECT_EQ(resultOf("softmax{axis=-1}", {f32(Dims{2, 4, 6}), f32(Dims{6})}), (Dims{2, 4, 6}));
  EXPECT_EQ(resultOf("attention{}", {f32(Dims{2, 3, 5, 8}), f32(Dims{2, 1, 7, 8}), f32(Dims{7, 4}), f32(Dims{5, 1})}),
            (Dims{2, 3, 5, 4}));
  EXPECT_EQ(resultOf("attention{}", {f32(Dims{5, 8}), f32(Dims{7, 8}), f32(Dims{7, 4}), f32(Dims{3, 1, 7})}),
            (Dims{3, 5, 4}));
  EXPECT_EQ(resultOf("pad{begin=[0,1],end=[2,0]}", {f32(Dims{2, 3})}), (Dims{4, 4}));
  EXPECT_EQ(resultOf("pad{begin=[-1,0],end=[0,-3]}", {f32(Dims{2, 3})}), (Dims{1, 0}));
  EXPECT_EQ(resultOf("pad{begin=[0,2],end=[0,2],mode=reflect}", {f32(Dims{2, 3})}), (Dims{2, 7}));
  EXPECT_EQ(resultOf("slice{axis=0,begin=-1,end=9,least=2}", {f32(Dims{2, 3})}), (Dims{1, 3}));
  EXPECT_EQ(resultOf("adaptive_pool{mode=avg,output=[1,1]}", {f32(Dims{1, 3, 7, 9})}), (Dims{1, 3, 1, 1}));
  EXPECT_EQ(resultOf("upsample{mode=nearest,output=[14,18]}", {f32(Dims{1, 3, 7, 9})}), (Dims{1, 3, 14, 18}));
  std::vector<TensorDesc> two;
  ASSERT_TRUE(inferShapes(parseOpSpec("layer_norm{axes=1,eps=1e-5,sum_output=1}"),
                          {f32(Dims{2, 8}), f32(Dims{8}), TensorDesc(), f32(Dims{2, 8})}, &two)
                  .ok);
  EXPECT_EQ(two.size(), 2u);
}

DType dtypeOf(const std::string& text, const std::vector<TensorDesc>& src) {
  std::vector<TensorDesc> dst;
  return inferShapes(parseOpSpec(text), src, &dst).ok ? dst[0].dtype : DType::kNone;
}

TEST(ShapeInference, ResultsOfIntegers) {
  const auto u8 = [](const Dims& dims) { return contiguousDesc(DType::kU8, dims); };
  const auto s8 = [](const Dims& dims) { return contiguousDesc(DType::kS8, dims); };
  const TensorDesc none, scales = f32({8, 1, 1});
  const std::vector<TensorDesc> image{u8({1, 4, 6, 6}), s8({8, 4, 3, 3}), none, scales};
  EXPECT_EQ(dtypeOf("convolution{}|mul(0)", image), DType::kF32);
  EXPECT_EQ(dtypeOf("convolution{result=u8,src_zero=255}|mul(0)", image), DType::kU8);
  EXPECT_EQ(dtypeOf("convolution{result=s64}|mul(0)", image), DType::kNone);
  EXPECT_EQ(dtypeOf("convolution{src_zero=256}|mul(0)", image), DType::kNone);
  EXPECT_EQ(dtypeOf("convolution{weight_zero=1}|mul(0)", image), DType::kNone);
  EXPECT_EQ(dtypeOf("convolution{}", {u8({1, 4, 6, 6}), s8({8, 4, 3, 3}), f32({8})}), DType::kNone);
  EXPECT_EQ(dtypeOf("convolution{}", {u8({1, 4, 6, 6}), u8({8, 4, 3, 3}), none}), DType::kNone);
  EXPECT_EQ(dtypeOf("convolution{src_zero=1}", {f32({1, 4, 6, 6}), f32({8, 4, 3, 3}), none}), DType::kNone);
  EXPECT_EQ(dtypeOf("linear{result=s8,src_zero=-128}", {s8({2, 4}), s8({3, 4}), none}), DType::kS8);
  EXPECT_EQ(dtypeOf("linear{dynamic=1}", {f32({2, 4}), s8({3, 4}), f32({3})}), DType::kF32);
  EXPECT_EQ(dtypeOf("linear{dynamic=1}", {f32({2, 4}), f32({3, 4}), none}), DType::kNone);
  EXPECT_EQ(dtypeOf("matmul{weight_zero=9}", {u8({2, 4}), u8({4, 3})}), DType::kF32);
  EXPECT_EQ(dtypeOf("pointwise{result=u8}|linear(3.0,7.0)", {f32({2, 4})}), DType::kU8);
  EXPECT_EQ(dtypeOf("pointwise{}|linear(3.0,7.0)", {u8({2, 4})}), DType::kF32);
  EXPECT_EQ(dtypeOf("pool{kernel=[2,2],mode=avg}", {u8({1, 4, 6, 6})}), DType::kU8);
  EXPECT_EQ(dtypeOf("adaptive_pool{mode=avg,output=[1,1],result=f32}", {u8({1, 4, 6, 6})}), DType::kF32);
  EXPECT_EQ(dtypeOf("reduce{axes=[1],mode=mean,result=f32}", {s8({4, 6})}), DType::kF32);
  EXPECT_EQ(dtypeOf("embedding{result=f32}", {s64({3}), s8({5, 4})}), DType::kF32);
}

TEST(ShapeInference, RefusesContradictions) {
  const TensorDesc x = f32(Dims{1, 4, 8, 8}), w = f32(Dims{6, 4, 3, 3}), none;
  EXPECT_TRUE(refused("convolution{}", {x, w}));  // bias must be named, if absent
  EXPECT_TRUE(refused("convolution{}", {x, f32(Dims{6, 3, 3, 3}), none}));
  EXPECT_TRUE(refused("convolution{groups=0}", {x, w, none}));
  EXPECT_TRUE(refused("convolution{groups=-4}", {x, w, none}));
  EXPECT_TRUE(refused("convolution{stride=[1]}", {x, w, none}));
  EXPECT_TRUE(refused("convolution{stride=[0,1]}", {x, w, none}));
  EXPECT_TRUE(refused("convolution{padding=[-1,0]}", {x, w, none}));
  EXPECT_TRUE(refused("convolution{dilation=[9223372036854775807,1]}", {x, w, none}));
  EXPECT_TRUE(refused("convolution{}", {x, w, f32(Dims{5})}));
  EXPECT_TRUE(refused("convolution{}|add(0)", {x, w, none}));                         // missing operand
  EXPECT_TRUE(refused("convolution{}|relu", {x, w, none, f32(Dims{1})}));             // unused operand
  EXPECT_TRUE(refused("convolution{}|add(0)", {x, w, none, f32(Dims{2, 6, 6, 6})}));  // would grow the result
  EXPECT_TRUE(refused("convolution{}|add(0)", {x, w, none, f32(Dims{5, 6, 6})}));
  EXPECT_TRUE(refused("pointwise{}|add(0)", {x, none}));
  EXPECT_TRUE(refused("linear{}", {f32(Dims{2, 7}), f32(Dims{5, 8}), none}));
  EXPECT_TRUE(refused("matmul{}", {f32(Dims{2, 3}), f32(Dims{4, 5})}));
  EXPECT_TRUE(refused("matmul{}", {f32(Dims{3}), f32(Dims{3, 5})}));
  EXPECT_TRUE(refused("matmul{}", {f32(Dims{2, 2, 3}), f32(Dims{3, 3, 5})}));
  EXPECT_TRUE(refused("reduce{axes=[0,0],mode=sum}", {x}));
  EXPECT_TRUE(refused("reduce{axes=[4],mode=sum}", {x}));
  EXPECT_TRUE(refused("pool{mode=max}", {x}));
  EXPECT_TRUE(refused("concat{axis=4}", {x, x}));
  EXPECT_TRUE(refused("concat{axis=1}", {x, f32(Dims{1, 4, 8, 7})}));
  EXPECT_TRUE(refused("concat{axis=1}", {x, s64(Dims{1, 4, 8, 8})}));
  EXPECT_TRUE(refused("concat{axis=1}", {}));
  EXPECT_TRUE(refused("embedding{}", {f32(Dims{2}), f32(Dims{10, 4})}));
  EXPECT_TRUE(refused("embedding_bag{}", {s64(Dims{3}), s64(Dims{0}), f32(Dims{10})}));
  EXPECT_TRUE(refused("embedding_bag{include_last_offset=1}", {s64(Dims{3}), s64(Dims{0}), f32(Dims{10, 4})}));
  EXPECT_TRUE(refused("softmax{axis=4}", {x, none}));
  EXPECT_TRUE(refused("softmax{axis=1}", {f32(Dims{4}), f32(Dims{2, 4})}));
  EXPECT_TRUE(refused("attention{}", {f32(Dims{5, 8}), f32(Dims{7, 9}), f32(Dims{7, 4}), none}));
  EXPECT_TRUE(refused("attention{}", {f32(Dims{5, 8}), f32(Dims{7, 8}), f32(Dims{6, 4}), none}));
  EXPECT_TRUE(refused("attention{}", {f32(Dims{5, 8}), f32(Dims{7, 8}), f32(Dims{7, 4}), f32(Dims{4, 7})}));
  EXPECT_TRUE(refused("attention{}", {f32(Dims{8}), f32(Dims{7, 8}), f32(Dims{7, 4}), none}));
  EXPECT_TRUE(refused("attention{}", {f32(Dims{2, 5, 8}), f32(Dims{3, 7, 8}), f32(Dims{7, 4}), none}));
  EXPECT_TRUE(refused("attention{fill=1}", {f32(Dims{5, 8}), f32(Dims{7, 8}), f32(Dims{7, 4}), none}));
  EXPECT_TRUE(refused("pad{begin=[0],end=[0]}", {f32(Dims{2, 3})}));
  EXPECT_TRUE(refused("pad{begin=[0,0],end=[0,3],mode=reflect}", {f32(Dims{2, 3})}));
  EXPECT_TRUE(refused("pad{begin=[0,-1],end=[0,0],mode=replicate}", {f32(Dims{2, 3})}));
  EXPECT_TRUE(refused("pad{begin=[-2,0],end=[-2,0]}", {f32(Dims{2, 3})}));
  EXPECT_TRUE(refused("pad{begin=[0,9223372036854775807],end=[0,9223372036854775807]}", {f32(Dims{2, 3})}));
  EXPECT_TRUE(refused("slice{axis=0,begin=-1,end=9,least=3}", {f32(Dims{2, 3})}));
  EXPECT_TRUE(refused("group_norm{channels=5,groups=2}", {x, none, none}));
  EXPECT_TRUE(refused("layer_norm{axes=0}", {x, none, none, none}));
  EXPECT_TRUE(refused("layer_norm{axes=1,sum_output=1}", {x, none, none, none}));
  EXPECT_TRUE(refused("group_norm{groups=3}", {x, none, none}));
  EXPECT_TRUE(refused("group_norm{}", {x, none, none}));
  EXPECT_TRUE(refused("upsample{mode=nearest,output=[0,4]}", {x}));
  EXPECT_TRUE(refused("upsample{mode=nearest,output=[1099511627776,4]}", {x}));
  EXPECT_TRUE(refused("cast{}", {x}));
  EXPECT_TRUE(refused("cast{dtype=none}", {x}));
  EXPECT_TRUE(refused("pointwise{}|add(0)", {f32(Dims{1 << 21, 1}), f32(Dims{1 << 21})}));
}

// Any spec gets an answer, never a crash, and accepted specs have sizes in range.
TEST(ShapeInference, RandomSpecsNeverCrash) {
  Random random(7);
  int accepted = 0;
  for (int round = 0; round < 6000 * testing::campaignFactor(); ++round) {
    const OpSpec spec = testing::randomSpec(random);
    std::vector<TensorDesc> src(random.index(5));
    for (TensorDesc& desc : src) {
      Dims dims;
      dims.rank = static_cast<std::int32_t>(random.between(0, 5));
      for (int axis = 0; axis < dims.rank; ++axis)
        dims[axis] = random.chance(3) ? std::int64_t{1} << random.between(10, 62) : random.between(0, 5);
      desc.dtype = static_cast<DType>(random.between(0, static_cast<int>(DType::kBool)));
      desc.dims = desc.strides = dims;
    }
    std::vector<TensorDesc> dst;
    if (!inferShapes(spec, src, &dst).ok) continue;
    ++accepted;
    for (const TensorDesc& desc : dst) {
      ASSERT_LE(desc.dims.count(), std::int64_t{1} << 40);
      ASSERT_NE(desc.dtype, DType::kNone);
    }
  }
  EXPECT_GT(accepted, 50);
}

}  // namespace
}  // namespace ipex_studio
