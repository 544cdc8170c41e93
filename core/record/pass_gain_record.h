// The gain of a pass, measured by leaving it out.
#pragma once

#include <string>

namespace ipex_studio {

// Time that a pass gains: the latency without it less that with it, by interleaved timing.
struct PassGain {
  std::string pass;
  double gain_ns = 0;  // negative: the model is faster without the pass
  double low_ns = 0;   // 95 % interval
  double high_ns = 0;

  // True if the interval does not contain zero.
  bool clear() const { return low_ns > 0 || high_ns < 0; }
};

}  // namespace ipex_studio
