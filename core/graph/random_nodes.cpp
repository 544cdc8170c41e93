// Random nodes by their schemas: who takes a generator, draws.
#include "core/graph/random_nodes.h"

#include <algorithm>
#include <string>
#include <unordered_set>

#include "core/graph/fused_op.h"

namespace ipex_studio {

using torch::jit::Node;

namespace {

using Kinds = std::unordered_set<std::string>;

// Their older overloads take no generator.
const Kinds& factories() {
  static const Kinds kinds = {"aten::rand",  "aten::rand_like",  "aten::randint", "aten::randint_like",
                              "aten::randn", "aten::randn_like", "aten::randperm"};
  return kinds;
}

// Those that draw only if their argument `train` or `training` is true.
const Kinds& trainable() {
  static const Kinds kinds = {"aten::dropout",
                              "aten::dropout_",
                              "aten::alpha_dropout",
                              "aten::alpha_dropout_",
                              "aten::feature_dropout",
                              "aten::feature_dropout_",
                              "aten::native_dropout",
                              "aten::rrelu",
                              "aten::feature_alpha_dropout",
                              "aten::rrelu_",
                              "aten::rrelu_with_noise",
                              "aten::feature_alpha_dropout_",
                              "aten::rrelu_with_noise_",
                              "aten::lstm",
                              "aten::gru",
                              "aten::rnn_tanh",
                              "aten::rnn_relu"};
  return kinds;
}

// True if the schema has an argument of that name and it is the constant false.
bool isFalse(const Node* node, const c10::FunctionSchema& schema, const char* name) {
  const auto index = schema.argumentIndexWithName(name);
  if (!index || static_cast<std::size_t>(*index) >= node->inputs().size()) return false;
  return constantBool(node->input(static_cast<std::size_t>(*index))) == false;
}

bool takesGenerator(const c10::FunctionSchema& schema) {
  return std::any_of(schema.arguments().begin(), schema.arguments().end(), [](const c10::Argument& argument) {
    const auto* optional = argument.type()->castRaw<c10::OptionalType>();
    const auto kind = optional != nullptr ? optional->getElementType()->kind() : argument.type()->kind();
    return kind == c10::TypeKind::GeneratorType;
  });
}

}  // namespace

bool drawsRandomNumbers(const Node* node) {
  if (!node->kind().is_aten()) return false;
  const c10::FunctionSchema* schema = node->maybeSchema();
  if (schema == nullptr) return false;
  const std::string kind = node->kind().toQualString();
  if (factories().count(kind) != 0) return true;
  if (trainable().count(kind) != 0) return !isFalse(node, *schema, "train") && !isFalse(node, *schema, "training");
  if (kind == "aten::scaled_dot_product_attention") {
    const auto index = schema->argumentIndexWithName("dropout_p");
    return index && constantNumber(node->input(static_cast<std::size_t>(*index))) != 0.0;
  }
  return takesGenerator(*schema) || node->isNondeterministic();
}

bool drawsInside(const Node* node) {
  std::vector<const Node*> open{node};
  while (!open.empty()) {
    const Node* next = open.back();
    open.pop_back();
    if (drawsRandomNumbers(next)) return true;
    for (const torch::jit::Block* block : next->blocks()) {
      for (const Node* inner : block->nodes()) open.push_back(inner);
    }
  }
  return false;
}

}  // namespace ipex_studio
