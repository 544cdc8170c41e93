// Rewriter: the only way to change a graph. It carries origins over, counts rewrites against the limit (bisection) and
// emits the Applied remark, so that no pass can forget to. Not thread-safe.
#pragma once

#include <functional>
#include <initializer_list>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/graph/node_set.h"
#include "core/graph/origins.h"
#include "core/graph/pass_remarks.h"
#include "core/graph/value_uses.h"
#include "core/torch/torch_compat.h"

namespace ipex_studio {

class GraphIndex;

class Rewriter {
 public:
  // `left_out`: names of single rewrites that permit() refuses (rewriteName()); must outlive the rewriter.
  Rewriter(torch::jit::Graph& graph, OriginTable& origins, std::int64_t limit,
           const std::vector<std::string>& left_out = noNames())
      : graph_(graph), origins_(origins), limit_(limit), left_out_(left_out) {}

  torch::jit::Graph& graph() { return graph_; }
  OriginTable& origins() { return origins_; }

  // False once the limit is reached, and for a rewrite that is left out: the pass must then leave the match alone. Ask
  // once per rewrite, before creating nodes. `node`: the one that the rewrite is about, by which it can be left out
  // alone; null where it is about many.
  [[nodiscard]] bool permit(const torch::jit::Node* node = nullptr);
  // True once the limit is reached: a walk over further matches is of no use.
  bool exhausted() const { return limit_ >= 0 && rewrites_ >= limit_; }
  // The name of the last rewrite that the limit permitted, as rewriteName() gives it; empty before that one.
  const std::string& lastRewrite() const { return last_rewrite_; }

  // Creates a node before `before`; nothing uses it yet. Outputs get no type; set it where known.
  torch::jit::Node* create(const char* kind, at::ArrayRef<torch::jit::Value*> inputs, torch::jit::Node* before,
                           std::size_t outputs = 1);
  // Creates a constant before `before`. `name` is its debug name, may be empty.
  torch::jit::Value* constant(const torch::jit::IValue& value, torch::jit::Node* before, const std::string& name = "");
  torch::jit::Value* none(torch::jit::Node* before);

  // Ends one rewrite: every use of `from` becomes a use of `to` (type and debug name go along when `to` has none of its
  // own), nodes made since permit() get the union of the origins of `consumed`, and consumed nodes without users left
  // are destroyed (last first), with the constants that only they used. The remark says `text`.
  void replace(at::ArrayRef<torch::jit::Node*> consumed, torch::jit::Value* from, torch::jit::Value* to,
               const std::string& text);
  // Ends one rewrite as replace() does, for several values at once.
  void replaceAll(at::ArrayRef<torch::jit::Node*> consumed, at::ArrayRef<torch::jit::Value*> from,
                  at::ArrayRef<torch::jit::Value*> to, const std::string& text);
  // Ends a rewrite that only changed operands of `node` (made with replaceInput below).
  void replaceInput(torch::jit::Node* node, std::size_t index, torch::jit::Value* value);
  // Replaces uses of `from` by uses of `to` in nodes that run after `node`, and at the end of its blocks.
  void replaceUsesAfter(torch::jit::Node* node, torch::jit::Value* from, torch::jit::Value* to);
  void finish(torch::jit::Node* node, const std::string& text);
  // Ends a rewrite that removes `node`, whose outputs must be unused.
  void erase(torch::jit::Node* node, const std::string& text);

  // False for nodes that a rewrite destroyed. Walk a graph that changes under the walk with
  //   for (Node* node : allNodes(graph)) if (rewriter.alive(node)) …
  bool alive(const torch::jit::Node* node) const { return !destroyed_.contains(node); }

  // Ends a rewrite that replaces `node` by the nodes of `block`, which it owns; their origins stay.
  void inlineBlock(torch::jit::Node* node, torch::jit::Block* block, const std::string& text);
  // Ends a rewrite that replaces `loop`, a prim::Loop that goes on while its count lasts, by `rounds` copies of its
  // block.
  void unroll(torch::jit::Node* loop, std::int64_t rounds, const std::string& text);
  // Ends a rewrite that makes the graph, or one of its blocks, a condition with two forms of it: if `condition` holds,
  // `known` are replaced by `as`; else everything stays. Constants, nodes made since permit(), and those up to `last`,
  // which may be null, stay in front. `block` null: the graph.
  void branch(torch::jit::Value* condition, at::ArrayRef<torch::jit::Value*> known, at::ArrayRef<torch::jit::Value*> as,
              const std::string& text, const torch::jit::Node* last = nullptr, torch::jit::Block* block = nullptr);
  // Ends a rewrite made by a pass of libtorch: the remark gets the origins that were alive before it and are gone now.
  void stock(const std::vector<OriginId>& before, const std::vector<OriginId>& after, const std::string& text);

  // True if any node writes to memory or may do so (calls, attributes). `graph_index` must describe the current graph
  // and is called only if the answer is not known: a no stays valid until a rewrite makes such a node or a pass of
  // libtorch has run.
  bool graphWrites(const std::function<const GraphIndex&()>& graph_index);
  // Nodes of the graph index whose kind and number of operands are those of an operator that writes to memory, and
  // calls. Only those need be matched with their schemas, which takes long.
  NodeWalk nodesThatMayWrite(const GraphIndex& graph_index);

  // Counts and remarks so far, for the pipeline.
  std::int64_t rewrites() const { return rewrites_; }
  const PassRemarks& remarks() const { return remarks_; }  // of the pass that runs
  // Forgets the remarks of earlier passes and the nodes that they destroyed: a walk that begins now does not meet them.
  void beginPass(const std::string& pass = "") {
    pass_ = pass;
    remarks_.clear();
    destroyed_.clear();
    if (graph_writes_.value_or(false)) graph_writes_.reset();
  }
  void missed(const std::vector<OriginId>& origins, const char* reason, const std::string& text);

 private:
  bool formMayWrite(c10::Symbol kind, std::size_t operands);
  bool mayWrite(const torch::jit::Node* node);
  // Notes that the nodes in the blocks of `node` are gone with it.
  void forgetBlocks(torch::jit::Node* node);
  // Gives the clone the origins of the node, also in blocks.
  void copyOrigins(const torch::jit::Node* from, const torch::jit::Node* to);
  void applied(const std::vector<OriginId>& origins, const std::string& text);
  // Destroys the node, then constants and lists of constants that only it used.
  void destroy(torch::jit::Node* node);

  static const std::vector<std::string>& noNames();

  torch::jit::Graph& graph_;
  OriginTable& origins_;
  std::int64_t limit_;
  const std::vector<std::string>& left_out_;
  std::string pass_;  // that runs
  std::string last_rewrite_;
  std::int64_t rewrites_ = 0;
  PassRemarks remarks_;
  std::vector<torch::jit::Node*> created_;  // since the last permit()
  NodeSet destroyed_;
  ValueUses uses_;

  std::optional<bool> graph_writes_;
  // Numbers of operands that the writing forms of a kind take.
  std::unordered_map<c10::Symbol, std::vector<std::size_t>> writing_forms_;
};

}  // namespace ipex_studio
