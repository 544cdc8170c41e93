// A 1x1 convolution and the depthwise convolution behind it as one operation.
#include "tests/kernels/cases.h"

namespace ipex_studio::kernel_test {
namespace {

// Makes a case: the source, its expansion to `channels` and a depthwise window of these sizes.
Case pointwiseDepthwise(const std::string& attributes, Dims x, std::int64_t channels, Dims window,
                        const std::string& post_ops = "", bool has_bias = true) {
  Case made;
  made.spec = "pointwise_depthwise{" + attributes + "}" + post_ops;
  Dims expand = x, taps = x;
  expand[0] = taps[0] = channels;
  expand[1] = x[1];
  taps[1] = 1;
  for (int axis = 2; axis < x.rank; ++axis) {
    expand[axis] = 1;
    taps[axis] = window[axis - 2];
  }
  const Source bias = has_bias ? Source::weight({channels}) : Source::none();
  made.src = {Source::of(x), Source::weight(expand), bias, Source::weight(taps), bias};
  made.kernel = "pointwise_depthwise_simd";
  made.tolerance = 5e-6;
  return made;
}

Case timedPair(Case made) {
  made.bench = true;
  made.tolerance = 2e-5;  // as in layer_cases.cpp
  return made;
}

}  // namespace

const std::vector<Case>& pointwiseDepthwiseCases() {
  const std::string same3 = "padding=[1,1]", same5 = "padding=[2,2]", half3 = "padding=[1,1],stride=[2,2]",
                    half5 = "padding=[2,2],stride=[2,2]";
  static const std::vector<Case> cases = {
      pointwiseDepthwise("activation=relu," + same3, {1, 8, 9, 11}, 32, {3, 3}, "|relu"),
      pointwiseDepthwise("activation=hardswish," + same5, {2, 12, 7, 15}, 48, {5, 5}, "|hardswish"),
      pointwiseDepthwise("activation=silu," + same3, {1, 5, 16, 29}, 40, {3, 3}, "|silu"),
      pointwiseDepthwise("activation=clip,activation_alpha=0.0,activation_beta=6.0," + half3, {2, 10, 13, 17}, 24,
                         {3, 3}, "|clip(0,6)"),
      pointwiseDepthwise(half5, {1, 7, 14, 14}, 36, {5, 5}, "|sigmoid|linear(2,-1)"),
      // No bias: positions outside the image stay zero all the same.
      pointwiseDepthwise("activation=exp," + same3, {1, 3, 6, 5}, 16, {3, 3}, "", false),
      // Channels that fill no vector, one channel, one pixel.
      pointwiseDepthwise("activation=relu," + same3, {1, 6, 5, 5}, 29, {3, 3}),
      pointwiseDepthwise("activation=sigmoid," + same3, {3, 1, 4, 4}, 1, {3, 3}),
      pointwiseDepthwise("activation=relu," + same5, {2, 9, 1, 1}, 18, {5, 5}, "|relu"),
      pointwiseDepthwise(same3, {1, 4, 1, 7}, 19, {3, 3}),
      // Windows of other sizes and places: asymmetric padding, none, wider than high, lines and columns between
      // windows.
      pointwiseDepthwise("activation=relu,padding=[0,0],padding_end=[1,1],stride=[2,2]", {1, 6, 12, 12}, 24, {3, 3}),
      pointwiseDepthwise("padding=[2,0],padding_end=[0,3],stride=[1,2]", {2, 5, 8, 21}, 17, {3, 4}, "|relu"),
      pointwiseDepthwise("activation=relu,padding=[0,0],stride=[3,3]", {1, 4, 11, 14}, 33, {2, 2}),
      pointwiseDepthwise("padding=[3,3]", {1, 4, 10, 33}, 16, {7, 7}),
      pointwiseDepthwise("padding=[0,0]", {1, 4, 5, 5}, 16, {1, 1}),
      // One spatial dimension.
      pointwiseDepthwise("activation=relu,padding=[1]", {2, 6, 31}, 20, {3}, "|relu"),
      // Few channels, computed in bands of lines.
      pointwiseDepthwise("activation=relu," + same3, {1, 16, 40, 40}, 16, {3, 3}, "|relu"),
      pointwiseDepthwise("activation=relu," + half5, {1, 20, 41, 40}, 48, {5, 5}, "|relu"),
      timedPair(pointwiseDepthwise("activation=silu," + half3, {1, 16, 112, 112}, 96, {3, 3}, "|silu")),
      timedPair(pointwiseDepthwise("activation=relu," + half3, {1, 16, 112, 112}, 64, {3, 3}, "|relu")),
      timedPair(pointwiseDepthwise("activation=relu," + same3, {1, 24, 56, 56}, 72, {3, 3}, "|relu")),
      timedPair(pointwiseDepthwise("activation=silu," + same5, {1, 40, 28, 28}, 240, {5, 5}, "|silu")),
      timedPair(pointwiseDepthwise("activation=hardswish," + same3, {1, 80, 14, 14}, 480, {3, 3}, "|hardswish")),
      timedPair(pointwiseDepthwise("activation=silu," + same5, {1, 192, 7, 7}, 1152, {5, 5}, "|silu")),
  };
  return cases;
}

}  // namespace ipex_studio::kernel_test
