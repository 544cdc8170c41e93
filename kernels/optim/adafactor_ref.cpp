#include "kernels/optim/adafactor_ref.h"

#include <algorithm>
#include <cmath>

namespace ipex_studio {
namespace {

double rootMeanSquare(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value * value;
  return std::sqrt(sum / static_cast<double>(values.size()));
}

}  // namespace

void refAdafactorStep(const AdafactorSettings& settings, AdafactorNumbers* numbers) {
  const AdafactorScalars scalars = adafactorScalars(settings, numbers->step);
  const double alpha = std::max(settings.eps2, rootMeanSquare(numbers->parameter)) * scalars.rho;
  const auto index = [&](std::int64_t matrix, std::int64_t row, std::int64_t column) {
    return static_cast<std::size_t>((matrix * numbers->rows + row) * numbers->columns + column);
  };
  const auto move = [&](double to, double* moment) { *moment += scalars.weight * (to - *moment); };
  std::vector<double> updates(numbers->parameter.size());
  for (std::int64_t matrix = 0; matrix < numbers->matrices; ++matrix) {
    const auto square = [&](std::int64_t row, std::int64_t column) {
      return std::pow(numbers->gradient[index(matrix, row, column)], 2);
    };
    const bool vector = numbers->row_moments.empty();
    double mean = 0;
    for (std::int64_t row = 0; row < numbers->rows && !vector; ++row) {
      double sum = 0;
      for (std::int64_t column = 0; column < numbers->columns; ++column) sum += square(row, column);
      double& moment = numbers->row_moments[static_cast<std::size_t>(matrix * numbers->rows + row)];
      move(sum / static_cast<double>(numbers->columns), &moment);
      mean += moment / static_cast<double>(numbers->rows);
    }
    for (std::int64_t column = 0; column < numbers->columns; ++column) {
      double sum = 0;
      for (std::int64_t row = 0; row < numbers->rows; ++row) sum += square(row, column);
      double& moment = numbers->moments[static_cast<std::size_t>(matrix * numbers->columns + column)];
      move(sum / static_cast<double>(numbers->rows), &moment);
      for (std::int64_t row = 0; row < numbers->rows; ++row) {
        const double factor = vector ? 1
                                     : numbers->row_moments[static_cast<std::size_t>(matrix * numbers->rows + row)] /
                                           std::max(settings.eps1, mean);
        const std::size_t at = index(matrix, row, column);
        updates[at] = numbers->gradient[at] / std::sqrt(std::max(settings.eps1 * settings.eps1, factor * moment));
      }
    }
  }
  const double size = (settings.maximize ? -alpha : alpha) / std::max(1.0, rootMeanSquare(updates) / settings.d);
  for (std::size_t i = 0; i < updates.size(); ++i)
    numbers->parameter[i] = numbers->parameter[i] * (1 - settings.lr * settings.weight_decay) - size * updates[i];
}

}  // namespace ipex_studio
