// See schedule.h.
#include "core/train/schedule.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/train/option_text.h"

namespace ipex_studio {
namespace {

constexpr double kPi = 3.14159265358979323846;
constexpr double kManyEpochs = 1 << 20;

using Shape = std::function<double(double index)>;

// Half a cosine from `from` to `to`; `at`: 0 … 1.
double annealed(double from, double to, double at) { return to + (from - to) * (1 + std::cos(kPi * at)) / 2; }

// How far a step lies behind the warm-up, 0 … 1.
double placeBehind(double warmup, double index, double steps) {
  return steps <= warmup ? 1 : std::clamp((index - warmup) / (steps - warmup), 0.0, 1.0);
}

Shape stepShape(OptionText& text, double per_epoch) {
  const double every = text.whole("every", 30, 1, kManyEpochs), gamma = text.number("gamma", 0.1, 0, 1);
  return [=](double index) { return std::pow(gamma, std::floor(std::floor(index / per_epoch) / every)); };
}

Shape multistepShape(OptionText& text, double per_epoch) {
  const std::vector<double> at = text.numbers("at", 1, kManyEpochs);
  const double gamma = text.number("gamma", 0.1, 0, 1);
  if (at.empty()) text.refuse("say from which epochs on the rate falls, as at=30/60");
  return [=](double index) {
    const double epoch = std::floor(index / per_epoch);
    return std::pow(
        gamma, static_cast<double>(std::count_if(at.begin(), at.end(), [&](double from) { return epoch >= from; })));
  };
}

Shape oneCycleShape(OptionText& text, double steps) {
  const double share = text.number("warmup", 0.3, 0, 1), start = text.number("start", 25, 1, 1e9);
  const double end = text.number("end", 1e4, 1, 1e12);
  const double top = share * steps - 1, last = steps - 1;
  return [=](double index) {
    if (index < top) return annealed(1 / start, 1, std::max(0.0, index / top));
    return annealed(1, 1 / (start * end), last <= top ? 1 : std::min(1.0, (index - top) / (last - top)));
  };
}

}  // namespace

Schedule::Schedule(const std::string& setting, std::int64_t steps_per_epoch, std::int64_t epochs) {
  OptionText text("--schedule", setting);
  const auto per_epoch = static_cast<double>(steps_per_epoch), steps = per_epoch * static_cast<double>(epochs);
  const std::string& name = text.name();
  if (name != "one_cycle") warmup_ = text.whole("warmup", 0, 0, 1e9);
  const double warmup = warmup_;
  if (name == "constant") {
    shape_ = [](double) { return 1.0; };
  } else if (name == "step") {
    shape_ = stepShape(text, per_epoch);
  } else if (name == "multistep") {
    shape_ = multistepShape(text, per_epoch);
  } else if (name == "cosine") {
    const double end = text.number("end", 0, 0, 1);
    shape_ = [=](double index) { return annealed(1, end, placeBehind(warmup, index, steps)); };
  } else if (name == "linear") {
    const double end = text.number("end", 0, 0, 1);
    shape_ = [=](double index) { return 1 + (end - 1) * placeBehind(warmup, index, steps); };
  } else if (name == "one_cycle") {
    shape_ = oneCycleShape(text, steps);
  } else {
    text.refuse("there is no such schedule; use constant, step, multistep, cosine, linear or one_cycle");
  }
  text.finish();
}

double Schedule::factor(std::int64_t index) const {
  const auto at = static_cast<double>(index);
  return at < warmup_ ? (at + 1) / warmup_ * shape_(at) : shape_(at);
}

}  // namespace ipex_studio
