// From a recorded graph and its times to a scene for the canvas. Pure; runs off the drawing thread.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "studio/graph_canvas.h"
#include "studio/snapshot_index.h"

namespace ipex_studio {

// Advance widths in pixels at scale 1, so that nodes are sized without the drawing thread's fonts.
struct TextMetrics {
  std::array<float, 128> title{};
  float mono = 7;
};
TextMetrics textMetrics(const Fonts& fonts, float scale);

struct GraphScene {
  CanvasScene canvas;
  std::vector<std::int32_t> graph_node;   // per canvas node: index into GraphSnapshot::nodes, -1 for inputs/outputs
  std::vector<std::int32_t> canvas_node;  // per graph node; -1: not shown
  std::vector<std::vector<std::int32_t>> rows;  // per canvas node: rows of the run whose time it carries
};

// `run` may be without rows. Null when cancelled.
std::shared_ptr<const GraphScene> makeGraphScene(const GraphIndex& graph, const RunIndex& run,
                                                 const TextMetrics& metrics, const std::atomic<bool>* cancel);

// "3×3 s2 64→128", "1×64×56×56": what a person wants to know of a node in one line.
std::string nodeFacts(const GraphSnapshot& graph, const GraphNode& node);

}  // namespace ipex_studio
