// Pairs are found by origins, or by the alignment of two sequences of nodes (Needleman and Wunsch 1970).
#include "core/compare/node_pairs.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <unordered_set>

#include "core/compare/graph_values.h"
#include "core/graph/fused_op.h"

namespace ipex_studio {
namespace {

using torch::jit::Block;
using torch::jit::Graph;
using torch::jit::Node;
using torch::jit::Value;

std::vector<Node*> topNodes(Block& block) {
  std::vector<Node*> nodes;
  for (Node* node : block.nodes()) {
    if (node->kind() != c10::prim::Constant) nodes.push_back(node);
  }
  return nodes;
}

// The kind without the mark of writing in place.
std::string plainKind(const Node* node) {
  std::string kind = node->kind().toQualString();
  if (kind.size() > 1 && kind.back() == '_' && kind[kind.size() - 2] != '_') kind.pop_back();
  return kind;
}

// True for values that hold tensors, other than lists that only collect operands.
bool holdsTensors(const Value* value) {
  const auto kind = value->node()->kind();
  if (kind == c10::prim::ListConstruct || kind == c10::prim::TupleConstruct) return false;
  const c10::TypePtr& type = value->type();
  return type->isSubtypeOf(*c10::TensorType::get()) || type->kind() == c10::TypeKind::ListType
             ? !type->isSubtypeOf(*c10::ListType::ofInts()) && !type->isSubtypeOf(*c10::ListType::ofFloats()) &&
                   !type->isSubtypeOf(*c10::ListType::ofBools())
             : type->kind() == c10::TypeKind::TupleType || type->kind() == c10::TypeKind::DictType;
}

// Traits by which a node is recognised.
struct NodeTraits {
  Node* node = nullptr;
  std::string kind, module, source;
  std::vector<std::vector<std::int64_t>> sizes;  // of its results; {-1}: not known
};

NodeTraits traitsOf(Node* node) {
  NodeTraits traits{node, plainKind(node), modulePath(node), "", {}};
  if (const auto place = node->sourceRange().file_line_col())
    traits.source = std::get<0>(*place) + ":" + std::to_string(std::get<1>(*place));
  for (const Value* output : node->outputs())
    traits.sizes.push_back(knownSizes(output).value_or(std::vector<std::int64_t>{-1}));
  return traits;
}

std::vector<NodeTraits> traitsOf(Block& block) {
  std::vector<NodeTraits> traits;
  for (Node* node : topNodes(block)) traits.push_back(traitsOf(node));
  return traits;
}

// How much speaks for a pair; 0: it cannot be one.
int likeness(const NodeTraits& a, const NodeTraits& b) {
  if (a.kind != b.kind || a.sizes.size() != b.sizes.size()) return 0;
  int score = 2;
  if (a.sizes == b.sizes) score += 2;
  if (!a.module.empty() && !b.module.empty()) score += a.module == b.module ? 4 : -1;
  if (!a.source.empty() && a.source == b.source) score += 1;
  if (a.node->outputs().empty()) return score;
  if (a.node->output(0)->debugName() == b.node->output(0)->debugName()) score += 1;
  const std::size_t inputs = std::min(a.node->inputs().size(), b.node->inputs().size());
  bool same = a.node->inputs().size() == b.node->inputs().size();
  for (std::size_t i = 0; i < inputs && same; ++i) {
    const Value *left = a.node->input(i), *right = b.node->input(i);
    const bool constants = left->node()->kind() == c10::prim::Constant && right->node()->kind() == c10::prim::Constant;
    same = constants ? equalConstants(left, right) : left->node()->kind() == right->node()->kind();
  }
  return same ? score + 2 : score;
}

using Alignment = std::vector<std::pair<std::size_t, std::size_t>>;  // places in both lists, ascending

// The alignment of a[begin_a, end_a) and b[begin_b, end_b) with the greatest sum of likeness.
void alignBetween(const std::vector<NodeTraits>& a, std::size_t begin_a, std::size_t end_a,
                  const std::vector<NodeTraits>& b, std::size_t begin_b, std::size_t end_b, Alignment* alignment) {
  constexpr std::size_t kMaxCells = 16'000'000;  // 64 MB
  const std::size_t rows = end_a - begin_a, columns = end_b - begin_b;
  if (rows == 0 || columns == 0 || (rows + 1) * (columns + 1) > kMaxCells) return;
  std::vector<std::int32_t> best((rows + 1) * (columns + 1), 0);
  const auto cell = [&](std::size_t r, std::size_t c) -> std::int32_t& { return best[r * (columns + 1) + c]; };
  for (std::size_t r = rows; r-- > 0;) {
    for (std::size_t c = columns; c-- > 0;) {
      const int like = likeness(a[begin_a + r], b[begin_b + c]);
      cell(r, c) = std::max({cell(r + 1, c), cell(r, c + 1), like > 0 ? cell(r + 1, c + 1) + like : 0});
    }
  }
  for (std::size_t r = 0, c = 0; r < rows && c < columns;) {
    const int like = likeness(a[begin_a + r], b[begin_b + c]);
    if (like > 0 && cell(r, c) == cell(r + 1, c + 1) + like) {
      alignment->emplace_back(begin_a + r++, begin_b + c++);
    } else {
      cell(r, c) == cell(r + 1, c) ? ++r : ++c;
    }
  }
}

// True for nodes that are surely the same: what begins and ends most pairs of graphs.
bool surelySame(const NodeTraits& a, const NodeTraits& b) {
  return a.kind == b.kind && a.module == b.module && a.sizes == b.sizes &&
         a.node->inputs().size() == b.node->inputs().size();
}

Alignment align(const std::vector<NodeTraits>& a, const std::vector<NodeTraits>& b) {
  Alignment alignment;
  std::size_t begin = 0, end_a = a.size(), end_b = b.size();
  if (a.size() == b.size()) {
    while (begin < end_a && surelySame(a[begin], b[begin])) alignment.emplace_back(begin, begin), ++begin;
  }
  Alignment tail;
  while (end_a > begin && end_b > begin && a.size() == b.size() && surelySame(a[end_a - 1], b[end_b - 1]))
    tail.emplace_back(--end_a, --end_b);
  alignBetween(a, begin, end_a, b, begin, end_b, &alignment);
  alignment.insert(alignment.end(), tail.rbegin(), tail.rend());
  return alignment;
}

// The results of a node without those at the end that nobody reads.
std::size_t countOutputs(const Node* node) {
  std::size_t count = node->outputs().size();
  while (count > 1 && node->output(count - 1)->uses().empty()) --count;
  return count;
}

class StructurePairs {
 public:
  StructurePairs(Block& original, Block& other)
      : original_(original), other_(other), a_(traitsOf(original)), b_(traitsOf(other)) {}

