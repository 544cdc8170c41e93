// The walk that hashes a graph and collects its nodes.
#include "core/graph/graph_index.h"

#include <algorithm>
#include <sstream>
#include <string>
#include <unordered_map>

#include "core/base/fnv.h"
#include "core/graph/differentiated.h"
#include "core/graph/strides.h"
#include "core/torch/silent_writes.h"

namespace ipex_studio {

using torch::jit::AttributeKind;
using torch::jit::Block;
using torch::jit::Graph;
using torch::jit::IValue;
using torch::jit::Node;
using torch::jit::Value;

namespace {

// Number of elements of a tensor constant that enter the hash.
constexpr std::int64_t kSampledElements = 64;

// Nodes in order, without constants.
struct MetNodes {
  std::vector<const Node*> nodes;
  std::vector<c10::Symbol> kinds;
  std::vector<GraphIndex::Operands> operands;
  // Indices of the nodes that read nothing but constants and results of such nodes.
  std::vector<std::uint32_t> of_constants;
};

class GraphHash {
 public:
  std::uint64_t of(const Graph& graph, MetNodes* met) {
    met_ = met;
    for (const Value* input : graph.inputs()) define(input);
    block(graph.block());
    return state_;
  }

 private:
  void mix(std::uint64_t value) {
    state_ ^= value + 0x9e3779b97f4a7c15ULL + (state_ << 6) + (state_ >> 2);
    state_ *= 0xff51afd7ed558ccdULL;
    state_ ^= state_ >> 32;
  }

  void bytes(const void* data, std::size_t size) {
    const auto* byte = static_cast<const unsigned char*>(data);
    std::uint64_t hash = kFnvBasis;
    for (std::size_t i = 0; i < size; ++i) hash = fnvWith(hash, byte[i]);
    mix(hash);
    mix(size);
  }

  void text(const std::string& string) { bytes(string.data(), string.size()); }

  void define(const Value* value, std::uint32_t maker = GraphIndex::Operands::kNobody, std::uint64_t flags = 0) {
    makers_.push_back(maker);
    at(ids_, value) = makers_.size() | flags;
  }

  // The table is indexed by Value::unique(), which counts all values that a graph ever had.
  static std::uint64_t& at(std::vector<std::uint64_t>& table, const Value* value) {
    if (value->unique() >= table.size()) table.resize(value->unique() + 1 + value->unique() / 2, 0);
    return table[value->unique()];
  }

  void block(const Block* block) {
    for (const Value* input : block->inputs()) define(input);
    for (const Node* node : NodeWalk::reading(*block)) {
      if (node->kind() != torch::jit::prim::Constant) this->node(node);
    }
    GraphIndex::Operands results;
    operands(block->return_node(), &results);
  }

  void node(const Node* node) {
    const auto index = static_cast<std::uint32_t>(met_->nodes.size());
    met_->nodes.push_back(node);
    met_->kinds.push_back(node->kind());
    mix(kind(node->kind()));
    met_->operands.emplace_back();
    const bool of_constants = operands(node, &met_->operands.back()) && node->blocks().empty();
    if (of_constants) met_->of_constants.push_back(index);
    attributes(node);
    for (const Block* nested : node->blocks()) block(nested);
    mix(node->outputs().size());
    for (const Value* output : node->outputs()) define(output, index, of_constants ? kOfConstants : 0);
  }

  // Constants count where they are used, so that the place of their definition does not matter. Returns whether the
  // node reads nothing but constants and results of nodes that do the same.
  bool operands(const Node* node, GraphIndex::Operands* met) {
    bool of_constants = true;
    mix(node->inputs().size());
    met->all = static_cast<std::uint32_t>(node->inputs().size());
    for (std::size_t i = 0; i < node->inputs().size(); ++i) {
      const Value* input = node->input(i);
      const std::uint64_t id = at(ids_, input);
      if (id == 0) {
        mix(constant(input));
        continue;
      }
      mix(id & ~kOfConstants);
      of_constants &= (id & kOfConstants) != 0;
      ++met->varying;
      if (i < met->made_by.size()) met->made_by[i] = makers_[(id & ~kOfConstants) - 1];
    }
    return of_constants;
  }

  std::uint64_t constant(const Value* value) {
    std::uint64_t& known = at(constants_, value);
    if (known != 0) return known;
    GraphHash hash;
    hash.text(value->type()->kind() == c10::TypeKind::TensorType ? "Tensor" : value->type()->str());
    hash.attributes(value->node());
    return known = hash.state_;
  }

