// The one runner of passes: gate by name, time, hash check, check for a sound graph, dump, limit, snapshots.
#pragma once

#include <functional>
#include <vector>

#include "core/graph/pass.h"

namespace ipex_studio {

// Runs `passes` in order on `graph`. Each is skipped when disabled by name; not called, and recorded as unchanged, when
// the graph has nothing that it needs; timed; its "changed" compared with the hash (`options.verify_passes`; a lie
// CHECKs); checked for a sound graph (graph_fault.h) after a change; dumped as `NN-pass-name.ir` when it changed the
// graph and a dump directory is set.
// A pass that throws or leaves a broken graph is left out: the graph becomes what it was at the beginning, the other
// passes run on it again, which is reported once, and a missed remark (kLeftOutReason) says what happened. The
// directory gets `reproduce-NN-pass-name.ir`, the graph before the pass with all it takes to replay: `IPEX_IR=FILE
// pass_tests` runs the pass on it, and it may become a case of tests/passes. Nodes and values that callers hold are
// destroyed then.
// Throws Error(kUsage) when a disabled pass does not exist or a pass finds the request wrong. Reports onRemark and
// onPass (with a snapshot when changed). `options.disabled_passes` may also name single rewrites (rewriteName()), which
// are then left out. `cancelled` is asked between passes; true ends with Error(kFailure). `record_shapes`: as in
// PassContext.
RewriteCount runPipeline(torch::jit::Graph& graph, OriginTable& origins, const std::vector<const Pass*>& passes,
                         const OptimizeOptions& options, Observer& observer,
                         const std::function<bool()>& cancelled = {}, const ConstantAttributes& attributes = {},
                         const std::function<void()>& record_shapes = {});

// The graph as plain data for the database and the studio.
GraphSnapshot makeSnapshot(torch::jit::Graph& graph, const OriginTable& origins, int pass_index,
                           const std::string& after_pass);

// Number of nodes without constants, nested blocks included.
int countNodes(const torch::jit::Graph& graph);

}  // namespace ipex_studio
