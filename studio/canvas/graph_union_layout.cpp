// See graph_union_layout.h.
#include "studio/canvas/graph_union_layout.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <queue>
#include <set>

namespace ipex_studio {
namespace {

// Most items that the search for a way looks at.
constexpr std::size_t kMaxWayItems = 256;

bool contains(const std::vector<std::string>& sorted, const std::string& path) {
  return std::binary_search(sorted.begin(), sorted.end(), path);
}

void insertSorted(std::vector<std::string>* sorted, const std::string& path) {
  const auto place = std::lower_bound(sorted->begin(), sorted->end(), path);
  if (place == sorted->end() || *place != path) sorted->insert(place, path);
}

void eraseSorted(std::vector<std::string>* sorted, const std::string& path) {
  const auto place = std::lower_bound(sorted->begin(), sorted->end(), path);
  if (place != sorted->end() && *place == path) sorted->erase(place);
}

// An edge between items, and the first and the last graph that have it; those between change little.
struct ItemPair {
  std::int32_t from = 0;
  std::int32_t to = 0;
  std::int32_t first_stage = 0;
  std::int32_t last_stage = 0;
};

// Edges that leave each item: those of item i lead to list[begin[i]] .. list[begin[i + 1] - 1].
struct Successors {
  std::vector<std::int32_t> begin;
  std::vector<std::int32_t> list;

  template <class Edges>
  void build(std::size_t items, const Edges& edges) {
    begin.assign(items + 1, 0);
    for (const auto& edge : edges) ++begin[edge.from + 1];
    std::partial_sum(begin.begin(), begin.end(), begin.begin());
    list.resize(edges.size());
    std::vector<std::int32_t> cursor(begin.begin(), begin.end() - 1);
    for (std::size_t e = 0; e < edges.size(); ++e) list[cursor[edges[e].from]++] = static_cast<std::int32_t>(e);
  }
};

// Searches breadth first from `from` to `to` through items absent from a graph; `edges` as Successors has them.
// Returns the edges of the way; empty if there is none. `detour`: an edge straight from `from` to `to` does not
// count.
template <class Edges>
std::vector<std::int32_t> search(const std::vector<std::int32_t>& begin, const std::vector<std::int32_t>& list,
                                 const Edges& edges, const std::vector<bool>& present, std::int32_t from,
                                 std::int32_t to, bool detour) {
  struct Step {
    std::int32_t item;
    std::int32_t edge;
    std::int32_t previous;
  };
  std::vector<Step> steps{{from, -1, -1}};
  for (std::size_t s = 0; s < steps.size() && steps.size() < kMaxWayItems; ++s) {
    for (std::int32_t i = begin[steps[s].item]; i < begin[steps[s].item + 1]; ++i) {
      const std::int32_t e = list[i];
      const std::int32_t next = edges[e].to;
      if (next == to && !(detour && s == 0)) {
        std::vector<std::int32_t> way{e};
        for (auto at = static_cast<std::int32_t>(s); steps[at].edge >= 0; at = steps[at].previous)
          way.push_back(steps[at].edge);
        std::reverse(way.begin(), way.end());
        return way;
      }
      if (next == to || present[next]) continue;
      const bool seen = std::any_of(steps.begin(), steps.end(), [&](const Step& step) { return step.item == next; });
      if (!seen) steps.push_back({next, e, static_cast<std::int32_t>(s)});
    }
  }
  return {};
}

class Builder {
 public:
  Builder(const GraphUnion& all, const ModuleFold& fold) : all_(all), fold_(fold) {}

  UnionLayout build(const ItemSizes& sizes, const std::atomic<bool>* cancel) {
    closeModules();
    makeItems();
    pairItems();
    sortItems();
    markPresent();
    for (const UnionItem& item : result_.items)
      result_.graph.nodes.push_back(item.slot >= 0 ? sizes.slotSize(item.slot) : sizes.moduleSize(item.module));
    keepEdges();
    LayoutOptions options;
    options.layer_gap = 34;
    result_.layout = layoutGraph(result_.graph, options, cancel);
    Successors successors;
    successors.build(result_.items.size(), result_.graph.edges);
    result_.edges_from_begin = std::move(successors.begin);
    result_.edges_from = std::move(successors.list);
    return std::move(result_);
  }

