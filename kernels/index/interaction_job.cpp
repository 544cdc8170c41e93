// Sizes and places of products of pairs of features, from an operation's description.
#include "kernels/index/interaction_job.h"

#include <algorithm>

namespace ipex_studio {

InteractionJob interactionJob(const OpSpec& spec, const std::vector<Dims>& src, std::size_t first) {
  InteractionJob job;
  job.width = src[first][src[first].rank - 1];
  job.diagonal = spec.intOr("diagonal", 0) != 0;
  job.dense = spec.intOr("dense", 0) != 0 ? job.width : 0;
  for (std::size_t s = first; s < src.size(); ++s) {
    const std::int64_t count = src[s].rank == 2 ? 1 : src[s][1];
    for (std::int64_t k = 0; k < count; ++k) job.features.push_back({s, k * job.width, count * job.width});
  }
  // The products of the triangle stand row by row.
  const bool lower = spec.stringOr("triangle", "lower") == "lower";
  const std::int64_t n = job.featureCount(), beside = job.diagonal ? 0 : 1;
  job.places.assign(static_cast<std::size_t>(n * n), 0);
  job.result_width = job.dense;
  for (std::int64_t row = 0; row < n; ++row) {
    const std::int64_t begin = lower ? 0 : row + beside, end = lower ? row + 1 - beside : n;
    for (std::int64_t column = begin; column < end; ++column) {
      const std::int64_t at = std::max(row, column) * n + std::min(row, column);
      job.places[static_cast<std::size_t>(at)] = static_cast<std::int32_t>(job.result_width++);
    }
  }
  return job;
}

InteractionJob interactionJob(const PrepareArgs& args, std::size_t first, PreparedOp* op) {
  std::vector<Dims> sizes;
  for (const TensorDesc& src : args.src) {
    op->src.push_back(contiguousDesc(src.dtype, src.dims));
    sizes.push_back(src.dims);
  }
  op->dst = {contiguousDesc(DType::kF32, args.dst[0].dims)};
  op->packed.assign(args.src.size(), false);
  return interactionJob(args.spec, sizes, first);
}

}  // namespace ipex_studio
