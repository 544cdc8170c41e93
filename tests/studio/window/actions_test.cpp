// Keys, palette, settings and the inputs dialog: actions without a mouse, and remembered choices.
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <thread>

#include "core/record/bisect_record.h"
#include "studio/panels/dialogs/inputs_dialog.h"
#include "studio/window/app.h"
#include "studio/window/app_actions.h"
#include "studio/window/settings.h"
#include "tests/studio/null_ui.h"
#include "tests/studio/synthetic_job.h"

namespace ipex_studio {
namespace {

TEST(Actions, NamesAndKeysAreUnique) {
  std::set<std::string> names;
  std::set<std::string> keys;
  for (const Action& action : allActions()) {
    EXPECT_TRUE(names.insert(action.name).second) << action.name;
    const bool fresh = action.keys[0] == 0 || keys.insert(action.keys).second;
    EXPECT_TRUE(fresh) << action.keys;
  }
}

TEST(Actions, StandInTheOrderOfTheirGroups) {
  std::vector<std::string> firsts;
  for (const Action& action : allActions()) {
    const std::string name = action.name;
    const std::string group = name.substr(0, name.find('.'));
    if (firsts.empty() || firsts.back() != group) firsts.push_back(group);
  }
  const std::vector<std::string> expected = {
      "run",     "file",     "palette", "shortcuts", "words",   "tune",     "verify",   "advice",
      "report",  "pass",     "graph",   "view",      "compare", "color",    "panel",    "inspector",
      "tab",     "row",      "table",   "waterfall", "curves",  "training", "devices",  "operations",
      "library", "remarks",  "source",  "values",    "runs",    "kernel",   "override", "scope",
      "point",   "override", "group",   "timeline",  "theme",   "scale"};
  EXPECT_EQ(firsts, expected);
}

TEST(Actions, AreFoundByWords) {
  const auto found = findActions("whole graph");
  ASSERT_EQ(found.size(), 1U);
  EXPECT_STREQ(found[0]->name, "graph.fit");
  EXPECT_TRUE(findActions("no such action").empty());
  EXPECT_EQ(findActions("").size(), allActions().size());
}

class ActionsTest : public ::testing::Test {
 protected:
  ActionsTest() : ui_(1600, 900), app_({1, "dark", "", {}}, [] {}) {}

