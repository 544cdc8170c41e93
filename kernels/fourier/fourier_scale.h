// The factor of a Fourier transform, which all its versions need.
#pragma once

#include <cmath>
#include <cstdint>

#include "core/op/op_spec.h"

namespace ipex_studio {

inline double fourierScale(const OpSpec& spec, std::int64_t size) {
  const std::string norm = spec.stringOr("norm", "backward");
  const double count = static_cast<double>(size);
  return norm == "ortho" ? 1 / std::sqrt(count) : norm == "forward" ? 1 / count : 1;
}

// The same for a transform that may be the inverse one, which divides where the forward one does not.
inline double inverseScale(const OpSpec& spec, std::int64_t size, bool inverse) {
  if (!inverse || spec.stringOr("norm", "backward") == "ortho") return fourierScale(spec, size);
  return spec.stringOr("norm", "backward") == "backward" ? 1 / static_cast<double>(size) : 1;
}

}  // namespace ipex_studio
