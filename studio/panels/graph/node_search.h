// The search field of the graph panel, and the walk through the nodes that it finds.
#pragma once

#include <array>
#include <cstdint>

#include "studio/panels/graph/graph_pane.h"
#include "studio/snapshot/graph_search.h"
#include "studio/ui/selection.h"
#include "studio/ui/widgets.h"

namespace ipex_studio {

// Not thread-safe; used by the drawing thread.
class NodeSearch {
 public:
  explicit NodeSearch(const Ui& ui) : ui_(ui) {}

  // Gives the field the keyboard with the next draw.
  void focus() { focus_ = true; }
  // Draws the field at the left of the panel's head, with the number of nodes found in the pane's graph. Enter selects
  // the next one, Shift+Enter the one before.
  void draw(float points, const GraphPane& pane, Selection& selection, ModuleFold* fold);
  // Selects the next hit after the last one, or with -1 the one before; folded modules around it open.
  void next(int direction, const GraphPane& pane, Selection& selection, ModuleFold* fold);

 private:
  const Ui& ui_;
  std::array<char, 128> text_{};
  bool focus_ = false;
  GraphSearch finder_;
  const GraphSnapshot* searched_ = nullptr;  // the graph that finder_ has read
  std::int32_t last_hit_ = -1;
};

}  // namespace ipex_studio
