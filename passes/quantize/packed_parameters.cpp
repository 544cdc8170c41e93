#include "passes/quantize/packed_parameters.h"

#include <ATen/core/dispatch/Dispatcher.h>

namespace ipex_studio {
namespace {

using torch::jit::IValue;

// Unpacks by PyTorch's own operators, since the packed forms differ by engine.
std::vector<IValue> ask(const char* name, const IValue& packed) {
  const auto op = c10::Dispatcher::singleton().findSchema({name, ""});
  if (!op) throw std::runtime_error(std::string("this libtorch has no ") + name);
  torch::jit::Stack stack{packed};
  op->callBoxed(&stack);
  return stack;
}

std::optional<IValue> constantObject(const torch::jit::Value* packed, std::string* why) {
  auto constant = torch::jit::toIValue(packed);
  if (constant && constant->isObject()) return constant;
  *why = "Its packed weights are not constant.";
  return std::nullopt;
}

bool fill(const std::vector<IValue>& unpacked, PackedParameters* parameters, std::string* why) {
  const at::Tensor weights = unpacked.at(0).toTensor();
  if (weights.scalar_type() != at::kQInt8) {
    *why = "Its weights are no 8-bit integers.";
    return false;
  }
  const std::int64_t channels = weights.size(0);
  const bool per_channel = weights.qscheme() == at::kPerChannelAffine;
  const bool symmetric =
      per_channel ? weights.q_per_channel_zero_points().eq(0).all().item<bool>() : weights.q_zero_point() == 0;
  if (!symmetric || (per_channel && weights.q_per_channel_axis() != 0)) {
    *why = "Its weights have a zero point or scales of another axis than the output channels'.";
    return false;
  }
  parameters->scales = per_channel ? weights.q_per_channel_scales().to(at::kDouble)
                                   : at::full({channels}, weights.q_scale(), at::kDouble);
  parameters->integers = weights.int_repr().contiguous();
  if (unpacked.size() > 1 && unpacked[1].isTensor() && unpacked[1].toTensor().defined())
    parameters->bias = unpacked[1].toTensor().detach().to(at::kFloat);
  return true;
}

// The result of `read` on packed weights, if they are constant.
template <class Read>
std::optional<PackedParameters> unpack(const torch::jit::Value* packed, std::string* why, const Read& read) {
  const auto object = constantObject(packed, why);
  if (!object) return std::nullopt;
  try {
    PackedParameters parameters;
    if (!read(*object, &parameters)) return std::nullopt;
    return parameters;
  } catch (const std::exception&) {
    *why = "Its packed weights cannot be unpacked.";
    return std::nullopt;
  }
}

}  // namespace

std::optional<PackedParameters> unpackConvolution2d(const torch::jit::Value* packed, std::string* why) {
  return unpack(packed, why, [&](const IValue& object, PackedParameters* parameters) {
    if (!fill(ask("quantized::conv2d_unpack", object), parameters, why)) return false;
    parameters->stride = ask("quantized::conv2d_stride", object).at(0).toIntVector();
    parameters->padding = ask("quantized::conv2d_padding", object).at(0).toIntVector();
    parameters->dilation = ask("quantized::conv2d_dilation", object).at(0).toIntVector();
    parameters->groups = ask("quantized::conv2d_groups", object).at(0).toInt();
    return true;
  });
}

std::optional<PackedParameters> unpackLinear(const torch::jit::Value* packed, std::string* why) {
  return unpack(packed, why, [&](const IValue& object, PackedParameters* parameters) {
    return fill(ask("quantized::linear_unpack", object), parameters, why);
  });
}

}  // namespace ipex_studio
