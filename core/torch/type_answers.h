// Answers to questions about a tensor by the type that the example run gave it.
#pragma once

#include <optional>
#include <vector>

#include "core/torch/torch_compat.h"

namespace ipex_studio {

enum class AskedFact { kNone, kDtype, kRank, kKind };

// Returns what a node such as prim::dtype asks of its first operand. kKind: where it lives, whether it is nested or
// wants gradients, which is the same for all tensors that plans take. kNone: no such question.
AskedFact askedFact(const torch::jit::Node* node);

// The kinds of nodes that ask.
const std::vector<const char*>& tensorQuestions();

// The answer of a node that asks, for a tensor of this type; nullopt: the type does not say. Types that say a dtype are
// those of dense tensors of the CPU, of which plans compute no gradients.
std::optional<torch::jit::IValue> answerByType(const torch::jit::Node* node, const c10::TensorType& type);

}  // namespace ipex_studio
