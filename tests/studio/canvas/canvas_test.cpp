// The canvas without a window: culling, level of detail, clicks, and the spatial index.
#include "studio/canvas/graph_canvas.h"
#include "tests/goal.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <random>

#include "tests/studio/null_ui.h"

namespace ipex_studio {
namespace {

CanvasScene gridScene(std::int32_t nodes) {
  CanvasScene scene;
  LayoutGraph graph;
  for (std::int32_t n = 0; n < nodes; ++n) {
    CanvasNode node;
    node.size = {140, 40};
    node.title = "node " + std::to_string(n);
    node.facts = "64→64 3×3";
    node.corner_text = "1.2 ms";
    node.heat = 0.5F;
    node.hatched = n % 5 == 0;
    node.group = static_cast<KindGroup>(n % kKindGroups);
    graph.nodes.push_back(node.size);
    scene.nodes.push_back(std::move(node));
    if (n >= 4) {
      scene.edges.push_back({n - 4, n, "1×64×56×56", "1×64×56×56", n % 9 == 0 ? "reorder 0.2 ms" : "", n - 4});
      graph.edges.push_back({n - 4, n});
    }
  }
  scene.finish(layoutGraph(graph, {}, nullptr));
  return scene;
}

class CanvasTest : public ::testing::Test {
 protected:
  CanvasTest() : theme_(themeByName("dark")) {
    applyTheme(theme_, 1);
    fonts_ = loadFonts(1);
  }

  CanvasResult drawOnce(GraphCanvas& canvas, const CanvasScene& scene, const std::vector<std::int32_t>& selected = {}) {
    CanvasResult result;
    ui_.frame([&] { result = drawInto(canvas, scene, selected); });
    return result;
  }
  CanvasResult drawInto(GraphCanvas& canvas, const CanvasScene& scene, const std::vector<std::int32_t>& selected) {
    ImGui::SetNextWindowPos({0, 0});
    ImGui::SetNextWindowSize({1280, 800});
    ImGui::Begin("canvas", nullptr, ImGuiWindowFlags_NoDecoration);
    const CanvasResult result = canvas.draw("c", {1280, 800}, scene, selected, theme_, fonts_, 1);
    ImGui::End();
    return result;
  }

