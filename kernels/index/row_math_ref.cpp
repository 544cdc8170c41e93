// Arithmetic on rows of embedding tables, in double precision and by its definition.
#include <algorithm>
#include <cmath>

#include "kernels/common/index_rows.h"
#include "kernels/index/row_math.h"

namespace ipex_studio {
namespace {

void addRows(const RowAddends<double>& addends, std::int64_t width, double* sums, bool fresh) {
  if (fresh) std::fill(sums, sums + width, 0.0);
  for (std::int64_t r = 0; r < addends.count; ++r) {
    const double factor = addends.factors == nullptr ? 1 : addends.factors[r];
    for (std::int64_t e = 0; e < width; ++e) sums[e] += factor * addends.rows[r][e];
  }
}

void sumBags(const EmbeddingBagJob& job, const void* ids, const void* offsets, const double* table, double* y,
             std::int64_t begin, std::int64_t end) {
  for (std::int64_t bag = begin; bag < end; ++bag) {
    const std::int64_t first = indexAt(offsets, job.index_type, bag);
    const std::int64_t last = bag + 1 < job.offsets ? indexAt(offsets, job.index_type, bag + 1) : job.ids;
    double* const sums = y + bag * job.width;
    std::fill(sums, sums + job.width, 0.0);
    for (std::int64_t i = first; i < last; ++i) {
      const double* const row = table + indexAt(ids, job.index_type, i) * job.width;
      for (std::int64_t e = 0; e < job.width; ++e) sums[e] += row[e];
    }
    for (std::int64_t e = 0; e < job.width && job.mean && last > first; ++e)
      sums[e] /= static_cast<double>(last - first);
  }
}

double product(const double* a, const double* b, std::int64_t width) {
  double sum = 0;
  for (std::int64_t e = 0; e < width; ++e) sum += a[e] * b[e];
  return sum;
}

void step(double* w, const double* g, std::int64_t width, double lr, double decay) {
  for (std::int64_t e = 0; e < width; ++e) w[e] -= lr * (g[e] + decay * w[e]);
}

void adagrad(double* w, double* h, const double* g, std::int64_t width, double lr, double decay, double eps) {
  for (std::int64_t e = 0; e < width; ++e) {
    const double gradient = g[e] + decay * w[e];
    h[e] += gradient * gradient;
    w[e] -= lr * gradient / (std::sqrt(h[e]) + eps);
  }
}

}  // namespace

RowMath<double> rowMathRef() { return {addRows, sumBags, product, step, adagrad}; }

}  // namespace ipex_studio
