// The plain sum, mean or extreme over the edges of a graph.
#include <algorithm>
#include <cmath>

#include "kernels/common/reference.h"

namespace ipex_studio {

void refGatherScatter(const RefCall& call) {
  const RefTensor &to = call.src[1], &x = call.src[2], &from = call.src[3], &weights = call.src[4], &y = call.dst[0];
  const std::string reduction = call.spec.stringOr("reduction", "add");
  const bool extreme = reduction == "max" || reduction == "min";
  const std::int64_t rows = y.dims[0], width = y.dims.count() / std::max<std::int64_t>(1, rows);
  const std::int64_t groups =
      weights.data == nullptr ? 1 : weights.dims.count() / std::max<std::int64_t>(1, to.dims[0]);
  std::vector<std::int64_t> counts(static_cast<std::size_t>(rows), 0);
  std::fill(y.data, y.data + y.dims.count(), 0.0);
  for (std::int64_t e = 0; e < to.dims[0]; ++e) {
    const auto row = static_cast<std::int64_t>(to.data[e]);
    auto source = from.data == nullptr ? e : static_cast<std::int64_t>(from.data[e]);
    if (source < 0 && call.spec.intOr("wrap", 0) != 0) source += x.dims[0];
    if (row < 0 || row >= rows || source < 0 || source >= x.dims[0]) continue;
    const bool first = counts[static_cast<std::size_t>(row)]++ == 0;
    for (std::int64_t f = 0; f < width; ++f) {
      const double weight = weights.data == nullptr ? 1 : weights.data[e * groups + f / (width / groups)];
      const double value = weight * x.data[source * width + f];
      double& result = y.data[row * width + f];
      if (!extreme) {
        result += value;
      } else if (first || std::isnan(value) || (reduction == "max" ? value > result : value < result)) {
        result = value;
      }
    }
  }
  if (reduction != "mean") return;
  for (std::int64_t i = 0; i < y.dims.count(); ++i)
    y.data[i] /= static_cast<double>(std::max<std::int64_t>(1, counts[static_cast<std::size_t>(i / width)]));
}

}  // namespace ipex_studio
