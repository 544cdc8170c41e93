// Norms of rows and their gradients in double precision, by their definitions.
#include <cmath>

#include "kernels/norm/row_norm.h"

namespace ipex_studio {
namespace {

struct Statistics {
  double mean = 0, factor = 0;
};

Statistics statisticsOf(const RowNormJob& job, const double* x) {
  const auto n = static_cast<double>(job.size);
  Statistics row;
  if (job.norm == RowNorm::kDeviation) {
    for (std::int64_t i = 0; i < job.size; ++i) row.mean += x[i] / n;
  }
  double squares = 0;
  for (std::int64_t i = 0; i < job.size; ++i) squares += (x[i] - row.mean) * (x[i] - row.mean);
  row.factor = 1 / std::sqrt(squares / n + job.eps);
  return row;
}

}  // namespace

void normalizeRowRef(const RowNormJob& job, const double* x, const double* residual, const double* gamma,
                     const double* beta, double* y, double* sum) {
  if (residual != nullptr) {
    double* const added = sum != nullptr ? sum : y;
    for (std::int64_t i = 0; i < job.size; ++i) added[i] = x[i] + residual[i];
    x = added;
  }
  const Statistics row = statisticsOf(job, x);
  for (std::int64_t i = 0; i < job.size; ++i) {
    y[i] = (x[i] - row.mean) * row.factor * (gamma ? gamma[i] : 1) + (beta ? beta[i] : 0);
  }
}

void rowGradientRef(const RowNormJob& job, const double* x, const double* gamma, const double* of_y,
                    const double* of_sum, const RowNormGradients<double>& row) {
  const auto n = static_cast<double>(job.size);
  const Statistics of_row = statisticsOf(job, x);
  double mean = 0, product = 0;  // of the gradients of the normalized values; of these with the values
  for (std::int64_t i = 0; i < job.size; ++i) {
    const double normalized = (x[i] - of_row.mean) * of_row.factor, h = of_y[i] * (gamma ? gamma[i] : 1);
    if (job.norm == RowNorm::kDeviation) mean += h / n;
    product += h * normalized / n;
    if (row.gamma != nullptr) row.gamma[i] += of_y[i] * normalized;
    if (row.beta != nullptr) row.beta[i] += of_y[i];
  }
  for (std::int64_t i = 0; i < job.size; ++i) {
    const double normalized = (x[i] - of_row.mean) * of_row.factor, h = of_y[i] * (gamma ? gamma[i] : 1);
    row.x[i] = of_row.factor * (h - mean - normalized * product) + (of_sum ? of_sum[i] : 0);
  }
}

}  // namespace ipex_studio
