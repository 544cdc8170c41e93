// Operators, operands and constants side by side.
#include "core/compare/node_change.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "core/compare/graph_values.h"
#include "core/graph/fused_op.h"

namespace ipex_studio {
namespace {

using torch::jit::IValue;
using torch::jit::Node;
using torch::jit::Value;

// An operand, or an element of a list that is one.
struct Operand {
  Value* value = nullptr;
  std::string argument;  // "weight", "tensors[1]"
};

std::vector<Operand> operandsOf(Node* node) {
  std::vector<Operand> operands;
  const auto* schema = node->maybeSchema();
  for (std::size_t i = 0; i < node->inputs().size(); ++i) {
    const bool known = schema != nullptr && i < schema->arguments().size();
    const std::string name = known ? schema->arguments()[i].name() : fmt::format("operand {}", i);
    Value* input = node->input(i);
    if (input->node()->kind() != c10::prim::ListConstruct) {
      operands.push_back({input, name});
      continue;
    }
    for (std::size_t e = 0; e < input->node()->inputs().size(); ++e)
      operands.push_back({input->node()->input(e), fmt::format("{}[{}]", name, e)});
  }
  return operands;
}

std::string valueText(const IValue& value) {
  if (value.isTensor() && value.toTensor().defined() && value.toTensor().numel() == 1)
    return fmt::format("{:g}", value.toTensor().item<double>());
  if (value.isIntList()) return fmt::format("[{}]", fmt::join(value.toIntVector(), ", "));
  if (value.isDouble()) return fmt::format("{:g}", value.toDouble());
  return c10::str(value).substr(0, 60);
}

// "is 1.5 times the original's", "is the original's transposed", "differs in 3 of 64 elements, by up to 0.2"
std::string tensorChange(const at::Tensor& was, const at::Tensor& is) {
  if (!was.sizes().equals(is.sizes()))
    return fmt::format("has sizes [{}] instead of [{}]", fmt::join(is.sizes(), ", "), fmt::join(was.sizes(), ", "));
  const at::Tensor w = was.to(at::kDouble), i = is.to(at::kDouble), distance = (i - w).abs();
  const at::Tensor sure = w.abs().gt(1e-3 * w.abs().max());
  if (sure.any().item<bool>()) {
    const at::Tensor ratio = (i / w).masked_select(sure);
    const double least = ratio.min().item<double>(), most = ratio.max().item<double>();
    if (most - least <= 1e-3 * std::abs(most))
      return fmt::format("is {:.6g} times the original's", ratio.median().item<double>());
  }
  for (std::int64_t axis = 1; axis < w.dim(); ++axis) {
    if (w.size(0) == w.size(axis) && at::allclose(i, w.transpose(0, axis), 1e-5, 1e-12))
      return fmt::format("is the original's with axes 0 and {} exchanged", axis);
  }
  for (const auto type : {at::kHalf, at::kBFloat16}) {
    if (at::equal(w.to(type).to(at::kDouble), i))
      return fmt::format("is the original's rounded to {}", c10::toString(type));
  }
  return fmt::format("differs in {} of {} elements, by up to {:.3g}", distance.gt(0).sum().item<std::int64_t>(),
                     distance.numel(), distance.max().item<double>());
}

class ChangeReader {
 public:
  ChangeReader(const ValuePair& pair, const std::vector<ValuePair>& pairs) : pair_(pair) {
    for (const ValuePair& known : pairs) {
      originals_[known.other] = known.original;
      paired_.insert(known.original);
      if (known.original == pair.original && known.other != pair.other) second_ = known.other;
    }
  }

