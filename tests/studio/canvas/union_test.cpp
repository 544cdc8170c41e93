// One layout for all passes of a job: nodes that a pass left alone do not move, edges are routed, modules fold.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "studio/panels/graph/graph_scene.h"
#include "tests/studio/synthetic_job.h"

namespace ipex_studio {
namespace {

class UnionTest : public ::testing::Test {
 protected:
  UnionTest() {
    metrics_.title.fill(7);
    use(testing::resnetJob());
  }

  void use(std::shared_ptr<const JobRecord> job) {
    job_ = std::move(job);
    index_ = buildJobIndex(*job_);
    all_ = std::make_shared<const GraphUnion>(uniteGraphs(*index_));
  }
  UnionLayout place(const ModuleFold& fold = {}) const {
    return layoutUnion(*all_, fold, *sceneSizes(*index_, *all_, metrics_), nullptr);
  }
  std::shared_ptr<const GraphScene> sceneOf(std::int32_t stage, const UnionLayout& placed,
                                            ColorBy color_by = ColorBy::kTime) const {
    return makeGraphScene(*job_, *index_, all_, placed,
                          {index_->stages[stage].graph, stage, 0, false, stage > 0, color_by}, nullptr);
  }
  std::int32_t lastStage() const { return static_cast<std::int32_t>(index_->stages.size()) - 1; }

