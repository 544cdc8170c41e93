// Suppression of boxes and regions of interest give the bits of their plain versions, for all threads and instruction
// sets, and those versions the values of torchvision.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "kernels/vision/nms.h"
#include "kernels/vision/ps_roi_align.h"
#include "kernels/vision/ps_roi_pool.h"
#include "kernels/vision/roi_pool.h"

namespace ipex_studio {
namespace {

constexpr const char* kTiers[] = {"sse41", "avx2", "avx512_core"};
constexpr std::int32_t kThreads[] = {1, 2, 4};

// Threads do not know of instruction sets.
std::vector<std::int32_t> threadsOf(const std::string& isa) {
  return isa == kTiers[2] ? std::vector<std::int32_t>(std::begin(kThreads), std::end(kThreads))
                          : std::vector<std::int32_t>{1};
}

template <typename T>
std::vector<T> randomNumbers(std::size_t count, double low, double high, unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> number(low, high);
  std::vector<T> numbers(count);
  for (T& one : numbers) one = static_cast<T>(number(random));
  return numbers;
}

// Scores with ties, zeros of both signs and NaN; boxes that are empty, the same, and no numbers.
template <typename T>
void fillBoxes(std::int64_t count, std::vector<T>* boxes, std::vector<T>* scores) {
  *boxes = randomNumbers<T>(static_cast<std::size_t>(4 * count), 0, 60, 1);
  *scores = randomNumbers<T>(static_cast<std::size_t>(count), -2, 2, 2);
  constexpr T kNan = std::numeric_limits<T>::quiet_NaN();
  for (std::int64_t b = 0; b < count; ++b) {
    T* const box = boxes->data() + 4 * b;
    box[2] += box[0];
    box[3] += box[1];
    (*scores)[b] = std::round((*scores)[b] * 4) / 4;
    if (b % 13 == 5) box[2] = box[0];
    if (b % 17 == 3) std::fill(box, box + 4, T(0));
    if (b % 29 == 7) box[b % 4] = kNan;
    if (b % 31 == 8) box[2] = std::numeric_limits<T>::infinity();
    if (b % 11 == 4) (*scores)[b] = kNan;
  }
}

template <typename T>
void checkNms(std::int64_t count, double threshold) {
  std::vector<T> boxes, scores;
  fillBoxes(count, &boxes, &scores);
  const std::vector<std::int64_t> expected = nmsRef({count, threshold, "", 1}, boxes.data(), scores.data());
  for (const char* isa : kTiers) {
    for (const std::int32_t threads : threadsOf(isa)) {
      EXPECT_EQ(nms({count, threshold, isa, threads}, boxes.data(), scores.data()), expected)
          << count << " boxes, " << threshold << ", " << isa << ", " << threads << " threads";
    }
  }
}

TEST(Nms, KeepsWhatThePlainVersionKeeps) {
  for (const std::int64_t count : {0, 1, 3, 63, 64, 65, 129, 700}) {
    for (const double threshold : {0.0, 0.3, 0.5, 0.7, 1.0, -1.0, std::nan(""), 1e300}) {
      checkNms<float>(count, threshold);
      checkNms<double>(count, threshold);
    }
  }
}

TEST(Nms, FollowsTorchvisionInTies) {
  // Two equal boxes with equal scores: the first stays. An overlap of exactly the threshold stays. NaN goes first.
  const std::vector<float> boxes = {0, 0, 2, 2, 0, 0, 2, 2, 0, 0, 2, 1, 5, 5, 5, 5, 5, 5, 5, 5, 0, 1, 2, 2};
  const std::vector<float> scores = {1, 1, 0.5f, 0.1f, 0.1f, std::nanf("")};
  EXPECT_EQ(nms({6, 0.5, "avx2", 1}, boxes.data(), scores.data()), (std::vector<std::int64_t>{5, 0, 2, 3, 4}));
  EXPECT_EQ(nms({6, 0.49, "avx2", 1}, boxes.data(), scores.data()), (std::vector<std::int64_t>{5, 2, 3, 4}));
}

// Regions inside, across the border, outside, empty, turned round, and without numbers.
template <typename T>
std::vector<T> randomRois(const RoiAlignJob& job) {
  std::vector<T> rois = randomNumbers<T>(static_cast<std::size_t>(5 * job.rois), -8, 50, 3);
  for (std::int64_t r = 0; r < job.rois; ++r) {
    T* const roi = rois.data() + 5 * r;
    roi[0] = static_cast<T>(r % job.images);
    const bool turned = job.sampling_ratio > 0 && r % 5 == 1;
    for (int axis : {1, 2}) {
      if (!turned && roi[axis] > roi[axis + 2]) std::swap(roi[axis], roi[axis + 2]);
    }
    if (r % 7 == 2) std::fill(roi + 1, roi + 5, T(0));
    if (r % 7 == 3) std::fill(roi + 1, roi + 5, T(500));
    if (r % 7 == 4 && job.sampling_ratio > 0) roi[3] = std::numeric_limits<T>::quiet_NaN();
  }
  return rois;
}

template <typename T>
void checkRoiAlign(RoiAlignJob job) {
  const auto pixels = static_cast<std::size_t>(job.images * job.channels * job.height * job.width),
             bins = static_cast<std::size_t>(job.rois * job.channels * job.pooled_height * job.pooled_width);
  const std::vector<T> x = randomNumbers<T>(pixels, -1, 1, 4), grad = randomNumbers<T>(bins, -1, 1, 5),
                       rois = randomRois<T>(job);
  std::vector<T> expected(bins), expected_grad(pixels);
  roiAlignRef(job, x.data(), rois.data(), expected.data());
  roiAlignBackwardRef(job, grad.data(), rois.data(), expected_grad.data());
  for (const char* isa : kTiers) {
    for (const std::int32_t threads : threadsOf(isa)) {
      job.isa = isa;
      job.threads = threads;
      std::vector<T> y(bins, T(9)), grad_x(pixels, T(9));
      roiAlign(job, x.data(), rois.data(), y.data());
      roiAlignBackward(job, grad.data(), rois.data(), grad_x.data());
      EXPECT_EQ(y, expected) << job.channels << " channels, " << job.rois << " regions, " << isa;
      EXPECT_EQ(grad_x, expected_grad) << job.channels << " channels, " << job.rois << " regions, " << isa;
    }
  }
}

TEST(RoiAlign, HasTheBitsOfThePlainVersion) {
  for (const std::int64_t channels : {1, 3, 17, 33}) {
    for (const std::int64_t rois : {0, 1, 9, 40}) {  // few are copied region by region, many image by image
      for (const std::int64_t sampling : {0, 2, 3}) {
        for (const bool aligned : {false, true}) {
          RoiAlignJob job{2, channels, 21, 18, rois, 3, 2, 0.5, sampling, aligned, "", 1};
          checkRoiAlign<float>(job);
          checkRoiAlign<double>(job);
        }
      }
    }
  }
}

// Values of torchvision 0.14.1: x = arange(12), 3 x 4 pixels.
TEST(RoiAlign, HasTheValuesOfTorchvision) {
  std::vector<float> x(12);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i);
  const std::vector<float> rois = {0, 0.5f, 0, 3.5f, 2, 0, 1, 1, 1, 1};
  RoiAlignJob job{1, 1, 3, 4, 2, 2, 2, 1.0, 0, true, "avx2", 1};
  std::vector<float> y(8);
  roiAlign(job, x.data(), rois.data(), y.data());
  EXPECT_EQ(y, (std::vector<float>{0.75f, 2.25f, 4.75f, 6.25f, 0, 0, 0, 0}));
  job.aligned = false;
  job.sampling_ratio = 2;
  roiAlign(job, x.data(), rois.data(), y.data());
  EXPECT_EQ(y, (std::vector<float>{3.25f, 4.6875f, 7.25f, 8.6875f, 6.25f, 6.75f, 8.25f, 8.75f}));
}

// The gradient is the transpose of the average: <y, grad y> = <x, grad x>.
TEST(RoiAlign, GradientIsTheTranspose) {
  const RoiAlignJob job{2, 5, 9, 11, 12, 3, 4, 0.5, 0, true, "avx512_core", 2};
  const std::vector<double> x = randomNumbers<double>(2 * 5 * 9 * 11, -1, 1, 6), rois = randomRois<double>(job),
                            grad = randomNumbers<double>(12 * 5 * 12, -1, 1, 7);
  std::vector<double> y(grad.size()), grad_x(x.size());
  roiAlign(job, x.data(), rois.data(), y.data());
  roiAlignBackward(job, grad.data(), rois.data(), grad_x.data());
  double of_y = 0, of_x = 0;
  for (std::size_t i = 0; i < y.size(); ++i) of_y += y[i] * grad[i];
  for (std::size_t i = 0; i < x.size(); ++i) of_x += x[i] * grad_x[i];
  EXPECT_NEAR(of_y, of_x, 1e-12);
}

RoiAlignJob pooledJob(std::int64_t channels, std::int64_t sampling) {
  RoiAlignJob job{2, channels, 13, 11, 25, 3, 2, 0.25, sampling, true, "", 1};
  return job;
}

// The same bits for all numbers of threads, and a gradient that is the transpose where the result is linear.
template <typename Forward, typename Backward>
void checkLinear(RoiAlignJob job, std::size_t results, const Forward& forward, const Backward& backward) {
  const auto pixels = static_cast<std::size_t>(job.images * job.channels * job.height * job.width);
  const std::vector<double> x = randomNumbers<double>(pixels, -1, 1, 8),
                            grad = randomNumbers<double>(results, -1, 1, 9), rois = randomRois<double>(job);
  std::vector<double> first_y, first_grad;
  for (const std::int32_t threads : kThreads) {
    job.threads = threads;
    std::vector<double> y(results, 9), grad_x(pixels, 9);
    forward(job, x.data(), rois.data(), y.data());
    backward(job, grad.data(), rois.data(), grad_x.data());
    double of_y = 0, of_x = 0;
    for (std::size_t i = 0; i < results; ++i) of_y += std::isnan(y[i]) ? 0 : y[i] * grad[i];
    for (std::size_t i = 0; i < pixels; ++i) of_x += x[i] * grad_x[i];
    EXPECT_NEAR(of_y, of_x, 1e-12);
    if (threads == 1) {
      first_y = y;
      first_grad = grad_x;
    }
    EXPECT_EQ(std::memcmp(y.data(), first_y.data(), results * sizeof(double)), 0);
    EXPECT_EQ(grad_x, first_grad);
  }
}

TEST(PsRoiAlign, GradientIsTheTranspose) {
  for (const std::int64_t sampling : {0, 2})
    checkLinear(pooledJob(18, sampling), 25 * 18, psRoiAlign<double>, psRoiAlignBackward<double>);
}

TEST(PsRoiPool, GradientIsTheTranspose) {
  checkLinear(pooledJob(12, 0), 25 * 12, psRoiPool<double>, psRoiPoolBackward<double>);
}

TEST(RoiPool, GradientGoesToTheGreatest) {
  std::vector<std::int32_t> pixels(25 * 5 * 6);
  checkLinear(
      pooledJob(5, 0), pixels.size(),
      [&](const RoiAlignJob& job, const double* x, const double* rois, double* y) {
        roiPool(job, x, rois, y, pixels.data());
      },
      [&](const RoiAlignJob& job, const double* grad, const double* rois, double* x) {
        roiPoolBackward(job, grad, rois, pixels.data(), x);
      });
}

// Values of torchvision 0.14.1: x[c][row][column] = 12·c + 4·row + column of 3 x 4 pixels.
TEST(RegionsOfInterest, HaveTheValuesOfTorchvision) {
  std::vector<float> x(48), y(4);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i);
  const std::vector<float> roi = {0, 0.5f, 0, 2.75f, 1.5f};
  RoiAlignJob job{1, 4, 3, 4, 1, 2, 2, 1.0, 2, true, "", 1};
  psRoiAlign(job, x.data(), roi.data(), y.data());
  EXPECT_EQ(y, (std::vector<float>{0.6875f, 13.8125f, 27.0625f, 40.1875f}));
  psRoiPool(job, x.data(), roi.data(), y.data());
  EXPECT_EQ(y, (std::vector<float>{1, 14, 29, 42}));
  job.channels = 1;
  std::vector<std::int32_t> pixels(4);
  roiPool(job, x.data(), roi.data(), y.data(), pixels.data());
  EXPECT_EQ(y, (std::vector<float>{6, 7, 10, 11}));
  EXPECT_EQ(pixels, (std::vector<std::int32_t>{6, 7, 10, 11}));
}

}  // namespace
}  // namespace ipex_studio
