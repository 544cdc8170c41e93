// Dialogs, recent files and reports: their contents, their requests to the session, and names that are only ever shown
// as names. One file over 400 lines, because most tests drive the same studio without a window, through one fixture.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <set>
#include <thread>

#include "core/base/error.h"
#include "studio/panels/dialogs/file_dialog.h"
#include "studio/panels/dialogs/tuning_dialog.h"
#include "studio/panels/panel_list.h"
#include "studio/panels/pareto_plot.h"
#include "studio/snapshot/snapshot_precision.h"
#include "studio/snapshot/snapshot_tables.h"
#include "studio/ui/advice_offer.h"
#include "studio/ui/folder_reader.h"
#include "studio/window/app.h"
#include "studio/window/script.h"
#include "studio/window/settings.h"
#include "tests/goal.h"
#include "tests/studio/null_ui.h"
#include "tests/studio/synthetic_job.h"

namespace ipex_studio {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

// A search with three assignments over two modules of the network.
SnapshotPtr searched(const std::vector<std::string>& assignments) {
  auto job = std::make_shared<JobRecord>(*testing::resnetJob());
  for (const OriginId origin : {0, 3}) {
    SensitivityRecord sensitivity;
    sensitivity.origins = {origin};
    sensitivity.key = "layer:aten::conv2d#" + std::to_string(origin);
    sensitivity.precision = "int8";
    job->sensitivities.push_back(sensitivity);
  }
  for (const char* name : {"fp32", "int8", "int8, 1 operation in fp32"}) {
    TradeoffRecord tried;
    tried.name = name;
    tried.elapsed_ns = 50000000 - 10000000 * static_cast<std::int64_t>(job->tradeoffs.size());
    tried.sqnr_db = 100 - 30 * static_cast<double>(job->tradeoffs.size());
    if (job->tradeoffs.size() < assignments.size()) tried.assignment = assignments[job->tradeoffs.size()];
    job->tradeoffs.push_back(tried);
  }
  SnapshotParts parts = testing::donePartsOf(*job);
  parts.overrides.possible = true;
  parts.work.tuning = {true, "", false, false};
  return makeSnapshot(job, std::move(parts), nullptr);
}

class DialogsTest : public ::testing::Test {
 protected:
  DialogsTest() : ui_(1600, 900), app_({1, "dark", "", {}}, [] {}) {
    std::string pattern = ::testing::TempDir() + "dialogs_XXXXXX";
    folder_ = mkdtemp(pattern.data());
  }
  ~DialogsTest() override { std::filesystem::remove_all(folder_); }

