// The steps of makeGraphScene, shared by its own files.
#pragma once

#include <memory>
#include <string>
#include <unordered_set>
#include <vector>

#include "studio/panels/graph/graph_scene.h"

namespace ipex_studio {

class SceneBuilder {
 public:
  SceneBuilder(const JobRecord& job, const JobIndex& index, std::shared_ptr<const GraphUnion> all,
               const UnionLayout& placed, const ScenePicture& picture);

  std::shared_ptr<const GraphScene> build(const std::atomic<bool>* cancel);

 private:
  // Structure (graph_scene.cpp).
  void addNodes();
  void describeSlot(std::int32_t slot, CanvasNode* node);
  void describeModule(std::int32_t module, CanvasNode* node);
  void addEdges();
  void labelEdge(const UnionEdge& from, CanvasEdge* edge);
  void addFrames();
  void addDistricts();

  // Properties shown by colour (graph_scene_colors.cpp).
  void addTimes();
  void addMarks();
  CanvasMark markOf(const GraphNode& node) const;
  std::int32_t nodeOfRow(const OperationRow& row) const;
  void colorByTime();
  void colorByPrecision();
  void colorByKernel();
  void colorByError();
  void colorByPass();
  // Gives the nodes the colours of their texts, the heaviest text first.
  void colorByText(const std::vector<std::string>& texts, bool in_corner);
  const OperationRow* mainRow(std::size_t canvas_node) const;

  const GraphValue* value(std::int32_t id) const {
    return id >= 0 && static_cast<std::size_t>(id) < graph_.values.size() ? &graph_.values[id] : nullptr;
  }

  const JobRecord& job_;
  const JobIndex& index_;
  const GraphUnion& all_;
  const UnionLayout& placed_;
  const ScenePicture picture_;
  const GraphIndex& graph_index_;
  const GraphSnapshot& graph_;
  const UnionStage& stage_;
  const RunIndex& run_;
  std::shared_ptr<GraphScene> scene_;
  std::vector<std::int32_t> canvas_of_item_;
  // Per graph node: the canvas edge that shows this conversion; -1: none.
  std::vector<std::int32_t> edge_of_conversion_;
  std::vector<double> time_ns_;  // time of each canvas node
};

}  // namespace ipex_studio