  TextMetrics metrics_;
  std::shared_ptr<const JobRecord> job_;
  std::shared_ptr<const JobIndex> index_;
  std::shared_ptr<const GraphUnion> all_;
};

TEST_F(UnionTest, UntouchedNodesStayWhereTheyAre) {
  const UnionLayout placed = place();
  std::int64_t compared = 0;
  std::int64_t stayed = 0;
  for (std::int32_t stage = 1; stage <= lastStage(); ++stage) {
    const auto before = sceneOf(stage - 1, placed);
    const auto after = sceneOf(stage, placed);
    const GraphSnapshot& old_graph = *index_->graphs[index_->stages[stage - 1].graph].graph;
    const GraphIndex& new_graph = index_->graphs[index_->stages[stage].graph];
    for (std::size_t n = 0; n < old_graph.nodes.size(); ++n) {
      for (const std::int32_t match : nodesOf(new_graph, old_graph.nodes[n].origins)) {
        const bool untouched = new_graph.graph->nodes[match].origins == old_graph.nodes[n].origins;
        if (!untouched || before->canvas_node[n] < 0 || after->canvas_node[match] < 0) continue;
        const CanvasNode& was = before->canvas.nodes[before->canvas_node[n]];
        const CanvasNode& is = after->canvas.nodes[after->canvas_node[match]];
        ++compared;
        stayed += std::hypot(was.corner.x - is.corner.x, was.corner.y - is.corner.y) < was.size.width ? 1 : 0;
      }
    }
  }
  ASSERT_GT(compared, 500);
  std::printf("%lld of %lld untouched nodes stay\n", static_cast<long long>(stayed), static_cast<long long>(compared));
  EXPECT_GE(static_cast<double>(stayed), 0.95 * static_cast<double>(compared));
}

TEST_F(UnionTest, EveryStageHasNoOverlapsAndEdgesBesideNodes) {
  const UnionLayout placed = place();
  for (std::int32_t stage = 0; stage <= lastStage(); ++stage) {
    const auto scene = sceneOf(stage, placed);
    const auto& nodes = scene->canvas.nodes;
    for (std::size_t a = 0; a < nodes.size(); ++a) {
      for (std::size_t b = a + 1; b < nodes.size(); ++b) {
        const bool apart = nodes[a].corner.x + nodes[a].size.width <= nodes[b].corner.x ||
                           nodes[b].corner.x + nodes[b].size.width <= nodes[a].corner.x ||
                           nodes[a].corner.y + nodes[a].size.height <= nodes[b].corner.y ||
                           nodes[b].corner.y + nodes[b].size.height <= nodes[a].corner.y;
        ASSERT_TRUE(apart) << nodes[a].title << " and " << nodes[b].title << " in stage " << stage;
      }
    }
    for (std::size_t e = 0; e < scene->canvas.edges.size(); ++e) {
      const LayoutRoute& route = scene->canvas.layout.routes[e];
      ASSERT_GE(route.count, 2) << "stage " << stage << " edge " << e;
      for (std::int32_t p = route.begin + 1; p < route.begin + route.count; ++p) {
        const LayoutPoint& from = scene->canvas.layout.points[p - 1];
        const LayoutPoint& to = scene->canvas.layout.points[p];
        if (from.x != to.x) continue;
        for (const CanvasNode& node : nodes) {
          const bool beside = from.x <= node.corner.x || from.x >= node.corner.x + node.size.width;
          const bool apart = to.y <= node.corner.y || from.y >= node.corner.y + node.size.height;
          ASSERT_TRUE(beside || apart) << "stage " << stage << ": an edge runs through " << node.title;
        }
      }
    }
  }
}

TEST_F(UnionTest, EveryEdgeOfTheGraphIsDrawnInEveryStage) {
  const UnionLayout placed = place();
  for (std::int32_t stage = 0; stage <= lastStage(); ++stage) {
    const auto scene = sceneOf(stage, placed);
    const GraphSnapshot& graph = *index_->graphs[index_->stages[stage].graph].graph;
    std::set<std::pair<std::int32_t, std::int32_t>> drawn;
    for (const CanvasEdge& edge : scene->canvas.edges) drawn.insert({edge.from, edge.to});
    for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
      for (const std::int32_t id : graph.nodes[n].inputs) {
        const std::int32_t producer = graph.values[id].producer;
        if (producer < 0) continue;
        EXPECT_EQ(drawn.count({scene->canvas_node[producer], scene->canvas_node[n]}), 1U);
      }
    }
  }
}

TEST_F(UnionTest, FoldedModulesHideTheirNodesAndKeepTheirTime) {
  ModuleFold fold;
  fold.setClosed("layer1", true);
  const UnionLayout placed = place(fold);
  const auto open = sceneOf(9, place());
  const auto folded = sceneOf(9, placed);
  EXPECT_LT(folded->canvas.nodes.size(), open->canvas.nodes.size());
  const auto module = std::find_if(folded->canvas.nodes.begin(), folded->canvas.nodes.end(),
                                   [](const CanvasNode& node) { return node.folded; });
  ASSERT_NE(module, folded->canvas.nodes.end());
  EXPECT_EQ(module->title, "layer1");
  EXPECT_FALSE(module->corner_text.empty()) << "the sum of its operations";
  std::size_t rows = 0;
  for (const auto& of_node : folded->rows) rows += of_node.size();
  EXPECT_EQ(rows, index_->optimized.rows.size()) << "no time is lost";
  for (const std::int32_t shown : folded->canvas_node) EXPECT_GE(shown, 0);
  fold.setClosed("layer1", false);
  EXPECT_EQ(sceneOf(9, place(fold))->canvas.nodes.size(), open->canvas.nodes.size());
}

// Modules that are folded, or those that the shown nodes are in.
std::vector<std::int32_t> modulesOf(const GraphUnion& all, const UnionLayout& placed, bool folded) {
  std::vector<std::int32_t> found;
  for (const UnionItem& item : placed.items) {
    const std::int32_t around = item.slot >= 0 ? all.module_of_slot[item.slot] : all.modules[item.module].parent;
    const std::int32_t module = folded ? item.module : around;
    if (module >= 0) found.push_back(module);
  }
  return found;
}

TEST_F(UnionTest, ALevelOfModulesIsFoldedAndUnfoldedAtATime) {
  ModuleFold fold;
  const std::size_t all_open = place(fold).items.size();
  std::vector<std::size_t> sizes = {all_open};
  for (;;) {
    const auto open = modulesOf(*all_, place(fold), false);
    if (open.empty()) break;
    foldLevel(*all_, open, true, &fold);
    ASSERT_LT(place(fold).items.size(), sizes.back());
    sizes.push_back(place(fold).items.size());
  }
  EXPECT_GE(sizes.size(), 3U) << "blocks, then layers of blocks";
  while (sizes.size() > 1) {
    EXPECT_EQ(place(fold).items.size(), sizes.back());
    sizes.pop_back();
    foldLevel(*all_, modulesOf(*all_, place(fold), true), false, &fold);
  }
  EXPECT_EQ(place(fold).items.size(), all_open);
}

TEST_F(UnionTest, TheMapHasTheOutermostModules) {
  const auto scene = sceneOf(0, place());
  std::vector<std::string> names;
  for (const CanvasFrame& district : scene->canvas.districts) names.push_back(district.title);
  for (const char* layer : {"layer1", "layer2", "layer3", "layer4"})
    EXPECT_NE(std::find(names.begin(), names.end(), layer), names.end()) << layer;
}

TEST_F(UnionTest, MarksTellWhatAPassDid) {
  const UnionLayout placed = place();
  const auto same = sceneOf(0, placed);
  for (const CanvasNode& node : same->canvas.nodes) EXPECT_EQ(node.mark, CanvasMark::kNone);
  const auto after = sceneOf(lastStage() - 1, placed);
  const auto marked = std::count_if(after->canvas.nodes.begin(), after->canvas.nodes.end(),
                                    [](const CanvasNode& node) { return node.mark == CanvasMark::kChanged; });
  EXPECT_GT(marked, 40);
}

TEST_F(UnionTest, EveryColoringHasALegendThatNamesIt) {
  const UnionLayout placed = place();
  for (int c = 0; c < kColorings; ++c) {
    const auto scene = sceneOf(9, placed, static_cast<ColorBy>(c));
    ASSERT_FALSE(scene->legend.empty()) << colorByName(static_cast<ColorBy>(c));
    for (const LegendEntry& entry : scene->legend) EXPECT_FALSE(entry.text.empty());
  }
}

TEST_F(UnionTest, ConversionsAreDrawnOnTheEdgeThatPays) {
  auto job = std::make_shared<JobRecord>();
  auto graph = std::make_shared<GraphSnapshot>();
  graph->values = {{0, "x", "Float(1, 8)", -1, ""},
                   {1, "a", "Float(1, 8)", 0, ""},
                   {2, "b", "Char(1, 8)", 1, ""},
                   {3, "c", "Float(1, 8)", 2, ""}};
  const auto node = [&](std::int32_t id, const char* kind, std::int32_t in, std::int32_t out) {
    GraphNode fresh;
    fresh.id = id;
    fresh.kind = kind;
    fresh.origins = {id};
    fresh.inputs = {in};
    fresh.outputs = {out};
    graph->nodes.push_back(fresh);
  };
  node(0, "aten::relu", 0, 1);
  node(1, "aten::quantize_per_tensor", 1, 2);
  node(2, "aten::linear", 2, 3);
  graph->inputs = {0};
  graph->outputs = {3};
  job->frozen = graph;
  use(job);
  const auto scene = sceneOf(0, place());
  ASSERT_EQ(scene->canvas.nodes.size(), 4U);
  const auto paid = std::find_if(scene->canvas.edges.begin(), scene->canvas.edges.end(),
                                 [](const CanvasEdge& edge) { return !edge.cost.empty(); });
  ASSERT_NE(paid, scene->canvas.edges.end());
  EXPECT_EQ(paid->cost, "quantize_per_tensor");
  EXPECT_EQ(scene->canvas.nodes[paid->to].title, "linear");
}

TEST_F(UnionTest, HostileRecordsAreHarmless) {
  use(testing::hostileJob());
  const UnionLayout placed = place();
  for (std::int32_t stage = 0; stage <= lastStage(); ++stage) {
    for (int c = 0; c < kColorings; ++c) {
      const auto scene = sceneOf(stage, placed, static_cast<ColorBy>(c));
      for (const CanvasNode& node : scene->canvas.nodes) EXPECT_LE(node.title.size(), 64U);
    }
  }
}

}  // namespace
}  // namespace ipex_studio