  // Symbol numbers differ between processes; names do not.
  std::uint64_t kind(c10::Symbol symbol) {
    std::uint64_t& known = kinds_[symbol];
    if (known != 0) return known;
    GraphHash hash;
    hash.text(symbol.toQualString());
    return known = hash.state_;
  }

  void attributes(const Node* node) {
    for (const auto name : node->attributeNames()) {
      text(name.toUnqualString());
      switch (node->kindOf(name)) {
        case AttributeKind::i:
          mix(static_cast<std::uint64_t>(node->i(name)));
          break;
        case AttributeKind::f: {
          const double value = node->f(name);
          bytes(&value, sizeof(value));
          break;
        }
        case AttributeKind::s:
          text(node->s(name));
          break;
        case AttributeKind::t:
          tensor(node->t(name));
          break;
        case AttributeKind::ival:
          value(node->ival(name));
          break;
        case AttributeKind::is:
          for (const auto item : node->is(name)) mix(static_cast<std::uint64_t>(item));
          break;
        case AttributeKind::ss:
          for (const auto& item : node->ss(name)) text(item);
          break;
        default:
          mix(static_cast<std::uint64_t>(node->kindOf(name)));
      }
    }
  }

  void value(const IValue& value) {
    if (value.isTensor()) {
      tensor(value.toTensor());
    } else if (value.isList()) {
      for (const IValue& item : value.toListRef()) this->value(item);
    } else if (value.isTuple()) {
      for (const IValue& item : value.toTupleRef().elements()) this->value(item);
    } else if (value.isObject()) {
      text(value.type()->str());
    } else {
      std::ostringstream printed;
      printed << value;
      text(printed.str());
    }
  }

  void tensor(const at::Tensor& tensor) {
    if (!tensor.defined()) return mix(0);
    mix(static_cast<std::uint64_t>(tensor.scalar_type()));
    for (const auto size : tensor.sizes()) mix(static_cast<std::uint64_t>(size));
    const bool readable = tensor.layout() == at::kStrided && tensor.device().is_cpu() && !tensor.is_quantized() &&
                          tensor.is_non_overlapping_and_dense() && !tensor.is_conj() && !tensor.is_neg();
    if (!readable) return;
    for (const auto stride : tensor.strides()) mix(static_cast<std::uint64_t>(stride));
    const auto* data = static_cast<const char*>(tensor.data_ptr());
    const std::int64_t count = tensor.numel();
    const auto size = static_cast<std::int64_t>(tensor.element_size());
    const std::int64_t step = count <= kSampledElements ? 1 : count / kSampledElements;
    for (std::int64_t i = 0; i < count; i += step) bytes(data + i * size, static_cast<std::size_t>(size));
  }

  // Flag beside the ids of results that depend on constants only.
  static constexpr std::uint64_t kOfConstants = std::uint64_t{1} << 63;

