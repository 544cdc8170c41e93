// Pooling, adaptive pooling and upsampling as their definitions say.
#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/common/reference.h"

namespace ipex_studio {
namespace {

Dims spatialDims(const std::vector<std::int64_t>& sizes) { return Dims(sizes); }

// Weight of tap `t` (-1, 0, 1, 2) of the cubic kernel with a = -0.75 at fraction f.
double cubicWeight(int t, double f) {
  constexpr double a = -0.75;
  const double x = std::fabs(t - f);
  if (x <= 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
  return x < 2 ? ((a * x - 5 * a) * x + 8 * a) * x - 4 * a : 0;
}

struct Sampling {
  double scale;  // source pixels per result pixel
  bool align_corners;
};

Sampling samplingOf(const OpSpec& spec, std::int64_t in, std::int64_t out) {
  const bool align = spec.intOr("align_corners", 0) != 0 && spec.stringOr("mode", "nearest") != "nearest";
  if (align) return {out > 1 ? double(in - 1) / double(out - 1) : 0, true};
  return {double(in) / double(out), false};
}

// Taps of one axis: first source index and weights.
struct Taps {
  std::int64_t first;
  int count;
  double weight[4];
};

Taps tapsFor(const std::string& mode, const Sampling& s, std::int64_t out) {
  // torch computes nearest indices in single precision.
  if (mode == "nearest") {
    return {static_cast<std::int64_t>(std::floor(static_cast<float>(out) * static_cast<float>(s.scale))), 1, {1}};
  }
  double at = s.align_corners ? out * s.scale : (out + 0.5) * s.scale - 0.5;
  if (mode == "bilinear") {
    at = std::max(at, 0.0);
    const double f = at - std::floor(at);
    return {static_cast<std::int64_t>(std::floor(at)), 2, {1 - f, f}};
  }
  const double f = at - std::floor(at);
  return {static_cast<std::int64_t>(std::floor(at)) - 1,
          4,
          {cubicWeight(-1, f), cubicWeight(0, f), cubicWeight(1, f), cubicWeight(2, f)}};
}

}  // namespace

void refPool(const RefCall& call) {
  const RefTensor &x = call.src[0], &y = call.dst[0];
  const int spatial = x.dims.rank - 2;
  const auto kernel = call.spec.ints("kernel"), stride = refSpatial(call.spec, "stride", spatial, 1),
             padding = refSpatial(call.spec, "padding", spatial, 0),
             dilation = refSpatial(call.spec, "dilation", spatial, 1);
  const auto padding_end = call.spec.has("padding_end") ? call.spec.ints("padding_end") : padding;
  const std::string mode = call.spec.stringOr("mode", "max");
  forEachIndex(y.dims, [&](const Dims& at) {
    double sum = 0, highest = -std::numeric_limits<double>::infinity();
    std::int64_t inside = 0, in_padded = 0;
    forEachIndex(spatialDims(kernel), [&](const Dims& k) {
      Dims from = at;
      bool in_source = true, in_padding = true;
      for (int s = 0; s < spatial; ++s) {
        const std::int64_t p = at[s + 2] * stride[s] - padding[s] + k[s] * dilation[s];
        in_source &= p >= 0 && p < x.dims[s + 2];
        in_padding &= p < x.dims[s + 2] + padding_end[s];
        from[s + 2] = p;
      }
      in_padded += in_padding;
      if (!in_source) return;
      ++inside;
      const double value = x(from);
      sum += value;
      highest = std::isnan(value) || value > highest ? value : highest;
    });
    y(at) = mode == "max" ? highest : sum / static_cast<double>(mode == "avg" ? in_padded : inside);
  });
}

void refPoolPlaces(const RefCall& call) {
  const RefTensor &x = call.src[0], &y = call.dst[0], &places = call.dst[1];
  const int spatial = x.dims.rank - 2;
  const auto kernel = call.spec.ints("kernel"), stride = refSpatial(call.spec, "stride", spatial, 1),
             padding = refSpatial(call.spec, "padding", spatial, 0),
             dilation = refSpatial(call.spec, "dilation", spatial, 1);
  const Dims window(kernel);
  forEachIndex(y.dims, [&](const Dims& at) {
    double highest = -std::numeric_limits<double>::infinity();
    std::int64_t found = -1;
    forEachIndex(window, [&](const Dims& k) {
      Dims from = at;
      std::int64_t place = 0;
      bool inside = true;
      for (int s = 0; s < spatial; ++s) {
        const auto axis = static_cast<std::size_t>(s);
        from[s + 2] = at[s + 2] * stride[axis] - padding[axis] + k[s] * dilation[axis];
        inside = inside && from[s + 2] >= 0 && from[s + 2] < x.dims[s + 2];
        place = place * x.dims[s + 2] + from[s + 2];
      }
      if (!inside) return;
      if (found < 0) found = place;
      const double value = x(from);
      if (!(value > highest || std::isnan(value))) return;
      highest = value;
      found = place;
    });
    y(at) = highest;
    places(at) = static_cast<double>(found);
  });
}

void refAdaptivePool(const RefCall& call) {
  const RefTensor &x = call.src[0], &y = call.dst[0];
  const int spatial = x.dims.rank - 2;
  const bool max = call.spec.stringOr("mode", "avg") == "max";
  forEachIndex(y.dims, [&](const Dims& at) {
    Dims begin, size;
    begin.rank = size.rank = spatial;
    for (int s = 0; s < spatial; ++s) {
      const std::int64_t in = x.dims[s + 2], out = y.dims[s + 2], o = at[s + 2];
      begin[s] = o * in / out;
      size[s] = ((o + 1) * in + out - 1) / out - begin[s];
    }
    double sum = 0, highest = -std::numeric_limits<double>::infinity();
    forEachIndex(size, [&](const Dims& k) {
      Dims from = at;
      for (int s = 0; s < spatial; ++s) from[s + 2] = begin[s] + k[s];
      const double value = x(from);
      sum += value;
      highest = std::isnan(value) || value > highest ? value : highest;
    });
    y(at) = max ? highest : sum / static_cast<double>(size.count());
  });
}

void refUpsample(const RefCall& call) {
  const RefTensor &x = call.src[0], &y = call.dst[0];
  const int spatial = x.dims.rank - 2;
  const std::string mode = call.spec.stringOr("mode", "nearest");
  forEachIndex(y.dims, [&](const Dims& at) {
    Taps taps[3];
    Dims counts;
    counts.rank = spatial;
    for (int s = 0; s < spatial; ++s) {
      taps[s] = tapsFor(mode, samplingOf(call.spec, x.dims[s + 2], y.dims[s + 2]), at[s + 2]);
      counts[s] = taps[s].count;
    }
    double sum = 0;
    forEachIndex(counts, [&](const Dims& t) {
      Dims from = at;
      double weight = 1;
      for (int s = 0; s < spatial; ++s) {
        from[s + 2] = std::clamp<std::int64_t>(taps[s].first + t[s], 0, x.dims[s + 2] - 1);
        weight *= taps[s].weight[t[s]];
      }
      if (weight != 0) sum += weight * x(from);
    });
    y(at) = sum;
  });
}

}  // namespace ipex_studio
