// OriginTable: the nodes of the frozen graph that a value comes from.
#pragma once

#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/record/records.h"
#include "core/torch/torch_compat.h"

namespace ipex_studio {

class Rewriter;

// A list of nodes to walk along. It prefetches the nodes ahead, since those of a large graph are scattered in memory.
class NodeWalk {
 public:
  class Iterator {
   public:
    Iterator(const NodeWalk& walk, std::size_t at) : walk_(&walk), at_(at) {}
    torch::jit::Node* operator*() const {
      walk_->fetchAhead(at_);
      return walk_->nodes_[at_];
    }
    Iterator& operator++() {
      ++at_;
      return *this;
    }
    bool operator!=(const Iterator& other) const { return at_ != other.at_; }

   private:
    const NodeWalk* walk_;
    std::size_t at_;
  };

  // Takes a `rewriter` for walks during which it changes the graph: operands and readers of nodes ahead that are still
  // alive are prefetched too.
  explicit NodeWalk(std::vector<torch::jit::Node*> nodes, const Rewriter* rewriter = nullptr)
      : nodes_(std::move(nodes)),
        rewriter_(rewriter),
        fetched_(rewriter == nullptr ? Fetched::kNodes : Fetched::kNeighbours) {}
  // Walks all nodes of a block that does not change meanwhile; prefetches their operands and results too.
  static NodeWalk reading(const torch::jit::Block& block);
  Iterator begin() const { return {*this, 0}; }
  Iterator end() const { return {*this, nodes_.size()}; }

 private:
  void fetchAhead(std::size_t at) const;

  enum class Fetched { kNodes, kValues, kNeighbours };

  std::vector<torch::jit::Node*> nodes_;
  const Rewriter* rewriter_;
  Fetched fetched_;
};

// The origins of values, keyed by torch::jit::Value::unique(), which a graph never reuses: attributes on nodes would
// hinder common-subexpression elimination and clutter the IR. Owned by the Model, changed only through Rewriter and
// StockPass. Not thread-safe.
class OriginTable {
 public:
  // Gives every node of `graph` with outputs (nested blocks included, constants excluded) an id in topological order.
  void assign(torch::jit::Graph& graph);

  const std::vector<Origin>& origins() const { return origins_; }
  // Sorted, unique; empty for values without origins (constants, inputs). Valid until the table changes.
  at::ArrayRef<OriginId> of(const torch::jit::Value* value) const;
  // Union over the node's outputs.
  std::vector<OriginId> of(const torch::jit::Node* node) const;
  // Union over several nodes' outputs.
  std::vector<OriginId> of(at::ArrayRef<torch::jit::Node*> nodes) const;
  void set(const torch::jit::Value* value, std::vector<OriginId> ids);  // ids in any order

  // Repairs the origins after code that bypassed the Rewriter: one of the `nodes` without origins takes those of
  // `before` that vanished from the graph and feed or follow it, else its producers'. `before` comes from liveIds().
  void reconcile(const NodeWalk& nodes, const std::vector<OriginId>& before);
  std::vector<OriginId> liveIds(const NodeWalk& nodes) const;  // union over the nodes' outputs, sorted

  // Sets the divisor that a pass applied to a value of the model, in a shape that broadcasts to it; the last one
  // counts.
  void setDivisors(OriginId id, const at::Tensor& divisors) { divisors_[id] = divisors; }
  const std::unordered_map<OriginId, at::Tensor>& divisors() const { return divisors_; }

  // Returns "layer1.0.conv3 + bn3 + relu": short, for people; empty for no origins.
  std::string label(const std::vector<OriginId>& ids) const;

 private:
  // Entries of table_: kNone, an origin's id, or, for several, kFirstList - their index in lists_.
  static constexpr OriginId kNone = -1;
  static constexpr OriginId kFirstList = -2;
  OriginId& entry(const torch::jit::Value* value);
  template <class Nodes>
  std::vector<OriginId> unionOf(const Nodes& nodes) const;

  std::vector<Origin> origins_;
  std::vector<OriginId> table_;  // by Value::unique(); kNone behind its end
  std::vector<std::vector<OriginId>> lists_;
  std::unordered_map<std::string, int> nodes_per_module_;
  std::unordered_map<OriginId, at::Tensor> divisors_;
};

// Union of two sorted lists.
std::vector<OriginId> mergeOrigins(at::ArrayRef<OriginId> a, at::ArrayRef<OriginId> b);

// Returns "fuse-activation#12+13": one rewrite of a pass by the nodes of the frozen graph that the rewritten node comes
// from; "fuse-activation", which stands for all of them, if `ids` is empty.
std::string rewriteName(const std::string& pass, const std::vector<OriginId>& ids);
// The name of the pass in it.
std::string passOfRewrite(const std::string& name);

// How far a pipeline came.
struct RewriteCount {
  std::int64_t rewrites = 0;
  std::string last;  // the last one that OptimizeOptions::rewrite_limit permitted, as rewriteName() gives it
};

// Nodes of the graph in topological order, a node before those of its blocks; no constants unless asked for.
NodeWalk allNodes(torch::jit::Graph& graph, bool with_constants = false);

// Returns "layer1.0.conv3" from the node's scope or inlined call stack; empty if the file does not tell.
std::string modulePath(const torch::jit::Node* node);

}  // namespace ipex_studio
