#include "passes/quantize/quantized_activation.h"

#include <cmath>
#include <limits>
#include <string>

#include "passes/quantize/requantization.h"

namespace ipex_studio {
namespace {

using torch::jit::Node;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Scale and zero point that libtorch gives results of sigmoid and hardsigmoid, and of tanh.
AffineParameters unitInterval() { return {1.0 / 256, 0}; }
AffineParameters symmetricUnit() { return {2.0 / 256, 128}; }

// Bounds are rounded to the operand's steps; scale and zero point stay.
QuantizedActivation clipped(const AffineParameters& source, double low, double high) {
  const auto step = [&](double bound) {
    return std::isinf(bound) ? bound : std::nearbyint(bound / source.scale) + static_cast<double>(source.zero_point);
  };
  return {{unaryPostOp(PostOpKind::kClip, step(low), step(high))}, source};
}

QuantizedActivation computed(const AffineParameters& source, const PostOp& post_op, const AffineParameters& result) {
  return {{toReal(source), post_op, toInteger(result)}, result};
}

std::optional<double> boundOr(const torch::jit::Value* value, double otherwise) {
  return isNone(value) ? otherwise : constantNumber(value);
}

}  // namespace

std::optional<AffineParameters> constantQuantization(const torch::jit::Value* scale,
                                                     const torch::jit::Value* zero_point) {
  const auto s = constantNumber(scale), z = constantNumber(zero_point);
  if (!s || !z || !std::isfinite(*s) || !(*s > 0) || !(*z >= 0 && *z <= 255)) return std::nullopt;
  return AffineParameters{*s, static_cast<std::int64_t>(*z)};
}

std::optional<QuantizedActivation> readQuantizedActivation(const Node* node, const AffineParameters& source) {
  const std::string kind = node->kind().toUnqualString();
  if (kind == "relu") return clipped(source, 0, kInfinity);
  if (kind == "relu6") return clipped(source, 0, 6);
  if (kind == "hardtanh" || kind == "clamp") {
    const auto low = boundOr(node->input(1), -kInfinity), high = boundOr(node->input(2), kInfinity);
    if (!low || !high) return std::nullopt;
    return clipped(source, *low, *high);
  }
  if (node->kind().is_aten()) {
    if (kind == "tanh") return computed(source, unaryPostOp(PostOpKind::kTanh), symmetricUnit());
    return computed(source, unaryPostOp(kind == "sigmoid" ? PostOpKind::kSigmoid : PostOpKind::kHardSigmoid),
                    unitInterval());
  }
  // The quantized:: forms end in the scale and zero point of the result.
  const std::size_t last = node->inputs().size() - 1;
  const auto result = constantQuantization(node->input(last - 1), node->input(last));
  const auto slope = kind == "leaky_relu" ? constantNumber(node->input(1)) : std::optional<double>(0);
  if (!result || !slope) return std::nullopt;
  if (kind == "hardswish") return computed(source, unaryPostOp(PostOpKind::kHardSwish), *result);
  if (kind == "leaky_relu") return computed(source, unaryPostOp(PostOpKind::kLeakyRelu, *slope), *result);
  return computed(source, unaryPostOp(PostOpKind::kSigmoid), *result);
}

}  // namespace ipex_studio