  void settle() {
    for (int i = 0; i < 400; ++i) {
      ui_.frame([&] { app_.frame(*snapshot_, commands_); });
      if (i >= 4 && app_.settled()) return;
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
    ADD_FAILURE() << "did not settle";
  }
  void press(char key, bool ctrl = false, bool shift = false) {
    feedModifiers(ctrl, shift);
    feedCharacter(key, true);
    ui_.frame([&] { app_.frame(*snapshot_, commands_); });
    feedCharacter(key, false);
    feedModifiers(false, false);
    settle();
  }

  testing::NullUi ui_;
  App app_;
  Commands commands_;
  SnapshotPtr snapshot_ = testing::resnetSnapshot();
};

TEST_F(ActionsTest, TheFirstWrongNodeBecomesTheSelection) {
  settle();
  app_.selection().request("verify.first-wrong");
  settle();
  const std::vector<Command> posted = commands_.take();
  ASSERT_EQ(posted.size(), 1U);
  EXPECT_TRUE(std::holds_alternative<FirstWrongNodeCommand>(posted[0]));
  auto answered = std::make_shared<StudioSnapshot>(*snapshot_);
  auto found = std::make_shared<BisectRecord>();
  found->wrong.resize(1);
  found->wrong[0].origins = {3, 4};
  answered->work.first_wrong = {found, "The first wrong node is layer1.conv1."};
  snapshot_ = answered;
  settle();
  EXPECT_EQ(app_.selection().origins(), (std::vector<OriginId>{3, 4}));
  EXPECT_EQ(app_.reportOf(*snapshot_, "").table.panel, "values") << "and what it gives is shown";
  const std::vector<Command> asked = commands_.take();
  ASSERT_EQ(asked.size(), 1U);
  ASSERT_TRUE(std::holds_alternative<ValuesCommand>(asked[0]));
  EXPECT_EQ(std::get<ValuesCommand>(asked[0]).origin, 4);
  app_.selection().clear();
  settle();
  EXPECT_TRUE(app_.selection().empty());  // it is selected once
}

TEST_F(ActionsTest, EveryActionRunsWithoutAMouse) {
  settle();
  for (const Action& action : allActions()) {
    app_.selection().request(action.name);
    settle();
    // Popups close on Escape.
    ui_.press(ImGuiKey_Escape, [&] { app_.frame(*snapshot_, commands_); });
  }
  bool optimized = false;
  for (const Command& command : commands_.take())
    optimized = optimized || std::holds_alternative<OptimizeCommand>(command);
  EXPECT_TRUE(optimized);
}

TEST_F(ActionsTest, KeysWalkAlongTheEdges) {
  settle();
  app_.selection().select(snapshot_->index->graphs[0].graph->nodes[0].origins, true);
  settle();
  const auto first = app_.selection().origins();
  press('N');
  const auto second = app_.selection().origins();
  EXPECT_NE(first, second);
  press('P');
  EXPECT_NE(app_.selection().origins(), second) << "back to the producer";
}

TEST_F(ActionsTest, DialogsAreUsedWithoutAMouse) {
  const auto key = [&](ImGuiKey pressed) {
    ui_.press(pressed, [&] { app_.frame(*snapshot_, commands_); });
    settle();
  };
  const auto exported = [&] {
    std::size_t count = 0;
    for (const Command& command : commands_.take()) count += std::holds_alternative<ExportCommand>(command) ? 1 : 0;
    return count;
  };
  settle();
  press('E', true);
  EXPECT_TRUE(ImGui::IsPopupOpen("", ImGuiPopupFlags_AnyPopup));
  key(ImGuiKey_Enter);
  EXPECT_EQ(exported(), 1U) << "what the dialog is there for";
  // The keys go from the first line up to the last, and right to its other button: Close.
  key(ImGuiKey_UpArrow);
  EXPECT_TRUE(ImGui::GetIO().NavVisible);
  key(ImGuiKey_RightArrow);
  key(ImGuiKey_Enter);
  EXPECT_EQ(exported(), 0U);
  EXPECT_FALSE(ImGui::IsPopupOpen("", ImGuiPopupFlags_AnyPopup));
  // Outside dialogs the arrow keys scrub through the stages.
  const std::int32_t before = app_.selection().after_stage;
  key(ImGuiKey_UpArrow);
  EXPECT_NE(app_.selection().after_stage, before);
}

TEST_F(ActionsTest, PaletteTakesWordsAndEnter) {
  settle();
  press('P', true);
  for (const char c : std::string("light theme")) {
    ImGui::GetIO().AddInputCharacter(static_cast<unsigned char>(c));
    ui_.frame([&] { app_.frame(*snapshot_, commands_); });
  }
  ui_.press(ImGuiKey_Enter, [&] { app_.frame(*snapshot_, commands_); });
  settle();
  EXPECT_EQ(app_.settings().theme, "light");
}

TEST_F(ActionsTest, PartsHideAndComeBack) {
  settle();
  press('1', true);
  press('2', true);
  press('3', true);
  EXPECT_TRUE(app_.settings().hide_left && app_.settings().hide_bottom && app_.settings().hide_right);
  press('1', true);
  EXPECT_FALSE(app_.settings().hide_left);
}

// 960 points wide, as 1920x1080 at 2x: the inspector starts hidden at the edge, and its key shows it.
TEST(App, ASmallWindowStartsWithoutTheInspector) {
  testing::NullUi ui(960, 540);
  App app({1, "dark", "", {}}, [] {});
  Commands commands;
  const SnapshotPtr snapshot = testing::resnetSnapshot();
  const auto frame = [&] { ui.frame([&] { app.frame(*snapshot, commands); }); };
  frame();
  EXPECT_FALSE(app.settings().hide_right) << "a larger window shows it";
  app.selection().request("panel.inspector");
  frame();
  EXPECT_FALSE(app.settings().hide_right);
  app.selection().request("panel.inspector");
  frame();
  EXPECT_TRUE(app.settings().hide_right);
}

TEST_F(ActionsTest, TheTabRequestedLastStaysInFront) {
  settle();
  const auto front = [&](const char* first, const char* second) {
    app_.selection().request(first);
    app_.selection().request(second);
    settle();
    return app_.reportOf(*snapshot_, "").table.panel;
  };
  EXPECT_EQ(front("timeline.fit", "kernel.next"), "kernels");
  EXPECT_EQ(front("kernel.next", "timeline.fit"), "timeline");
  EXPECT_EQ(front("tab.remarks", "tab.memory"), "memory");
  EXPECT_EQ(front("kernel.next", "tab.memory"), "memory");
  EXPECT_EQ(front("tab.remarks", "kernel.next"), "kernels");
}

TEST_F(ActionsTest, ScaleChangesBetweenFrames) {
  settle();
  press('=', true);
  EXPECT_GT(app_.settings().scale, 1);
  EXPECT_TRUE(app_.prepareFrame()) << "other fonts";
  settle();
  EXPECT_FALSE(app_.prepareFrame());
}

TEST_F(ActionsTest, WhatOpeningAModelDoesIsASetting) {
  EXPECT_FALSE(app_.settings().measure_at_once);
  commands_.take();
  app_.selection().request("file.measure-at-once");
  settle();
  EXPECT_TRUE(app_.settings().measure_at_once);
  const std::vector<Command> posted = commands_.take();
  ASSERT_EQ(posted.size(), 1U);
  EXPECT_TRUE(std::get<MeasureAtOnceCommand>(posted[0]).on);
}

TEST(Settings, SurviveARoundTripAndRefuseNonsense) {
  std::string pattern = ::testing::TempDir() + "settings_XXXXXX";
  ASSERT_NE(mkdtemp(pattern.data()), nullptr);
  const std::string path = pattern + "/deep/window.conf";
  WindowSettings settings;
  settings.left = 240;
  settings.hide_bottom = true;
  settings.theme = "light";
  settings.scale = 1.5F;
  settings.measure_at_once = true;
  EXPECT_TRUE(writeSettings(path, settings));
  EXPECT_TRUE(readSettings(path) == settings);
  std::ofstream(path) << "left=nan\nright=1e30\ntheme=pink\nscale=-3\n\x01\xff=%s%n\n";
  EXPECT_TRUE(readSettings(path) == WindowSettings());
  EXPECT_TRUE(readSettings(pattern + "/none") == WindowSettings());
  std::filesystem::remove_all(pattern);
}

TEST(Inputs, RecordsBecomeArgumentsAndBack) {
  EXPECT_EQ(inputArgument(inputChoice({"x", "1x3x224x224:float32", true})), "x:1x3x224x224:float32");
  EXPECT_EQ(inputArgument(inputChoice({"ids", "1x128:int64[0,30522]", false})), "ids:1x128:int64[0,30522]");
  EXPECT_EQ(inputArgument(inputChoice({"rate", "16000", false})), "rate=16000");
  EXPECT_EQ(inputArgument(inputChoice({"images", "[3x8x8:float32, 3x9x9:float32]", false})),
            "images=[3x8x8:float32, 3x9x9:float32]");
  EXPECT_EQ(inputArgument(inputChoice({"how", "{\"size\": 3, \"mode\": \"max:2\"}", false})),
            "how={\"size\": 3, \"mode\": \"max:2\"}");
  EXPECT_EQ(inputArgument(inputChoice({"step", "scalar:int64[0,9]", false})), "step:scalar:int64[0,9]");
  EXPECT_TRUE(inputProblem(inputChoice({"step", "scalar:int64[0,9]", false})).empty());
  EXPECT_TRUE(inputProblem(inputChoice({"x", "1..32x3x8x8:float32", false})).empty());
  EXPECT_FALSE(inputProblem(inputChoice({"x", "1x3xx8:float32", false})).empty());
  EXPECT_FALSE(inputProblem(inputChoice({"x", "1x3:%n", false})).empty());
}

}  // namespace
}  // namespace ipex_studio
