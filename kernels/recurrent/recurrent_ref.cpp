// Recurrent layers as their definitions say.
#include <cmath>
#include <vector>

#include "kernels/common/reference.h"

namespace ipex_studio {
namespace {

double sigmoidOf(double x) { return 1 / (1 + std::exp(-x)); }

}  // namespace

void refRecurrent(const RefCall& call) {
  const RefTensor &given = call.src[0], &w = call.src[1], &h0 = call.src[2], &c0 = call.src[3], &bias = call.src[4],
                  &y = call.dst[0];
  const bool is_lstm = call.spec.stringOr("cell", "") == "lstm", reverse = call.spec.intOr("reverse", 0) != 0;
  const int time = static_cast<int>(call.spec.intOr("time_axis", 0));
  const bool projected = call.spec.intOr("projected", 0) != 0;
  const std::int64_t steps = y.dims[time], rows = y.dims[1 - time], states = y.dims[2], gates = is_lstm ? 4 : 3;
  const std::int64_t units = given.dims[2] / gates;
  const auto place = [&](std::int64_t step, std::int64_t row, std::int64_t unit) {
    return time == 0 ? Dims{step, row, unit} : Dims{row, step, unit};
  };
  if (is_lstm) {
    for (std::int64_t i = 0; i < rows * units; ++i) call.dst[1].data[i] = c0.data[i];
  }
  for (std::int64_t s = 0; s < steps; ++s) {
    const std::int64_t step = reverse ? steps - 1 - s : s, last = reverse ? step + 1 : step - 1;
    for (std::int64_t row = 0; row < rows; ++row) {
      const auto before = [&](std::int64_t unit) { return s == 0 ? h0(Dims{row, unit}) : y(place(last, row, unit)); };
      std::vector<double> outputs(static_cast<std::size_t>(units));
      for (std::int64_t unit = 0; unit < units; ++unit) {
        double hidden[4] = {}, sum[4] = {};
        for (std::int64_t gate = 0; gate < gates; ++gate) {
          for (std::int64_t k = 0; k < states; ++k) hidden[gate] += w(Dims{gate * units + unit, k}) * before(k);
          sum[gate] = given(place(step, row, gate * units + unit)) + hidden[gate];
        }
        double& out = outputs[static_cast<std::size_t>(unit)];
        if (is_lstm) {
          double& c = call.dst[1](Dims{row, unit});
          c = sigmoidOf(sum[1]) * c + sigmoidOf(sum[0]) * std::tanh(sum[2]);
          out = sigmoidOf(sum[3]) * std::tanh(c);
        } else {
          const double fresh =
              std::tanh(sum[2] - hidden[2] + sigmoidOf(sum[0]) * (hidden[2] + (bias.data ? bias(Dims{unit}) : 0)));
          const double keep = sigmoidOf(sum[1]);
          out = (1 - keep) * fresh + keep * before(unit);
        }
      }
      for (std::int64_t state = 0; state < states; ++state) {
        double& out = y(place(step, row, state));
        out = projected ? 0 : outputs[static_cast<std::size_t>(state)];
        for (std::int64_t unit = 0; projected && unit < units; ++unit)
          out += w(Dims{gates * units + unit, state}) * outputs[static_cast<std::size_t>(unit)];
      }
    }
  }
}

}  // namespace ipex_studio
