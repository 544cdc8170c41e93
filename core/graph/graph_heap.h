// A heap of their own for the nodes of graphs.
#pragma once

#include <optional>

namespace ipex_studio {

// Allocations of this thread lie together on huge pages, apart from all else, while a GraphHeap lives. libtorch keeps a
// node in a dozen allocations, and a pass over 50,000 nodes reaches more pages than the processor holds translations
// for: with huge pages it waits a fifth less. Meant for freezing and rewriting a graph; not for the plans made from it,
// which outlive it. Memory may be freed later and by any thread; returnFreedMemory() gives it back. Needs jemalloc in
// the process (see ipex_allocator in CMakeLists.txt), and does nothing without it. May be nested. Thread-safe.
class GraphHeap {
 public:
  GraphHeap();
  ~GraphHeap();
  GraphHeap(const GraphHeap&) = delete;
  GraphHeap& operator=(const GraphHeap&) = delete;

 private:
  std::optional<unsigned> before_;  // jemalloc's arena of this thread until now
};

}  // namespace ipex_studio
