// Decides whether one model is slower than another: rounds of both, interleaved with a second process of the first as a
// control, until the verdict is clear.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "profiler/statistics.h"

namespace ipex_studio {

// The processes that take turns. The old model runs in two: what differs between them is noise, not a change.
enum class CheckSide { kOld, kNew, kControl };

// What is timed. Implemented by engines, and by noise in tests.
class RoundSource {
 public:
  virtual ~RoundSource() = default;
  // Makes all processes anew, so that where they lie in memory is drawn again.
  virtual void restart() = 0;
  // Times one turn of one side; not empty.
  virtual std::vector<std::int64_t> take(CheckSide side, int round) = 0;
  // Time that is left for rounds and restarts.
  virtual double secondsLeft() = 0;
};

struct SpeedCheck {
  Interval ratio;    // time of the new model over that of the old one
  Interval control;  // time of the old model over its own in another process
  int rounds = 0;
  bool slower = false;
  bool noisy = false;  // the control differs by more than what is allowed: slowdowns of that size cannot be told
};

// Time of a forward in one round, by CheckSide: the lower quartile of its turn, since what disturbs only adds time.
using RoundTimes = std::array<double, 3>;

// The verdict on rounds that are over. `open`: more rounds could change it.
struct RoundsVerdict {
  SpeedCheck check;
  bool open = true;
};
// `allowed`: share by which the new model may be slower. Ratios are taken within rounds, whose sides share the state of
// the machine; their median counts, with its interval by order statistics. Slower is only what is so against both
// processes of the old model, by the ratio and by its interval. `last`: there is no time for more rounds.
RoundsVerdict judgeRounds(const std::vector<RoundTimes>& rounds, double allowed, bool last);

// Takes rounds until the verdict is clear or the time is over. Slower is only what is slower again in new processes.
// Throws what the source throws.
SpeedCheck checkSpeed(RoundSource& source, double allowed);

}  // namespace ipex_studio