  std::optional<NodeChange> read() const {
    Node *was = pair_.original->node(), *is = pair_.other->node();
    const std::string old_kind = was->kind().toQualString(), new_kind = is->kind().toQualString();
    if (second_ != nullptr)
      return NodeChange{"operator", new_kind, fmt::format("{} is there, which the original lacks", new_kind)};
    if (was->kind() != is->kind())
      return NodeChange{"operator", new_kind, fmt::format("{} stands in the place of {}", new_kind, old_kind)};
    const std::vector<Operand> before = operandsOf(was), after = operandsOf(is);
    if (before.size() != after.size())
      return NodeChange{"operands", "operands",
                        fmt::format("{} has {} operands instead of {}", new_kind, after.size(), before.size())};
    if (auto swapped = exchanged(before, after)) return swapped;
    if (auto constant = constants(before, after)) return constant;
    return between(before, after);
  }

 private:
  const Value* originalOf(const Value* other) const {
    const auto found = originals_.find(other);
    return found == originals_.end() ? nullptr : found->second;
  }

  // The same operand on both sides, as far as that is known.
  bool same(const Value* was, const Value* is) const {
    if (was->node()->kind() == c10::prim::Param && is->node()->kind() == c10::prim::Param)
      return was->offset() == is->offset();
    return isComputed(is) && originalOf(is) == was;
  }

  std::optional<NodeChange> exchanged(const std::vector<Operand>& before, const std::vector<Operand>& after) const {
    for (std::size_t i = 0; i < before.size(); ++i) {
      for (std::size_t j = i + 1; j < before.size(); ++j) {
        const bool crossed = same(before[i].value, after[j].value) && same(before[j].value, after[i].value);
        if (!crossed || same(before[i].value, after[i].value)) continue;
        const std::string both = fmt::format("{} and {}", before[i].argument, before[j].argument);
        return NodeChange{"operands", both, fmt::format("its operands {} are exchanged", both)};
      }
    }
    for (std::size_t i = 0; i < before.size(); ++i) {
      for (std::size_t j = i + 1; j < before.size(); ++j) {
        if (isComputed(before[i].value) == isComputed(before[j].value)) continue;
        const bool moved =
            equalConstants(before[i].value, after[j].value) || equalConstants(before[j].value, after[i].value);
        const bool crossed = same(before[i].value, after[j].value) || same(before[j].value, after[i].value);
        if (!moved || !crossed) continue;
        const std::string both = fmt::format("{} and {}", before[i].argument, before[j].argument);
        return NodeChange{"operands", both, fmt::format("its operands {} are exchanged", both)};
      }
    }
    return std::nullopt;
  }

  static std::optional<NodeChange> constants(const std::vector<Operand>& before, const std::vector<Operand>& after) {
    std::optional<NodeChange> change;
    for (std::size_t i = 0; i < before.size(); ++i) {
      const auto was = torch::jit::toIValue(before[i].value), is = torch::jit::toIValue(after[i].value);
      if (!was || !is || equalValues(*was, *is)) continue;
      const bool tensors = was->isTensor() && is->isTensor() && was->toTensor().defined() && is->toTensor().defined() &&
                           was->toTensor().numel() > 1;
      const std::string text =
          tensors ? fmt::format("its {} {}", before[i].argument, tensorChange(was->toTensor(), is->toTensor()))
                  : fmt::format("its {} is {} instead of {}", before[i].argument, valueText(*is), valueText(*was));
      if (change) {
        change->why += "; " + text;
        change->blame += ", " + before[i].argument;
      } else {
        change = NodeChange{tensors ? "weight" : "argument", before[i].argument, text};
      }
    }
    return change;
  }

  // A node of the original that the other graph leaves out, or another operand.
  std::optional<NodeChange> between(const std::vector<Operand>& before, const std::vector<Operand>& after) const {
    for (std::size_t i = 0; i < before.size(); ++i) {
      const Value *was = before[i].value, *is = after[i].value;
      if (!isComputed(was) || same(was, is)) continue;
      const std::string kind = was->node()->kind().toQualString();
      if (paired_.count(was) == 0)
        return NodeChange{"operator", kind, fmt::format("{} in front of its {} is missing", kind, before[i].argument)};
      return NodeChange{"operands", before[i].argument,
                        fmt::format("its {} is another value than that of {}", before[i].argument, kind)};
    }
    return std::nullopt;
  }