  MetNodes* met_ = nullptr;
  std::uint64_t state_ = 0x2545f4914f6cdd1dULL;
  std::vector<std::uint32_t> makers_;     // the indices of the nodes that define values, in their order
  std::vector<std::uint64_t> ids_;        // from 1 in order of definition; 0: constants
  std::vector<std::uint64_t> constants_;  // their hashes; 0: not yet known
  std::unordered_map<c10::Symbol, std::uint64_t> kinds_;
};

// Gives nodes through which gradients flow a kind that no pass asks for. Those that write keep theirs: passes have to
// know of writes, and may replace a writing operator by its twin that does not.
void disguiseDifferentiated(Graph& graph, MetNodes* met) {
  static const c10::Symbol kHidden = c10::Symbol::fromQualString("ipex_studio::differentiated");
  const auto gradient = [](c10::Symbol kind) {
    return kind == c10::Symbol::fromQualString("aten::grad") || kind == c10::Symbol::fromQualString("aten::backward");
  };
  if (std::none_of(met->kinds.begin(), met->kinds.end(), gradient)) return;
  const NodeSet found = differentiatedNodes(graph);
  for (std::size_t n = 0; n < met->nodes.size(); ++n) {
    const Node* node = met->nodes[n];
    if (found.contains(node) && node->maybeSchema() != nullptr && !writesOperands(node)) met->kinds[n] = kHidden;
  }
}

}  // namespace

GraphIndex::GraphIndex(Graph& graph) {
  MetNodes met;
  hash_ = GraphHash().of(graph, &met);
  of_constants_ = std::move(met.of_constants);
  operands_of_ = std::move(met.operands);
  std::unordered_map<c10::Symbol, std::uint32_t> indices;
  nodes_.reserve(met.nodes.size());
  kind_of_.reserve(met.nodes.size());
  disguiseDifferentiated(graph, &met);
  for (std::size_t n = 0; n < met.nodes.size(); ++n) {
    const auto [known, unseen] = indices.emplace(met.kinds[n], static_cast<std::uint32_t>(kinds_.size()));
    if (unseen) kinds_.push_back(met.kinds[n]);
    nodes_.push_back(const_cast<Node*>(met.nodes[n]));
    kind_of_.push_back(known->second);
  }
  if (std::none_of(kinds_.begin(), kinds_.end(), &readsStrides)) return;
  std::vector<Node*> readers;
  for (Node* node : nodes_) {
    if (readsStrides(node->kind())) readers.push_back(node);
  }
  shown_ = nodesWithShownStrides(readers);
}

bool GraphIndex::hasAny(const std::vector<const char*>& kinds) const {
  return std::any_of(kinds.begin(), kinds.end(), [&](const char* kind) {
    return std::find(kinds_.begin(), kinds_.end(), c10::Symbol::fromQualString(kind)) != kinds_.end();
  });
}

NodeWalk GraphIndex::nodesOf(const std::function<bool(c10::Symbol)>& wanted, const Rewriter* rewriter) const {
  std::vector<char> is_wanted;
  for (const c10::Symbol kind : kinds_) is_wanted.push_back(wanted(kind) ? 1 : 0);
  std::vector<Node*> found;
  for (std::size_t n = 0; n < nodes_.size(); ++n) {
    if (is_wanted[kind_of_[n]] != 0 && !shown_.contains(nodes_[n])) found.push_back(nodes_[n]);
  }
  return NodeWalk(std::move(found), rewriter);
}

NodeWalk GraphIndex::nodesOfForm(const std::function<bool(c10::Symbol, std::size_t)>& wanted,
                                 const Rewriter* rewriter) const {
  std::vector<Node*> found;
  for (std::size_t n = 0; n < nodes_.size(); ++n) {
    if (wanted(kinds_[kind_of_[n]], operands_of_[n].all)) found.push_back(nodes_[n]);
  }
  return NodeWalk(std::move(found), rewriter);
}

NodeWalk GraphIndex::nodesOfConstants(const std::function<bool(c10::Symbol)>& wanted, const Rewriter* rewriter) const {
  std::vector<Node*> found;
  for (const std::uint32_t n : of_constants_) {
    if (wanted(kinds_[kind_of_[n]])) found.push_back(nodes_[n]);
  }
  return NodeWalk(std::move(found), rewriter);
}

NodeWalk GraphIndex::nodesBehind(const std::function<bool(c10::Symbol)>& source,
                                 const std::function<bool(c10::Symbol, bool)>& wanted, const Rewriter* rewriter) const {
  std::vector<std::array<bool, 2>> is_wanted;  // per kind: with several varying operands, with one
  std::vector<char> is_source;
  for (const c10::Symbol kind : kinds_) {
    is_wanted.push_back({wanted(kind, false), wanted(kind, true)});
    is_source.push_back(source(kind) ? 1 : 0);
  }
  std::vector<char> reached(nodes_.size(), 0);
  std::vector<Node*> found;
  for (std::size_t n = 0; n < nodes_.size(); ++n) {
    const Operands& operands = operands_of_[n];
    if (!is_wanted[kind_of_[n]][operands.varying == 1 ? 1 : 0]) continue;
    const bool behind = std::any_of(operands.made_by.begin(), operands.made_by.end(), [&](std::uint32_t maker) {
      return maker != Operands::kNobody && (is_source[kind_of_[maker]] != 0 || reached[maker] != 0);
    });
    if (!behind || shown_.contains(nodes_[n])) continue;
    reached[n] = 1;
    found.push_back(nodes_[n]);
  }
  return NodeWalk(std::move(found), rewriter);
}

std::uint64_t graphHash(const Graph& graph) { return GraphIndex(const_cast<Graph&>(graph)).hash(); }  // it only reads

}  // namespace ipex_studio
