// Every panel by keys alone, with the same effects as by mouse.
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>
#include <thread>

#include "studio/snapshot/snapshot_index.h"
#include "studio/window/app.h"
#include "tests/studio/null_ui.h"
#include "tests/studio/synthetic_job.h"

namespace ipex_studio {
namespace {

class KeysTest : public ::testing::Test {
 protected:
  KeysTest() : ui_(1600, 500) {}

  void open(const char* panel) {
    app_ = std::make_unique<App>(AppOptions{1, "dark", panel, {}}, [] {});
    settle();
  }
  void frame() {
    ui_.frame([&] { app_->frame(*snapshot_, commands_); });
  }
  void settle() {
    for (int i = 0; i < 400; ++i) {
      frame();
      if (i >= 3 && app_->settled()) return;
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
    ADD_FAILURE() << "did not settle";
  }
  void press(char key, bool ctrl = false, bool shift = false) {
    feedModifiers(ctrl, shift);
    feedCharacter(key, true);
    frame();
    feedCharacter(key, false);
    feedModifiers(false, false);
    settle();
  }
  void press(ImGuiKey key, bool shift = false) {
    feedModifiers(false, shift);
    ui_.press(key, [&] { app_->frame(*snapshot_, commands_); });
    feedModifiers(false, false);
    settle();
  }
  void type(const std::string& text) {
    for (const char c : text) {
      ImGui::GetIO().AddInputCharacter(static_cast<unsigned char>(c));
      frame();
    }
  }
  const std::vector<OriginId>& selected() const { return app_->selection().origins(); }
  // The row of the selected step.
  const OperationRow& row() const {
    const RunIndex& run = snapshot_->index->optimized;
    return run.rows.at(static_cast<std::size_t>(rowsOf(run, selected()).at(0)));
  }
  template <class Wanted>
  Wanted posted() {
    for (Command& command : commands_.take()) {
      if (const auto* found = std::get_if<Wanted>(&command)) return *found;
    }
    ADD_FAILURE() << "nothing of the kind was asked for";
    return {};
  }

  testing::NullUi ui_;
  std::unique_ptr<App> app_;
  Commands commands_;
  SnapshotPtr snapshot_ = testing::resnetSnapshot();
};

TEST_F(KeysTest, LinesOfTheSourceSelectTheirNodes) {
  open("source");
  press(ImGuiKey_DownArrow, true);
  EXPECT_EQ(selected().size(), snapshot_->job->model.origins.size()) << "the line of Python calls all layers";
  press('Y', false, true);
  press(ImGuiKey_DownArrow, true);
  EXPECT_EQ(selected().size(), 1U);
}

TEST_F(KeysTest, TheValueOfTheSelectedNodeIsAskedFor) {
  open("values");
  press('Q', false, true);
  EXPECT_TRUE(commands_.take().empty()) << "nothing is selected";
  app_->selection().select({3, 5}, false);
  press('Q', false, true);
  EXPECT_EQ(posted<ValuesCommand>().origin, 5);
}

TEST_F(KeysTest, OperationsAreFilteredSortedAndOpened) {
  open("operations");
  press(ImGuiKey_DownArrow, true);
  const std::string slowest = row().name;
  press('O', false, true);
  press(ImGuiKey_DownArrow, true);
  EXPECT_NE(row().name, slowest) << "the other way round another one is first";
  press('O', false, true);
  press('G');
  press(ImGuiKey_DownArrow, true);
  const KindGroup first = row().group;
  press('G');
  press(ImGuiKey_DownArrow, true);
  EXPECT_NE(row().group, first) << "the next kind alone";
  app_->selection().request("group.module");
  settle();
  app_->selection().clear();
  press(ImGuiKey_DownArrow, true);
  EXPECT_TRUE(selected().empty()) << "a group is no operation";
  press(ImGuiKey_Enter);
  press(ImGuiKey_DownArrow, true);
  press(ImGuiKey_DownArrow, true);
  EXPECT_FALSE(selected().empty()) << "but what it holds is";
  app_->selection().request("group.none");
  settle();
  press('F', true);
  EXPECT_TRUE(ImGui::GetIO().WantTextInput);
  type("layer4.2.conv3");
  press(ImGuiKey_Escape);
}

TEST_F(KeysTest, ChartsStepFromOperationToOperation) {
  for (const char* panel : {"timeline", "memory", "roofline"}) {
    open(panel);
    press(ImGuiKey_DownArrow, true);
    const auto first = selected();
    EXPECT_FALSE(first.empty()) << panel;
    press(ImGuiKey_DownArrow, true);
    const auto second = selected();
    EXPECT_NE(second, first) << panel;
    press(ImGuiKey_UpArrow, true);
    EXPECT_EQ(selected(), first) << panel;
  }
}

TEST_F(KeysTest, RemarksAreChosenByKind) {
  open("remarks");
  const auto& remarks = snapshot_->job->remarks;
  const auto kindOf = [&] {
    for (const Remark& remark : remarks) {
      if (!remark.origins.empty() && app_->selection().overlaps(remark.origins)) return remark.kind;
    }
    ADD_FAILURE() << "nothing is selected";
    return RemarkKind::kApplied;
  };
  press(ImGuiKey_DownArrow, true);
  EXPECT_FALSE(selected().empty());
  press('R');
  press(ImGuiKey_DownArrow, true);
  EXPECT_EQ(kindOf(), RemarkKind::kApplied);
}

TEST_F(KeysTest, RunsAreChosenShownAndThinnedOut) {
  auto history = std::make_shared<RunHistory>();
  for (std::int64_t j = 1; j <= 3; ++j) {
    JobSummary job;
    job.id = j;
    job.sha256 = snapshot_->job->model.sha256;
    RunSummary run;
    run.id = 10 * j;
    run.job = j;
    run.variant = "optimized";
    run.p50_ns = 1000000 * j;
    run.started_unix_ns = j;
    job.runs.push_back(run);
    history->jobs.push_back(std::move(job));
  }
  const auto& job = snapshot_->job;
  SnapshotParts parts = testing::donePartsOf(*job);
  parts.history = history;
  snapshot_ = makeSnapshot(job, std::move(parts), nullptr);
  open("compare");
  press('J');
  press('M');
  press('J');
  press('M');
  EXPECT_EQ(posted<CompareCommand>().runs, (std::vector<std::int64_t>{30, 20})) << "the newest first";
  press('J', false, true);
  press('M', false, true);
  EXPECT_EQ(posted<ShowJobCommand>().job, 3);
  press('H');
}

TEST_F(KeysTest, TheGraphIsMovedAndPartsAreResized) {
  app_ = std::make_unique<App>(AppOptions{1, "dark", "", {}}, [] {});
  settle();
  const WindowSettings before = app_->settings();
  for (const char* action : {"panel.passes-wider", "panel.bottom-taller", "panel.inspector-wider"}) {
    app_->selection().request(action);
    settle();
  }
  EXPECT_GT(app_->settings().left, before.left);
  EXPECT_GT(app_->settings().bottom, before.bottom);
  EXPECT_GT(app_->settings().right, before.right);
  const float wide = app_->settings().left;
  app_->selection().request("panel.passes-narrower");
  settle();
  EXPECT_LT(app_->settings().left, wide);
}

}  // namespace
}  // namespace ipex_studio
