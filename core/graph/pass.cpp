// PassContext: facts about the graph that a pass may ask for; and libtorch's own passes as one of ours.
#include "core/graph/pass.h"

#include <algorithm>

#include "core/torch/silent_writes.h"

namespace ipex_studio {

using torch::jit::Graph;
using torch::jit::Node;

void PassContext::missed(const Node* node, const char* reason, const std::string& text) {
  rewriter.missed(rewriter.origins().of(node), reason, text);
}

NodeWalk PassContext::nodes(const std::vector<const char*>& kinds) {
  std::vector<c10::Symbol> symbols;
  for (const char* kind : kinds) symbols.push_back(c10::Symbol::fromQualString(kind));
  return nodesWhere([&](c10::Symbol kind) { return std::find(symbols.begin(), symbols.end(), kind) != symbols.end(); });
}

const std::function<void()>& PassContext::noExample() {
  static const std::function<void()> kNone;
  return kNone;
}

const GraphIndex& PassContext::graph_index() {
  if (index_at_rewrite_ != rewriter.rewrites()) {
    graph_index_ = &own_index_.emplace(graph_);
    index_at_rewrite_ = rewriter.rewrites();
  }
  return *graph_index_;
}

NodeWalk PassContext::nodesWhere(const std::function<bool(c10::Symbol)>& wanted) {
  return graph_index().nodesOf(wanted, &rewriter);
}

NodeWalk PassContext::nodesOfConstants(const std::function<bool(c10::Symbol)>& wanted) {
  return graph_index().nodesOfConstants(wanted, &rewriter);
}

NodeWalk PassContext::nodesBehind(const std::function<bool(c10::Symbol)>& source,
                                  const std::function<bool(c10::Symbol, bool)>& wanted) {
  return graph_index().nodesBehind(source, wanted, &rewriter);
}

NodeWalk PassContext::nodesThatMayWrite() { return rewriter.nodesThatMayWrite(graph_index()); }

torch::jit::AliasDb& PassContext::aliases() {
  if (!aliases_ || aliases_at_rewrite_ != rewriter.rewrites()) {
    aliases_ = std::make_unique<torch::jit::AliasDb>(sharedView(graph_));
    aliases_at_rewrite_ = rewriter.rewrites();
    aliases_know_below_ = 0;
    for (const Node* node : allNodes(graph_, true)) {
      for (const auto* output : node->outputs())
        aliases_know_below_ = std::max(aliases_know_below_, output->unique() + 1);
    }
  }
  return *aliases_;
}

bool PassContext::writesAnything() {
  return rewriter.graphWrites([this]() -> const GraphIndex& { return graph_index(); });
}

MemoryWrites PassContext::writesAround(const torch::jit::Value* value) {
  std::vector<Node*> writers, loops;
  bool all_known = known(value);  // a loop that was unrolled has new nodes
  for (Node* node : nodesThatMayWrite()) {
    if (node->kind() == c10::prim::SetAttr || (node->maybeSchema() != nullptr && !writesOperands(node))) continue;
    writers.push_back(node);
    all_known = all_known && !node->outputs().empty() && known(node->output(0));
  }
  for (Node* loop : nodes({"prim::Loop"})) {
    loops.push_back(loop);
    const auto outputs = loop->blocks().at(0)->outputs();
    all_known = all_known && std::all_of(outputs.begin(), outputs.end(), [&](const auto* o) { return known(o); });
  }
  return memoryWrites(std::move(writers), loops, all_known ? *aliases_ : aliases());
}

bool PassContext::isEverWritten(const torch::jit::Value* value) {
  if (!writesAnything()) return false;
  const MemoryWrites writes = writesAround(value);
  return isWritten(value, writes, *aliases_);
}

bool PassContext::mayBeWritten(const torch::jit::Value* value) {
  if (!writesAnything()) return false;
  const MemoryWrites writes = writesAround(value);
  return mayBeWrittenAfter(value, value->node(), writes, *aliases_);
}

bool PassContext::mayShareWithOutputs(const torch::jit::Value* value) {
  const auto outputs = graph_.outputs();
  const bool all_known =
      known(value) && std::all_of(outputs.begin(), outputs.end(), [&](const auto* output) { return known(output); });
  auto* mutable_value = const_cast<torch::jit::Value*>(value);  // the analysis only reads
  return (all_known ? *aliases_ : aliases()).mayContainAlias(mutable_value, outputs);
}

bool isDisabled(const OptimizeOptions& options, const std::string& pass) {
  return std::find(options.disabled_passes.begin(), options.disabled_passes.end(), pass) !=
         options.disabled_passes.end();
}

bool concerns(const Pass& pass, const GraphIndex& graph_index) {
  return pass.needs.empty() || graph_index.hasAny(pass.needs);
}

bool runStockPass(Graph& graph, PassContext& context, const char* what,
                  const std::function<void(std::shared_ptr<Graph>&)>& body) {
  if (!context.rewriter.permit()) return false;
  OriginTable& origins = context.rewriter.origins();
  const std::vector<OriginId> before = origins.liveIds(context.graph_index().all());
  const std::uint64_t hash_before = context.graph_index().hash();
  std::shared_ptr<Graph> view = sharedView(graph);
  body(view);
  const GraphIndex after(graph);
  if (after.hash() == hash_before) return false;
  origins.reconcile(after.all(), before);
  context.rewriter.stock(before, origins.liveIds(after.all()), what);
  return true;
}

}  // namespace ipex_studio
