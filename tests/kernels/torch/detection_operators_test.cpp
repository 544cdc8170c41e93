// Operators of detection: gradients in double precision, dtypes, threads, and what they refuse.
#include <ATen/Parallel.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/script.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "tests/kernels/torch/call_operator.h"

namespace ipex_studio {
namespace {

using ::testing::HasSubstr;

// Regions inside of the image, across its border, and none; the result is linear in x.
at::Tensor testRois(std::int64_t count) {
  at::manual_seed(4);
  const at::Tensor image = at::randint(0, 2, {count, 1}), corner = at::rand({count, 2}) * 30 - 4;
  return at::cat({image, corner, corner + at::rand({count, 2}) * 20}, 1).to(at::kDouble);
}

// The operators on regions of interest, with what stands behind their operands.
struct RoiCall {
  const char* name;
  torch::jit::Stack rest;
  std::int64_t channels;
};

std::vector<RoiCall> roiCalls() {
  return {{"ipex_studio::roi_align", {0.5, 3, 2, 2, true}, 5},
          {"ipex_studio::roi_pool", {0.5, 3, 2}, 5},
          {"ipex_studio::ps_roi_align", {0.5, 3, 2, 2}, 18},
          {"ipex_studio::ps_roi_pool", {0.5, 3, 2}, 18}};
}

at::Tensor callOnRois(const RoiCall& of, const at::Tensor& x, const at::Tensor& rois) {
  torch::jit::Stack stack{x, rois};
  stack.insert(stack.end(), of.rest.begin(), of.rest.end());
  return call(of.name, stack);
}

TEST(RegionsOfInterest, HaveGradients) {
  for (const RoiCall& of : roiCalls()) {
    for (const std::int64_t count : {0, 1, 9}) {
      const at::Tensor rois = testRois(count);
      const at::Tensor x = at::randn({2, of.channels, 9, 11}, at::kDouble).requires_grad_();
      const at::Tensor y = callOnRois(of, x, rois), g = at::randn(y.sizes(), at::kDouble);
      y.backward(g);
      const at::Tensor way = at::randn(x.sizes(), at::kDouble) * 1e-6, at_x = x.detach();
      const double slope =
          ((callOnRois(of, at_x + way, rois) - callOnRois(of, at_x - way, rois)) * g).sum().item<double>();
      EXPECT_NEAR((x.grad() * way).sum().item<double>() * 2, slope, 1e-9 * std::max(1.0, std::abs(slope))) << of.name;
    }
  }
}

TEST(RegionsOfInterest, KeepTheirDtype) {
  for (const RoiCall& of : roiCalls()) {
    const at::Tensor x = at::randn({2, of.channels, 9, 11}), rois = testRois(9).to(at::kFloat);
    const at::Tensor y = callOnRois(of, x, rois), low = callOnRois(of, x.to(at::kBFloat16), rois);
    EXPECT_EQ(low.scalar_type(), at::kBFloat16);
    EXPECT_TRUE(at::allclose(low.to(at::kFloat), y, 0.03, 0.03)) << of.name;
    EXPECT_EQ(callOnRois(of, x.to(at::kMeta), rois.to(at::kMeta)).sizes(), y.sizes());
  }
}

TEST(RegionsOfInterest, OfImagesThatAreNotThereAreNamed) {
  for (const RoiCall& of : roiCalls()) {
    at::Tensor rois = testRois(3);
    rois[1][0] = 2;
    try {
      callOnRois(of, at::randn({2, of.channels, 9, 11}, at::kDouble), rois);
      FAIL() << of.name;
    } catch (const c10::Error& problem) {
      EXPECT_NE(std::string(problem.what()).find("region 1 is of image 2, and there are 2"), std::string::npos);
    }
  }
}

// Operands of a deformable convolution: input, weight, offset, mask and bias.
struct DeformCall {
  std::vector<at::Tensor> operands;
  std::int64_t groups = 1, offset_groups = 1;
  bool use_mask = true;

