// Tab reaches every control, in the window as in dialogs and menus, and keys do there what a click does.
#include "studio/ui/tab_order.h"

#include <gtest/gtest.h>
#include <imgui_internal.h>

#include <set>
#include <string>
#include <thread>

#include "studio/window/app.h"
#include "studio/window/app_actions.h"
#include "tests/studio/null_ui.h"
#include "tests/studio/synthetic_job.h"

namespace ipex_studio {
namespace {

class TabOrderTest : public ::testing::Test {
 protected:
  TabOrderTest() : ui_(1600, 900), app_({1, "dark", "", {}}, [] {}) { settle(); }

  void frame() {
    ui_.frame([&] { app_.frame(*snapshot_, commands_); });
  }
  void settle() {
    for (int i = 0; i < 400; ++i) {
      frame();
      if (i >= 4 && app_.settled()) return;
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
    ADD_FAILURE() << "did not settle";
  }
  void press(const std::string& keys) {
    ASSERT_TRUE(feedKeys(keys, true)) << keys;
    frame();
    feedKeys(keys, false);
    frame();
    frame();
  }
  const TabOrder& tabs() const { return app_.tabOrder(); }
  static bool dialogIsOpen() { return ImGui::IsPopupOpen("", ImGuiPopupFlags_AnyPopup); }
  void request(const char* action) {
    app_.selection().request(action);
    settle();
  }

  testing::NullUi ui_;
  App app_;
  Commands commands_;
  SnapshotPtr snapshot_ = testing::resnetSnapshot();
};

TEST_F(TabOrderTest, TabReachesEveryStopOnceAndComesBack) {
  EXPECT_EQ(tabs().at(), TabStop::kNone);
  press("Tab");
  const ImGuiID first = tabs().focus();
  const std::size_t count = tabs().stops();
  EXPECT_GT(count, 20U);
  std::set<ImGuiID> reached;
  std::set<TabStop> kinds;
  std::vector<ImGuiID> order;
  for (std::size_t i = 0; i < count; ++i) {
    reached.insert(tabs().focus());
    order.push_back(tabs().focus());
    kinds.insert(tabs().at());
    press("Tab");
  }
  EXPECT_EQ(reached.size(), count) << "no stop is reached twice or left out";
  EXPECT_EQ(tabs().focus(), first) << "the last one leads to the first";
  for (const TabStop kind :
       {TabStop::kPress, TabStop::kField, TabStop::kPasses, TabStop::kRows, TabStop::kTabs, TabStop::kGraph,
        TabStop::kInspector, TabStop::kLeftEdge, TabStop::kRightEdge, TabStop::kBottomEdge})
    EXPECT_EQ(kinds.count(kind), 1U) << static_cast<int>(kind);
  press("Shift+Tab");
  EXPECT_EQ(tabs().focus(), order.back()) << "and back";
}

TEST_F(TabOrderTest, KeysPressWhatTabHasReached) {
  press("Tab");
  EXPECT_EQ(tabs().at(), TabStop::kPress) << "the menu of files, which is the first thing of all";
  press("Enter");
  EXPECT_TRUE(dialogIsOpen());
  press("Escape");
  EXPECT_FALSE(dialogIsOpen());
  press("Space");
  EXPECT_TRUE(dialogIsOpen());
}

TEST_F(TabOrderTest, ArrowKeysMoveInPartsOfTheWindow) {
  const auto walkTo = [&](TabStop kind) {
    for (int i = 0; i < 100 && tabs().at() != kind; ++i) press("Tab");
    ASSERT_EQ(tabs().at(), kind);
  };
  const auto front = [&] { return app_.reportOf(*snapshot_, "").table.panel; };
  request("tab.operations");
  const std::int32_t pass = app_.selection().after_stage;
  walkTo(TabStop::kGraph);
  press("Down");
  const auto first = app_.selection().origins();
  EXPECT_FALSE(first.empty()) << "the first node";
  press("Down");
  EXPECT_NE(app_.selection().origins(), first) << "and what reads it";
  walkTo(TabStop::kTabs);
  press("Right");
  EXPECT_NE(front(), "operations");
  press("Left");
  EXPECT_EQ(front(), "operations");
  walkTo(TabStop::kRows);
  app_.selection().clear();
  press("Down");
  EXPECT_FALSE(app_.selection().empty());
  EXPECT_EQ(app_.selection().after_stage, pass) << "the passes stay";
  press("Escape");
  EXPECT_EQ(tabs().at(), TabStop::kNone);
  EXPECT_FALSE(app_.selection().empty()) << "the first Escape only leaves the table";
  press("Escape");
  EXPECT_TRUE(app_.selection().empty());
}

TEST_F(TabOrderTest, EdgesBetweenPartsMoveByArrowKeys) {
  const auto walkTo = [&](TabStop kind) {
    for (int i = 0; i < 150 && tabs().at() != kind; ++i) press("Tab");
    ASSERT_EQ(tabs().at(), kind);
  };
  walkTo(TabStop::kLeftEdge);
  press("Right");
  const float wide = app_.settings().left;
  EXPECT_GT(wide, 0);
  press("Left");
  EXPECT_LT(app_.settings().left, wide);
  walkTo(TabStop::kBottomEdge);
  press("Up");
  EXPECT_GT(app_.settings().bottom, 0);
  walkTo(TabStop::kRightEdge);
  press("Enter");
  EXPECT_TRUE(app_.settings().hide_right);
}

// The row that is selected has its precisions as stops, the others do not.
TEST_F(TabOrderTest, TabReachesThePrecisionsOfTheSelectedRow) {
  auto job = std::make_shared<JobRecord>(*testing::resnetJob());
  for (const StepRecord& step : job->runs.back().steps) {
    SensitivityRecord sensitivity;
    sensitivity.origins = step.origins;
    sensitivity.precision = "int8";
    sensitivity.chosen = "fp32";
    job->sensitivities.push_back(std::move(sensitivity));
  }
  SnapshotParts parts = testing::donePartsOf(*job);
  parts.choices.precisions = {{Precision::kFp32, true, ""}, {Precision::kBf16, true, ""}, {Precision::kInt8, true, ""}};
  parts.overrides.possible = true;
  snapshot_ = makeSnapshot(job, std::move(parts), nullptr);
  request("tab.precision");
  app_.selection().clear();
  settle();
  const std::size_t before = tabs().stops();
  request("row.next");
  EXPECT_EQ(tabs().stops(), before + 3) << "FP32, BF16 and INT8";
  // From the table, whose arrow keys choose the row, on to its words.
  for (int i = 0; i < 150 && tabs().at() != TabStop::kRows; ++i) press("Tab");
  for (int i = 0; i < 30; ++i) {
    press("Tab");
    press("Enter");
    for (const Command& command : commands_.take()) {
      const auto* decided = std::get_if<OverrideCommand>(&command);
      if (decided != nullptr && !decided->measure && !decided->next.precisions.empty()) return;
    }
    if (dialogIsOpen()) press("Escape");
  }
  FAIL() << "Enter on none of the stops behind the table decided a precision";
}

TEST_F(TabOrderTest, EscapeClosesEveryDialogMenuAndSheet) {
  app_.selection().select(snapshot_->index->graphs[0].graph->nodes[0].origins, true);
  settle();
  const auto selected = app_.selection().origins();
  for (const char* action :
       {"palette", "shortcuts", "words", "file.open", "file.recent", "run.inputs", "run.flags", "run.export",
        "tune.quantize", "tune.search", "tune.calibrate", "tune.kernels", "graph.menu"}) {
    request(action);
    EXPECT_TRUE(dialogIsOpen()) << action;
    const std::int32_t pass = app_.selection().after_stage;
    press("Tab");
    const bool text_alone = action == std::string("words") || action == std::string("shortcuts");
    EXPECT_EQ(tabs().at() == TabStop::kNone, text_alone) << action;
    const ImGuiWindow* holder = ImGui::GetCurrentContext()->NavWindow;
    ASSERT_NE(holder, nullptr) << action;
    EXPECT_NE(holder->RootWindow->Flags & ImGuiWindowFlags_Popup, 0) << action << " has the keys";
    EXPECT_EQ(app_.selection().after_stage, pass);
    press("Escape");
    settle();
    EXPECT_FALSE(dialogIsOpen()) << action;
    EXPECT_EQ(app_.selection().origins(), selected) << action;
  }
}

TEST_F(TabOrderTest, TabGoesThroughADialogAlone) {
  request("run.export");
  std::set<ImGuiID> reached;
  press("Tab");  // from the path, which has the keys at first
  const ImGuiID first = tabs().focus();
  do {
    EXPECT_TRUE(reached.insert(tabs().focus()).second);
    EXPECT_TRUE(dialogIsOpen());
    press("Tab");
  } while (tabs().focus() != first && reached.size() < 50);
  EXPECT_GE(reached.size(), 5U) << "the path, its button, the forms, Export and Close";
  // Close is the last one, before the path.
  press("Shift+Tab");
  press("Shift+Tab");
  press("Space");
  EXPECT_FALSE(dialogIsOpen());
  EXPECT_TRUE(commands_.take().empty());
}

TEST_F(TabOrderTest, EscapeClosesTheInnerDialogFirst) {
  request("run.export");
  press("Tab");
  press("Enter");
  settle();
  const auto& popups = ImGui::GetCurrentContext()->OpenPopupStack;
  ASSERT_EQ(popups.Size, 2) << "Browse…";
  press("Escape");
  EXPECT_EQ(popups.Size, 1);
  press("Escape");
  EXPECT_EQ(popups.Size, 0);
}

// The menu of a node has lines for what the tabs know of it.
TEST_F(TabOrderTest, TheMenuOfANodeLeadsToItsValues) {
  app_.selection().select(snapshot_->index->graphs[0].graph->nodes[0].origins, true);
  settle();
  press("Shift+F10");
  ASSERT_TRUE(dialogIsOpen());
  press("Tab");
  press("Enter");
  settle();
  EXPECT_FALSE(dialogIsOpen());
  EXPECT_EQ(app_.reportOf(*snapshot_, "").table.panel, "values");
  const std::vector<Command> posted = commands_.take();
  ASSERT_EQ(posted.size(), 1U);
  EXPECT_TRUE(std::holds_alternative<ValuesCommand>(posted[0]));
}

TEST_F(TabOrderTest, SelectedRowsAreCopied) {
  request("tab.operations");
  request("row.next");
  ImGui::SetClipboardText("");
  press("Ctrl+C");
  const std::string row = ImGui::GetClipboardText();
  EXPECT_NE(row.find('\t'), std::string::npos) << row;
  // Not while a field has the keys, which copies its own text.
  ImGui::SetClipboardText("");
  request("table.filter");
  press("Ctrl+C");
  EXPECT_STREQ(ImGui::GetClipboardText(), "");
}

}  // namespace
}  // namespace ipex_studio
