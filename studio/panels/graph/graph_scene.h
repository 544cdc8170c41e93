// Makes scenes for the canvas from recorded graphs and their times. Pure and thread-safe; runs off the drawing
// thread.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "studio/canvas/graph_canvas.h"
#include "studio/canvas/graph_union_layout.h"
#include "studio/snapshot/snapshot_index.h"

namespace ipex_studio {

// Widths of glyphs in pixels at scale 1, so that nodes are sized without the drawing thread's fonts.
struct TextMetrics {
  std::array<float, 128> title{};
  float mono = 7;

  float titleWidth(const std::string& text) const;
  float monoWidth(const std::string& text) const;
};
TextMetrics textMetrics(const Fonts& fonts, float scale);

// The property that the colour of a node's strip, its corner and its bar show.
enum class ColorBy { kTime, kPrecision, kKernel, kError, kPass };
constexpr int kColorings = 5;
const char* colorByName(ColorBy color_by);  // Name of a property: "time".

// One entry of the legend.
struct LegendEntry {
  std::int8_t tint = -1;  // colour, an index into Theme::kinds; -1: the neutral colour
  std::string text;
};

struct GraphScene {
  CanvasScene canvas;
  std::vector<std::int32_t> graph_node;   // per canvas node: a node of the graph; -1: input, output or folded module
  std::vector<std::int32_t> module;       // per canvas node: the folded module, index into all->modules; -1: none
  std::vector<std::int32_t> canvas_node;  // per graph node: the canvas node that shows it; -1: none
  std::vector<std::vector<std::int32_t>> rows;  // per canvas node: rows of the run whose time it carries
  std::vector<LegendEntry> legend;
  std::shared_ptr<const GraphUnion> all;
};

// The content of a picture of a job.
struct ScenePicture {
  std::int32_t graph = -1;     // index into JobIndex::graphs
  std::int32_t stage = -1;     // index into JobIndex::stages
  std::int32_t compared = -1;  // index of the graph whose differences are marked; -1: none
  bool compared_is_later = false;
  bool optimized = false;  // true: times of the optimized run, false: of the baseline
  ColorBy color_by = ColorBy::kTime;

  bool operator==(const ScenePicture& other) const {
    return graph == other.graph && stage == other.stage && compared == other.compared &&
           compared_is_later == other.compared_is_later && optimized == other.optimized && color_by == other.color_by;
  }
};

// Sizes of all items in the union of a job's graphs; a slot's size fits its nodes after every pass.
std::unique_ptr<ItemSizes> sceneSizes(const JobIndex& index, const GraphUnion& all, const TextMetrics& metrics);

// Makes a scene. `placed` belongs to `all`, `all` to `index`, and `index` to `job`. Null when cancelled.
std::shared_ptr<const GraphScene> makeGraphScene(const JobRecord& job, const JobIndex& index,
                                                 std::shared_ptr<const GraphUnion> all, const UnionLayout& placed,
                                                 const ScenePicture& picture, const std::atomic<bool>* cancel);

// The most important facts of a node in one line: "3×3 s2 64→128", "1×64×56×56".
std::string nodeFacts(const GraphSnapshot& graph, const GraphNode& node);
// Title of a node: "layer1.0.conv3 + relu", or its kind if it has no name.
std::string nodeTitle(const GraphNode& node);
// The dtype in a type's text: "f32" of "Float(1, 64, 56, 56)"; empty if there is none.
std::string dtypeOf(const std::string& type);

}  // namespace ipex_studio
