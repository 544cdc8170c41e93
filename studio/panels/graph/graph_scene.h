// From a recorded graph and its times to a scene for the canvas. Pure; runs off the drawing thread.
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

// Advance widths in pixels at scale 1, so that nodes are sized without the drawing thread's fonts.
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
const char* colorByName(ColorBy color_by);  // "time"

// One entry of the legend.
struct LegendEntry {
  std::int8_t tint = -1;  // of Theme::kinds; -1: the neutral colour
  std::string text;
};

struct GraphScene {
  CanvasScene canvas;
  std::vector<std::int32_t> graph_node;   // per canvas node: a node of the graph; -1: input, output or folded module
  std::vector<std::int32_t> module;       // per canvas node: the folded module, index into all->modules; -1: none
  std::vector<std::int32_t> canvas_node;  // per graph node: what shows it; -1: nothing
  std::vector<std::vector<std::int32_t>> rows;  // per canvas node: rows of the run whose time it carries
  std::vector<LegendEntry> legend;
  std::shared_ptr<const GraphUnion> all;
};

// The choice of a picture of a job.
struct ScenePicture {
  std::int32_t graph = -1;     // index into JobIndex::graphs
  std::int32_t stage = -1;     // of the pass history
  std::int32_t compared = -1;  // nodes are marked against this graph; -1: not at all
  bool compared_is_later = false;
  bool optimized = false;  // times of the optimized run, else of the baseline
  ColorBy color_by = ColorBy::kTime;

  bool operator==(const ScenePicture& other) const {
    return graph == other.graph && stage == other.stage && compared == other.compared &&
           compared_is_later == other.compared_is_later && optimized == other.optimized && color_by == other.color_by;
  }
};

// Sizes of everything in the union of a job's graphs; those of slots fit every pass.
std::unique_ptr<ItemSizes> sceneSizes(const JobIndex& index, const GraphUnion& all, const TextMetrics& metrics);

// `placed` is of `all`, which is of `index`, which is of `job`. Null when cancelled.
std::shared_ptr<const GraphScene> makeGraphScene(const JobRecord& job, const JobIndex& index,
                                                 std::shared_ptr<const GraphUnion> all, const UnionLayout& placed,
                                                 const ScenePicture& picture, const std::atomic<bool>* cancel);

// The most important facts of a node in one line: "3×3 s2 64→128", "1×64×56×56".
std::string nodeFacts(const GraphSnapshot& graph, const GraphNode& node);
// "layer1.0.conv3 + relu", or the kind where a node has no name.
std::string nodeTitle(const GraphNode& node);
// "f32" of "Float(1, 64, 56, 56)"; empty when it does not tell.
std::string dtypeOf(const std::string& type);

}  // namespace ipex_studio
