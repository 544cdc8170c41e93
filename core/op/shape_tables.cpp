// The shape rules of lookups: rows of embedding tables, and elements along any axis by an index.
#include "core/op/shape_rules.h"
#include "core/op/woq_weights.h"

namespace ipex_studio {
namespace {

// Number of values that one row of a table gives; negative if it is no table.
std::int64_t rowWidth(const OpSpec& spec, const TensorDesc& table) {
  if (table.dims.rank != 2) return -1;
  if (spec.intOr("scaled_rows", 0) == 0) return table.dims[1];
  return table.dtype == DType::kU8 ? table.dims[1] - kRowParameterBytes : -1;
}

DType rowDtype(const OpSpec& spec, const TensorDesc& table) {
  return resultDtype(spec, spec.intOr("scaled_rows", 0) != 0 ? DType::kF32 : table.dtype);
}

// True if `part` is no larger than `whole` along every axis except `but`.
bool liesWithin(const Dims& part, const Dims& whole, int but) {
  for (int a = 0; a < whole.rank; ++a) {
    if (a != but && part[a] > whole[a]) return false;
  }
  return true;
}

// True if `weights` are one for each of so many edges and each of x's other axes, of which the last ones may be 1.
bool weighsRows(const Dims& weights, const Dims& x, std::int64_t edges) {
  if (weights.rank != x.rank || weights[0] != edges) return false;
  int axis = 1;
  while (axis < x.rank && weights[axis] == x[axis]) ++axis;
  while (axis < x.rank && weights[axis] == 1) ++axis;
  return axis == x.rank;
}

}  // namespace

bool isIndex(DType dtype) { return dtype == DType::kS64 || dtype == DType::kS32; }

Verdict inferEmbedding(const OpSpec& spec, const std::vector<TensorDesc>& src, std::vector<TensorDesc>* dst) {
  if (!isIndex(src[0].dtype) || rowWidth(spec, src[1]) < 0) return Verdict::no("ids or table are wrong");
  if (src[0].dims.rank >= kMaxRank) return Verdict::no("too many dimensions");
  Dims y = src[0].dims;
  y[y.rank++] = rowWidth(spec, src[1]);
  return addResult(rowDtype(spec, src[1]), y, dst);
}

Verdict inferEmbeddingBag(const OpSpec& spec, const std::vector<TensorDesc>& src, std::vector<TensorDesc>* dst) {
  const bool fits = isIndex(src[0].dtype) && src[0].dims.rank == 1 && src[1].dtype == src[0].dtype &&
                    src[1].dims.rank == 1 && rowWidth(spec, src[2]) >= 0;
  if (!fits) return Verdict::no("ids, offsets or table are wrong");
  const std::int64_t bags = src[1].dims[0] - (spec.intOr("include_last_offset", 0) != 0 ? 1 : 0);
  return addResult(rowDtype(spec, src[2]), Dims{bags, rowWidth(spec, src[2])}, dst);
}

Verdict inferGather(const OpSpec& spec, const std::vector<TensorDesc>& src, std::vector<TensorDesc>* dst) {
  const Dims &x = src[0].dims, &index = src[1].dims;
  const int axis = axisIn(spec, x.rank);
  if (axis < 0 || !isIndex(src[1].dtype)) return Verdict::no("axis or index are wrong");
  if (x.rank - 1 + index.rank > kMaxRank) return Verdict::no("too many dimensions");
  Dims y;
  for (int a = 0; a < axis; ++a) y[y.rank++] = x[a];
  for (int a = 0; a < index.rank; ++a) y[y.rank++] = index[a];
  for (int a = axis + 1; a < x.rank; ++a) y[y.rank++] = x[a];
  return addResult(src[0].dtype, y, dst);
}

Verdict inferGatherElements(const OpSpec& spec, const std::vector<TensorDesc>& src, std::vector<TensorDesc>* dst) {
  const Dims &x = src[0].dims, &index = src[1].dims;
  const int axis = axisIn(spec, x.rank);
  if (axis < 0 || !isIndex(src[1].dtype) || index.rank != x.rank) return Verdict::no("axis or index are wrong");
  if (!liesWithin(index, x, axis)) return Verdict::no("the index is larger than the source");
  return addResult(src[0].dtype, index, dst);
}

Verdict inferScatterElements(const OpSpec& spec, const std::vector<TensorDesc>& src, std::vector<TensorDesc>* dst) {
  const Dims &x = src[0].dims, &index = src[1].dims;
  const int axis = axisIn(spec, x.rank);
  if (axis < 0 || !isIndex(src[1].dtype) || (index.rank != x.rank && index.rank != 1))
    return Verdict::no("axis or index are wrong");
  Dims updates = index;
  if (index.rank != x.rank) {
    updates = x;
    updates[axis] = index[0];
  }
  if (!liesWithin(updates, x, axis)) return Verdict::no("the index is larger than the source");
  if (src[2].dtype != src[0].dtype || src[2].dims != updates) return Verdict::no("the updates do not fit");
  const std::string reduction = spec.stringOr("reduction", "");
  const bool known = reduction == "add" || reduction == "mul" || reduction == "max" || reduction == "min";
  if (!reduction.empty() && (!known || src[0].dtype != DType::kF32)) return Verdict::no("the reduction is unknown");
  return addResult(src[0].dtype, x, dst);
}

Verdict inferGatherScatter(const OpSpec& spec, const std::vector<TensorDesc>& src, std::vector<TensorDesc>* dst) {
  const Dims &like = src[0].dims, &to = src[1].dims, &x = src[2].dims;
  const bool gathers = !src[3].absent(), weighs = !src[4].absent();
  const auto fits = [&](const TensorDesc& index) {
    return isIndex(index.dtype) && index.dims.rank == 1 && index.dims[0] == to[0];
  };
  if (!fits(src[1]) || (gathers && !fits(src[3]))) return Verdict::no("the ends of edges are wrong");
  if (x.rank == 0 || like.rank != x.rank || (!gathers && x[0] != to[0]) || spec.intOr("rank", x.rank) != x.rank)
    return Verdict::no("the rows do not fit");
  for (int a = 1; a < x.rank; ++a) {
    if (like[a] != x[a]) return Verdict::no("the rows do not fit");
  }
  if (weighs && !weighsRows(src[4].dims, x, to[0])) return Verdict::no("the weights do not fit");
  const std::string reduction = spec.stringOr("reduction", "");
  if (reduction != "add" && reduction != "mean" && reduction != "max" && reduction != "min")
    return Verdict::no("the reduction is unknown");
  if (src[2].dtype != DType::kF32 || (weighs && src[4].dtype != DType::kF32)) return Verdict::no("dtype");
  return addResult(DType::kF32, like, dst);
}

}  // namespace ipex_studio
