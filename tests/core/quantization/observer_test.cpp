// Observers against brute force: ranges, histograms, merges, resuming.
#include "core/quantization/observer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "core/base/error.h"

namespace ipex_studio {
namespace {

std::vector<float> normal(std::size_t count, unsigned seed, float scale = 1, float shift = 0) {
  std::mt19937 random(seed);
  std::normal_distribution<float> values(shift, scale);
  std::vector<float> made(count);
  for (float& value : made) value = values(random);
  return made;
}

TensorDesc rows(std::int64_t n, std::int64_t c) { return contiguousDesc(DType::kF32, Dims{n, c}); }

ValueObserver observed(const std::vector<float>& values) {
  ValueObserver observer;
  observer.observe(rows(static_cast<std::int64_t>(values.size()) / 8, 8), values.data());
  return observer;
}

double bruteError(const std::vector<float>& values, ValueRange range) {
  const AffineParameters affine = affineParameters(range);
  double error = 0;
  for (const float value : values) {
    const double level =
        std::clamp(std::nearbyint(value / affine.scale) + static_cast<double>(affine.zero_point), 0.0, 255.0);
    const double delta = (level - static_cast<double>(affine.zero_point)) * affine.scale - value;
    error += delta * delta;
  }
  return error / static_cast<double>(values.size());
}

TEST(ObserverTest, FindsTheExtremesInEveryLayout) {
  const TensorDesc blocked = blockedDesc(DType::kF32, Dims{2, 19, 3, 5}, 16);
  std::vector<float> memory(blocked.bytes() / sizeof(float), 0);
  float least = 0, greatest = 0;
  double sum_of_channel_17 = 0;
  std::mt19937 random(3);
  std::uniform_real_distribution<float> uniform(-7, 9);
  for (std::int64_t n = 0; n < 2; ++n) {
    for (std::int64_t c = 0; c < 19; ++c) {
      for (std::int64_t i = 0; i < 15; ++i) {
        const float value = uniform(random);
        memory[static_cast<std::size_t>(n * blocked.strides[0] + c / 16 * blocked.strides[1] + i * 16 + c % 16)] =
            value;
        least = std::min(least, value);
        greatest = std::max(greatest, value);
        if (c == 17) sum_of_channel_17 += value;
      }
    }
  }
  ValueObserver observer;
  observer.observe(blocked, memory.data(), 1);
  EXPECT_EQ(observer.least(), least);
  EXPECT_EQ(observer.greatest(), greatest);
  ASSERT_EQ(observer.channelMean().size(), 19u);
  EXPECT_NEAR(observer.channelMean()[17], sum_of_channel_17 / 30, 1e-5);

  // A slice of rows: the memory between them is not seen.
  std::vector<float> wide(40, 1000);
  for (std::size_t i = 0; i < 4; ++i) {
    for (std::size_t j = 0; j < 5; ++j) wide[i * 10 + j] = static_cast<float>(i) - static_cast<float>(j);
  }
  TensorDesc slice = rows(4, 5);
  slice.strides = Dims{10, 1};
  ValueObserver part;
  part.observe(slice, wide.data(), 1);
  EXPECT_EQ(part.count(), 20);
  EXPECT_EQ(part.least(), -4);
  EXPECT_EQ(part.greatest(), 3);
  EXPECT_EQ(part.channelAbsmax(), (std::vector<double>{3, 2, 2, 3, 4}));
}

TEST(ObserverTest, CountsWhatIsNotFiniteAndLeavesItOut) {
  std::vector<float> values = normal(1000, 1);
  values[3] = std::numeric_limits<float>::quiet_NaN();
  values[500] = std::numeric_limits<float>::infinity();
  values[999] = -std::numeric_limits<float>::infinity();
  const ValueObserver observer = observed(values);
  EXPECT_EQ(observer.nanCount(), 1);
  EXPECT_EQ(observer.infCount(), 2);
  EXPECT_LT(std::abs(observer.greatest()), 10);
  for (ObserverKind kind : {ObserverKind::kMinMax, ObserverKind::kPercentile, ObserverKind::kKl, ObserverKind::kMse}) {
    const ValueRange range = observer.range({kind, 99.9});
    EXPECT_TRUE(std::isfinite(range.low) && std::isfinite(range.high) && range.low < range.high) << observerName(kind);
  }
}

TEST(ObserverTest, ConstantsAndEmptyTensorsHaveARange) {
  for (const float constant : {0.0f, 3.0f, -1e-20f, 1e30f}) {
    const ValueObserver observer = observed(std::vector<float>(64, constant));
    for (ObserverKind kind :
         {ObserverKind::kMinMax, ObserverKind::kPercentile, ObserverKind::kKl, ObserverKind::kMse}) {
      const ValueRange range = observer.range({kind, 99.9});
      const AffineParameters affine = affineParameters(range);
      EXPECT_TRUE(std::isfinite(affine.scale) && affine.scale > 0) << constant << " " << observerName(kind);
      const double level =
          std::clamp(std::nearbyint(constant / affine.scale) + static_cast<double>(affine.zero_point), 0.0, 255.0);
      EXPECT_NEAR((level - static_cast<double>(affine.zero_point)) * affine.scale, constant,
                  std::abs(constant) * 0.01 + 1e-15)
          << observerName(kind);
    }
  }
  ValueObserver nothing;
  nothing.observe(rows(0, 5), nullptr);
  EXPECT_EQ(nothing.count(), 0);
  EXPECT_EQ(nothing.range({}).high, 0);
}

TEST(ObserverTest, HistogramHoldsEveryValueInItsBin) {
  const std::vector<float> values = normal(5000, 7, 2.5f, 1);
  Histogram histogram;
  histogram.add(values.data(), values.size());
  ASSERT_LE(histogram.counts().size(), static_cast<std::size_t>(Histogram::kBins));
  EXPECT_GT(histogram.counts().size(), static_cast<std::size_t>(Histogram::kBins / 4));
  std::vector<std::int64_t> brute(histogram.counts().size(), 0);
  for (const float value : values)
    ++brute[static_cast<std::size_t>(std::floor(value / histogram.width()) - static_cast<double>(histogram.first()))];
  EXPECT_EQ(histogram.counts(), brute);
}

TEST(ObserverTest, OrderBatchesMergesAndRestoringChangeNothing) {
  std::vector<std::vector<float>> batches;
  for (unsigned i = 0; i < 12; ++i)
    batches.push_back(normal(700, i, std::ldexp(1.0f, static_cast<int>(i * 5 % 9) - 4)));
  ValueObserver forward, backward, left, right;
  for (std::size_t i = 0; i < batches.size(); ++i) {
    const TensorDesc desc = rows(7, 100);
    forward.observe(desc, batches[i].data(), 1);
    backward.observe(desc, batches[batches.size() - 1 - i].data(), 1);
    (i < 5 ? left : right).observe(desc, batches[i].data(), 1);
    if (i == 7) right = ValueObserver::fromState(nlohmann::json::parse(right.state().dump()));
  }
  left.merge(right);
  const auto strip = [](nlohmann::json state) {
    state.erase("channel_sum");  // sums of floats depend on their order
    return state;
  };
  EXPECT_EQ(strip(forward.state()), strip(backward.state()));
  EXPECT_EQ(strip(forward.state()), strip(left.state()));
  const ValueRange a = forward.range({ObserverKind::kMse, 0}), b = left.range({ObserverKind::kMse, 0});
  EXPECT_EQ(a.low, b.low);
  EXPECT_EQ(a.high, b.high);
}

TEST(ObserverTest, DamagedStatesAreRefused) {
  const nlohmann::json good = observed(normal(100, 1)).state();
  for (const char* field : {"count", "least", "histogram", "channel_sum"}) {
    nlohmann::json bad = good;
    bad.erase(field);
    EXPECT_THROW(ValueObserver::fromState(bad), Error) << field;
    bad = good;
    bad[field] = "text";
    EXPECT_THROW(ValueObserver::fromState(bad), Error) << field;
  }
  nlohmann::json bad = good;
  bad["histogram"]["counts"] = std::vector<std::int64_t>(5000, 1);
  EXPECT_THROW(ValueObserver::fromState(bad), Error);
  bad = good;
  bad["nan"] = -1;
  EXPECT_THROW(ValueObserver::fromState(bad), Error);
}

TEST(RangeTest, PercentileLeavesTheStatedShareOutside) {
  const std::vector<float> values = normal(4000, 11);
  const ValueRange range = observed(values).range({ObserverKind::kPercentile, 99.0});
  const auto outside =
      std::count_if(values.begin(), values.end(), [&](float value) { return value < range.low || value > range.high; });
  EXPECT_NEAR(static_cast<double>(outside) / 4000, 0.01, 0.003);
}

TEST(RangeTest, MseIsNoWorseThanAnyClipTriedByHand) {
  std::vector<float> values = normal(4000, 5);
  values[17] = 60;  // an outlier that widens the range of min-max
  const ValueRange chosen = observed(values).range({ObserverKind::kMse, 0});
  const double error = bruteError(values, chosen);
  EXPECT_LT(error, bruteError(values, {-4, 60}));
  for (double low = -4; low <= -2; low += 0.5) {
    for (double high = 2; high <= 60; high *= 1.5)
      EXPECT_LT(error, bruteError(values, {low, high}) * 1.1) << low << " " << high;
  }
}

TEST(RangeTest, HistogramErrorIsTheBruteForceError) {
  const std::vector<float> values = normal(4000, 9, 3);
  const ValueObserver observer = observed(values);
  for (const ValueRange range : {ValueRange{-9, 9}, ValueRange{-4, 3}, ValueRange{-1, 12}}) {
    EXPECT_NEAR(quantizationError(observer.histogram(), range, 256) / bruteError(values, range), 1, 0.03);
  }
}

TEST(RangeTest, KlClipsALongTail) {
  std::vector<float> values = normal(200000, 13);
  for (float& value : values) value = std::abs(value);
  values[5] = 80;
  ValueObserver observer;
  observer.observe(rows(200, 1000), values.data());
  const ValueRange range = observer.range({ObserverKind::kKl, 0});
  EXPECT_EQ(range.low, 0);
  EXPECT_LT(range.high, 20);
  EXPECT_GT(range.high, 2);
}

TEST(RangeTest, ZeroIsAlwaysExact) {
  for (const ValueRange range : {ValueRange{0.5, 3}, ValueRange{-3, -1}, ValueRange{-1.3, 2.7}, ValueRange{0, 0}}) {
    const AffineParameters affine = affineParameters(range);
    EXPECT_GE(affine.zero_point, 0);
    EXPECT_LE(affine.zero_point, 255);
  }
  EXPECT_EQ(affineParameters({0.5, 3}).zero_point, 0);
  EXPECT_EQ(affineParameters({-3, -1}).zero_point, 255);
}

TEST(RangeTest, UnknownObserversAreRefusedByName) {
  EXPECT_THROW(observerFromName("median"), Error);
  EXPECT_EQ(observerFromName("kl"), ObserverKind::kKl);
}

}  // namespace
}  // namespace ipex_studio
