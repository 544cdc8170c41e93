// softmax(scale · q·kᵀ + mask) · v as its definition says.
#include <cmath>
#include <limits>

#include "kernels/common/reference.h"

namespace ipex_studio {

void refAttention(const RefCall& call) {
  const RefTensor &q = call.src[0], &k = call.src[1], &v = call.src[2], &mask = call.src[3], &y = call.dst[0];
  const int rank = y.dims.rank;
  const std::int64_t keys = k.dims[k.dims.rank - 2], depth = q.dims[q.dims.rank - 1];
  const double scale = call.spec.floatOr("scale", 1);
  const bool causal = call.spec.intOr("causal", 0) != 0;
  std::vector<double> scores(static_cast<std::size_t>(keys));
  Dims rows = y.dims;
  rows[rank - 1] = 1;
  forEachIndex(rows, [&](const Dims& at) {
    const std::int64_t query = at[rank - 2];
    const RefLine of_query = refLine(q, at, rank - 1), masked = mask.data ? refLine(mask, at, rank - 1) : RefLine();
    Dims head = at;
    double highest = -std::numeric_limits<double>::infinity(), sum = 0;
    for (std::int64_t key = 0; key < keys; ++key) {
      double score = 0;
      head[rank - 2] = key;
      const RefLine of_key = refLine(k, head, rank - 1);
      for (std::int64_t e = 0; e < depth; ++e) score += of_query[e] * of_key[e];
      const double m = mask.data ? masked[key] : 0;
      score = score * scale;
      if (call.spec.has("fill")) {
        score = m != 0 ? call.spec.floatOr("fill", 0) : score;
      } else if (call.spec.has("keep")) {
        score = m != 0 ? score : call.spec.floatOr("keep", 0);
      } else {
        score += m;
      }
      if (causal && key > query) score = -std::numeric_limits<double>::infinity();
      scores[static_cast<std::size_t>(key)] = score;
      highest = std::max(highest, score);
    }
    for (double& score : scores) sum += score = std::exp(score - highest);
    Dims to = at;
    for (to[rank - 1] = 0; to[rank - 1] < y.dims[rank - 1]; ++to[rank - 1]) {
      const RefLine values = refLine(v, to, rank - 2);
      double value = 0;
      for (std::int64_t key = 0; key < keys; ++key) value += scores[static_cast<std::size_t>(key)] / sum * values[key];
      y(to) = value;
    }
  });
}

}  // namespace ipex_studio
