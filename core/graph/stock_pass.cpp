// Runs libtorch's own passes and keeps origins.
#include "core/graph/pass.h"

namespace ipex_studio {

using torch::jit::Graph;

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
