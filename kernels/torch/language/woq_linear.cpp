// ipex_studio::woq_linear: a linear layer whose weights have 4 or 8 bits and scales of groups (core/op/woq_weights.h).
//
//   woq_linear(Tensor x, Tensor weight, Tensor scales, Tensor? bias, int bits, int depth, int group,
//              str levels="even") -> Tensor
//
// x: [..., depth], floats, computed in float32. weight: u8 [N, nibbleRowBytes(depth)] for 4 bits, int8 [N, depth] for
// 8. scales: float32 [N, groups] of `group` weights each, a multiple of 32. bias: float32 [N]. levels: what 4 bits
// stand for, "even" or "nf4". Result: [..., N], in the type of x. One step of a plan, whose weights are packed once;
// without gradients.
#include <map>
#include <mutex>

#include "core/op/woq_weights.h"
#include "kernels/torch/language/language_operands.h"
#include "kernels/torch/ops/planned_call.h"

namespace ipex_studio {
namespace {

constexpr char kWoqLinear[] = "woq_linear";

// The step for one form of weights; a process sees few of them.
const PlannedCall& woqStep(std::int64_t bits, std::int64_t depth, std::int64_t group, const std::string& levels,
                           bool biased) {
  static std::mutex mutex;
  static std::map<std::string, PlannedCall> steps;
  const std::string named = levels == "even" ? "" : ",levels=" + levels;
  const std::string form = bits == 4 ? c10::str("linear{bits=4,depth=", depth, ",group=", group, named, "}")
                                     : c10::str("linear{group=", group, "}");
  const std::string spec = form + (biased ? "|add(0)" : "");
  const std::lock_guard<std::mutex> lock(mutex);
  return steps.try_emplace(spec, "linear", spec).first->second;
}

void checkWoq(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& scales, const Optional& bias,
              std::int64_t bits, std::int64_t depth, std::int64_t group, c10::string_view levels) {
  const std::string name(levels);
  TORCH_CHECK(nibbleLevels(name) != nullptr && (bits == 4 || name == "even"), kWoqLinear, ": levels of ", bits,
              " bits are not ", name);
  TORCH_CHECK(bits == 4 || bits == 8, kWoqLinear, ": weights have 4 or 8 bits, not ", bits);
  TORCH_CHECK(depth > 0 && group > 0 && group <= kLargestGroup && group % kNibbleBlock == 0, kWoqLinear, ": groups of ",
              group, " weights are no multiple of ", kNibbleBlock);
  TORCH_CHECK(x.dim() >= 1 && x.size(-1) == depth && x.is_floating_point(), kWoqLinear, ": x is floats [..., ", depth,
              "], not ", x.scalar_type(), " ", x.sizes());
  TORCH_CHECK(weight.dim() == 2 && weight.scalar_type() == (bits == 4 ? at::kByte : at::kChar) &&
                  weight.size(1) == (bits == 4 ? nibbleRowBytes(depth) : depth),
              kWoqLinear, ": weights of ", bits, " bits for ", depth, " values are not ", weight.scalar_type(), " ",
              weight.sizes());
  TORCH_CHECK(scales.sizes() == at::IntArrayRef({weight.size(0), groupCount(depth, group)}) &&
                  scales.scalar_type() == at::kFloat,
              kWoqLinear, ": scales are float32 [", weight.size(0), ", ", groupCount(depth, group), "], not ",
              scales.scalar_type(), " ", scales.sizes());
  TORCH_CHECK(!bias.has_value() || !bias->defined() ||
                  (bias->sizes() == at::IntArrayRef({weight.size(0)}) && bias->scalar_type() == at::kFloat),
              kWoqLinear, ": the bias is float32 [", weight.size(0), "]");
}

at::Tensor woqOnCpu(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& scales, const Optional& bias,
                    std::int64_t bits, std::int64_t depth, std::int64_t group, c10::string_view levels) {
  checkWoq(x, weight, scales, bias, bits, depth, group, levels);
  std::vector<std::int64_t> sizes = x.sizes().vec();
  sizes.back() = weight.size(0);
  if (x.numel() == 0) return at::empty(sizes, x.options());
  const at::Tensor rows = x.to(at::kFloat).reshape({-1, depth}).contiguous();
  c10::List<at::Tensor> addends;
  const bool biased = bias.has_value() && bias->defined();
  if (biased) addends.push_back(*bias);
  return woqStep(bits, depth, group, std::string(levels), biased)({rows, weight, scales, addends})
      .view(sizes)
      .to(x.scalar_type());
}

at::Tensor woqOnMeta(const at::Tensor& x, const at::Tensor& weight, const at::Tensor&, const Optional&, std::int64_t,
                     std::int64_t, std::int64_t, c10::string_view) {
  std::vector<std::int64_t> sizes = x.sizes().vec();
  sizes.back() = weight.size(0);
  return at::empty(sizes, x.options());
}

}  // namespace

TORCH_LIBRARY_FRAGMENT(ipex_studio, m) {
  m.def(
      "woq_linear(Tensor x, Tensor weight, Tensor scales, Tensor? bias, int bits, int depth, int group, "
      "str levels='even') -> Tensor");
}
TORCH_LIBRARY_IMPL(ipex_studio, CPU, m) { m.impl("woq_linear", woqOnCpu); }
TORCH_LIBRARY_IMPL(ipex_studio, Meta, m) { m.impl("woq_linear", woqOnMeta); }

}  // namespace ipex_studio