 private:
  void closeModules() {
    const std::int32_t depth = defaultFoldDepth(all_);
    outermost_.assign(all_.modules.size(), -1);
    result_.module_closed.assign(all_.modules.size(), false);
    for (std::size_t m = 0; m < all_.modules.size(); ++m) {
      const UnionModule& module = all_.modules[m];
      if (module.parent >= 0) outermost_[m] = outermost_[module.parent];
      const bool closed =
          contains(fold_.closed, module.path) || (module.depth >= depth && !contains(fold_.open, module.path));
      if (outermost_[m] < 0 && closed) outermost_[m] = static_cast<std::int32_t>(m);
      result_.module_closed[m] = outermost_[m] >= 0;
    }
  }

  void makeItems() {
    std::vector<std::int32_t> item_of_module(all_.modules.size(), -1);
    result_.item_of_slot.resize(static_cast<std::size_t>(all_.slots));
    for (std::int32_t s = 0; s < all_.slots; ++s) {
      const std::int32_t innermost = all_.module_of_slot[s];
      const std::int32_t module = innermost < 0 ? -1 : outermost_[innermost];
      const auto fresh = static_cast<std::int32_t>(result_.items.size());
      if (module >= 0 && item_of_module[module] >= 0) {
        result_.item_of_slot[s] = item_of_module[module];
        continue;
      }
      if (module >= 0) item_of_module[module] = fresh;
      result_.item_of_slot[s] = fresh;
      result_.items.push_back(module >= 0 ? UnionItem{-1, module} : UnionItem{s, -1});
    }
  }

  void pairItems() {
    for (std::size_t g = 0; g < all_.stages.size(); ++g) {
      const auto stage = static_cast<std::int32_t>(g);
      for (const UnionEdge& edge : all_.stages[g].edges) {
        const std::int32_t from = result_.item_of_slot[edge.from];
        const std::int32_t to = result_.item_of_slot[edge.to];
        if (from != to) pairs_.push_back({from, to, stage, stage});
      }
    }
    const auto key = [](const ItemPair& pair) {
      return (static_cast<std::int64_t>(pair.from) << 32) | static_cast<std::uint32_t>(pair.to);
    };
    std::stable_sort(pairs_.begin(), pairs_.end(),
                     [&](const ItemPair& a, const ItemPair& b) { return key(a) < key(b); });
    std::size_t kept = 0;
    for (std::size_t p = 0; p < pairs_.size(); ++p) {
      if (kept > 0 && key(pairs_[kept - 1]) == key(pairs_[p])) {
        pairs_[kept - 1].last_stage = pairs_[p].last_stage;
      } else {
        pairs_[kept++] = pairs_[p];
      }
    }
    pairs_.resize(kept);
  }

  // Sorts the items topologically, the earliest first where there is a choice. Folded modules may depend on each
  // other both ways; the earliest of a circle then goes first.
  void sortItems() {
    const std::size_t count = result_.items.size();
    Successors successors;
    successors.build(count, pairs_);
    std::vector<std::int32_t> incoming(count, 0);
    for (const ItemPair& pair : pairs_) ++incoming[pair.to];
    std::priority_queue<std::int32_t, std::vector<std::int32_t>, std::greater<>> ready;
    for (std::size_t i = 0; i < count; ++i) {
      if (incoming[i] == 0) ready.push(static_cast<std::int32_t>(i));
    }
    std::vector<std::int32_t> order;
    std::vector<bool> taken(count, false);
    std::size_t rest = 0;
    while (order.size() < count) {
      while (ready.empty() && taken[rest]) ++rest;
      const std::int32_t item = ready.empty() ? static_cast<std::int32_t>(rest) : ready.top();
      if (!ready.empty()) ready.pop();
      if (taken[item]) continue;
      taken[item] = true;
      order.push_back(item);
      for (std::int32_t i = successors.begin[item]; i < successors.begin[item + 1]; ++i) {
        const std::int32_t next = pairs_[successors.list[i]].to;
        if (--incoming[next] == 0 && !taken[next]) ready.push(next);
      }
    }
    renumber(order);
  }

  void renumber(const std::vector<std::int32_t>& order) {
    std::vector<std::int32_t> place(order.size());
    std::vector<UnionItem> items(order.size());
    for (std::size_t i = 0; i < order.size(); ++i) {
      place[order[i]] = static_cast<std::int32_t>(i);
      items[i] = result_.items[order[i]];
    }
    result_.items = std::move(items);
    for (std::int32_t& item : result_.item_of_slot) item = place[item];
    for (ItemPair& pair : pairs_) {
      pair.from = place[pair.from];
      pair.to = place[pair.to];
    }
    std::sort(pairs_.begin(), pairs_.end(),
              [](const ItemPair& a, const ItemPair& b) { return a.to != b.to ? a.to < b.to : a.from < b.from; });
  }

