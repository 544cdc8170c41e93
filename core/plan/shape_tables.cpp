// The rules of what looks rows up: tables of embeddings, and any axis by an index.
#include "core/plan/narrow_weights.h"
#include "core/plan/shape_rules.h"

namespace ipex_studio {
namespace {

// What a row of a table gives; negative: the table is none.
std::int64_t rowWidth(const OpSpec& spec, const TensorDesc& table) {
  if (table.dims.rank != 2) return -1;
  if (spec.intOr("scaled_rows", 0) == 0) return table.dims[1];
  return table.dtype == DType::kU8 ? table.dims[1] - kRowParameterBytes : -1;
}

DType rowDtype(const OpSpec& spec, const TensorDesc& table) {
  return resultDtype(spec, spec.intOr("scaled_rows", 0) != 0 ? DType::kF32 : table.dtype);
}

bool isIndex(DType dtype) { return dtype == DType::kS64 || dtype == DType::kS32; }

}  // namespace

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
  Dims y = src[0].dims;
  const std::int64_t given = spec.intOr("axis", 0);
  const std::int64_t axis = given < 0 ? given + y.rank : given;
  if (axis < 0 || axis >= y.rank || !isIndex(src[1].dtype) || src[1].dims.rank != 1) {
    return Verdict::no("axis or index are wrong");
  }
  y[static_cast<int>(axis)] = src[1].dims[0];
  return addResult(src[0].dtype, y, dst);
}

}  // namespace ipex_studio