  void frames(int count) {
    for (int i = 0; i < count; ++i) ui_.frame([&] { app_.frame(*snapshot_, commands_); });
  }
  void settle() {
    for (int i = 0; i < 400; ++i) {
      frames(1);
      if (i >= 4 && app_.settled()) return;
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
    ADD_FAILURE() << "did not settle";
  }
  void type(const std::string& text) {
    for (const char c : text) {
      ImGui::GetIO().AddInputCharacter(static_cast<unsigned char>(c));
      frames(1);
    }
  }
  template <class Wanted>
  std::vector<Wanted> posted() {
    std::vector<Wanted> found;
    for (const Command& command : commands_.take()) {
      if (const auto* wanted = std::get_if<Wanted>(&command)) found.push_back(*wanted);
    }
    return found;
  }
  SnapshotPtr with(const std::function<void(SnapshotParts&)>& change) {
    const auto job = testing::resnetJob();
    SnapshotParts parts = testing::donePartsOf(*job);
    change(parts);
    return makeSnapshot(job, std::move(parts), nullptr);
  }

  testing::NullUi ui_;
  App app_;
  Commands commands_;
  SnapshotPtr snapshot_ = testing::resnetSnapshot();
  std::string folder_;
};

TEST_F(DialogsTest, FoldersAreListedWithoutStoppingAFrame) {
  std::filesystem::create_directory(folder_ + "/models");
  std::ofstream(folder_ + "/b.pt") << "12345";
  std::ofstream(folder_ + "/.hidden") << "x";
  std::ofstream(folder_ + "/a%s.pt") << "x";
  const FolderListing listing = readFolder(folder_ + "/models/..");
  EXPECT_EQ(listing.path, folder_);
  ASSERT_EQ(listing.entries.size(), 3U);
  EXPECT_EQ(listing.entries[0].name, "models");
  EXPECT_TRUE(listing.entries[0].folder);
  EXPECT_EQ(listing.entries[1].name, "a%s.pt");
  EXPECT_EQ(listing.entries[2].bytes, 5);
  EXPECT_FALSE(readFolder(folder_ + "/none").problem.empty());
  EXPECT_EQ(splitPath("/a/b/c.pt"), std::make_pair(std::string("/a/b"), std::string("c.pt")));
  EXPECT_EQ(splitPath("/c.pt"), std::make_pair(std::string("/"), std::string("c.pt")));

  std::atomic<int> wakes{0};
  FolderReader reader([&] { ++wakes; });
  reader.read("/");
  reader.read(folder_);
  for (int i = 0; i < 2000 && reader.busy(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  ASSERT_TRUE(reader.latest());
  EXPECT_EQ(reader.latest()->path, folder_) << "the newer wish";
  // The older one wakes, too, if it was answered before the newer one came.
  EXPECT_GE(wakes, 1);
  EXPECT_LE(wakes, 2);
}

TEST_F(DialogsTest, FilesAreOpenedByKeyboardAlone) {
  std::ofstream(folder_ + "/net.pt") << "x";
  std::ofstream(folder_ + "/notes.txt") << "x";
  snapshot_ = with([&](SnapshotParts& parts) { parts.work.file = folder_ + "/net.pt"; });
  settle();
  EXPECT_THAT(app_.settings().recent, ElementsAre(folder_ + "/net.pt"));
  app_.selection().request("file.open");
  settle();
  EXPECT_TRUE(ImGui::IsPopupOpen("", ImGuiPopupFlags_AnyPopupId | ImGuiPopupFlags_AnyPopupLevel));
  ui_.press(ImGuiKey_Escape, [&] { app_.frame(*snapshot_, commands_); });
  frames(2);
  EXPECT_FALSE(ImGui::IsPopupOpen("", ImGuiPopupFlags_AnyPopupId | ImGuiPopupFlags_AnyPopupLevel));
  EXPECT_TRUE(posted<OpenCommand>().empty());
}

TEST(Recent, IsKeptShortAndInOrder) {
  WindowSettings settings;
  for (int i = 0; i < 30; ++i) rememberRecent(&settings, "/models/" + std::to_string(i) + ".pt");
  EXPECT_EQ(settings.recent.size(), kMaxRecent);
  EXPECT_EQ(settings.recent.front(), "/models/29.pt");
  rememberRecent(&settings, "/models/25.pt");
  EXPECT_EQ(settings.recent.front(), "/models/25.pt");
  EXPECT_EQ(settings.recent.size(), kMaxRecent);
  EXPECT_FALSE(rememberRecent(&settings, "/a\nb.pt"));
  std::string pattern = ::testing::TempDir() + "recent_XXXXXX";
  ASSERT_NE(mkdtemp(pattern.data()), nullptr);
  EXPECT_TRUE(writeSettings(pattern + "/window.conf", settings));
  EXPECT_EQ(readSettings(pattern + "/window.conf").recent, settings.recent);
  std::ofstream(pattern + "/window.conf") << "recent=relative.pt\nrecent=/a.pt\nrecent=/a.pt\nrecent=\n";
  EXPECT_THAT(readSettings(pattern + "/window.conf").recent, ElementsAre("/a.pt"));
  std::filesystem::remove_all(pattern);
}

TEST_F(DialogsTest, TrustIsAskedOnceAndEscapeRefuses) {
  snapshot_ = with([](SnapshotParts& parts) {
    parts.status.state = JobState::kReady;
    parts.work.trust.findings = {"Its code writes files %n.", std::string(100000, 'x')};
  });
  settle();
  ui_.press(ImGuiKey_Escape, [&] { app_.frame(*snapshot_, commands_); });
  frames(5);
  const auto answers = posted<TrustCommand>();
  ASSERT_EQ(answers.size(), 1U) << "not again while the session thinks";
  EXPECT_EQ(answers[0].answer, TrustAnswer::kRefuse);
}

TEST_F(DialogsTest, TuningSaysWhatIsMissing) {
  const Ui ui;
  TuningDialog dialog(ui);
  dialog.open(TuneGoal::kSearch);
  EXPECT_THAT(dialog.problem(), HasSubstr("data"));
  dialog.open(TuneGoal::kKernels);
  EXPECT_EQ(dialog.problem(), "");
  EXPECT_EQ(dialog.command(false).goal, TuneGoal::kKernels);
  dialog.open(TuneGoal::kSearch);
  const Request wanted = dialog.command(true).request;
  EXPECT_EQ(wanted.calibration.method, "auto");
  EXPECT_EQ(wanted.data.metric, "");
  EXPECT_EQ(wanted.search.max_drop, 0.01);
  EXPECT_EQ(wanted.search.time_budget_s, 600);
  EXPECT_TRUE(wanted.restart);
  snapshot_ = with([](SnapshotParts& parts) { parts.work.tuning = {true, "From data.", true, true}; });
  for (const char* action : {"tune.quantize", "tune.search", "tune.calibrate", "tune.kernels", "run.export"}) {
    app_.selection().request(action);
    settle();
    EXPECT_TRUE(ImGui::IsPopupOpen("", ImGuiPopupFlags_AnyPopupId | ImGuiPopupFlags_AnyPopupLevel)) << action;
    ui_.press(ImGuiKey_Escape, [&] { app_.frame(*snapshot_, commands_); });
    frames(3);
    EXPECT_FALSE(ImGui::IsPopupOpen("", ImGuiPopupFlags_AnyPopupId | ImGuiPopupFlags_AnyPopupLevel)) << action;
  }
  EXPECT_TRUE(commands_.take().empty());
}

// Every dialog with the worst names, sentences and files: no frame is slow, and no megabyte is drawn.
TEST_F(DialogsTest, HostileTextIsDrawnInShort) {
  const std::string formats = "%s%n%d{}{0:x}%%", controls = "a\x01\tb\nc\x1b[31m\x7f", huge(1 << 20, 'W');
  for (const char* name : {"%s%n{}.pt", "a\x01\tb\nc\x1b[31m.pt", "\xff\xfe.pt"})
    std::ofstream(folder_ + "/" + name) << "x";
  std::ofstream(folder_ + "/" + std::string(240, 'W') + ".pt") << "x";
  const auto job = testing::hostileJob();
  double worst_ms = 0;
  for (const std::string& text : {formats, controls, huge}) {
    SnapshotParts parts = testing::donePartsOf(*job);
    parts.overrides.possible = true;
    parts.overrides.now.precisions = {{text, text}};
    parts.overrides.now.pins = {{text, text, text, text, text}};
    WhatIf tried;
    tried.tried = parts.overrides.now;
    tried.after_db = std::nan("");
    parts.tries = {tried};
    parts.status.message = parts.status.stage = text;
    parts.work.file = folder_ + "/x.pt";
    parts.work.recorded_at = parts.work.recorded_model = text;
    parts.work.tuning = {true, text, true, true};
    AccuracyRecord accuracy;
    accuracy.text = text;
    parts.work.exported = {ExportResult::State::kFailed, text, ExportForm::kCompiled, -1, -1, accuracy, text};
    for (const JobState state : {JobState::kDone, JobState::kRecorded, JobState::kWorking, JobState::kReady}) {
      parts.status.state = state;
      parts.work.trust.findings =
          state == JobState::kReady ? std::vector<std::string>{text, text} : std::vector<std::string>();
      snapshot_ = makeSnapshot(job, parts, nullptr);
      for (const char* action :
           {"tune.quantize", "tune.search", "run.export", "run.inputs", "file.open", "tab.precision"}) {
        app_.selection().request(action);
        settle();
        const double begin = cpuMs();
        const int vertices = ui_.frame([&] { app_.frame(*snapshot_, commands_); });
        EXPECT_LT(vertices, 200000) << action;
        worst_ms = std::max(worst_ms, cpuMs() - begin);
        ui_.press(ImGuiKey_Escape, [&] { app_.frame(*snapshot_, commands_); });
        frames(2);
      }
    }
    EXPECT_NO_THROW(tableCsv(panelTable("precision", *snapshot_)));
    const std::string shown = decisionsText(parts.overrides.now, 10);
    EXPECT_LT(shown.size(), 400U);
    for (const char c : shown) EXPECT_GE(static_cast<unsigned char>(c), 0x20);
  }
  expectWithin("frame of hostile text in a dialog", worst_ms, 50);
}

TEST_F(DialogsTest, EscapeClosesEveryMenuAndSheet) {
  const auto open = [] { return ImGui::IsPopupOpen("", ImGuiPopupFlags_AnyPopup); };
  for (const char* action : {"file.recent", "palette", "shortcuts", "words", "run.flags", "run.inputs", "run.export"}) {
    app_.selection().request(action);
    frames(4);
    EXPECT_TRUE(open()) << action;
    for (int i = 0; i < 2 && open(); ++i) {  // the first one may end typing
      ui_.press(ImGuiKey_Escape, [&] { app_.frame(*snapshot_, commands_); });
      frames(2);
    }
    EXPECT_FALSE(open()) << action;
  }
}

TEST_F(DialogsTest, ATypedFolderIsEnteredAndNotOpened) {
  std::filesystem::create_directory(folder_ + "/models");
  app_.selection().request("file.open");
  settle();
  type(folder_ + "/models");
  ui_.press(ImGuiKey_Enter, [&] { app_.frame(*snapshot_, commands_); });
  settle();
  EXPECT_TRUE(posted<OpenCommand>().empty());
}

TEST_F(DialogsTest, InputsThatAreMissingAreAskedForAtOnce) {
  const auto job = std::make_shared<JobRecord>(*testing::resnetJob({false, false}));
  job->model.inputs = {{"images", "", false}};
  SnapshotParts parts = testing::donePartsOf(*job);
  parts.status.state = JobState::kFailed;
  parts.work.tuning.possible = true;
  parts.work.inputs = {{{"images", "List[Tensor]", "[1x3x224x224]"}}, "cannot be guessed", 1, {}};
  snapshot_ = makeSnapshot(job, parts, nullptr);
  frames(4);
  type("[2x3]");
  ui_.press(ImGuiKey_Enter, [&] { app_.frame(*snapshot_, commands_); });
  ui_.press(ImGuiKey_Enter, [&] { app_.frame(*snapshot_, commands_); });
  const auto started = posted<OptimizeCommand>();
  ASSERT_EQ(started.size(), 1U);
  EXPECT_THAT(started[0].inputs, ElementsAre("images=[2x3]"));
  // Refused, the dialog comes back with what was filled in.
  parts.work.inputs.asked = 2;
  snapshot_ = makeSnapshot(job, parts, snapshot_);
  frames(4);
  type(", 5]");
  EXPECT_TRUE(ImGui::IsPopupOpen("", ImGuiPopupFlags_AnyPopup));
}

TEST_F(DialogsTest, RefusedFlagsStayInTheirDialog) {
  snapshot_ = with([](SnapshotParts& parts) { parts.work.tuning.possible = true; });
  app_.selection().request("run.flags");
  frames(4);
  type("--nonsense");
  for (int i = 0; i < 2; ++i) ui_.press(ImGuiKey_Enter, [&] { app_.frame(*snapshot_, commands_); });
  EXPECT_EQ(posted<FlagsCommand>().size(), 1U);
  const auto answer = [&](std::uint64_t number, const char* problem) {
    snapshot_ = with([&](SnapshotParts& parts) {
      parts.work.tuning.possible = true;
      parts.work.flags_answer = {number, problem};
    });
    frames(3);
    return ImGui::IsPopupOpen("", ImGuiPopupFlags_AnyPopup);
  };
  EXPECT_TRUE(answer(1, "These flags cannot be used."));
  for (int i = 0; i < 2; ++i) ui_.press(ImGuiKey_Enter, [&] { app_.frame(*snapshot_, commands_); });
  EXPECT_EQ(posted<FlagsCommand>().size(), 1U);
  EXPECT_FALSE(answer(2, "")) << "flags that are taken close it";
}

TEST_F(DialogsTest, DecisionsAreRecordedAndComeBack) {
  Overrides decided;
  decided.precisions = {{"layer1.0.conv1", "bf16"}, {"kind:linear", "int8"}};
  decided.pins = {{"convolution{}|relu", "1x64x56x56", "convolution_simd", "channels-last", "layer1.0.conv2 + relu"}};
  const auto records = decisionRecords(decided, "fp32");
  ASSERT_EQ(records.size(), 4U);
  EXPECT_EQ(records[0].what, "*");
  EXPECT_TRUE(overridesFrom(records, "fp32") == decided);
  // The decisions mean the same with another base precision.
  const Overrides on_bf16 = overridesFrom(records, "bf16");
  ASSERT_EQ(on_bf16.precisions.size(), 3U);
  EXPECT_EQ(on_bf16.precisions[0].what, "*");
  EXPECT_EQ(on_bf16.precisions[0].precision, "fp32");
  // A file that another program wrote.
  EXPECT_TRUE(overridesFrom(
                  {{"layer1", "int3", "", "", "", ""}, {"", "bf16", "", "", "", ""}, {"x", "", "", "", "", ""}}, "fp32")
                  .empty());
  EXPECT_EQ(decisionsText(decided, 2), "layer1.0.conv1 in bf16, all linear in int8 and 1 more");
}

TEST_F(DialogsTest, ReportsAreAskedForWithWhatIsSelected) {
  settle();
  app_.selection().select(snapshot_->index->optimized.rows[3].origins, true);
  app_.selection().request("report.html");
  frames(2);
  const auto report = app_.takeReport();
  ASSERT_TRUE(report);
  EXPECT_EQ(report->path, "resnet50-report.html");
  EXPECT_EQ(report->table.panel, "waterfall");
  EXPECT_THAT(report->selected, Not(::testing::IsEmpty()));
  EXPECT_FALSE(app_.takeReport());
}

TEST_F(DialogsTest, LinksBesideTheTabsSaveWhatTheTabShows) {
  settle();
  // The links lie somewhere at the right of the line of tabs; clicks over the area find them.
  std::set<std::string> paths;
  for (float y = 560; y < 700; y += 12) {
    for (float x = 1470; x < 1600; x += 12) {
      ui_.click(x, y, [&] { app_.frame(*snapshot_, commands_); });
      for (const SaveTableCommand& save : posted<SaveTableCommand>()) {
        EXPECT_EQ(save.table.panel, "waterfall");
        paths.insert(save.path);
      }
    }
  }
  EXPECT_THAT(paths, ElementsAre("resnet50-waterfall.csv", "resnet50-waterfall.json"));
}

TEST_F(DialogsTest, AClickOnAPointTakesItsPrecisionsOver) {
  snapshot_ = searched({"00", "11", "10"});
  app_.selection().front_panel = "precision";
  settle();
  std::set<std::size_t> taken;  // number of decisions per click
  for (float y = 690; y < 890; y += 6) {
    for (float x = 1240; x < 1590; x += 6) {
      ui_.click(x, y, [&] { app_.frame(*snapshot_, commands_); });
      for (const OverrideCommand& command : posted<OverrideCommand>()) {
        EXPECT_FALSE(command.measure);
        taken.insert(command.next.precisions.size());
      }
    }
  }
  EXPECT_THAT(taken, ElementsAre(1U, 3U));
}

TEST(Pareto, PointsBecomeDecisions) {
  const SnapshotPtr snapshot = searched({"00", "11", "10"});
  std::string quality;
  const auto points = paretoPoints(*snapshot, &quality);
  ASSERT_EQ(points.size(), 3U);
  EXPECT_EQ(quality, "SQNR dB");
  EXPECT_TRUE(points[0].front && points[1].front && points[2].front);
  ASSERT_TRUE(points[0].decisions && points[1].decisions && points[2].decisions);
  EXPECT_EQ(points[0].decisions->precisions, (std::vector<PrecisionOverride>{{"*", "fp32"}}));
  EXPECT_EQ(points[1].decisions->precisions.size(), 3U);
  EXPECT_EQ(points[1].decisions->precisions[0], (PrecisionOverride{"*", "int8"}));
  const auto& mixed = points[2].decisions->precisions;
  EXPECT_EQ(mixed.back(), (PrecisionOverride{"layer:aten::conv2d#3", "fp32"}));
  EXPECT_EQ(std::count_if(mixed.begin(), mixed.end(), [](const PrecisionOverride& o) { return o.precision == "fp32"; }),
            1);
  // Assignments that do not fit the record are not guessed.
  EXPECT_FALSE(overridesOf(*searched({"0", "11", "10"}), 0));
  EXPECT_FALSE(overridesOf(*searched({}), 0));
}

TEST(Overrides, AddingTakesNothingBack) {
  Overrides now;
  now.precisions = {{"layer1", "fp32"}};
  Overrides more;
  more.precisions = {{"layer1", "fp32"}, {"layer2", "int8"}};
  more.pins = {{"spec", "1x3", "kernel", "nhwc", "step"}};
  const Overrides both = now.adding(more);
  EXPECT_EQ(both.precisions.size(), 2U);
  EXPECT_EQ(both.pins.size(), 1U);
  EXPECT_EQ(both.adding(more), both);
}

TEST(Advice, OffersWhatCanBeTried) {
  auto job = std::make_shared<JobRecord>(*testing::resnetJob());
  job->machine.isa = "avx512_core_bf16";
  RunRecord& run = job->runs.back();
  run.precision = "fp32";
  run.dispatches.clear();
  const StepRecord& step = run.steps[5];
  run.dispatches.push_back({step.index, "slow", "nChw16c", true, "chosen", 40000000, 0});
  run.dispatches.push_back({step.index, "quick", "nhwc", false, "not faster in the plan", 1000000, 0});
  const SnapshotPtr snapshot = makeSnapshot(job, testing::donePartsOf(*job), nullptr);
  int pins = 0, precisions = 0, actions = 0;
  for (const Advice& advice : snapshot->index->advice) {
    EXPECT_EQ(advice.offer.empty(), advice.try_it.empty() && advice.action.empty()) << advice.text;
    for (const KernelPin& pin : advice.try_it.pins) {
      EXPECT_EQ(pin.kernel, "quick");
      EXPECT_EQ(pin.spec, step.spec);
      ++pins;
    }
    precisions += advice.try_it.precisions.empty() ? 0 : 1;
    actions += advice.action.empty() ? 0 : 1;
  }
  EXPECT_EQ(pins, 1);
  EXPECT_EQ(precisions, 1);
  EXPECT_GE(actions, 1);
}

// From the first moment of a job on, what an advice offers says why it cannot be pressed.
TEST(Advice, OffersNothingWhileAJobRuns) {
  const auto job = testing::resnetJob();
  Advice again;
  again.offer = "Measure again";
  again.action = "run.optimize";
  Advice attempt;
  attempt.offer = "Try it";
  attempt.try_it.precisions = {{"*", "bf16"}};
  for (const JobState state : {JobState::kWorking, JobState::kRecorded, JobState::kDone}) {
    SnapshotParts parts = testing::donePartsOf(*job);
    parts.status.state = state;
    parts.overrides.possible = state == JobState::kDone;
    const SnapshotPtr snapshot = makeSnapshot(job, std::move(parts), nullptr);
    EXPECT_EQ(whyNotOffer(again, *snapshot).empty(), state == JobState::kDone);
    EXPECT_EQ(whyNotOffer(attempt, *snapshot).empty(), state == JobState::kDone);
    EXPECT_EQ(whyNotOffer(Advice(), *snapshot), "");
  }
}

TEST(Script, StepsOfTheLibraryBecomeCommands) {
  auto history = std::make_shared<RunHistory>();
  JobSummary job;
  job.id = 7;
  job.model_path = "net.pt";
  job.sha256 = "abcdef0123";
  history->jobs = {job};
  history->models = libraryOf(history->jobs);
  SnapshotParts parts;
  parts.history = history;
  const SnapshotPtr snapshot = makeSnapshot(nullptr, std::move(parts), nullptr);
  const auto named = std::get<LibraryCommand>(libraryStep("name 7 before the fix", 1, *snapshot));
  EXPECT_EQ(named.item.job, 7);
  EXPECT_EQ(named.name, "before the fix");
  const auto pinned = std::get<LibraryCommand>(libraryStep("pin net.pt", 1, *snapshot));
  EXPECT_EQ(pinned.action, LibraryCommand::Action::kPin);
  EXPECT_EQ(pinned.item.sha256, "abcdef0123");
  EXPECT_THROW(libraryStep("pin other.pt", 1, *snapshot), Error);
  EXPECT_THROW(libraryStep("lose 7", 1, *snapshot), Error);
  EXPECT_EQ(std::get<CompareCommand>(compareStep("3 5", 1)).runs, (std::vector<std::int64_t>{3, 5}));
  EXPECT_THROW(compareStep("3 x", 1), Error);
  bool good = false;
  EXPECT_EQ(workFact(*snapshot, "models", "1", &good), "1");
  EXPECT_TRUE(good);
}

TEST(Script, StepsOfWorkBecomeCommands) {
  const Command tune = tuneStep("search data=/a+b/c.npy samples=12 drop=0.02 sqnr=25 budget=30 save=x.json restart", 1);
  const auto& wanted = std::get<TuneCommand>(tune);
  EXPECT_EQ(wanted.goal, TuneGoal::kSearch);
  EXPECT_EQ(wanted.request.data.path, "/a b/c.npy");
  EXPECT_EQ(wanted.request.data.samples, 12);
  EXPECT_EQ(wanted.request.search.max_drop, 0.02);
  EXPECT_TRUE(wanted.request.restart);
  const Command exported = exportStep("fast.pt portable int8 untuned", 1);
  EXPECT_EQ(std::get<ExportCommand>(exported).precision, Precision::kInt8);
  EXPECT_EQ(std::get<ExportCommand>(exported).form, ExportForm::kPortable);
  EXPECT_EQ(std::get<ExportCommand>(exported).tuned, false);
  EXPECT_FALSE(std::get<ExportCommand>(exported).prepared);
  EXPECT_TRUE(std::get<ExportCommand>(exportStep("fast.pt prepared", 1)).prepared);
  EXPECT_THROW(tuneStep("faster", 3), Error);
  try {
    tuneStep("search speed=9", 3);
    ADD_FAILURE() << "speed is no word of a script";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(),
                 "Line 3 of the script: 'speed' is not known; use data, preprocess, recipe, save, metric, method, "
                 "samples, drop, sqnr, budget or restart.");
  }
  EXPECT_THROW(exportStep("fast.pt somehow", 3), Error);
  EXPECT_THROW(trustStep("maybe", 3), Error);
  EXPECT_THROW(loadStep("nowhere", 3, *searched({"00", "11", "10"})), Error);
  EXPECT_EQ(std::get<OverrideCommand>(loadStep("fp32", 3, *searched({"00", "11", "10"}))).next.precisions.size(), 1U);
}

}  // namespace
}  // namespace ipex_studio
