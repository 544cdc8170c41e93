// Speed of the canvas without a window: layout, folding, frames, search, and the first picture of a graph. Prints the
// measured times; the bounds are generous because machines are shared.
#include <gtest/gtest.h>
#include <time.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <functional>
#include <random>
#include <thread>

#include "studio/panels/graph/graph_scene.h"
#include "studio/snapshot/graph_search.h"
#include "studio/window/app.h"
#include "tests/goal.h"
#include "tests/studio/null_ui.h"
#include "tests/studio/synthetic_job.h"

namespace ipex_studio {
namespace {

using Clock = std::chrono::steady_clock;

double msSince(Clock::time_point begin) {
  return std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
}

double p95(int runs, const std::function<void()>& work) {
  std::vector<double> times;
  for (int i = 0; i < runs; ++i) {
    const double begin = cpuMs();
    work();
    times.push_back(cpuMs() - begin);
  }
  std::sort(times.begin(), times.end());
  return times[(times.size() * 95 + 99) / 100 - 1];
}

// Makes a network of blocks in modules: per block six operations in a row, a skip over them, and a branch.
std::shared_ptr<const JobRecord> blockJob(std::int32_t nodes) {
  auto job = std::make_shared<JobRecord>();
  job->model.path = "blocks.pt";
  auto graph = std::make_shared<GraphSnapshot>();
  graph->values.push_back({0, "x", "Float(1, 64, 56, 56)", -1, ""});
  graph->inputs = {0};
  constexpr const char* kKinds[] = {"aten::conv2d",     "aten::batch_norm", "aten::relu", "aten::conv2d",
                                    "aten::batch_norm", "aten::conv2d",     "aten::add",  "aten::relu"};
  std::int32_t block_input = 0;
  for (std::int32_t n = 0; n < nodes; ++n) {
    const std::int32_t step = n % 8;
    GraphNode node;
    node.id = n;
    node.kind = kKinds[step];
    node.scope = "stage" + std::to_string(n / 512) + ".layer" + std::to_string(n / 64) + "." + std::to_string(n / 8);
    node.name = node.scope + "." + (kKinds[step] + 6);
    node.origins = {n};
    node.inputs = {step == 5 ? block_input : n};
    if (step == 6) node.inputs = {n - 1, n};
    node.outputs = {n + 1};
    if (step == 7) block_input = n + 1;
    graph->values.push_back({n + 1, std::to_string(n + 1), "Float(1, 64, 56, 56)", n, ""});
    graph->nodes.push_back(std::move(node));
  }
  graph->outputs = {nodes};
  job->frozen = std::move(graph);
  return job;
}

LayoutGraph networkOf(std::int32_t nodes) {
  LayoutGraph graph;
  for (std::int32_t n = 0; n < nodes; ++n) {
    graph.nodes.push_back({static_cast<float>(120 + 4 * (n % 30)), 40});
    if (n == 0) continue;
    const bool branch = n % 8 == 5 && n >= 5;
    graph.edges.push_back({branch ? n - 5 : n - 1, n});
    if (n % 8 == 6) graph.edges.push_back({n - 2, n});
    if (n % 8 == 7 && n >= 16) graph.edges.push_back({n - 15, n});
  }
  return graph;
}

TEST(CanvasBench, LayoutOfNetworks) {
  const struct {
    std::int32_t nodes;
    double goal_ms;
    int runs;
  } kGoals[] = {{1000, 10, 40}, {5000, 60, 20}, {10000, 150, 20}, {50000, 1000, 5}};
  for (const auto& goal : kGoals) {
    const LayoutGraph graph = networkOf(goal.nodes);
    const double ms = p95(goal.runs, [&] { layoutGraph(graph, {}, nullptr); });
    expectWithin("layout of " + std::to_string(goal.nodes) + " nodes, p95", ms, goal.goal_ms);
  }
}

TEST(CanvasBench, CancelledLayoutReturnsSoon) {
  const LayoutGraph graph = networkOf(100000);
  double worst = 0;
  for (const int wait_ms : {1, 8, 20, 35, 50, 65, 80}) {
    // The best of three: the machine may be busy with other things.
    double best = 1e9;
    for (int i = 0; i < 3; ++i) {
      std::atomic<bool> cancel{false};
      std::thread worker([&] { layoutGraph(graph, {}, &cancel); });
      std::this_thread::sleep_for(std::chrono::milliseconds(wait_ms));
      const auto begin = Clock::now();
      cancel = true;
      worker.join();
      best = std::min(best, msSince(begin));
    }
    worst = std::max(worst, best);
  }
  expectWithin("cancel of a layout of 100,000 nodes", worst, 50);
}

TEST(CanvasBench, FoldingAndUnfolding) {
  for (const std::int32_t nodes : {5000, 50000}) {
    const auto job = blockJob(nodes);
    const auto index = buildJobIndex(*job);
    TextMetrics metrics;
    metrics.title.fill(7);
    const auto all = std::make_shared<const GraphUnion>(uniteGraphs(*index));
    const auto sizes = sceneSizes(*index, *all, metrics);
    ModuleFold fold;
    std::size_t items = 0;
    int turn = 0;
    const double ms = p95(20, [&] {
      fold.setClosed("stage1", ++turn % 2 == 0);
      const UnionLayout placed = layoutUnion(*all, fold, *sizes, nullptr);
      items = placed.items.size();
      makeGraphScene(*job, *index, all, placed, {0, 0, -1, false, false, ColorBy::kTime}, nullptr);
    });
    EXPECT_LE(items, static_cast<std::size_t>(kMaxItemsAtFirst) + 600);
    expectWithin("fold or unfold in " + std::to_string(nodes) + " nodes, p95", ms, 30);
  }
}

TEST(CanvasBench, SearchAtEveryKeystroke) {
  const auto job = blockJob(50000);
  GraphSearch search;
  search.read(*job->frozen);
  double worst = 0;
  for (const std::string query : {"b", "ba", "bat", "batch", "batch_norm", "batch_norm 41", "stage9 conv", "1", "x"}) {
    const double begin = cpuMs();
    search.find(query);
    worst = std::max(worst, cpuMs() - begin);
  }
  expectWithin("search over 50,000 nodes, worst keystroke", worst, 16);
  EXPECT_EQ(search.find("stage1.layer8.66.relu").size(), 2U);
  EXPECT_TRUE(search.find("no such thing").empty());
}

class StudioBench : public ::testing::Test {
 protected:
  StudioBench() : ui_(1920, 1080), app_({1, "dark", "", {}}, [] {}) {}

