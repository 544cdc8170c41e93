// Texts that name operands, steps and plans in tuning records.
#include "core/tune/tuner_key.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "core/op/layout_text.h"
#include "core/op/shape_rules.h"

namespace ipex_studio {
namespace {

// The spec without scales and zero points: where integers are read or written, these depend on the data and change
// values only, not speed.
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
  return std::any_of(args.src.begin(), args.src.end(), integer) ||
         std::any_of(args.dst.begin(), args.dst.end(), integer);
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

Sha256 specDigest(const PlanSpec& spec) {
  const std::string text = planSpecToText(spec);
  Sha256 digest;
  digest.update(text.data(), text.size());
  return digest;
}

namespace {

// The integers that say nothing but where a slice of one element is taken: sizes, and so the choices, are the same for
// all of them. A loop over a sequence has one for each round.
std::vector<bool> placesAlone(const PlanSpec& spec) {
  std::vector<bool> place(static_cast<std::size_t>(spec.valueCount()), true);
  const auto refuse = [&](std::int32_t value) {
    if (value >= 0) place[static_cast<std::size_t>(value)] = false;
  };
  // From the last node on: what reads a value stands behind it.
  for (auto node = spec.nodes.rbegin(); node != spec.nodes.rend(); ++node) {
    for (const AttrRef& ref : node->refs) {
      if (node->op.kind != OpKind::kSelect || ref.attribute != "index") refuse(ref.value);
    }
    if (node->is_int && !place[static_cast<std::size_t>(node->dst[0])])
      std::for_each(node->src.begin(), node->src.end(), refuse);
  }
  return place;
}

}  // namespace

std::string planText(const PlanSpec& spec, const PlanRequest& request, const KernelList& kernels, bool allow_winograd,
                     const Sha256* begun) {
  Sha256 digest = begun != nullptr ? *begun : specDigest(spec);
  const auto add = [&](std::string_view text) { digest.update(text.data(), text.size()); };
  for (const TensorDesc& input : request.tensor_inputs)
    add(fmt::format("{} {};", operandText(input), fmt::join(input.strides.toVector(), ",")));
  const std::vector<bool> place = placesAlone(spec);
  for (std::size_t i = 0; i < request.int_inputs.size(); ++i)
    add(place[i] ? "," : fmt::format("{},", request.int_inputs[i]));
  // With other kernels the choice may be another.
  for (int kind = 0; kind < kOpKindCount; ++kind) {
    for (const Kernel* kernel : kernels.candidates(static_cast<OpKind>(kind), request.target.device->id().kind))
      add(kernel->name()), add("\n");
  }
  if (!allow_winograd) add("no winograd");
  // A sample of the weights, since an algorithm that was exact enough for other weights need not be so for these.
  for (std::size_t c = 0; c < spec.constants.size(); ++c) {
    const std::size_t bytes = spec.constants[c].bytes(), sample = std::min<std::size_t>(bytes, 256);
    const char* data = static_cast<const char*>(request.constants[c]);
    for (const std::size_t at : {std::size_t{0}, (bytes - sample) / 2, bytes - sample})
      digest.update(data + at, sample);
  }
  return "plan " + digest.hex();
}

}  // namespace ipex_studio
