// The layout of a job on the canvas: the union of all its graphs with some modules folded, laid out once, and the way
// of each edge of one graph through it.
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
  std::vector<std::string> closed;  // paths of folded modules, sorted
  std::vector<std::string> open;    // paths of modules that stay open although the graph is large, sorted
  bool operator==(const ModuleFold& other) const { return closed == other.closed && open == other.open; }

  void setClosed(const std::string& path, bool close);
};

// A folded module, or a slot that is in none.
struct UnionItem {
  std::int32_t slot = -1;    // index of the slot; -1: a folded module
  std::int32_t module = -1;  // index of the folded module; -1: a slot
};

struct UnionLayout {
  std::vector<UnionItem> items;            // items in reading order
  std::vector<std::int32_t> item_of_slot;  // item of each slot
  std::vector<bool> module_closed;         // for each module: true if it is closed or inside a closed one
  LayoutGraph graph;                       // graph of the items, with the edges that were given a way
  Layout layout;
  std::vector<std::int32_t> edges_from_begin;  // indexes of graph.edges by their source, see edges_from
  std::vector<std::int32_t> edges_from;
  // For each graph of the job and each item: true if the item holds a node of the graph.
  std::vector<std::vector<bool>> present;

  bool cancelled() const { return layout.cancelled; }
};

// Folds the innermost level of the modules `shown`, or unfolds the outermost of those. They are indexes into
// GraphUnion::modules.
void foldLevel(const GraphUnion& all, const std::vector<std::int32_t>& shown, bool close, ModuleFold* fold);

// Depth at which a large graph is folded at first: modules of this depth and deeper are closed. Beyond any depth if
// everything fits.
std::int32_t defaultFoldDepth(const GraphUnion& all);
// Most items shown at first.
constexpr std::int32_t kMaxItemsAtFirst = 1500;

// Sizes of slots and folded modules, asked for once the items are known.
class ItemSizes {
 public:
  virtual ~ItemSizes() = default;
  virtual LayoutSize slotSize(std::int32_t slot) const = 0;
  virtual LayoutSize moduleSize(std::int32_t module) const = 0;
};

// Lays out the union. Pure, deterministic and thread-safe; `cancel` may be null.
UnionLayout layoutUnion(const GraphUnion& all, const ModuleFold& fold, const ItemSizes& sizes,
                        const std::atomic<bool>* cancel);

// Appends to `points` the way from one item to another in graph `stage`: along a laid-out edge, else through items
// that this graph does not have. False if there is none; the edge is then drawn as a portal.
bool findWay(const UnionLayout& placed, std::size_t stage, std::int32_t from, std::int32_t to,
             std::vector<LayoutPoint>* points);

}  // namespace ipex_studio
