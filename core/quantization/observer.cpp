// The walk of an observer over a tensor's memory, and its statistics.
#include "core/quantization/observer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cfloat>
#include <cmath>

#include "core/base/error.h"

namespace ipex_studio {
namespace {

struct Extremes {
  float low = FLT_MAX, high = -FLT_MAX;
  bool odd = false;  // a NaN or infinity was seen; the extremes then mean nothing
};

// Uses independent lanes, so that the compiler vectorizes it. v - v is 0, or NaN if v is not finite.
Extremes extremesOfRun(const float* values, std::size_t count) {
  constexpr std::size_t kLanes = 32;
  float low[kLanes], high[kLanes], odd[kLanes];
  std::fill(low, low + kLanes, FLT_MAX);
  std::fill(high, high + kLanes, -FLT_MAX);
  std::fill(odd, odd + kLanes, 0.0f);
  const auto take = [&](float value, std::size_t lane) {
    low[lane] = value < low[lane] ? value : low[lane];
    high[lane] = value > high[lane] ? value : high[lane];
    odd[lane] += value - value;
  };
  std::size_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    for (std::size_t lane = 0; lane < kLanes; ++lane) take(values[i + lane], lane);
  }
  for (std::size_t lane = 0; i < count; ++i, ++lane) take(values[i], lane);
  Extremes result;
  for (std::size_t lane = 0; lane < kLanes; ++lane) {
    result.low = std::min(result.low, low[lane]);
    result.high = std::max(result.high, high[lane]);
    result.odd |= !(odd[lane] == 0);
  }
  return result;
}

// Large values are split among the threads that ran the model.
Extremes extremesOf(const float* values, std::size_t count) {
  constexpr std::size_t kChunk = std::size_t{1} << 14;
  if (count < 4 * kChunk) return extremesOfRun(values, count);
  const auto chunks = static_cast<std::int64_t>((count + kChunk - 1) / kChunk);
  float low = FLT_MAX, high = -FLT_MAX;
  int odd = 0;
#ifdef _OPENMP
#pragma omp parallel for schedule(static) reduction(min : low) reduction(max : high) reduction(+ : odd)
#endif
  for (std::int64_t chunk = 0; chunk < chunks; ++chunk) {
    const std::size_t begin = static_cast<std::size_t>(chunk) * kChunk;
    const Extremes part = extremesOfRun(values + begin, std::min(kChunk, count - begin));
    low = std::min(low, part.low);
    high = std::max(high, part.high);
    odd += part.odd ? 1 : 0;
  }
  return {low, high, odd != 0};
}

// The axes of a memory walk; blocks of channels are an axis of their own.
struct Walk {
  std::vector<std::int64_t> sizes, strides;  // outermost first; the innermost is last
};

// Orders the axes by stride and merges neighbours that lie back to back. Broadcast axes are visited once.
Walk walkOf(const TensorDesc& desc) {
  std::vector<std::pair<std::int64_t, std::int64_t>> axes;  // stride, size
  for (int axis = 0; axis < desc.dims.rank; ++axis) {
    std::int64_t size = desc.dims[axis];
    if (desc.block != 0 && axis == 1) size = (size + desc.block - 1) / desc.block;
    if (size != 1 && desc.strides[axis] != 0) axes.emplace_back(desc.strides[axis], size);
  }
  if (desc.block != 0) axes.emplace_back(1, desc.block);
  std::sort(axes.begin(), axes.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
  Walk walk;
  for (const auto& [stride, size] : axes) {
    if (!walk.sizes.empty() && walk.strides.back() == stride * size) {
      walk.sizes.back() *= size;
      walk.strides.back() = stride;
    } else {
      walk.sizes.push_back(size);
      walk.strides.push_back(stride);
    }
  }
  if (walk.sizes.empty()) {
    walk.sizes.push_back(1);
    walk.strides.push_back(1);
  }
  return walk;
}

// Calls visit(pointer offset) for each combination of the outer axes.
template <class Visit>
void forEachRun(const Walk& walk, const Visit& visit) {
  const std::size_t outer = walk.sizes.size() - 1;
  std::vector<std::int64_t> at(outer, 0);
  std::int64_t offset = 0;
  while (true) {
    visit(offset);
    std::size_t axis = outer;
    while (axis > 0) {
      --axis;
      offset += walk.strides[axis];
      if (++at[axis] < walk.sizes[axis]) break;
      offset -= walk.strides[axis] * walk.sizes[axis];
      at[axis] = 0;
      if (axis == 0) return;
    }
    if (outer == 0) return;
  }
}

}  // namespace

const char* observerName(ObserverKind kind) {
  switch (kind) {
    case ObserverKind::kAuto:
      return "auto";
    case ObserverKind::kMinMax:
      return "min-max";
    case ObserverKind::kPercentile:
      return "percentile";
    case ObserverKind::kKl:
      return "kl";
    case ObserverKind::kMse:
      return "mse";
  }
  return "min-max";
}

ObserverKind observerFromName(const std::string& name) {
  for (ObserverKind kind :
       {ObserverKind::kAuto, ObserverKind::kMinMax, ObserverKind::kPercentile, ObserverKind::kKl, ObserverKind::kMse}) {
    if (name == observerName(kind)) return kind;
  }
  throw Error(ExitCode::kUsage,
              fmt::format("There is no observer '{}'; use auto, min-max, percentile, kl or mse.", name));
}

void ValueObserver::scan(const float* values, std::size_t count) {
  const Extremes found = extremesOf(values, count);
  count_ += static_cast<std::int64_t>(count);
  double low = found.low, high = found.high;
  if (found.odd) {
    low = DBL_MAX;
    high = -DBL_MAX;
    for (std::size_t i = 0; i < count; ++i) {
      if (std::isnan(values[i])) {
        ++nan_;
      } else if (std::isinf(values[i])) {
        ++inf_;
      } else {
        low = std::min(low, static_cast<double>(values[i]));
        high = std::max(high, static_cast<double>(values[i]));
      }
    }
  }
  if (low > high) return;
  least_ = any_ ? std::min(least_, low) : low;
  greatest_ = any_ ? std::max(greatest_, high) : high;
  any_ = true;
}

void ValueObserver::observe(const TensorDesc& desc, const float* data, int channel_axis) {
  if (desc.dims.count() == 0) return;
  const Walk walk = walkOf(desc);
  if (walk.strides.back() == 1) {
    forEachRun(walk, [&](std::int64_t offset) { scan(data + offset, static_cast<std::size_t>(walk.sizes.back())); });
  } else {
    std::vector<float> run(static_cast<std::size_t>(walk.sizes.back()));
    forEachRun(walk, [&](std::int64_t offset) {
      for (std::size_t i = 0; i < run.size(); ++i)
        run[i] = data[offset + static_cast<std::int64_t>(i) * walk.strides.back()];
      scan(run.data(), run.size());
    });
  }
  sample(desc, data);
  if (channel_axis >= 0 && channel_axis < desc.dims.rank) observeChannels(desc, data, channel_axis);
}

// Samples every n-th element in order of the walk; n is odd, so that it does not keep meeting the same channel of a
// block.
void ValueObserver::sample(const TensorDesc& desc, const float* data) {
  const Walk walk = walkOf(desc);
  std::int64_t total = 1;
  for (const std::int64_t size : walk.sizes) total *= size;
  const std::int64_t wanted = kSamplesPerItem * std::max<std::int64_t>(desc.dims.rank > 0 ? desc.dims[0] : 1, 1);
  const std::int64_t step = total <= wanted ? 1 : (total + wanted - 1) / wanted | 1;
  const std::int64_t inner = walk.sizes.back(), stride = walk.strides.back();
  std::vector<float> taken;
  taken.reserve(static_cast<std::size_t>(total / step + 1));
  std::int64_t next = 0;  // position of the next sample, counted from the begin of the run
  forEachRun(walk, [&](std::int64_t offset) {
    for (; next < inner; next += step) {
      const float value = data[offset + next * stride];
      if (std::fabs(value) <= FLT_MAX) taken.push_back(value);
    }
    next -= inner;
  });
  histogram_.add(taken.data(), taken.size());
}

void ValueObserver::observeChannels(const TensorDesc& desc, const float* data, int axis) {
  const auto channels = static_cast<std::size_t>(desc.dims[axis]);
  if (!channel_sum_.empty() && channel_sum_.size() != channels) return;
  channel_sum_.resize(channels, 0);
  channel_absmax_.resize(channels, 0);
  const bool side_by_side = desc.block != 0 ? axis == 1 : desc.strides[axis] == 1;
  channel_count_ += side_by_side ? addRows(desc, data, axis) : addColumns(desc, data, axis);
}

// For channels that lie next to each other, all or a block of them: adds rows of memory to rows of sums.
std::int64_t ValueObserver::addRows(const TensorDesc& desc, const float* data, int axis) {
  TensorDesc others = desc;
  others.dims[axis] = 1;
  others.block = 0;
  const Walk walk = walkOf(others);
  const std::int64_t channels = desc.dims[axis], width = desc.block != 0 ? desc.block : channels;
  std::int64_t rows = 0;
  for (std::int64_t first = 0; first < channels; first += width) {
    const float* begin = data + (desc.block != 0 ? first / width * desc.strides[axis] : 0);
    const std::int64_t count = std::min(width, channels - first);
    double* sum = channel_sum_.data() + first;
    double* absmax = channel_absmax_.data() + first;
    rows = 0;
    forEachRun(walk, [&](std::int64_t offset) {
      for (std::int64_t i = 0; i < walk.sizes.back(); ++i, ++rows) {
        const float* row = begin + offset + i * walk.strides.back();
        for (std::int64_t c = 0; c < count; ++c) {
          const double value = row[c], magnitude = std::fabs(value);
          const bool finite = magnitude <= FLT_MAX;
          sum[c] += finite ? value : 0;
          absmax[c] = finite && magnitude > absmax[c] ? magnitude : absmax[c];
        }
      }
    });
  }
  return rows;
}

// For channels that are a run of memory each.
std::int64_t ValueObserver::addColumns(const TensorDesc& desc, const float* data, int axis) {
  TensorDesc others = desc;
  others.dims[axis] = 1;
  const Walk walk = walkOf(others);
  std::int64_t seen = 0;
  for (std::int64_t c = 0; c < desc.dims[axis]; ++c) {
    double sum = 0, absmax = 0;
    seen = 0;
    forEachRun(walk, [&](std::int64_t offset) {
      const float* run = data + c * desc.strides[axis] + offset;
      for (std::int64_t i = 0; i < walk.sizes.back(); ++i, ++seen) {
        const double value = run[i * walk.strides.back()];
        if (!(std::fabs(value) <= FLT_MAX)) continue;
        sum += value;
        absmax = std::max(absmax, std::fabs(value));
      }
    });
    channel_sum_[static_cast<std::size_t>(c)] += sum;
    channel_absmax_[static_cast<std::size_t>(c)] = std::max(channel_absmax_[static_cast<std::size_t>(c)], absmax);
  }
  return seen;
}

void ValueObserver::merge(const ValueObserver& other) {
  count_ += other.count_;
  nan_ += other.nan_;
  inf_ += other.inf_;
  if (other.any_) {
    least_ = any_ ? std::min(least_, other.least_) : other.least_;
    greatest_ = any_ ? std::max(greatest_, other.greatest_) : other.greatest_;
    any_ = true;
  }
  histogram_.merge(other.histogram_);
  if (channel_sum_.empty()) {
    channel_sum_ = other.channel_sum_;
    channel_absmax_ = other.channel_absmax_;
    channel_count_ = other.channel_count_;
  } else if (channel_sum_.size() == other.channel_sum_.size()) {
    for (std::size_t c = 0; c < channel_sum_.size(); ++c) {
      channel_sum_[c] += other.channel_sum_[c];
      channel_absmax_[c] = std::max(channel_absmax_[c], other.channel_absmax_[c]);
    }
    channel_count_ += other.channel_count_;
  }
}

std::vector<double> ValueObserver::channelMean() const {
  std::vector<double> mean = channel_sum_;
  for (double& value : mean) value /= static_cast<double>(std::max<std::int64_t>(channel_count_, 1));
  return mean;
}

ValueRange ValueObserver::range(const ObserverOptions& options, int levels) const {
  const ValueRange extremes{std::min(least(), 0.0), std::max(greatest(), 0.0)};
  if (extremes.low == extremes.high || histogram_.empty()) return extremes;
  switch (options.kind) {
    case ObserverKind::kMinMax:
      return extremes;
    case ObserverKind::kPercentile:
      return percentileRange(histogram_, extremes, options.percentile);
    case ObserverKind::kKl:
      return klRange(histogram_, extremes, levels);
    case ObserverKind::kAuto:
    case ObserverKind::kMse:
      return mseRange(histogram_, extremes, levels);
  }
  return extremes;
}

nlohmann::json ValueObserver::state() const {
  return {{"count", count_},
          {"nan", nan_},
          {"inf", inf_},
          {"any", any_},
          {"least", least_},
          {"greatest", greatest_},
          {"histogram", histogram_.state()},
          {"channel_count", channel_count_},
          {"channel_sum", channel_sum_},
          {"channel_absmax", channel_absmax_}};
}

ValueObserver ValueObserver::fromState(const nlohmann::json& json) {
  ValueObserver observer;
  try {
    observer.count_ = json.at("count").get<std::int64_t>();
    observer.nan_ = json.at("nan").get<std::int64_t>();
    observer.inf_ = json.at("inf").get<std::int64_t>();
    observer.any_ = json.at("any").get<bool>();
    observer.least_ = json.at("least").get<double>();
    observer.greatest_ = json.at("greatest").get<double>();
    observer.histogram_ = Histogram::fromState(json.at("histogram"));
    observer.channel_count_ = json.at("channel_count").get<std::int64_t>();
    observer.channel_sum_ = json.at("channel_sum").get<std::vector<double>>();
    observer.channel_absmax_ = json.at("channel_absmax").get<std::vector<double>>();
  } catch (const nlohmann::json::exception&) {
    throw Error(ExitCode::kUsage, "The state of an observer is damaged.");
  }
  const bool counts = observer.count_ >= 0 && observer.nan_ >= 0 && observer.inf_ >= 0 &&
                      observer.nan_ + observer.inf_ <= observer.count_;
  if (!counts || observer.least_ > observer.greatest_ || observer.channel_count_ < 0 ||
      observer.channel_sum_.size() != observer.channel_absmax_.size()) {
    throw Error(ExitCode::kUsage, "The state of an observer is damaged.");
  }
  return observer;
}

AffineParameters affineParameters(ValueRange range, int levels) {
  const double low = std::min(range.low, 0.0), high = std::max(range.high, 0.0);
  AffineParameters parameters;
  const double scale = (high - low) / (levels - 1);
  // A scale and its reciprocal must both be finite floats.
  parameters.scale = scale > 1e-30 && std::isfinite(scale) ? scale : 1;
  if (scale > 1e-30 && std::isfinite(scale)) {
    parameters.zero_point =
        std::clamp<std::int64_t>(static_cast<std::int64_t>(std::nearbyint(-low / parameters.scale)), 0, levels - 1);
  }
  return parameters;
}

}  // namespace ipex_studio
