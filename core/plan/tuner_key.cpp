#include "core/plan/tuner_key.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/plan/layout_text.h"
#include "core/plan/shape_rules.h"

namespace ipex_studio {
namespace {

// Where integers are read or written, numbers of the chain are scales and zero points: other data has others, and they
// change nothing but values.
OpSpec withoutScales(const PrepareArgs& args) {
  OpSpec spec = args.spec;
  if (!isOfIntegers(args)) return spec;
  for (PostOp& op : spec.post_ops) {
    if (op.kind == PostOpKind::kLinear) op.alpha = 1;
    if (op.kind == PostOpKind::kLinear) op.beta = 0;
    if (isBinary(op.kind) && op.alpha != 1) op.alpha = 2;
  }
  if (spec.intOr("src_zero", 0) != 0) spec.attributes["src_zero"] = std::int64_t{1};
  if (spec.intOr("weight_zero", 0) != 0) spec.attributes["weight_zero"] = std::int64_t{1};
  return spec;
}

}  // namespace

std::string operandText(const TensorDesc& desc) {
  if (desc.absent()) return "-";
  const bool strided = layoutText(desc).empty();
  return desc.str() + (strided ? fmt::format("[{}]", fmt::join(desc.strides.toVector(), ",")) : "");
}

bool isOfIntegers(const PrepareArgs& args) {
  const auto integer = [](const TensorDesc& desc) { return isInteger8(desc.dtype); };
  return std::any_of(args.src.begin(), args.src.end(), integer) || std::any_of(args.dst.begin(), args.dst.end(), integer);
}

std::string stepText(const PrepareArgs& args) {
  std::string text = withoutScales(args).text() + " :";
  for (std::size_t s = 0; s < args.src.size(); ++s) {
    text += " " + operandText(args.src[s]);
    if (args.constant[s] != nullptr) text += " const";
    if (args.src_dies[s]) text += " dies";
  }
  text += " ->";
  for (const TensorDesc& dst : args.dst) text += " " + operandText(dst);
  return text;
}

}  // namespace ipex_studio