  const ValuePair& pair_;
  std::unordered_set<const Value*> paired_;  // values of the original that the other graph has
  std::unordered_map<const Value*, const Value*> originals_;
  const Value* second_ = nullptr;  // another value that is paired with the same one of the original
};

class NodeCopier {
 public:
  NodeCopier(const ValuePair& pair, const std::vector<ValuePair>& pairs)
      : pair_(pair), graph_(*pair.other->owningGraph()), point_(pair.other->node()) {
    for (const ValuePair& known : pairs) {
      if (known.other->node() == pair.other->node()) continue;
      const bool earlier = known.other->node()->isBefore(pair.other->node());
      if (earlier) others_[known.original] = known.other;
    }
  }

  bool replace() {
    if (pair_.original->node()->outputs().size() != pair_.other->node()->outputs().size()) return false;
    // A value that is there already has a node of its own behind it.
    if (others_.count(pair_.original) == 0 && !copyMissing()) return false;
    pair_.other->replaceAllUsesWith(others_.at(pair_.original));
    return true;
  }

 private:
  // Copies the nodes that the value needs and the other graph lacks.
  bool copyMissing() {
    torch::jit::WithInsertPoint point(point_);
    for (Node* node : missing()) {
      if (!node->blocks().empty()) return false;
      for (Value* input : node->inputs()) {
        if (others_.count(input) == 0 && !addGiven(input)) return false;
      }
      Node* copy = graph_.insertNode(graph_.createClone(node, [&](Value* input) { return others_.at(input); }));
      for (std::size_t o = 0; o < node->outputs().size(); ++o) others_[node->output(o)] = copy->output(o);
    }
    return true;
  }

  // In order of the graph.
  std::vector<Node*> missing() const {
    std::vector<Node*> nodes, open{pair_.original->node()};
    std::unordered_set<const Node*> met(open.begin(), open.end());
    while (!open.empty()) {
      Node* node = open.back();
      open.pop_back();
      nodes.push_back(node);
      for (Value* input : node->inputs()) {
        if (isComputed(input) && others_.count(input) == 0 && met.insert(input->node()).second)
          open.push_back(input->node());
      }
    }
    std::sort(nodes.begin(), nodes.end(), [](const Node* a, const Node* b) { return a->isBefore(b); });
    return nodes;
  }

  // An input or a constant.
  bool addGiven(Value* value) {
    if (value->node()->kind() == c10::prim::Param) {
      const auto block = counterpartOf(value->node()->owningBlock());
      if (block == nullptr || value->offset() >= block->inputs().size()) return false;
      others_[value] = block->inputs()[value->offset()];
      return true;
    }
    const auto constant = torch::jit::toIValue(value);
    if (constant) others_[value] = graph_.insertConstant(*constant);
    return constant.has_value();
  }

  // The block of the other graph around the pair that lies as deep as this one around the original's; null: none does.
  torch::jit::Block* counterpartOf(const torch::jit::Block* wanted) const {
    torch::jit::Block *was = pair_.original->node()->owningBlock(), *is = point_->owningBlock();
    while (was != wanted) {
      if (was->owningNode() == nullptr || is->owningNode() == nullptr) return nullptr;
      was = was->owningNode()->owningBlock();
      is = is->owningNode()->owningBlock();
      if (was == nullptr || is == nullptr) return nullptr;
    }
    return is;
  }

  const ValuePair& pair_;
  torch::jit::Graph& graph_;
  Node* point_;
  std::unordered_map<const Value*, Value*> others_;
};

}  // namespace

std::optional<NodeChange> changeOf(const ValuePair& pair, const std::vector<ValuePair>& pairs) {
  return ChangeReader(pair, pairs).read();
}

bool takeBack(const ValuePair& pair, const std::vector<ValuePair>& pairs) { return NodeCopier(pair, pairs).replace(); }

}  // namespace ipex_studio
