// Observers: statistics of a value over a calibration set, and the range to quantize it in. Knows no libtorch.
//
// A ValueObserver sees every element for the smallest and greatest value and the count of NaN and infinity, and a fixed
// sample of each tensor for the histogram: at most kSamplesPerItem elements per item of the first axis, evenly spaced.
// The histogram lies on a grid of width 2^k that becomes coarser, pairs of bins merging into one, when a value falls
// outside. Its contents at the end depend on the values alone, not on their order, on batches or on merges, so a
// calibration that was interrupted and restored ends exactly as one that was not. Sources: R. Krishnamoorthi:
// Quantizing deep convolutional networks for efficient inference, 2018 (affine u8, percentile); S. Migacz: 8-bit
// Inference with TensorRT, 2017 (KL); H. Wu et al.: Integer Quantization for Deep Learning Inference, 2020 (comparison
// of both with MSE).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "core/op/tensor_view.h"

namespace ipex_studio {

// kAuto is MSE, except that operands of linear layers, products of activations and sums are not clipped: their few
// large values carry most of the information (T. Dettmers et al.: LLM.int8(), 2022).
enum class ObserverKind { kAuto, kMinMax, kPercentile, kKl, kMse };
const char* observerName(ObserverKind kind);  // "auto", "min-max", "percentile", "kl", "mse"
// Throws Error(kUsage) that names the choices.
ObserverKind observerFromName(const std::string& name);

struct ObserverOptions {
  ObserverKind kind = ObserverKind::kAuto;
  double percentile = 99.99;  // kPercentile: percent of the elements inside the range, the rest equally on both sides
};

struct ValueRange {
  double low = 0, high = 0;
};

// Counts on a grid of bins [i·2^k, (i+1)·2^k). Zeros are counted apart: they quantize exactly. Not thread-safe.
class Histogram {
 public:
  static constexpr int kBins = 4096;

  void add(const float* values, std::size_t count);  // finite values only
  void merge(const Histogram& other);

  bool empty() const { return counts_.empty(); }
  std::int64_t zeros() const { return zeros_; }
  double width() const;
  std::int64_t first() const { return first_; }  // bin number of counts()[0]
  const std::vector<std::int64_t>& counts() const { return counts_; }
  double center(std::size_t bin) const {
    return (static_cast<double>(first_) + static_cast<double>(bin) + 0.5) * width();
  }

  nlohmann::json state() const;
  static Histogram fromState(const nlohmann::json& json);  // throws Error(kUsage) or a JSON exception for other JSON

 private:
  void cover(int exponent, std::int64_t first, std::int64_t last);
  void coarsen(int exponent);

  int exponent_ = 0;  // k
  std::int64_t first_ = 0;
  std::int64_t zeros_ = 0;
  std::vector<std::int64_t> counts_;  // bins first_ … first_ + size - 1; at most kBins
};

// Statistics of one value. Not thread-safe; different observers may be used from several threads.
class ValueObserver {
 public:
  static constexpr std::int64_t kSamplesPerItem = 2048;

  // Takes in `data` as `desc` describes it: FP32, strided or channel-blocked (padded channels are zero and may be
  // seen). `channel_axis` >= 0: also collects mean and greatest magnitude per index of that axis, from this call.
  void observe(const TensorDesc& desc, const float* data, int channel_axis = -1);
  void merge(const ValueObserver& other);  // as if this one had seen the values of both

  std::int64_t count() const { return count_; }
  std::int64_t nanCount() const { return nan_; }
  std::int64_t infCount() const { return inf_; }
  // Range of the finite elements; 0 and 0 if there were none.
  double least() const { return count_ > nan_ + inf_ ? least_ : 0; }
  double greatest() const { return count_ > nan_ + inf_ ? greatest_ : 0; }
  const Histogram& histogram() const { return histogram_; }
  std::vector<double> channelMean() const;  // empty: not asked for
  const std::vector<double>& channelAbsmax() const { return channel_absmax_; }

  // The range to quantize in, which always holds 0. kAuto means kMse here, since the reader of the value is not known.
  // `levels`: 256 for u8.
  ValueRange range(const ObserverOptions& options, int levels = 256) const;

  nlohmann::json state() const;  // all that was seen, for fromState()
  // Throws Error(kUsage) if the text is no state.
  static ValueObserver fromState(const nlohmann::json& json);

 private:
  void scan(const float* values, std::size_t count);
  void sample(const TensorDesc& desc, const float* data);
  void observeChannels(const TensorDesc& desc, const float* data, int axis);
  std::int64_t addRows(const TensorDesc& desc, const float* data, int axis);
  std::int64_t addColumns(const TensorDesc& desc, const float* data, int axis);

  std::int64_t count_ = 0, nan_ = 0, inf_ = 0;
  double least_ = 0, greatest_ = 0;
  bool any_ = false;  // a finite element was seen
  Histogram histogram_;
  std::int64_t channel_count_ = 0;  // elements per channel
  std::vector<double> channel_sum_, channel_absmax_;
};

// Range searches over a histogram, given the true extremes; sources in the head. Exposed for tests. Thread-safe.
ValueRange percentileRange(const Histogram& histogram, ValueRange extremes, double percentile);
ValueRange klRange(const Histogram& histogram, ValueRange extremes, int levels);
ValueRange mseRange(const Histogram& histogram, ValueRange extremes, int levels);
// Mean squared error of quantizing the histogram's values in `range` to `levels` steps.
double quantizationError(const Histogram& histogram, ValueRange range, int levels);

// Affine u8: real = scale · (q - zero_point), 0 exactly representable.
struct AffineParameters {
  double scale = 1;
  std::int64_t zero_point = 0;
};
// The parameters that map `range`, extended to hold 0, to 0 … levels - 1; scale 1 if the range is empty or not finite.
AffineParameters affineParameters(ValueRange range, int levels = 256);

}  // namespace ipex_studio
