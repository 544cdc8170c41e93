#include "kernels/torch/plans/integer_inputs.h"

#include <algorithm>
#include <limits>
#include <set>

#include "core/torch/tensor_bridge.h"

namespace ipex_studio {
namespace {

// True if the operation's result does not have its integers' type: they are looked up, compared or cast.
bool onlyReadsValues(const PlanNode& node, std::size_t source) {
  const std::string op = node.op.stringOr("op", "");
  switch (node.op.kind) {
    case OpKind::kEmbedding:
      return source == 0;
    case OpKind::kEmbeddingBag:
      return source < 2;
    case OpKind::kGather:
    case OpKind::kGatherElements:
    case OpKind::kScatterElements:
      return source == 1;
    case OpKind::kGatherScatter:
      return source == 1 || source == 3;
    case OpKind::kCast:
      return true;
    case OpKind::kIntegerMath:
      return op == "eq" || op == "ne" || op == "lt" || op == "le" || op == "gt" || op == "ge";
    default:
      return false;
  }
}

bool onlyChooses(const PlanSpec& spec, std::int32_t input) {
  std::set<std::int32_t> names{input};
  for (const PlanNode& node : spec.nodes) {
    if (node.is_int) continue;  // sizes
    for (std::size_t source = 0; source < node.src.size(); ++source) {
      if (names.count(node.src[source]) == 0) continue;
      if (isView(node.op.kind)) {
        names.insert(node.dst.begin(), node.dst.end());
      } else if (!onlyReadsValues(node, source)) {
        return false;
      }
    }
  }
  return std::none_of(spec.outputs.begin(), spec.outputs.end(),
                      [&](std::int32_t output) { return names.count(output) != 0; });
}

bool fitsInt32(const at::Tensor& numbers) {
  if (numbers.numel() == 0) return true;
  return numbers.max().item<std::int64_t>() <= std::numeric_limits<std::int32_t>::max() &&
         numbers.min().item<std::int64_t>() >= std::numeric_limits<std::int32_t>::min();
}

}  // namespace

IntegerInputs::IntegerInputs(const PlanSpec& spec) {
  std::size_t tensor = 0;
  for (std::size_t input = 0; input < spec.inputs.size(); ++input) {
    if (spec.inputs[input].is_int) continue;
    const DType dtype = spec.inputs[input].dtype;
    if (dtype == DType::kS64 || dtype == DType::kS32)
      inputs_.push_back({tensor, scalarTypeOf(dtype), onlyChooses(spec, static_cast<std::int32_t>(input))});
    ++tensor;
  }
}

std::optional<std::vector<at::Tensor>> IntegerInputs::converted(c10::ArrayRef<const at::Tensor*> tensors) const {
  std::vector<at::Tensor> all;
  for (const at::Tensor* tensor : tensors) all.push_back(*tensor);
  for (const Input& input : inputs_) {
    if (input.tensor >= all.size() || !isOther(input, all[input.tensor])) continue;
    at::Tensor& numbers = all[input.tensor];
    if (!input.only_chooses || (input.planned == at::kInt && !fitsInt32(numbers))) return std::nullopt;
    numbers = numbers.to(input.planned);
  }
  return all;
}

}  // namespace ipex_studio
