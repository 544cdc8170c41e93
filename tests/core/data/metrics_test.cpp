// Preprocessing against its TOML, metrics against values computed by hand.
#include "core/data/metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "core/base/error.h"
#include "core/data/preprocess.h"
#include "tests/core/data/files.h"

namespace ipex_studio::testing {
namespace {

using ::testing::HasSubstr;

std::string complaint(const std::string& toml) {
  try {
    preprocessFromText(toml, "p.toml");
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::kUsage);
    return error.what();
  }
  return "";
}

TEST(Preprocess, ComesBackFromItsText) {
  const Preprocess read = preprocessFromText(
      "[image]\nresize = 256\ncrop = [224, 200]\npad = 1\nchannels = 3\nscale = 1\nmean = [1, 2, 3]\nstd = 0.5\nlayout "
      "= \"nhwc\"\n",
      "p.toml");
  const Preprocess again = preprocessFromText(preprocessToText(read), "again");
  EXPECT_EQ(preprocessToText(again), preprocessToText(read));
  EXPECT_EQ(again.crop, (std::vector<std::int64_t>{224, 200}));
  EXPECT_TRUE(again.channels_last);
}

TEST(Preprocess, SaysWhatIsWrong) {
  EXPECT_THAT(complaint("resize = 3"), HasSubstr("one table [image]"));
  EXPECT_THAT(complaint("[image]\nresise = 3"), HasSubstr("no setting \"resise\""));
  EXPECT_THAT(complaint("[image]\nresize = 0"), HasSubstr("whole pixels"));
  EXPECT_THAT(complaint("[image]\nchannels = 2"), HasSubstr("1 or 3"));
  EXPECT_THAT(complaint("[image]\nstd = [1, 0, 1]"), HasSubstr("greater than 0"));
  EXPECT_THAT(complaint("[image]\nmean = \"a\""), HasSubstr("must be a number"));
  EXPECT_THAT(complaint("[image"), HasSubstr("is no TOML: line 1"));
}

TEST(Preprocess, WorksOnPixels) {
  const at::Tensor image = at::arange(16, at::kByte).view({1, 4, 4});
  Preprocess preprocess =
      preprocessFromText("[image]\ncrop = 2\npad = 1\nchannels = 3\nscale = 2\nmean = 1\nstd = [1, 2, 4]\n", "p");
  const at::Tensor x = preprocessImage(preprocess, image);
  EXPECT_EQ(x.sizes(), (std::vector<std::int64_t>{3, 4, 4}));
  EXPECT_FLOAT_EQ(x[0][1][1].item<float>(), 2 * 5 - 1);
  EXPECT_FLOAT_EQ(x[2][2][2].item<float>(), (2 * 10 - 1) / 4.f);
  EXPECT_FLOAT_EQ(x[1][0][0].item<float>(), -0.5f);  // padding is zero before scaling
  preprocess.channels_last = true;
  EXPECT_EQ(preprocessImage(preprocess, image).sizes(), (std::vector<std::int64_t>{4, 4, 3}));
  EXPECT_THROW(preprocessImage(preprocessFromText("[image]\ncrop = 5\n", "p"), image), Error);
  const at::Tensor wide = at::zeros({3, 10, 20}, at::kByte);
  EXPECT_EQ(preprocessImage(preprocessFromText("[image]\nresize = 5\n", "p"), wide).sizes(),
            (std::vector<std::int64_t>{3, 5, 10}));
}

TEST(Preprocess, VariesImagesForTraining) {
  const at::Tensor image = at::arange(1, 17, at::kByte).view({1, 4, 4});
  const Preprocess flips = preprocessFromText("[image]\nscale = 1\nflip = true\n", "p");
  EXPECT_TRUE(at::equal(preprocessImage(flips, image, 1), preprocessImage(flips, image)));
  EXPECT_TRUE(at::equal(preprocessImage(flips, image, 3), preprocessImage(flips, image).flip(2)));
  const Preprocess shifts = preprocessFromText("[image]\nscale = 1\nshift = 1\n", "p");
  // Of nine places the number takes the one in the first row and the second column: one pixel down.
  const at::Tensor down = preprocessImage(shifts, image, (std::uint64_t{1} << 32) | (2 << 8) | 1);
  EXPECT_FLOAT_EQ(down[0][1][0].item<float>(), 1);
  EXPECT_FLOAT_EQ(down[0][0].abs().sum().item<float>(), 0);
  EXPECT_TRUE(preprocessFromText(preprocessToText(flips), "p").flip);
  EXPECT_EQ(preprocessFromText(preprocessToText(shifts), "p").shift, 1);
  EXPECT_THAT(complaint("[image]\nflip = 1"), HasSubstr("must be true or false"));
  EXPECT_THAT(complaint("[image]\nshift = 0.5"), HasSubstr("shift must be whole pixels"));
}

double valueOf(Metric metric, const at::Tensor& outputs, const at::Tensor& targets) {
  metric.add(outputs, targets, outputs.size(0));
  return metric.record().value;
}

TEST(Metrics, AgreeWithFiguresByHand) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const at::Tensor scores = at::tensor({0.1f, 0.9f, 0.0f, 5.f, 1.f, 2.f, 1.f, 1.f, 1.f, 1.f, nan, 0.f}).view({4, 3});
  EXPECT_DOUBLE_EQ(valueOf(Metric::fromName("top-1"), scores, at::tensor({1, 2, 1, 1}, at::kLong)),
                   0.25);  // ties go to the first class
  EXPECT_DOUBLE_EQ(valueOf(Metric::fromName("top-5"), scores, at::tensor({1, 2, 1, 0}, at::kLong)), 1);
  const at::Tensor a = at::tensor({1.f, 0.f, 0.f, 2.f}).view({2, 2}), b = at::tensor({1.f, 1.f, 0.f, 1.f}).view({2, 2});
  EXPECT_DOUBLE_EQ(valueOf(Metric::fromName("mse"), a, b), 0.5);
  EXPECT_NEAR(valueOf(Metric::fromName("cosine"), a, b), (1 / std::sqrt(2) + 1) / 2, 1e-12);
  EXPECT_NEAR(valueOf(Metric::fromName("sqnr"), a, b), 10 * std::log10(3.0 / 2), 1e-12);
  EXPECT_EQ(valueOf(Metric::fromName("sqnr"), a, a), 999);
}