  std::vector<ValuePair> find() {
    const Alignment alignment = align(a_, b_);
    for (const auto& [a, b] : alignment) addNodes(a_[a].node, b_[b].node);
    std::size_t last_a = 0, last_b = 0;
    for (const auto& [a, b] : alignment) {
      addBetween(last_a, a, last_b, b);
      last_a = a + 1;
      last_b = b + 1;
    }
    addBetween(last_a, a_.size(), last_b, b_.size());
    addRead(original_.return_node(), other_.return_node());
    for (auto it = alignment.rbegin(); it != alignment.rend(); ++it) addRead(a_[it->first].node, b_[it->second].node);
    return std::move(pairs_);
  }

 private:
  void add(Value* a, Value* b) {
    if (holdsTensors(a) && holdsTensors(b) && paired_.insert(b).second) pairs_.push_back({a, b, {}});
  }

  void addNodes(Node* a, Node* b) {
    for (std::size_t o = 0; o < a->outputs().size(); ++o) add(a->output(o), b->output(o));
  }

  // Nodes of other kinds at the same place.
  void addBetween(std::size_t begin_a, std::size_t end_a, std::size_t begin_b, std::size_t end_b) {
    if (end_a - begin_a != end_b - begin_b) return;
    for (; begin_a < end_a; ++begin_a, ++begin_b) {
      if (a_[begin_a].sizes == b_[begin_b].sizes) addNodes(a_[begin_a].node, b_[begin_b].node);
    }
  }

