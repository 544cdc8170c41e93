// The whole studio without a window: every panel in every state, hostile strings, and one selection shared by all.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdio>
#include <thread>

#include "core/base/error.h"
#include "studio/panels/graph/graph_scene.h"
#include "studio/panels/panel_list.h"
#include "studio/window/app.h"
#include "studio/window/window.h"
#include "tests/goal.h"
#include "tests/studio/null_ui.h"
#include "tests/studio/synthetic_job.h"

namespace ipex_studio {
namespace {

class StudioTest : public ::testing::Test {
 protected:
  void start(const AppOptions& options = {}) {
    app_ = std::make_unique<App>(options, [] {});
  }

  void draw(const SnapshotPtr& snapshot) { app_->frame(*snapshot, commands_); }

  // Draws frames until layouts are done.
  int settle(const SnapshotPtr& snapshot) {
    int vertices = 0;
    for (int i = 0; i < 400; ++i) {
      vertices = ui_.frame([&] { draw(snapshot); });
      if (i >= 3 && app_->settled()) return vertices;
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    ADD_FAILURE() << "the window did not settle";
    return vertices;
  }

  testing::NullUi ui_;
  std::unique_ptr<App> app_;
  Commands commands_;
};

SnapshotPtr inState(JobState state, const std::shared_ptr<const JobRecord>& job) {
  SnapshotParts parts;
  if (job) parts = testing::donePartsOf(*job);
  parts.status.state = state;
  parts.status.stage = "measure";
  parts.status.fraction = 0.4;
  parts.status.eta_s = 12;
  parts.status.message = state == JobState::kFailed ? "The engine ran out of memory; use fewer threads." : "";
  return makeSnapshot(job, parts, nullptr);
}

TEST(PanelList, EntriesArePanelsUnderTheirNames) {
  const Ui ui;
  for (const PanelEntry* entry : allPanels()) {
    const std::unique_ptr<Panel> panel = entry->make(ui);
    EXPECT_STREQ(panel->name(), entry->name);
    EXPECT_EQ(panel->place() == PanelPlace::kBottomTab, *entry->opens != '\0') << entry->name;
  }
}

TEST_F(StudioTest, DrawsEveryStateInEveryTheme) {
  constexpr JobState kStates[] = {JobState::kEmpty, JobState::kReady,  JobState::kRecorded, JobState::kWorking,
                                  JobState::kDone,  JobState::kFailed, JobState::kCancelled};
  for (const char* theme : {"dark", "light", "contrast"}) {
    start({1, theme, "", {}});
    for (const JobState state : kStates) {
      EXPECT_GT(settle(inState(state, nullptr)), 500);
      EXPECT_GT(settle(inState(state, testing::resnetJob({false, false}))), 1000);
      EXPECT_GT(settle(inState(state, testing::resnetJob())), 2000);
    }
  }
}

TEST_F(StudioTest, EveryPanelAloneAndAtOtherScales) {
  const SnapshotPtr snapshot = testing::resnetSnapshot();
  const SnapshotPtr empty = makeSnapshot(nullptr, {}, nullptr);
  for (const std::string& panel : panelNames()) {
    start({panel.size() % 2 == 0 ? 1.F : 2.F, "dark", panel, {}});
    EXPECT_GT(settle(snapshot), 40) << panel;
    settle(empty);
  }
}

TEST_F(StudioTest, TinyWindowsAreHarmless) {
  start();
  for (const ImVec2 size : {ImVec2(64, 64), ImVec2(200, 900), ImVec2(2000, 100), ImVec2(640, 480)}) {
    ImGui::GetIO().DisplaySize = size;
    settle(testing::resnetSnapshot());
  }
}

TEST_F(StudioTest, HostileStringsAreDrawnAsTheyAre) {
  const auto job = testing::hostileJob();
  const SnapshotPtr snapshot = makeSnapshot(job, testing::donePartsOf(*job), nullptr);
  for (const std::string& panel : panelNames()) {
    start({1, "dark", panel, {}});
    app_->selection().select({0, 1, 2, 3, 4, 5, 6, 7}, true);
    settle(snapshot);
  }
  start();
  for (std::int32_t stage = 0; stage < 11; ++stage) {
    app_->selection().after_stage = stage;
    settle(snapshot);
  }
}

TEST_F(StudioTest, UnknownNamesAreRefused) {
  try {
    start({1, "dark", "nonsense", {}});
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::kUsage);
    EXPECT_THAT(error.what(), ::testing::HasSubstr("operations"));
  }
  EXPECT_THROW(start({1, "pink", "", {}}), Error);
}

TEST_F(StudioTest, ArrowKeysScrubThroughPasses) {
  start();
  const SnapshotPtr snapshot = testing::resnetSnapshot();
  settle(snapshot);
  const auto frame = [&] { draw(snapshot); };
  ui_.press(ImGuiKey_UpArrow, frame);
  EXPECT_EQ(app_->selection().after_stage, 8);
  ui_.press(ImGuiKey_Home, frame);
  EXPECT_EQ(app_->selection().after_stage, 1);
  ui_.press(ImGuiKey_UpArrow, frame);
  EXPECT_EQ(app_->selection().after_stage, 1) << "the first pass is the first";
  ui_.press(ImGuiKey_End, frame);
  EXPECT_EQ(app_->selection().after_stage, 10);
  settle(snapshot);
}

TEST_F(StudioTest, ClickingARowSelectsItsOriginsForAllPanels) {
  start({1, "dark", "operations", {}});
  const SnapshotPtr snapshot = testing::resnetSnapshot();
  settle(snapshot);
  ui_.click(120, 75, [&] { draw(snapshot); });
  ASSERT_FALSE(app_->selection().empty());
  // The first row is the slowest step.
  const auto& rows = snapshot->index->optimized.rows;
  const auto slowest = std::max_element(rows.begin(), rows.end(), [](const OperationRow& a, const OperationRow& b) {
    return a.time.p50_ns < b.time.p50_ns;
  });
  EXPECT_EQ(app_->selection().origins(), slowest->origins);
  ui_.press(ImGuiKey_Escape, [&] { draw(snapshot); });
  EXPECT_TRUE(app_->selection().empty());
}

TEST_F(StudioTest, OptimizeAndCancelPostCommands) {
  start({1, "dark", "run", {}});
  ImGui::GetIO().DisplaySize = {1280, 56};
  const auto clickEverywhere = [&](const SnapshotPtr& snapshot) {
    settle(snapshot);
    std::vector<Command> posted;
    for (float x = 8; x < 900; x += 24) {
      ui_.click(x, 28, [&] { draw(snapshot); });
      for (Command& command : commands_.take()) posted.push_back(std::move(command));
      ui_.press(ImGuiKey_Escape, [&] { draw(snapshot); });
    }
    return posted;
  };
  const auto holds = [](const std::vector<Command>& posted, std::size_t kind) {
    return std::any_of(posted.begin(), posted.end(), [&](const Command& command) { return command.index() == kind; });
  };
  EXPECT_TRUE(holds(clickEverywhere(inState(JobState::kReady, testing::resnetJob({false, false}))), 1));
  EXPECT_TRUE(holds(clickEverywhere(inState(JobState::kWorking, testing::resnetJob({false, false}))), 2));
  EXPECT_TRUE(clickEverywhere(inState(JobState::kRecorded, testing::resnetJob())).empty());
}

TEST_F(StudioTest, LargeGraphsAreDrawnInTime) {
  start();
  const auto job = testing::chainJob(20000);
  const SnapshotPtr snapshot = makeSnapshot(job, testing::donePartsOf(*job), nullptr);
  EXPECT_GT(settle(snapshot), 2000);
  const double begin = cpuMs();
  for (int i = 0; i < 10; ++i) ui_.frame([&] { draw(snapshot); });
  expectWithin("frame of a chain of 20,000 nodes", (cpuMs() - begin) / 10, 16);
}

// The graph after the last pass, coloured by time.
auto timedScene(const StudioSnapshot& snapshot) {
  const JobIndex& index = *snapshot.index;
  TextMetrics metrics;
  metrics.title.fill(7);
  const auto all = std::make_shared<const GraphUnion>(uniteGraphs(index));
  const UnionLayout placed = layoutUnion(*all, {}, *sceneSizes(index, *all, metrics), nullptr);
  return makeGraphScene(*snapshot.job, index, all, placed, {index.stages[9].graph, 9, -1, false, true, ColorBy::kTime},
                        nullptr);
}

TEST_F(StudioTest, ScenesCallCastsByTheirName) {
  start();
  auto job = std::make_shared<JobRecord>(*testing::resnetJob());
  for (StepRecord& step : job->runs.back().steps) {
    if (step.kind == "reorder") step.kind = "cast";
  }
  const auto scene = timedScene(*makeSnapshot(job, testing::donePartsOf(*job), nullptr));
  ASSERT_NE(scene, nullptr);
  const auto& edges = scene->canvas.edges;
  EXPECT_EQ(std::count_if(edges.begin(), edges.end(),
                          [](const CanvasEdge& edge) { return edge.cost.rfind("cast ", 0) == 0; }),
            3);
}

TEST_F(StudioTest, ScenesShowInputsTimesAndReorders) {
  start();
  const SnapshotPtr snapshot = testing::resnetSnapshot();
  const JobIndex& index = *snapshot->index;
  const auto scene = timedScene(*snapshot);
  ASSERT_NE(scene, nullptr);
  const CanvasScene& canvas = scene->canvas;
  EXPECT_EQ(canvas.nodes.front().group, KindGroup::kInputOutput);
  EXPECT_EQ(canvas.nodes.back().title, "output");
  const auto timed = std::count_if(canvas.nodes.begin(), canvas.nodes.end(),
                                   [](const CanvasNode& node) { return !node.corner_text.empty(); });
  EXPECT_EQ(timed, static_cast<std::ptrdiff_t>(canvas.nodes.size()) - 2);
  const auto paid = std::count_if(canvas.edges.begin(), canvas.edges.end(),
                                  [](const CanvasEdge& edge) { return edge.cost.rfind("reorder ", 0) == 0; });
  EXPECT_EQ(paid, 3);
  std::size_t rows = 0;
  for (const auto& of_node : scene->rows) rows += of_node.size();
  EXPECT_EQ(rows, index.optimized.rows.size()) << "no time is lost or counted twice";
  const auto conv = std::find_if(canvas.nodes.begin(), canvas.nodes.end(),
                                 [](const CanvasNode& node) { return node.title == "conv1 + relu"; });
  ASSERT_NE(conv, canvas.nodes.end());
  EXPECT_EQ(conv->facts, "3→64 7×7 s2");
  EXPECT_FALSE(conv->hatched);
}

}  // namespace
}  // namespace ipex_studio