TEST(Metrics, CountRealSamplesOnly) {
  Metric metric(MetricKind::kTop1);
  metric.add(at::eye(3), at::tensor({0, 1, 0}, at::kLong), 2);  // the third only fills up the batch
  EXPECT_EQ(metric.record().samples, 2);
  EXPECT_DOUBLE_EQ(metric.record().value, 1);
}

TEST(Metrics, MayBeTheUsersOwn) {
  const Folder folder;
  writeBytes(folder / "metric.py",
             "def metric(outputs, targets):\n    return (outputs.argmax(1) == targets).float().mean()\n");
  EXPECT_DOUBLE_EQ(valueOf(Metric::fromName(folder / "metric.py"), at::eye(4), at::tensor({0, 1, 0, 0}, at::kLong)),
                   0.5);
  writeBytes(folder / "wrong.py", "def metricks(outputs, targets):\n    return 1\n");
  EXPECT_THROW(Metric::fromName(folder / "wrong.py"), Error);
  EXPECT_THROW(Metric::fromName("top-2"), Error);
}

TEST(Metrics, SayWhatDoesNotFit) {
  Metric metric(MetricKind::kTop1);
  EXPECT_THROW(metric.add(at::eye(3), at::tensor({0, 1, 3}, at::kLong), 3), Error);
  EXPECT_THROW(metric.add(at::eye(3), at::Tensor(), 3), Error);
  EXPECT_THROW(Metric(MetricKind::kSqnr).add(at::eye(3), at::eye(4), 3), Error);
}

}  // namespace
}  // namespace ipex_studio::testing
