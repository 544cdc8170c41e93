#include "passes/quantize/quantize_scales.h"

#include <algorithm>

namespace ipex_studio {

using torch::jit::Value;

QuantizationScales::QuantizationScales(const Recipe& recipe, const ValueKeys& keys) : keys_(keys) {
  for (const RecipeValue& value : recipe.values) recipe_[value.key] = &value;
}

const RecipeValue* QuantizationScales::calibrated(const Value* value) const {
  const auto found = recipe_.find(keys_.of(value));
  return found == recipe_.end() || found->second->nan + found->second->inf > 0 ? nullptr : found->second;
}

bool QuantizationScales::known(Value* value) const {
  const auto sources = sourcesOf(value);
  return std::all_of(sources.begin(), sources.end(),
                     [&](const Value* source) { return calibrated(source) != nullptr; });
}

const Value* QuantizationScales::group(const Value* value) {
  const Value* root = value;
  for (auto parent = parents_.find(root); parent != parents_.end(); parent = parents_.find(root)) root = parent->second;
  return root;
}

// Widens the group's range by the range of the value.
void QuantizationScales::include(const Value* group_of, Value* value) {
  const Value* root = group(group_of);
  for (const Value* source : sourcesOf(value)) {
    const RecipeValue* seen = calibrated(source);
    if (seen == nullptr) continue;
    const auto [at, fresh] = ranges_.emplace(root, ValueRange{seen->low, seen->high});
    if (fresh) continue;
    at->second.low = std::min(at->second.low, seen->low);
    at->second.high = std::max(at->second.high, seen->high);
  }
}

void QuantizationScales::unite(const std::vector<QuantizableOp>& quantizable_ops, const std::vector<Forms>& forms) {
  std::unordered_map<const Value*, bool> integers;
  for (std::size_t s = 0; s < quantizable_ops.size(); ++s) integers[quantizable_ops[s].node->output()] = forms[s].out;
  std::vector<std::pair<const Value*, Value*>> members;
  for (std::size_t s = 0; s < quantizable_ops.size(); ++s) {
    const bool moves =
        quantizable_ops[s].role == QuantizableRole::kMoves || quantizable_ops[s].role == QuantizableRole::kAverages;
    if (!moves || !forms[s].in || !forms[s].out) continue;
    for (Value* operand : quantizable_ops[s].activations) {
      const auto written = integers.find(operand);
      if (written != integers.end() && written->second) {
        const Value* root = group(operand);
        const Value* own = group(quantizable_ops[s].node->output());
        if (root != own) parents_[own] = root;
      }
      members.emplace_back(quantizable_ops[s].node->output(), operand);
    }
  }
  for (const auto& [result, operand] : members) include(result, operand);
}

AffineParameters QuantizationScales::of(Value* value) {
  const auto range = ranges_.find(group(value));
  const auto sources = sourcesOf(value);
  if (range == ranges_.end() && sources.size() == 1) {
    const RecipeValue* seen = calibrated(sources[0]);
    return seen == nullptr ? AffineParameters{} : AffineParameters{seen->scale, seen->zero_point};
  }
  ValueRange all = range == ranges_.end() ? ValueRange{} : range->second;
  for (const Value* source : sources) {
    const RecipeValue* seen = range == ranges_.end() ? calibrated(source) : nullptr;
    if (seen == nullptr) continue;
    all.low = std::min(all.low, seen->low);
    all.high = std::max(all.high, seen->high);
  }
  // A group of one source has that source's parameters exactly.
  for (const Value* source : sources) {
    const RecipeValue* seen = calibrated(source);
    if (seen != nullptr && seen->low == all.low && seen->high == all.high) return {seen->scale, seen->zero_point};
  }
  return affineParameters(all);
}

}  // namespace ipex_studio
