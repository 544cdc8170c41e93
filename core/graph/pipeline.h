// The one runner of passes: gate by name, time, hash check, lint, dump, limit, snapshots.
#pragma once

#include <functional>
#include <vector>

#include "core/graph/pass.h"

namespace ipex_studio {

// Runs `passes` in order on `graph`. Each is skipped when disabled by name; not called, and recorded as unchanged, when
// the graph has nothing that it needs; timed; its "changed" compared with the hash (a lie CHECKs); linted after a
// change (`options.verify_passes`); dumped as `NN-pass-name.ir` when it changed the graph and a dump directory is set.
// If a pass throws or lies, the directory gets `reproduce-NN-pass-name.ir`, the graph before it with all it takes to
// replay: `IPEX_IR=FILE pass_tests` runs the pass on it, and it may become a case of tests/passes.
// Throws Error(kUsage) when a disabled pass does not exist. Reports onRemark and onPass (with a snapshot when changed).
// `options.disabled_passes` may also name single rewrites (rewriteName()), which are then left out.
// `cancelled` is asked between passes; true ends with Error(kFailure).
RewriteCount runPipeline(torch::jit::Graph& graph, OriginTable& origins, const std::vector<const Pass*>& passes,
                         const OptimizeOptions& options, Observer& observer,
                         const std::function<bool()>& cancelled = {});

// The graph as plain data for the database and the studio.
GraphSnapshot makeSnapshot(torch::jit::Graph& graph, const OriginTable& origins, int pass_index,
                           const std::string& after_pass);

// Number of nodes without constants, nested blocks included.
int countNodes(const torch::jit::Graph& graph);

}  // namespace ipex_studio