  // Operands of nodes that are a pair, where the other graph has a node between; lists of operands are looked through.
  void addRead(Node* a, Node* b) {
    if (a->inputs().size() != b->inputs().size()) return;
    for (std::size_t i = 0; i < a->inputs().size(); ++i) {
      Value *left = a->input(i), *right = b->input(i);
      const auto kind = right->node()->kind();
      const bool collects = kind == c10::prim::ListConstruct || kind == c10::prim::TupleConstruct;
      if (collects && left->node()->kind() == kind) addRead(left->node(), right->node());
      if (collects || !isComputed(right) || paired_.count(right) != 0) continue;
      if (knownSizes(left) && knownSizes(left) == knownSizes(right)) add(left, right);
    }
  }

  Block &original_, &other_;
  std::vector<NodeTraits> a_, b_;
  std::vector<ValuePair> pairs_;
  std::unordered_set<const Value*> paired_;
};

}  // namespace

std::vector<ValuePair> pairsByOrigins(Graph& original, const OriginTable& table, Graph& other,
                                      const std::vector<std::vector<OriginId>>& origins,
                                      const std::unordered_map<OriginId, at::Tensor>& divisors) {
  std::unordered_map<OriginId, Node*> giver;  // of several nodes with one origin the last gives its value
  std::size_t place = 0;
  for (Node* node : topNodes(*other.block())) {
    if (place < origins.size() && !origins[place].empty()) giver[origins[place].back()] = node;
    ++place;
  }
  std::vector<ValuePair> pairs;
  for (Node* node : topNodes(*original.block())) {
    const auto ids = table.of(node);
    const auto found = ids.empty() ? giver.end() : giver.find(ids.back());
    if (found == giver.end() || countOutputs(found->second) != countOutputs(node)) continue;
    const auto divisor = divisors.find(ids.back());
    for (std::size_t o = 0; o < countOutputs(node); ++o) {
      if (!holdsTensors(node->output(o)) || !holdsTensors(found->second->output(o))) continue;
      pairs.push_back(
          {node->output(o), found->second->output(o), divisor == divisors.end() ? at::Tensor() : divisor->second});
    }
  }
  return pairs;
}

std::vector<ValuePair> pairsInside(Graph& original, const OriginTable& table, Graph& other,
                                   const std::function<std::vector<OriginId>(const Node*)>& originsOf) {
  std::unordered_map<OriginId, std::vector<Node*>> givers;
  for (Node* node : allNodes(other)) {
    const std::vector<OriginId> ids = originsOf(node);
    if (!ids.empty()) givers[ids.back()].push_back(node);
  }
  std::vector<ValuePair> pairs;
  for (Node* node : allNodes(original)) {
    const auto ids = table.of(node);
    const auto found = ids.empty() || node->owningBlock() == original.block() ? givers.end() : givers.find(ids.back());
    if (found == givers.end()) continue;
    for (Node* giver : found->second) {
      if (countOutputs(giver) != countOutputs(node)) continue;
      for (std::size_t o = 0; o < countOutputs(node); ++o) {
        if (holdsTensors(node->output(o)) && holdsTensors(giver->output(o)))
          pairs.push_back({node->output(o), giver->output(o), {}});
      }
    }
  }
  return pairs;
}

std::vector<ValuePair> pairsInside(const std::vector<ValuePair>& around) {
  std::vector<ValuePair> pairs;
  std::unordered_set<const Node*> met;
  for (const ValuePair& pair : around) {
    Node *a = pair.original->node(), *b = pair.other->node();
    if (a->blocks().size() != b->blocks().size() || !met.insert(b).second) continue;
    for (std::size_t block = 0; block < a->blocks().size(); ++block) {
      const std::vector<ValuePair> found = StructurePairs(*a->blocks()[block], *b->blocks()[block]).find();
      const std::vector<ValuePair> deeper = pairsInside(found);
      pairs.insert(pairs.end(), found.begin(), found.end());
      pairs.insert(pairs.end(), deeper.begin(), deeper.end());
    }
  }
  return pairs;
}

std::vector<ValuePair> pairsByStructure(Graph& original, Graph& other) {
  return StructurePairs(*original.block(), *other.block()).find();
}

}  // namespace ipex_studio
