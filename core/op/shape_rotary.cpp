// The shape rule of rotary embedding.
#include "core/op/shape_rules.h"

namespace ipex_studio {

Verdict inferRotary(const OpSpec& spec, const std::vector<TensorDesc>& src, std::vector<TensorDesc>* dst) {
  const Dims &x = src[0].dims, &table = src[1].dims;
  if (x.rank < 1 || table.rank < 1 || table.rank > x.rank) return Verdict::no("x or the tables have no rows");
  for (const TensorDesc& operand : src) {
    if (operand.dtype != DType::kF32) return Verdict::no("x or a table is not f32");
  }
  if (src[2].dims != table) return Verdict::no("sines and cosines have other sizes");
  const std::int64_t width = x[x.rank - 1], rotated = spec.intOr("rotated", width);
  if (rotated < 0 || rotated > width || rotated % 2 != 0) return Verdict::no("the values are no pairs");
  if (table[table.rank - 1] != (spec.intOr("half", 0) != 0 ? rotated / 2 : rotated))
    return Verdict::no("the tables have other columns");
  const std::int64_t named = spec.intOr("tokens", -1);
  if (spec.has("tokens") && (named >= -1 || named < -table.rank)) return Verdict::no("the axis of tokens is wrong");
  for (std::int64_t axis = 2; axis <= table.rank; ++axis) {
    const std::int64_t rows = table[table.rank - static_cast<int>(axis)], of_x = x[x.rank - static_cast<int>(axis)];
    const bool is_tokens = named == -axis;
    const bool longer = is_tokens && spec.intOr("first", 0) != 0 && rows >= of_x;
    if (rows != of_x && !longer && (is_tokens || rows != 1)) return Verdict::no("the tables do not fit x");
  }
  return addResult(src[0].dtype, x, dst);
}

}  // namespace ipex_studio
