// The shape rule of recurrent layers.
#include <string>

#include "core/op/shape_rules.h"

namespace ipex_studio {

Verdict inferRecurrent(const OpSpec& spec, const std::vector<TensorDesc>& src, std::vector<TensorDesc>* dst) {
  const std::string cell = spec.stringOr("cell", "");
  const std::int64_t gates = cell == "lstm" ? 4 : 3, time = spec.intOr("time_axis", 0);
  if ((cell != "lstm" && cell != "gru") || time < 0 || time > 1)
    return Verdict::no("the cell or its time axis is unknown");
  for (const TensorDesc& operand : src) {
    if (!operand.absent() && operand.dtype != DType::kF32) return Verdict::no("recurrent layers compute in f32");
  }
  const bool projected = spec.intOr("projected", 0) != 0;
  const Dims &x = src[0].dims, &w = src[1].dims, &h = src[2].dims;
  if (x.rank != 3 || w.rank != 2 || h.rank != 2 || (projected && cell != "lstm"))
    return Verdict::no("gates and weights do not fit");
  const std::int64_t units = projected ? w[0] / (gates + 1) : w[1], rows = x[static_cast<int>(1 - time)];
  if (w[0] != (gates + projected) * units || x[2] != gates * units) return Verdict::no("gates and weights do not fit");
  const Dims state{rows, w[1]}, cells{rows, units};
  if (h != state || src[3].absent() == (cell == "lstm") || (!src[3].absent() && src[3].dims != cells))
    return Verdict::no("the states do not fit");
  if (!isBias(src[4], w[1]) || (!src[4].absent() && cell == "lstm")) return Verdict::no("the bias does not fit");
  Dims y = x;
  y[2] = w[1];
  const Verdict first = addResult(DType::kF32, y, dst);
  return first.ok && cell == "lstm" ? addResult(DType::kF32, cells, dst) : first;
}

}  // namespace ipex_studio
