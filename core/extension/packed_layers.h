// The objects in which Intel Extension for PyTorch keeps layers with their weights.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/torch/torch_compat.h"

namespace ipex_studio {

// A class of its namespace ipex_prepack. The state in a file is plain: a tuple that begins with the weights, in
// PyTorch's own layout, and the bias.
struct PackedLayer {
  const char* name;   // "Convolution", in texts of ours
  const char* state;  // the type of its state, in TorchScript
};

const std::vector<PackedLayer>& packedLayers();
// The class as the extension names it: "__torch__.torch.classes.ipex_prepack.ConvolutionOpContext".
std::string packedClassName(const PackedLayer& layer);
// The layer of a type; null for other types.
const PackedLayer* packedLayerOf(const c10::TypePtr& type);

c10::TypePtr packedStateType(const PackedLayer& layer);
// The state of an object. Throws Error(kBadModel) if it is none of that type.
torch::jit::IValue packedState(const PackedLayer& layer, const torch::jit::IValue& object);

}  // namespace ipex_studio
