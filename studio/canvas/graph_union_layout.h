// The layout of a job on the canvas: the union of all its graphs with some modules folded, laid out once,
// and the way of each edge of one graph through it.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "studio/canvas/graph_layout.h"
#include "studio/canvas/graph_union.h"

namespace ipex_studio {

// The folded modules, by path, so that the fold outlives the graphs it was made for.
struct ModuleFold {
  std::vector<std::string> closed;  // sorted
  std::vector<std::string> open;    // sorted; these stay open although the graph is large
  bool operator==(const ModuleFold& other) const { return closed == other.closed && open == other.open; }

  void setClosed(const std::string& path, bool close);
};

// A folded module, or a slot that is in none.
struct UnionItem {
  std::int32_t slot = -1;    // -1: a folded module
  std::int32_t module = -1;  // the folded module; -1: a slot
};

struct UnionLayout {
  std::vector<UnionItem> items;            // in reading order
  std::vector<std::int32_t> item_of_slot;  // every slot is in one
  std::vector<bool> module_closed;         // also true inside closed ones
  LayoutGraph graph;                       // nodes are the items; edges those that were given a way
  Layout layout;
  std::vector<std::int32_t> edges_from_begin;  // indexes of graph.edges by their source, see edges_from
  std::vector<std::int32_t> edges_from;
  // Per graph of the job: whether an item holds a node of it.
  std::vector<std::vector<bool>> present;

  bool cancelled() const { return layout.cancelled; }
};

// Fold of large graphs at first: modules of this depth and deeper are folded; beyond any depth if everything fits.
std::int32_t defaultFoldDepth(const GraphUnion& all);
// More items than these are not shown at first.
constexpr std::int32_t kMaxItemsAtFirst = 1500;

// Sizes are asked for only once the items are known: of a slot, or of a folded module.
class ItemSizes {
 public:
  virtual ~ItemSizes() = default;
  virtual LayoutSize slotSize(std::int32_t slot) const = 0;
  virtual LayoutSize moduleSize(std::int32_t module) const = 0;
};

// Pure and deterministic; `cancel` may be null.
UnionLayout layoutUnion(const GraphUnion& all, const ModuleFold& fold, const ItemSizes& sizes,
                        const std::atomic<bool>* cancel);

// Appends the way from one item to another in graph `stage` to `points`: along a laid-out edge, else through items that
// this graph does not have. False: there is none, draw a portal.
bool findWay(const UnionLayout& placed, std::size_t stage, std::int32_t from, std::int32_t to,
             std::vector<LayoutPoint>* points);

}  // namespace ipex_studio
