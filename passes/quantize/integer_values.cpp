#include "passes/quantize/integer_values.h"

#include <algorithm>

#include "passes/quantize/quantize_forms.h"
#include "passes/quantize/requantization.h"

namespace ipex_studio {

using torch::jit::Node;
using torch::jit::Value;

void IntegerValues::add(Value* value, const AffineParameters& affine) {
  affine_[value] = affine;
  order_.push_back(value);
}

const AffineParameters* IntegerValues::affineOf(const Value* value) const {
  const auto found = affine_.find(value);
  return found == affine_.end() ? nullptr : &found->second;
}

bool IntegerValues::readBy(const Node* node) const {
  return std::any_of(node->inputs().begin(), node->inputs().end(),
                     [&](const Value* input) { return affineOf(input) != nullptr; });
}

void IntegerValues::returnToQuantized(Rewriter& rewriter) const {
  for (Value* value : order_) {
    std::vector<torch::jit::Use> unaware;
    for (const auto& use : value->uses()) {
      const bool left_over = use.user->kind() == c10::prim::ListConstruct && !use.user->hasUses();
      if (!left_over && readers_.count(readerAt(use)) == 0) unaware.push_back(use);
    }
    if (unaware.empty()) continue;
    Node* place = value->node()->next();
    const AffineParameters& affine = affine_.at(value);
    Node* made = rewriter.create(
        "aten::_make_per_tensor_quantized_tensor",
        {value, rewriter.constant(affine.scale, place), rewriter.constant(affine.zero_point, place)}, place);
    made->output()->setType(value->type());
    setDtype(made->output(), at::kQUInt8);
    for (const torch::jit::Use& use : unaware) rewriter.replaceInput(use.user, use.offset, made->output());
    rewriter.finish(value->node(), "makes a quantized tensor for what keeps it");
  }
}

}  // namespace ipex_studio