  void markPresent() {
    result_.present.resize(all_.stages.size());
    for (std::size_t g = 0; g < all_.stages.size(); ++g) {
      result_.present[g].assign(result_.items.size(), false);
      for (std::int32_t s = 0; s < all_.slots; ++s) {
        if (all_.stages[g].node_of_slot[s] != UnionStage::kAbsent) result_.present[g][result_.item_of_slot[s]] = true;
      }
    }
  }

  // Drops edges that can go where their own graphs have nothing, as they need no room.
  void keepEdges() {
    Successors successors;
    successors.build(result_.items.size(), pairs_);
    const auto canDetour = [&](const ItemPair& pair, std::int32_t stage) {
      return !search(successors.begin, successors.list, pairs_, result_.present[stage], pair.from, pair.to, true)
                  .empty();
    };
    for (const ItemPair& pair : pairs_) {
      const bool only = successors.begin[pair.from + 1] - successors.begin[pair.from] == 1;
      const bool detour = !only && all_.stages.size() > 1 && canDetour(pair, pair.first_stage) &&
                          (pair.last_stage == pair.first_stage || canDetour(pair, pair.last_stage));
      if (!detour) result_.graph.edges.push_back({pair.from, pair.to});
    }
  }

  const GraphUnion& all_;
  const ModuleFold& fold_;
  UnionLayout result_;
  std::vector<std::int32_t> outermost_;  // for each module: the outermost closed one around it; -1: none
  std::vector<ItemPair> pairs_;
};

}  // namespace

void ModuleFold::setClosed(const std::string& path, bool close) {
  insertSorted(close ? &closed : &open, path);
  eraseSorted(close ? &open : &closed, path);
}

void foldLevel(const GraphUnion& all, const std::vector<std::int32_t>& shown, bool close, ModuleFold* fold) {
  const auto depth = [&](std::int32_t module) { return all.modules[module].depth; };
  const auto outer = [&](std::int32_t a, std::int32_t b) { return depth(a) < depth(b); };
  if (shown.empty()) return;
  const std::int32_t level = depth(close ? *std::max_element(shown.begin(), shown.end(), outer)
                                         : *std::min_element(shown.begin(), shown.end(), outer));
  const std::set<std::int32_t> modules(shown.begin(), shown.end());
  for (const std::int32_t module : modules) {
    if (depth(module) == level) fold->setClosed(all.modules[module].path, close);
  }
}

std::int32_t defaultFoldDepth(const GraphUnion& all) {
  std::int32_t deepest = 0;
  for (const UnionModule& module : all.modules) deepest = std::max(deepest, module.depth + 1);
  // For each depth: slots hidden if modules of it are folded, and the modules that stand for them.
  std::vector<std::int32_t> hidden(static_cast<std::size_t>(deepest) + 1, 0);
  std::vector<std::int32_t> folded(static_cast<std::size_t>(deepest) + 1, 0);
  for (const UnionModule& module : all.modules) {
    hidden[module.depth] += module.slots;
    ++folded[module.depth];
  }
  for (std::int32_t depth = deepest; depth > 0; --depth) {
    if (all.slots - hidden[depth] + folded[depth] <= kMaxItemsAtFirst) return depth;
  }
  return 0;
}

UnionLayout layoutUnion(const GraphUnion& all, const ModuleFold& fold, const ItemSizes& sizes,
                        const std::atomic<bool>* cancel) {
  return Builder(all, fold).build(sizes, cancel);
}

bool findWay(const UnionLayout& placed, std::size_t stage, std::int32_t from, std::int32_t to,
             std::vector<LayoutPoint>* points) {
  const std::vector<std::int32_t> way =
      search(placed.edges_from_begin, placed.edges_from, placed.graph.edges, placed.present[stage], from, to, false);
  if (way.empty()) return false;
  for (const std::int32_t e : way) {
    const LayoutRoute& route = placed.layout.routes[e];
    if (route.count == 0) return false;
  }
  for (const std::int32_t e : way) {
    const LayoutRoute& route = placed.layout.routes[e];
    points->insert(points->end(), placed.layout.points.begin() + route.begin,
                   placed.layout.points.begin() + route.begin + route.count);
  }
  return true;
}

}  // namespace ipex_studio
