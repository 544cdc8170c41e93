// Pass: one rewrite of a TorchScript graph. PassContext: everything that it may use. Graphs and contexts belong to one
// thread; passes themselves have no state.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/graph/constant_attributes.h"
#include "core/graph/graph_index.h"
#include "core/graph/reasons.h"
#include "core/graph/rewriter.h"
#include "core/graph/write_order.h"
#include "core/record/options.h"

namespace ipex_studio {

// The reason why a pass left a match alone. Holds no reason, and is false, if the pass took the match, or if nothing
// matched and no remark is due.
struct Decline {
  const char* reason = nullptr;  // of reasons.h
  std::string text;              // a sentence
  explicit operator bool() const { return reason != nullptr; }
};

class PassContext {
 public:
  // `graph_index` describes the graph as it is now, `attributes` the module whose forward it is, `record_shapes` runs
  // the example on it and writes the types that it sees into the graph, and may be empty; all have to outlive the
  // context.
  PassContext(torch::jit::Graph& graph, Rewriter& rewriter, const OptimizeOptions& options,
              const GraphIndex& graph_index, const ConstantAttributes& attributes,
              const std::function<void()>& record_shapes = noExample())
      : rewriter(rewriter),
        options(options),
        attributes(attributes),
        record_shapes(record_shapes),
        graph_(graph),
        graph_index_(&graph_index),
        index_at_rewrite_(rewriter.rewrites()) {}

  Rewriter& rewriter;
  const OptimizeOptions& options;
  const ConstantAttributes& attributes;
  const std::function<void()>& record_shapes;

  // The graph as it is now.
  const GraphIndex& graph_index();
  // Nodes of the current graph that have one of these kinds ("aten::add"), or a kind that is `wanted`, so that a pass
  // touches no other node. rewriteMatches() walks them; a loop written by hand asks Rewriter::alive() which still
  // exist.
  NodeWalk nodes(const std::vector<const char*>& kinds);
  NodeWalk nodesWhere(const std::function<bool(c10::Symbol)>& wanted);
  // Nodes of nodesWhere() that read nothing but constants and results of such nodes.
  NodeWalk nodesOfConstants(const std::function<bool(c10::Symbol)>& wanted);
  // See GraphIndex::nodesBehind().
  NodeWalk nodesBehind(const std::function<bool(c10::Symbol)>& source,
                       const std::function<bool(c10::Symbol, bool)>& wanted);
  // See Rewriter::nodesThatMayWrite().
  NodeWalk nodesThatMayWrite();

  // Reports a match that was declined, with its reason (reasons.h) and a sentence. Say it where a user would ask "why
  // not".
  void missed(const torch::jit::Node* node, const char* reason, const std::string& text);

  void missed(const torch::jit::Node* node, const Decline& why) { missed(node, why.reason, why.text); }

  // Alias analysis of the graph as it is now; built on demand, dropped when the rewriter changed something.
  torch::jit::AliasDb& aliases();
  // True if the value may share memory with a result of the graph, or contain or lie in one. An analysis made before
  // rewrites of the same pass still answers for values and results that it knew, because replacing a value by an equal
  // one (passes/match/aliasing.h) aliases no other value; else every rewrite would cost an analysis of the whole graph.
  bool mayShareWithOutputs(const torch::jit::Value* value);
  // True if anything in the graph may write to this value's memory, in this run or in one before. Fast if the graph has
  // no mutating operator left. An analysis made before a rewrite stays true for the values it knew, because passes add
  // no writes.
  bool isEverWritten(const torch::jit::Value* value);
  // True if its memory may be written to once the value is there (core/graph/write_order.h): a later reader may find
  // something else.
  bool mayBeWritten(const torch::jit::Value* value);

 private:
  static const std::function<void()>& noExample();

  bool writesAnything();
  // Afterwards the alias analysis knows the value, all writers and all loops.
  MemoryWrites writesAround(const torch::jit::Value* value);
  bool known(const torch::jit::Value* value) const { return aliases_ && value->unique() < aliases_know_below_; }

  torch::jit::Graph& graph_;
  const GraphIndex* graph_index_;
  std::int64_t index_at_rewrite_;
  std::optional<GraphIndex> own_index_;  // made when the pass asks again after rewrites
  std::unique_ptr<torch::jit::AliasDb> aliases_;
  std::int64_t aliases_at_rewrite_ = -1;
  std::size_t aliases_know_below_ = 0;  // Value::unique()
};

// The name is the file's name in kebab-case: "fold-batch-norm" lives in passes/layers/fold_batch_norm.cpp.
struct Pass {
  const char* name;
  const char* summary;  // one sentence for `ipex-studio passes`
  // Returns whether it changed the graph; the pipeline checks that with a hash.
  bool (*run)(torch::jit::Graph& graph, PassContext& context);
  // Kinds of nodes of which the graph must have at least one: without any of them the pass does nothing and leaves no
  // remark, so it need not run. Empty: it may always do something.
  std::vector<const char*> needs = {};
};

// True if the user switched the pass of this name off.
bool isDisabled(const OptimizeOptions& options, const std::string& pass);

// False if the graph has none of the kinds that the pass needs.
bool concerns(const Pass& pass, const GraphIndex& graph_index);

// Runs one of libtorch's own passes; there is no other way to run one. It bypasses the Rewriter, so origins are
// reconciled afterwards and one Applied remark is emitted if the graph's hash changed. Returns whether it changed.
bool runStockPass(torch::jit::Graph& graph, PassContext& context, const char* what,
                  const std::function<void(std::shared_ptr<torch::jit::Graph>&)>& body);

}  // namespace ipex_studio
