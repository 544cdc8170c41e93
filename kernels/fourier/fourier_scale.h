// The factor of a Fourier transform, which both its versions need.
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

}  // namespace ipex_studio
