// Converts weights in groups and scaled rows to FP32.
#include "core/export/woq_tensors.h"

#include "core/base/error.h"

namespace ipex_studio {
namespace {

[[noreturn]] void refuseWoq() {
  throw Error(ExitCode::kBadModel, "Weights in 8 or 4 bits do not fit their description; export the model again.");
}

}  // namespace

at::Tensor dequantizeGroups(const at::Tensor& integers, const at::Tensor& scales, int bits, std::int64_t group,
                            std::int64_t depth, const NibbleLevels& levels) {
  const bool four = bits == 4;
  const std::int64_t row_bytes = four ? nibbleRowBytes(depth) : depth;
  const bool fits = depth > 0 && group > 0 && integers.dim() == 2 && integers.size(1) == row_bytes &&
                    integers.scalar_type() == (four ? at::kByte : at::kChar) && scales.dim() == 2 &&
                    scales.size(0) == integers.size(0) && scales.size(1) == groupCount(depth, group) &&
                    scales.scalar_type() == at::kFloat;
  if (!fits) refuseWoq();
  at::Tensor weights = integers.contiguous();
  if (four) {
    const at::Tensor blocks = weights.reshape({weights.size(0), -1, 1, kNibbleBlock / 2});
    const at::Tensor both = at::cat({blocks.bitwise_and(15), blocks.bitwise_right_shift(4)}, 2);
    const at::Tensor places = both.reshape({weights.size(0), -1}).slice(1, 0, depth).to(at::kLong);
    weights = at::tensor(c10::ArrayRef<float>(levels)).index({places});
  }
  return weights.to(at::kFloat) * scales.repeat_interleave(group, 1).slice(1, 0, depth);
}

at::Tensor dequantizeRows(const at::Tensor& table) {
  if (table.dim() != 2 || table.scalar_type() != at::kByte || table.size(1) <= kRowParameterBytes) refuseWoq();
  const std::int64_t width = table.size(1) - kRowParameterBytes;
  const at::Tensor parameters = table.slice(1, width).contiguous().view(at::kFloat);
  return table.slice(1, 0, width).to(at::kFloat) * parameters.slice(1, 0, 1) + parameters.slice(1, 1, 2);
}

}  // namespace ipex_studio
