// Attention and its gradient in double precision, by their definitions.
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "kernels/attention/flash_attention.h"

namespace ipex_studio {
namespace {

constexpr double kNoKey = -std::numeric_limits<double>::infinity();

double product(const double* a, const double* b, std::int64_t count) {
  double sum = 0;
  for (std::int64_t e = 0; e < count; ++e) sum += a[e] * b[e];
  return sum;
}

double scoreOf(const FlashJob& job, const FlashOperands<double>& from, std::int64_t query, std::int64_t key) {
  if (job.causal && key > query) return kNoKey;
  const double score = job.scale * product(from.q + query * job.q.row, from.k + key * job.k.row, job.depth);
  return job.has_mask ? score + from.mask[query * job.mask.row + key * job.mask_column] : score;
}

}  // namespace

void attendHeadRef(const FlashJob& job, const FlashOperands<double>& from, double* y, double* logarithms) {
  std::vector<double> weights(static_cast<std::size_t>(job.keys));
  for (std::int64_t query = 0; query < job.queries; ++query, y += job.width) {
    double highest = kNoKey, sum = 0;
    for (std::int64_t key = 0; key < job.keys; ++key) {
      double& score = weights[static_cast<std::size_t>(key)];
      score = scoreOf(job, from, query, key);
      highest = std::max(highest, score);
    }
    std::fill(y, y + job.width, 0.0);
    logarithms[query] = kNoKey;
    if (highest == kNoKey) continue;
    for (double& weight : weights) sum += weight = std::exp(weight - highest);
    logarithms[query] = highest + std::log(sum);
    for (std::int64_t key = 0; key < job.keys; ++key) {
      const double weight = weights[static_cast<std::size_t>(key)] / sum;
      for (std::int64_t e = 0; e < job.width; ++e) y[e] += weight * from.v[key * job.v.row + e];
    }
  }
}

void headGradientRef(const FlashJob& job, const HeadGradient<double>& head) {
  std::fill(head.to.k, head.to.k + job.keys * job.depth, 0.0);
  std::fill(head.to.v, head.to.v + job.keys * job.width, 0.0);
  FlashOperands<double> from = head.from;
  for (std::int64_t g = 0; g < job.group; ++g) {
    for (std::int64_t query = 0; query < job.queries; ++query) {
      const std::int64_t row = g * job.queries + query;
      const double *const y = head.y + row * job.width, *const of_y = head.of_y + row * job.width;
      const double logarithm = head.logarithms[row], common = product(y, of_y, job.width);
      double* const of_q = head.to.q + row * job.depth;
      std::fill(of_q, of_q + job.depth, 0.0);
      if (logarithm == kNoKey) continue;
      for (std::int64_t key = 0; key < job.keys; ++key) {
        const double score = scoreOf(job, from, query, key);
        if (score == kNoKey) continue;
        const double weight = std::exp(score - logarithm);
        const double of_weight = product(of_y, from.v + key * job.v.row, job.width);
        const double of_score = weight * (of_weight - common) * job.scale;
        const double *const q = from.q + query * job.q.row, *const k = from.k + key * job.k.row;
        for (std::int64_t e = 0; e < job.width; ++e) head.to.v[key * job.width + e] += weight * of_y[e];
        for (std::int64_t e = 0; e < job.depth; ++e) {
          of_q[e] += of_score * k[e];
          head.to.k[key * job.depth + e] += of_score * q[e];
        }
      }
    }
    from.q += job.q.head;
    if (job.has_mask) from.mask += job.mask.head;
  }
}

}  // namespace ipex_studio
