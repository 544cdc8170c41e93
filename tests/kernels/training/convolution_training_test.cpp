// Convolutions of training against their plain form in double precision: what primitives, products by taps and the
// depthwise kernel compute, odd sizes, instruction sets, numbers of threads.
#include "kernels/training/convolution_training.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "kernels/training/convolution_taps.h"
#include "kernels/training/convolution_training_ref.h"
#include "kernels/training/depthwise_weights.h"

namespace ipex_studio::kernel_test {
namespace {

using Pair = ConvolutionProblem::Pair;

ConvolutionProblem problemOf(std::int64_t images, std::int64_t channels, std::int64_t outputs, Pair size, Pair kernel,
                             Pair stride = {1, 1}, Pair padding = {0, 0}, Pair dilation = {1, 1},
                             std::int64_t groups = 1) {
  ConvolutionProblem p;
  p.images = images;
  p.channels = channels;
  p.outputs = outputs;
  p.size = size;
  p.kernel = kernel;
  p.stride = stride;
  p.padding = padding;
  p.dilation = dilation;
  p.groups = groups;
  return p;
}

// A problem of volumes from one of images.
ConvolutionProblem volumeOf(ConvolutionProblem p, std::int64_t size, std::int64_t kernel, std::int64_t stride = 1,
                            std::int64_t padding = 0, std::int64_t dilation = 1) {
  p.volume = true;
  p.depth = {size, kernel, stride, padding, dilation};
  return p;
}

const std::vector<ConvolutionProblem>& convolutionProblems() {
  static const std::vector<ConvolutionProblem> problems = {
      problemOf(1, 1, 1, {1, 1}, {1, 1}),
      problemOf(2, 3, 17, {9, 7}, {3, 3}, {2, 2}, {1, 1}),
      problemOf(3, 17, 33, {5, 6}, {3, 3}, {1, 1}, {1, 1}),
      problemOf(2, 16, 32, {8, 8}, {3, 3}, {1, 1}, {1, 1}),
      problemOf(2, 33, 3, {4, 9}, {1, 1}),
      problemOf(2, 32, 16, {9, 9}, {1, 1}, {2, 2}),
      problemOf(1, 8, 8, {7, 5}, {1, 1}, {3, 2}, {1, 2}),
      problemOf(3, 2, 5, {6, 6}, {1, 1}, {2, 2}),
      problemOf(2, 4, 9, {6, 7}, {1, 1}, {2, 2}),
      problemOf(3, 12, 8, {7, 6}, {1, 1}, {2, 3}),
      problemOf(5, 33, 17, {1, 1}, {3, 3}, {1, 1}, {1, 1}),
      problemOf(3, 16, 24, {2, 2}, {3, 3}, {2, 2}, {1, 1}),
      problemOf(3, 24, 16, {2, 2}, {5, 3}, {1, 1}, {2, 1}),
      problemOf(2, 8, 16, {12, 11}, {3, 2}, {1, 2}, {2, 1}, {2, 3}),
      problemOf(2, 4, 6, {3, 3}, {3, 3}, {1, 1}, {3, 3}),
      problemOf(1, 16, 16, {20, 20}, {7, 7}, {2, 2}, {3, 3}),
      problemOf(2, 33, 33, {6, 9}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, 33),
      problemOf(2, 40, 40, {7, 7}, {5, 5}, {2, 2}, {2, 2}, {1, 1}, 40),
      problemOf(3, 17, 17, {4, 4}, {7, 7}, {1, 1}, {3, 3}, {1, 1}, 17),
      problemOf(2, 32, 32, {6, 6}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, 2),
      problemOf(1, 3, 3, {5, 5}, {3, 3}, {1, 1}, {2, 2}, {2, 2}, 3),
      problemOf(2, 32, 40, {9, 7}, {3, 3}, {1, 1}, {1, 1}),
      problemOf(1, 33, 35, {6, 11}, {3, 2}, {2, 1}, {1, 0}),
      problemOf(3, 17, 33, {1, 23}, {1, 5}, {1, 2}, {0, 2}),
      volumeOf(problemOf(1, 1, 1, {1, 1}, {1, 1}), 1, 1),
      volumeOf(problemOf(2, 3, 17, {7, 5}, {3, 3}, {2, 2}, {1, 1}), 5, 3, 2, 1),
      volumeOf(problemOf(2, 16, 32, {6, 6}, {3, 3}, {1, 1}, {1, 1}), 4, 3, 1, 1),
      volumeOf(problemOf(1, 33, 17, {5, 4}, {1, 1}), 3, 1),
      volumeOf(problemOf(2, 4, 6, {6, 9}, {2, 3}, {1, 2}, {0, 1}, {1, 2}), 7, 3, 1, 2, 2),
      volumeOf(problemOf(3, 8, 8, {3, 3}, {1, 3}, {1, 1}, {0, 1}), 5, 1, 3),
  };
  return problems;
}

std::vector<float> randomFloats(std::int64_t count, std::mt19937* random) {
  std::normal_distribution<float> normal;
  std::vector<float> values(static_cast<std::size_t>(count));
  for (float& value : values) value = normal(*random);
  return values;
}

struct Operands {
  explicit Operands(const ConvolutionProblem& p) {
    std::mt19937 random(3);
    x = randomFloats(p.images * p.pixels() * p.channels, &random);
    w = randomFloats(p.weightCount(), &random);
    bias = randomFloats(p.outputs, &random);
    dy = randomFloats(p.rows() * p.outputs, &random);
  }
  std::vector<float> x, w, bias, dy;
};

// Sums of random signs grow like the root of the number of summands, and so does the number of roundings that count.
void expectNear(const std::vector<float>& values, const std::vector<double>& right, std::int64_t summands,
                const char* what) {
  ASSERT_EQ(values.size(), right.size()) << what;
  const double bound = 2.4e-7 * static_cast<double>(8 + summands);
  for (std::size_t i = 0; i < values.size(); ++i) ASSERT_NEAR(values[i], right[i], bound) << what << ' ' << i;
}

// Results of one class of convolutions, written over memory that is full of NaN.
template <typename Convolution>
void expectRight(const ConvolutionProblem& p, const Convolution& convolution) {
  const Operands operands(p);
  const ConvolutionRef ref = convolutionTrainingRef(p, operands.x, operands.w, operands.bias, operands.dy);
  std::vector<float> y(operands.dy.size(), NAN), dx(operands.x.size(), NAN), dw(operands.w.size(), NAN);
  convolution.forward(operands.x.data(), operands.w.data(), operands.bias.data(), y.data());
  expectNear(y, ref.y, p.taps() * p.groupChannels(), "y");
  std::fill(y.begin(), y.end(), NAN);
  convolution.forward(operands.x.data(), operands.w.data(), nullptr, y.data());
  const auto plain = convolutionTrainingRef(p, operands.x, operands.w, {}, operands.dy);
  expectNear(y, plain.y, p.taps() * p.groupChannels(), "y without bias");
  convolution.sourceGradient(operands.w.data(), operands.dy.data(), dx.data());
  expectNear(dx, ref.dx, p.taps() * p.outputs / p.groups, "dx");
  convolution.weightGradient(operands.x.data(), operands.dy.data(), dw.data());
  expectNear(dw, ref.dw, p.rows(), "dw");
}

TEST(ConvolutionTrainingTest, IsRightForAnyNumberOfThreads) {
  for (ConvolutionProblem p : convolutionProblems()) {
    for (const std::int32_t threads : {1, 2}) {
      p.threads = threads;
      SCOPED_TRACE(testing::Message() << p.channels << " to " << p.outputs << ", " << p.size[0] << 'x' << p.size[1]
                                      << ", kernel " << p.kernel[0] << ", threads " << threads);
      const auto convolution = prepareConvolution(p);
      if (convolution) expectRight(p, *convolution);
      if (p.groups == 1 || (p.isDepthwise() && p.dilation[0] == 1)) {
        EXPECT_NE(convolution, nullptr);
      }
    }
  }
}

std::vector<Bf16> roundedToBf16(std::vector<float>* values) {
  std::vector<Bf16> result(values->size());
  for (std::size_t i = 0; i < result.size(); ++i) {
    result[i].bits = floatToBf16((*values)[i]);
    (*values)[i] = bf16ToFloat(result[i].bits);
  }
  return result;
}

// Rounded once, from sums in FP32.
void expectRounded(const std::vector<Bf16>& values, const std::vector<double>& right, std::int64_t summands,
                   const char* what) {
  ASSERT_EQ(values.size(), right.size()) << what;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double bound = 2.4e-7 * static_cast<double>(8 + summands) + std::abs(right[i]) / 256;
    ASSERT_NEAR(bf16ToFloat(values[i].bits), right[i], bound) << what << ' ' << i;
  }
}

// Weights are rounded to BF16, so they are given rounded here; their gradients are not.
TEST(ConvolutionTrainingTest, Bf16SumsInFp32) {
  const Bf16 nan{0x7fc0};
  for (ConvolutionProblem p : convolutionProblems()) {
    for (const std::int32_t threads : {1, 2}) {
      p.threads = threads;
      p.bf16 = true;
      SCOPED_TRACE(testing::Message() << p.channels << " to " << p.outputs << ", " << p.size[0] << 'x' << p.size[1]
                                      << ", kernel " << p.kernel[0] << ", threads " << threads);
      const auto convolution = prepareConvolution(p);
      if (p.groups == 1 || (p.isDepthwise() && p.dilation[0] == 1)) {
        EXPECT_NE(convolution, nullptr);
      }
      if (!convolution) continue;
      Operands operands(p);
      const std::vector<Bf16> x = roundedToBf16(&operands.x), dy = roundedToBf16(&operands.dy);
      roundedToBf16(&operands.w);
      const ConvolutionRef ref = convolutionTrainingRef(p, operands.x, operands.w, operands.bias, operands.dy);
      std::vector<Bf16> y(dy.size(), nan), dx(x.size(), nan);
      std::vector<float> dw(operands.w.size(), NAN);
      convolution->forward(x.data(), operands.w.data(), operands.bias.data(), y.data());
      expectRounded(y, ref.y, p.taps() * p.groupChannels(), "y");
      convolution->sourceGradient(operands.w.data(), dy.data(), dx.data());
      expectRounded(dx, ref.dx, p.taps() * p.outputs / p.groups, "dx");
      convolution->weightGradient(x.data(), dy.data(), dw.data());
      expectNear(dw, ref.dw, p.rows(), "dw");
    }
  }
}

TEST(ConvolutionTrainingTest, ProductsByTapsAreRightForAllSizes) {
  for (const ConvolutionProblem& p : convolutionProblems()) {
    if (p.groups > 1 || p.volume) continue;
    SCOPED_TRACE(testing::Message() << p.channels << " to " << p.outputs << ", kernel " << p.kernel[0]);
    expectRight(p, ConvolutionTaps(p));
  }
}

TEST(ConvolutionTrainingTest, DepthwiseGradientHasTheSameBitsForAnyNumberOfThreads) {
  for (ConvolutionProblem p : convolutionProblems()) {
    if (!p.isDepthwise()) continue;
    const Operands operands(p);
    const ConvolutionRef ref = convolutionTrainingRef(p, operands.x, operands.w, {}, operands.dy);
    for (const char* isa : {"", "avx2", "sse4"}) {
      std::vector<float> one(operands.w.size(), NAN), two(operands.w.size(), NAN);
      p.threads = 1;
      depthwiseWeightGradient(p, operands.x.data(), operands.dy.data(), one.data(), isa);
      expectNear(one, ref.dw, p.rows(), isa);
      p.threads = 2;
      depthwiseWeightGradient(p, operands.x.data(), operands.dy.data(), two.data(), isa);
      EXPECT_EQ(one, two);
      std::vector<float> x = operands.x, dy = operands.dy, low(operands.w.size(), NAN), wide(low);
      const std::vector<Bf16> low_x = roundedToBf16(&x), low_dy = roundedToBf16(&dy);
      depthwiseWeightGradient(p, low_x.data(), low_dy.data(), low.data(), isa);
      depthwiseWeightGradient(p, x.data(), dy.data(), wide.data(), isa);
      EXPECT_EQ(low, wide);
    }
  }
}

TEST(ConvolutionTrainingTest, SumsOfRowsAreRight) {
  std::mt19937 random(5);
  for (const std::int64_t rows : {1, 3, 64, 1000}) {
    for (const std::int64_t columns : {1, 17, 33}) {
      const std::vector<float> dy = randomFloats(rows * columns, &random);
      std::vector<double> right(static_cast<std::size_t>(columns));
      for (std::size_t i = 0; i < dy.size(); ++i) right[i % right.size()] += dy[i];
      std::vector<float> one(right.size(), NAN), two(right.size(), NAN);
      sumRows(dy.data(), rows, columns, 1, one.data());
      sumRows(dy.data(), rows, columns, 2, two.data());
      expectNear(one, right, rows, "sums");
      EXPECT_EQ(one, two);
    }
  }
}

}  // namespace
}  // namespace ipex_studio::kernel_test
