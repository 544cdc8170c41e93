// One side of the graph panel: a canvas, the scene on it, and what the mouse and the keys do there.
#pragma once

#include <memory>
#include <vector>

#include "studio/canvas/graph_canvas.h"
#include "studio/panels/graph/scene_service.h"
#include "studio/panels/panel.h"

namespace ipex_studio {

class GraphPane {
 public:
  GraphPane(const Ui& ui, std::int32_t side) : ui_(ui), side_(side) {}

  // Takes over the scene for `wanted` once it is ready; false before. `follow`: what the user looks at keeps its
  // place on the screen (only one of two canvases with one view may do that).
  bool refresh(const SceneKey& wanted, bool follow);
  void forget() { scene_ = nullptr; }
  // Draws into the rest of the current window. `fold` receives what the user folds.
  void draw(Selection& selection, ModuleFold* fold);
  // Carries out requested actions. `active`: true for the side that answers those about one side.
  void act(Selection& selection, ModuleFold* fold, bool active);

  const GraphScene* scene() const { return scene_.get(); }
  const SceneKey& key() const { return key_; }
  GraphCanvas& canvas() { return canvas_; }
  const std::vector<std::int32_t>& selected() const { return selected_; }
  // The modules that are folded, or those that nodes on the canvas are in; needs a scene.
  std::vector<std::int32_t> modulesShown(bool folded) const;

 private:
  const GraphSnapshot& graph() const { return *key_.index->graphs[key_.picture.graph].graph; }
  void followAnchor(const GraphScene& fresh, const SceneKey& key);
  void syncSelection(const Selection& selection);
  void handle(const CanvasResult& result, Selection& selection, ModuleFold* fold);
  void drawMenu(Selection& selection);
  ImVec2 belowSelected() const;
  void showNodeTooltip(std::int32_t n) const;
  void showEdgeTooltip(std::int32_t e) const;
  void selectNode(std::int32_t n, Selection& selection, bool reveal) const;
  void step(Selection& selection, bool to_users) const;
  void foldSelected(ModuleFold* fold, bool close) const;
  // Index of the module that a canvas node stands for or is in; -1: none.
  std::int32_t moduleOf(std::int32_t n) const;

  const Ui& ui_;
  const std::int32_t side_;
  GraphCanvas canvas_;
  std::shared_ptr<const GraphScene> scene_;
  SceneKey key_;  // key of scene_
  std::uint64_t selection_generation_ = ~0ULL;
  std::uint64_t reveal_generation_ = 0;
  std::vector<std::int32_t> selected_;  // indexes of selected canvas nodes, ascending
  bool opens_menu_ = false;             // true: the menu of the selected node opens with the next draw()
  bool menu_by_key_ = false;            // true: it stands below the node, not at the mouse
};

}  // namespace ipex_studio
