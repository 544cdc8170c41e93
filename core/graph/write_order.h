// Whether memory that a graph writes to is written before or after it was read.
#pragma once

#include <vector>

#include "core/torch/torch_compat.h"

namespace ipex_studio {

// The writers to the memory of a graph.
struct MemoryWrites {
  std::vector<torch::jit::Node*> writers;  // operators in place and calls whose effects are not known
  // Values whose memory is written to and libtorch's alias analysis does not know: those that a loop hands to its next
  // round, or on if it has no round, where they are written to under another name; and what operators write silently.
  std::vector<torch::jit::Value*> untold;
};

// `writers`: all of the graph; `loops`: all prim::Loop of it; `aliases` knows them.
MemoryWrites memoryWrites(std::vector<torch::jit::Node*> writers, const std::vector<torch::jit::Node*>& loops,
                          const torch::jit::AliasDb& aliases);
MemoryWrites memoryWrites(torch::jit::Graph& graph, const torch::jit::AliasDb& aliases);

// True if anything writes to the memory of `value`, in this run or in one before.
bool isWritten(const torch::jit::Value* value, const MemoryWrites& writes, const torch::jit::AliasDb& aliases);

// True if the memory of `value` may be written to, or its sizes changed, when `node` has run: by a writer that stands
// behind it, or in one loop with it. Constants outlive a run, so any writer counts.
bool mayBeWrittenAfter(const torch::jit::Value* value, const torch::jit::Node* node, const MemoryWrites& writes,
                       const torch::jit::AliasDb& aliases);

}  // namespace ipex_studio
