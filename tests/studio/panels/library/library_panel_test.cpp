// The library's lines, and what keys and mouse do with them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <thread>

#include "studio/panels/library/library_rows.h"
#include "studio/window/app.h"
#include "studio/window/app_actions.h"
#include "tests/studio/null_ui.h"
#include "tests/studio/synthetic_job.h"

namespace ipex_studio {
namespace {

JobSummary jobOf(std::int64_t id, const std::string& model, double ratio) {
  JobSummary job;
  job.id = id;
  job.command = "run";
  job.model_path = "/models/" + model + ".pt";
  job.sha256 = model;
  job.started_unix_ns = id;
  job.baseline_p50_ns = static_cast<std::int64_t>(ratio * 1e6);
  job.optimized_p50_ns = 1000000;
  for (const char* variant : {"baseline", "optimized"}) {
    RunSummary run;
    run.id = 10 * id + static_cast<std::int64_t>(job.runs.size());
    run.job = id;
    run.variant = variant;
    run.precision = "fp32";
    run.model_path = job.model_path;
    run.sha256 = model;
    run.p50_ns = job.runs.empty() ? job.baseline_p50_ns : job.optimized_p50_ns;
    job.runs.push_back(std::move(run));
  }
  return job;
}

// Three jobs of two models, the newest first.
std::shared_ptr<RunHistory> smallHistory() {
  auto history = std::make_shared<RunHistory>();
  history->jobs = {jobOf(3, "two", 1.5), jobOf(2, "one", 4), jobOf(1, "one", 2)};
  history->models = libraryOf(history->jobs);
  return history;
}

std::vector<std::string> titles(const RunHistory& history, const LibraryQuery& query) {
  std::vector<std::string> all;
  for (const LibraryRow& row : libraryRows(history, query)) all.push_back(titleOf(row));
  return all;
}

TEST(LibraryRows, ModelsHoldTheirJobs) {
  const auto history = smallHistory();
  LibraryQuery query;
  EXPECT_EQ(titles(*history, query), (std::vector<std::string>{"two.pt", "one.pt"}));
  query.open = {"one"};
  EXPECT_EQ(titles(*history, query), (std::vector<std::string>{"two.pt", "one.pt", "job 2: run", "job 1: run"}));
  query.sort = LibraryColumn::kRatio;
  query.descending = false;
  EXPECT_EQ(titles(*history, query), (std::vector<std::string>{"two.pt", "one.pt", "job 1: run", "job 2: run"}));
  EXPECT_EQ(runsText(libraryRows(*history, query)[1]), "2 jobs");
  EXPECT_EQ(runsText(libraryRows(*history, query)[2]), "10, 11");
}

TEST(LibraryRows, PinnedOnesComeFirstAndWordsFilter) {
  const auto history = smallHistory();
  history->jobs[2].pinned = true;
  history->jobs[2].name = "before the fix";
  history->jobs[1].model_pinned = history->jobs[2].model_pinned = true;
  history->models = libraryOf(history->jobs);
  LibraryQuery query;
  query.open = {"one"};
  EXPECT_EQ(titles(*history, query), (std::vector<std::string>{"one.pt", "before the fix", "job 2: run", "two.pt"}));
  query = {};
  query.words = "FIX before";
  EXPECT_EQ(titles(*history, query), (std::vector<std::string>{"one.pt", "before the fix"}));
}

class LibraryPanelTest : public ::testing::Test {
 protected:
  LibraryPanelTest() : ui_(1600, 600) {
    SnapshotParts parts;
    parts.history = history_;
    snapshot_ = makeSnapshot(nullptr, std::move(parts), nullptr);
    app_ = std::make_unique<App>(AppOptions{1, "dark", "library", {}}, [] {});
    settle();
  }
  void frame() {
    ui_.frame([&] { app_->frame(*snapshot_, commands_); });
  }
  void settle() {
    for (int i = 0; i < 8; ++i) frame();
  }
  void request(const char* action) {
    app_->selection().request(action);
    settle();
  }
  void press(const char* keys) {
    feedKeys(keys, true);
    frame();
    feedKeys(keys, false);
    settle();
  }
  template <class Wanted>
  std::vector<Wanted> posted() {
    std::vector<Wanted> found;
    for (Command& command : commands_.take()) {
      if (const auto* one = std::get_if<Wanted>(&command)) found.push_back(*one);
    }
    return found;
  }
  static bool dialogIsOpen() { return ImGui::IsPopupOpen("", ImGuiPopupFlags_AnyPopup); }