  testing::NullUi ui_;
  Theme theme_;
  Fonts fonts_;
};

TEST_F(CanvasTest, DrawsOnlyWhatIsInView) {
  const CanvasScene scene = gridScene(4000);
  GraphCanvas canvas;
  drawOnce(canvas, scene);
  EXPECT_GT(canvas.drawn().nodes, 4);
  EXPECT_LT(canvas.drawn().nodes, 120);
}

TEST_F(CanvasTest, DetailFallsWithZoom) {
  const CanvasScene scene = gridScene(4000);
  GraphCanvas canvas;
  drawOnce(canvas, scene);
  const auto near = canvas.drawn();
  EXPECT_GE(near.texts, near.nodes * 2);
  canvas.setZoom(0.45F);
  drawOnce(canvas, scene);
  EXPECT_GT(canvas.drawn().nodes, near.nodes);
  EXPECT_LE(canvas.drawn().texts, canvas.drawn().nodes);
  canvas.requestFit();
  drawOnce(canvas, scene);
  EXPECT_EQ(canvas.drawn().nodes, 4000);
  EXPECT_EQ(canvas.drawn().texts, 0);
}

TEST_F(CanvasTest, ClickFindsTheNodeAndTheGround) {
  const CanvasScene scene = gridScene(8);
  GraphCanvas canvas;
  drawOnce(canvas, scene);
  const CanvasNode& node = scene.nodes[2];
  const float x = 640 + (node.corner.x + node.size.width / 2 - canvas.centre().x) * canvas.zoom();
  const float y = 400 + (node.corner.y + node.size.height / 2 - canvas.centre().y) * canvas.zoom();
  CanvasResult last;
  const auto draw = [&] {
    const CanvasResult result = drawInto(canvas, scene, {});
    if (result.clicked >= 0 || result.clicked_ground) last = result;
  };
  ui_.click(x, y, draw);
  EXPECT_EQ(last.clicked, 2);
  last = {};
  ui_.click(8, 790, draw);
  EXPECT_TRUE(last.clicked_ground);
  EXPECT_EQ(last.clicked, -1);
}

TEST_F(CanvasTest, DraggingPansAndDoesNotSelect) {
  const CanvasScene scene = gridScene(8);
  GraphCanvas canvas;
  CanvasResult last;
  const auto draw = [&] {
    const CanvasResult result = drawInto(canvas, scene, {});
    if (result.clicked >= 0 || result.clicked_ground) last = result;
  };
  ui_.frame(draw);
  const LayoutPoint before = canvas.centre();
  feedMousePosition(600, 400);
  ui_.frame(draw);
  feedMouseButton(0, true);
  ui_.frame(draw);
  feedMousePosition(700, 450);
  ui_.frame(draw);
  feedMouseButton(0, false);
  ui_.frame(draw);
  EXPECT_NEAR(canvas.centre().x, before.x - 100, 1);
  EXPECT_NEAR(canvas.centre().y, before.y - 50, 1);
  EXPECT_EQ(last.clicked, -1);
  EXPECT_FALSE(last.clicked_ground);
}

TEST_F(CanvasTest, RevealBringsANodeIntoView) {
  const CanvasScene scene = gridScene(4000);
  GraphCanvas canvas;
  drawOnce(canvas, scene);
  canvas.reveal({3500});
  drawOnce(canvas, scene, {3500});
  EXPECT_NEAR(canvas.centre().y, scene.nodes[3500].corner.y + 20, 1);
}

TEST_F(CanvasTest, TenThousandNodesAreBuiltInTime) {
  const CanvasScene scene = gridScene(10000);
  GraphCanvas canvas;
  canvas.requestFit();
  drawOnce(canvas, scene);
  const double begin = cpuMs();
  for (int i = 0; i < 5; ++i) drawOnce(canvas, scene);
  expectWithin("frame of a canvas of 10,000 nodes", (cpuMs() - begin) / 5, 8);
}

TEST_F(CanvasTest, EmptySceneIsHarmless) {
  GraphCanvas canvas;
  CanvasScene scene;
  scene.finish({});
  canvas.requestFit();
  const CanvasResult result = drawOnce(canvas, scene);
  EXPECT_EQ(result.hovered, -1);
}

TEST(SpatialIndex, FindsWhatABruteForceSearchFinds) {
  std::mt19937 random(1);
  std::vector<SpatialIndex::Box> boxes;
  for (int i = 0; i < 500; ++i) {
    const auto x = static_cast<float>(random() % 5000);
    const auto y = static_cast<float>(random() % 9000);
    boxes.push_back({x, y, x + static_cast<float>(random() % 900), y + static_cast<float>(random() % 300)});
  }
  SpatialIndex index;
  index.build(boxes, 6000, 9400);
  std::vector<std::int32_t> found;
  for (int q = 0; q < 100; ++q) {
    const auto x = static_cast<float>(random() % 6000) - 500;
    const auto y = static_cast<float>(random() % 9000) - 500;
    const SpatialIndex::Box view = {x, y, x + 700, y + 500};
    index.query(view, &found);
    for (std::int32_t i = 0; i < 500; ++i) {
      const SpatialIndex::Box& box = boxes[i];
      const bool touches =
          box.left <= view.right && box.right >= view.left && box.top <= view.bottom && box.bottom >= view.top;
      ASSERT_TRUE(!touches || std::binary_search(found.begin(), found.end(), i));
    }
  }
}

// Both sides of a comparison have one view: what is selected on the other side comes into it too, where it can be read.
TEST_F(CanvasTest, TheOtherSidesSelectionComesIntoView) {
  const CanvasScene scene = gridScene(400);
  GraphCanvas canvas;
  drawOnce(canvas, scene);
  canvas.setZoom(1);
  canvas.reveal({100});
  drawOnce(canvas, scene);
  const SpatialIndex::Box box = canvas.revealed();
  ASSERT_GT(box.right, box.left);
  const float alone = canvas.zoom();
  const SpatialIndex::Box above = {box.left, box.top - 900, box.right, box.bottom - 900};
  canvas.reveal({100});
  canvas.revealAlso(above);
  drawOnce(canvas, scene);
  EXPECT_LT(canvas.zoom(), alone);
  EXPECT_LT(canvas.centre().y - 400 / canvas.zoom(), above.top);
  EXPECT_GT(canvas.centre().y + 400 / canvas.zoom(), box.bottom);
  // Too far to be read together: this side's comes first.
  canvas.setZoom(1);
  canvas.reveal({100});
  canvas.revealAlso({box.left, box.top - 20000, box.right, box.bottom - 20000});
  drawOnce(canvas, scene);
  EXPECT_EQ(canvas.zoom(), 1);
}

}  // namespace
}  // namespace ipex_studio