  // Draws until everything is laid out; returns the time in milliseconds.
  double settle(const SnapshotPtr& snapshot) {
    const auto begin = Clock::now();
    Commands commands;
    for (int i = 0; i < 4000; ++i) {
      ui_.frame([&] { app_.frame(*snapshot, commands); });
      if (i >= 2 && app_.settled()) return msSince(begin);
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return 1e9;
  }
  double frameMs(const SnapshotPtr& snapshot) {
    Commands commands;
    return p95(20, [&] { ui_.frame([&] { app_.frame(*snapshot, commands); }); });
  }

  testing::NullUi ui_;
  App app_;
};

TEST_F(StudioBench, FirstPictureOf5000Nodes) {
  const auto job = blockJob(5000);
  const auto begin = Clock::now();
  const SnapshotPtr snapshot = makeSnapshot(job, testing::donePartsOf(*job), nullptr);
  settle(snapshot);
  const double ms = msSince(begin);
  expectWithin("first picture of 5,000 nodes", ms, 1000);
}

// Makes `width` chains beside each other, so that many nodes fit into the view.
std::shared_ptr<const JobRecord> wideJob(std::int32_t nodes, std::int32_t width) {
  auto job = std::make_shared<JobRecord>(*testing::chainJob(nodes));
  auto graph = std::make_shared<GraphSnapshot>(*job->frozen);
  for (GraphNode& node : graph->nodes) node.inputs = {std::max(0, node.id + 1 - width)};
  job->frozen = std::move(graph);
  return job;
}

TEST_F(StudioBench, FramesOfLargeGraphs) {
  for (const std::int32_t nodes : {10000, 50000}) {
    const auto job = wideJob(nodes, nodes / 100);
    const SnapshotPtr snapshot = makeSnapshot(job, testing::donePartsOf(*job), nullptr);
    settle(snapshot);
    const double near = frameMs(snapshot);
    app_.selection().request("graph.fit");
    settle(snapshot);
    const double far = frameMs(snapshot);
    const double goal = nodes == 10000 ? 8 : 16;
    expectWithin("frame of " + std::to_string(nodes) + " nodes at 100 %", near, goal);
    expectWithin("frame of " + std::to_string(nodes) + " nodes all in view", far, goal);
  }
}

}  // namespace
}  // namespace ipex_studio
