// What is known of nested tensors, into which the fast path of encoders packs batches with paddings. Private to
// passes/.
#pragma once

#include "core/graph/node_facts.h"

namespace ipex_studio {

// The value that layers of the fast path made this one of, whether the example run reached them or not: they keep dtype
// and rank, and what is nested stays nested.
inline const torch::jit::Value* sourceOfLayers(const torch::jit::Value* value) {
  while (isKind(value->node(), "aten::_transformer_encoder_layer_fwd")) value = value->node()->input(0);
  return value;
}

// True if the value is certainly a nested tensor.
inline bool isNested(const torch::jit::Value* value) {
  return isKind(sourceOfLayers(value)->node(), "aten::_nested_tensor_from_mask");
}

// The dense value that has the dtype and rank of this one.
inline const torch::jit::Value* sourceOfNested(const torch::jit::Value* value) {
  const torch::jit::Value* source = sourceOfLayers(value);
  return isNested(source) ? source->node()->input(0) : source;
}

}  // namespace ipex_studio