  testing::NullUi ui_;
  std::unique_ptr<App> app_;
  Commands commands_;
  std::shared_ptr<RunHistory> history_ = smallHistory();
  SnapshotPtr snapshot_;
};

TEST_F(LibraryPanelTest, OpensAModelOrAJob) {
  request("row.next");
  request("library.open");
  const auto opened = posted<OpenCommand>();
  ASSERT_EQ(opened.size(), 1U);
  EXPECT_EQ(opened[0].path, "/models/two.pt");
  request("row.open");
  request("row.next");
  request("library.open");
  const auto shown = posted<ShowJobCommand>();
  ASSERT_EQ(shown.size(), 1U);
  EXPECT_EQ(shown[0].job, 3);
}

TEST_F(LibraryPanelTest, NamesByADialogThatEscapeCloses) {
  request("row.next");
  request("library.name");
  EXPECT_TRUE(dialogIsOpen());
  press("Escape");
  EXPECT_FALSE(dialogIsOpen());
  EXPECT_TRUE(posted<LibraryCommand>().empty());
  request("library.name");
  ImGui::GetIO().AddInputCharacter('N');
  settle();
  press("Enter");
  EXPECT_FALSE(dialogIsOpen());
  const auto named = posted<LibraryCommand>();
  ASSERT_EQ(named.size(), 1U);
  EXPECT_EQ(named[0].action, LibraryCommand::Action::kName);
  EXPECT_EQ(named[0].item.sha256, "two");
  EXPECT_EQ(named[0].item.job, 0);
  EXPECT_EQ(named[0].name, "N");
}

TEST_F(LibraryPanelTest, ForgetsOnlyAfterAQuestion) {
  request("row.next");
  request("library.forget");
  EXPECT_TRUE(dialogIsOpen());
  EXPECT_TRUE(posted<LibraryCommand>().empty());
  press("Enter");
  EXPECT_FALSE(dialogIsOpen());
  const auto forgotten = posted<LibraryCommand>();
  ASSERT_EQ(forgotten.size(), 1U);
  EXPECT_EQ(forgotten[0].action, LibraryCommand::Action::kForget);
}

TEST_F(LibraryPanelTest, PinsAndComparesTwoModels) {
  request("library.compare");
  EXPECT_TRUE(posted<CompareCommand>().empty()) << "nothing is chosen";
  request("row.next");
  request("library.pin");
  const auto pinned = posted<LibraryCommand>();
  ASSERT_EQ(pinned.size(), 1U);
  EXPECT_EQ(pinned[0].action, LibraryCommand::Action::kPin);
  request("library.first");
  request("library.compare");
  EXPECT_TRUE(posted<CompareCommand>().empty()) << "a run is not compared with itself";
  request("row.next");
  request("library.compare");
  const auto compared = posted<CompareCommand>();
  ASSERT_EQ(compared.size(), 1U);
  EXPECT_EQ(compared[0].runs, (std::vector<std::int64_t>{31, 21}));
}

TEST(LibraryOffer, StandsInFrontUntilAFileOpens) {
  testing::NullUi ui(1600, 900);
  App app(AppOptions{1, "dark", "", {}}, [] {});
  Commands commands;
  SnapshotParts parts;
  parts.history = smallHistory();
  SnapshotPtr snapshot = makeSnapshot(nullptr, std::move(parts), nullptr);
  const auto front = [&] {
    for (int i = 0; i < 4; ++i) ui.frame([&] { app.frame(*snapshot, commands); });
    return app.reportOf(*snapshot, "").table.panel;
  };
  EXPECT_EQ(front(), "library");
  snapshot = testing::resnetSnapshot();
  EXPECT_EQ(front(), "waterfall");
}

}  // namespace
}  // namespace ipex_studio
