// The clocks of the tuner: one times runs, one counts budgets. Private to the tuner.
#pragma once

#include <cstdint>
#include <functional>

namespace ipex_studio {

struct TuneClock {
  std::function<std::int64_t()> now_ns;    // runs are timed by it
  std::function<std::int64_t()> spent_ns;  // WorkTime of the tuning thread; deadlines are on this clock
};

}  // namespace ipex_studio