  at::Tensor operator()() const {
    torch::jit::Stack stack(operands.begin(), operands.end());
    for (const std::int64_t number : {2, 1, 1, 2, 1, 2}) stack.emplace_back(number);
    stack.insert(stack.end(), {groups, offset_groups, use_mask});
    return call("ipex_studio::deform_conv2d", stack);
  }
};

DeformCall makeDeformCall(std::int64_t groups, std::int64_t offset_groups, bool use_mask, double far) {
  at::manual_seed(6);
  const auto numbers = at::TensorOptions().dtype(at::kDouble);
  DeformCall made{{at::randn({2, 6, 9, 7}, numbers), at::randn({4, 6 / groups, 3, 2}, numbers),
                   at::randn({2, offset_groups * 12, 5, 9}, numbers) * far,
                   use_mask ? at::rand({2, offset_groups * 6, 5, 9}, numbers) : at::zeros({2, 1}, numbers),
                   at::randn({4}, numbers)},
                  groups,
                  offset_groups,
                  use_mask};
  return made;
}

TEST(DeformConv2d, WithoutOffsetsIsAConvolution) {
  for (const std::int64_t groups : {1, 2}) {
    const DeformCall of = makeDeformCall(groups, 1, false, 0);
    EXPECT_TRUE(
        at::allclose(of(), at::conv2d(of.operands[0], of.operands[1], of.operands[4], {2, 1}, {1, 2}, {1, 2}, groups)));
  }
}

TEST(DeformConv2d, HasGradients) {
  for (const bool use_mask : {false, true}) {
    DeformCall of = makeDeformCall(2, 3, use_mask, 2);
    for (at::Tensor& one : of.operands) one.requires_grad_();
    const at::Tensor y = of(), g = at::randn(y.sizes(), at::kDouble);
    y.backward(g);
    for (std::size_t i = 0; i < of.operands.size(); ++i) {
      if (i == 3 && !use_mask) continue;
      const at::Tensor way = at::randn(of.operands[i].sizes(), at::kDouble) * 1e-6;
      DeformCall ahead = of, behind = of;
      for (DeformCall* moved : {&ahead, &behind}) {
        for (at::Tensor& one : moved->operands) one = one.detach();
      }
      ahead.operands[i] = ahead.operands[i] + way;
      behind.operands[i] = behind.operands[i] - way;
      const double slope = ((ahead() - behind()) * g).sum().item<double>();
      EXPECT_NEAR((of.operands[i].grad() * way).sum().item<double>() * 2, slope, 1e-7 * std::abs(slope)) << i;
    }
  }
}

TEST(DeformConv2d, HasTheSameBitsForAllThreads) {
  const int before = at::get_num_threads();
  std::vector<at::Tensor> first;
  for (const int threads : {1, 2, 4}) {
    at::set_num_threads(threads);
    DeformCall of = makeDeformCall(1, 2, true, 2);
    for (at::Tensor& one : of.operands) one.requires_grad_();
    of().sum().backward();
    if (first.empty()) first = {of.operands[0].grad(), of.operands[2].grad(), of.operands[3].grad()};
    EXPECT_TRUE(at::equal(of.operands[0].grad(), first[0]));
    EXPECT_TRUE(at::equal(of.operands[2].grad(), first[1]));
    EXPECT_TRUE(at::equal(of.operands[3].grad(), first[2]));
  }
  at::set_num_threads(before);
}

// The sentence by which an operator refuses its operands; empty where it takes them.
std::string refusal(const std::function<void()>& call) {
  try {
    call();
  } catch (const c10::Error& problem) {
    return problem.what_without_backtrace();
  }
  return "";
}

TEST(DeformConv2d, NamesWrongSizes) {
  DeformCall of = makeDeformCall(1, 1, true, 1);
  of.operands[3] = of.operands[3].narrow(1, 0, 2);
  EXPECT_THAT(refusal([&] { of(); }), HasSubstr("mask.shape[1] is not valid: got 2, expected 6"));
  of.operands[2] = of.operands[2].narrow(2, 0, 3);
  EXPECT_THAT(refusal([&] { of(); }), HasSubstr("offset.shape[2] is not valid: got 3, expected 5"));
}

TEST(Suppression, TakesNoOtherSizes) {
  const at::Tensor boxes = at::rand({4, 4});
  EXPECT_EQ(call("ipex_studio::nms", {boxes, at::rand({4}), 2.0}).numel(), 4);
  EXPECT_THROW(call("ipex_studio::nms", {boxes, at::rand({3}), 0.5}), c10::Error);
  EXPECT_THROW(call("ipex_studio::nms", {at::rand({4, 5}), at::rand({4}), 0.5}), c10::Error);
}

// A tensor's numbers in steps of `scale`, as operators on quantized tensors read them.
at::Tensor stepsOf(const at::Tensor& quantized) {
  return quantized.int_repr().to(at::kDouble) - static_cast<double>(quantized.q_zero_point());
}

TEST(RegionsOfInterest, OfQuantizedImagesAreRoundedOnce) {
  at::manual_seed(5);
  for (const at::ScalarType dtype : {at::kQInt8, at::kQUInt8, at::kQInt32}) {
    for (const double scale : {0.1, 1.0, 2.0}) {
      const at::Tensor x =
          at::quantize_per_tensor(at::randint(-20, 90, {1, 3, 10, 10}).to(at::kFloat), scale, 10, dtype);
      const at::Tensor corner = at::rand({12, 2}) * 8 - 3, image = at::full({12, 1}, 7.0);  // which nobody reads
      const at::Tensor rois =
          at::quantize_per_tensor(at::cat({image, corner, corner + at::rand({12, 2}) * 9}, 1), scale, 10, dtype);
      const at::Tensor y = call("ipex_studio::roi_align", {x, rois, 0.5, 3, 2, -1, true});
      at::Tensor places = stepsOf(rois) * scale;
      places.select(1, 0).zero_();
      const at::Tensor exact = call("ipex_studio::roi_align", {stepsOf(x), places, 0.5, 3, 2, -1, true});
      EXPECT_EQ(y.scalar_type(), dtype);
      EXPECT_EQ(y.q_scale(), scale);
      EXPECT_EQ(y.q_zero_point(), 10);
      EXPECT_LE((stepsOf(y) - exact).abs().max().item<double>(), 0.5 + 1e-4) << dtype << ", " << scale;
    }
  }
}

TEST(RegionsOfInterest, OfQuantizedImagesThatCannotBeToldApartAreRefused) {
  const auto quantized = [](const at::Tensor& x, at::ScalarType dtype) {
    return at::quantize_per_tensor(x, 1, 0, dtype);
  };
  const at::Tensor two = quantized(at::rand({2, 3, 9, 9}), at::kQInt8), rois = quantized(at::rand({4, 5}), at::kQInt8);
  EXPECT_THAT(refusal([&] {
                call("ipex_studio::roi_align", {two, rois, 1.0, 3, 3, -1, false});
              }),
              HasSubstr("Only one image per batch is allowed"));
  const at::Tensor others = quantized(at::rand({4, 5}), at::kQUInt8);
  EXPECT_THAT(refusal([&] {
                call("ipex_studio::roi_align", {two.narrow(0, 0, 1), others, 1.0, 3, 3, -1, false});
              }),
              HasSubstr("the same dtype"));
}

TEST(Suppression, OfQuantizedBoxesIsThatOfTheirNumbers) {
  at::manual_seed(8);
  for (const at::ScalarType dtype : {at::kQInt8, at::kQUInt8, at::kQInt32}) {
    for (const double threshold : {0.2, 0.5, 0.8}) {
      const at::Tensor corner = at::rand({300, 2}) * 60, scores = at::rand({300}) * 100;  // with many that are equal
      const at::Tensor boxes =
          at::quantize_per_tensor(at::cat({corner, corner + at::rand({300, 2}) * 40}, 1), 3, 10, dtype);
      const at::Tensor ranks = at::quantize_per_tensor(scores, 2, 5, dtype);
      const at::Tensor numbers = stepsOf(boxes).to(at::kFloat), order = stepsOf(ranks).to(at::kFloat);
      EXPECT_TRUE(at::equal(call("ipex_studio::nms", {boxes, ranks, threshold}),
                            call("ipex_studio::nms", {numbers, order, threshold})))
          << dtype << ", " << threshold;
    }
  }
}

TEST(Suppression, TakesNoBoxesOfSeveralScales) {
  const at::Tensor boxes =
      at::quantize_per_channel(at::rand({4, 4}) * 9, at::rand({4}) + 0.1, at::zeros({4}).to(at::kLong), 1, at::kQInt8);
  const at::Tensor scores = at::quantize_per_tensor(at::rand({4}), 1, 0, at::kQInt8);
  EXPECT_THAT(refusal([&] { call("ipex_studio::nms", {boxes, scores, 0.5}); }), HasSubstr("one scale"));
}

}  // namespace
}  // namespace ipex_studio
