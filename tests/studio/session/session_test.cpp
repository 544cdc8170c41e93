// The session and its jobs in this process; the engine is the real one.
#include "studio/session/session.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

#include "core/base/replace_file.h"
#include "core/runtime/machine_facts.h"
#include "studio/cli/commands.h"
#include "studio/panels/mode_chips.h"
#include "studio/panels/panel_list.h"
#include "studio/panels/status_line.h"
#include "studio/snapshot/snapshot_tables.h"
#include "tests/goal.h"
#include "tests/studio/cli/program.h"
#include "tests/studio/session/quick_session.h"

namespace ipex_studio::testing {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

TEST(ModelJob, ExportsWithoutLandlockThroughTheOpenDescriptor) {
  const Sandpit pit;
  const CheckedModel model = checkModel(modelFile("small.pt"));
  JobRequest request = quickRequest();
  request.use_landlock = false;
  JobEvents events;
  const Cancellation cancellation;
  ModelJob job(model, request, false, events, cancellation);
  job.optimize();
  job.measure();
  EXPECT_TRUE(job.accurate());
  for (const ExportForm form : {ExportForm::kCompiled, ExportForm::kPortable}) {
    job.exportTo(pit.path("fast.pt"), form);
    EXPECT_NO_THROW(checkModel(pit.path("fast.pt")));
  }
  request.optimize.dump_directory = pit.path("dumps");
  EXPECT_THROW(checkRequest(request), Error);
}

TEST(Inputs, TextsOfRecordsAreWhatTheFlagTakes) {
  EXPECT_EQ(inputText({"x", "1x3x224x224:float32", false}), "x:1x3x224x224:float32");
  EXPECT_EQ(inputText({"rate", "16000", false}), "rate=16000");
  EXPECT_EQ(inputText({"mask", "None", true}), "mask=None");
}

TEST(Export, NeverReplacesAFileByADamagedOne) {
  const Sandpit pit;
  writeFileAtomically(pit.path("fast.pt"), "old");
  writeFileAtomically(pit.path("garbage"), "no model at all");
  const UniqueFd garbage(::open(pit.path("garbage").c_str(), O_RDONLY));
  EXPECT_THROW(moveExport(garbage.get(), 1 << 20, pit.path("fast.pt")), Error);
  EXPECT_EQ(readText(pit.path("fast.pt")), "old");
  EXPECT_EQ(std::distance(fs::directory_iterator(pit.path()), fs::directory_iterator()), 3) << "a copy was left behind";
}

class SessionTest : public ::testing::Test {
 protected:
  SessionOptions optionsFor(const std::string& file) const { return quickOptions(file, pit_); }

  // Waits for the first snapshot in a state other than kWorking.
  static SnapshotPtr settled(Session& session) {
    for (int i = 0; i < 6000; ++i) {
      const SnapshotPtr snapshot = session.latest();
      if (snapshot->status.state != JobState::kWorking) return snapshot;
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    ADD_FAILURE() << "the session never settled";
    return session.latest();
  }

  Sandpit pit_;
};

TEST_F(SessionTest, OptimizesExportsAndRecords) {
  Session session(optionsFor(modelFile("small.pt")));
  std::atomic<int> wakes{0};
  session.setWakeup([&] { ++wakes; });
  EXPECT_EQ(session.latest()->status.state, JobState::kWorking);
  const SnapshotPtr done = settled(session);
  ASSERT_EQ(done->status.state, JobState::kDone) << done->status.message;
  EXPECT_EQ(done->job->runs.size(), 2u);
  EXPECT_FALSE(done->index->stages.empty());
  EXPECT_GT(wakes, 3);

  session.post(ExportCommand{pit_.path("fast.pt"), ExportForm::kPortable, {}, {}});
  for (int i = 0; i < 1000 && !fs::exists(pit_.path("fast.pt")); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  EXPECT_NO_THROW(checkModel(pit_.path("fast.pt")));
  EXPECT_EQ(Database::open(pit_.path("studio.db"), OpenMode::kReadOnly).jobs().size(), 1u);
  session.setWakeup({});
}

TEST_F(SessionTest, ExportsReplaceNoFileUnasked) {
  using State = ExportResult::State;
  const std::string model = pit_.path("m.pt"), link = pit_.path("link.pt"), old = pit_.path("old.pt");
  fs::copy_file(modelFile("small.pt"), model);
  fs::create_symlink(model, link);
  writeFileAtomically(old, "old");
  const std::string bytes = readText(model);
  Session session(optionsFor(model));
  ASSERT_EQ(settled(session)->status.state, JobState::kDone);
  const auto exported = [&](const std::string& path, bool replace) {
    ExportCommand command;
    command.path = path;
    command.replace = replace;
    session.post(command);
    for (int i = 0; i < 3000; ++i) {
      const SnapshotPtr snapshot = session.latest();
      const State state = snapshot->work.exported.state;
      const bool over = state == State::kAsked || state == State::kDone || state == State::kFailed;
      if (over && snapshot->work.exported.path == path && session.idle()) return state;
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return State::kNone;
  };
  for (const bool replace : {false, true}) {
    EXPECT_EQ(exported(model, replace), State::kFailed);
    EXPECT_EQ(exported(link, replace), State::kFailed);
  }
  EXPECT_THAT(session.latest()->work.exported.problem, HasSubstr("never replaced"));
  EXPECT_EQ(readText(model), bytes);
  EXPECT_EQ(exported(old, false), State::kAsked);
  EXPECT_EQ(readText(old), "old");
  EXPECT_EQ(exported(old, true), State::kDone);
  EXPECT_NO_THROW(checkModel(old));
}

// What the bar says is what runs: decisions and flags in force are listed, and each can be taken back.
TEST_F(SessionTest, DecisionsAndFlagsInForceAreShownAndRemoved) {
  SessionOptions options = optionsFor(modelFile("small.pt"));
  options.request.optimize.disabled_passes = {"fuse-binary"};
  Session session(std::move(options));
  ASSERT_EQ(settled(session)->status.state, JobState::kDone);
  const auto has = [&](const std::string& text) {
    const auto chips = modeChips(*session.latest());
    return std::any_of(chips.begin(), chips.end(), [&](const ModeChip& chip) { return chip.text == text; });
  };
  EXPECT_TRUE(has("--disable fuse-binary"));
  OverrideCommand decide;
  decide.next.precisions = {{"*", "bf16"}, {"kind:linear", "fp32"}};
  session.post(decide);
  waitUntil(session, [](const auto& snapshot) { return !snapshot.overrides.now.empty(); });
  EXPECT_TRUE(has("all in BF16"));
  EXPECT_TRUE(has("every linear in FP32"));
  EXPECT_EQ(session.latest()->choices.precision, Precision::kBf16) << "the bar shows what the next run computes in";

  // FP32, chosen in the bar, takes the place of the decision for the whole model.
  session.post(OptimizeCommand{Precision::kFp32, 1, {}});
  const SnapshotPtr again = waitUntil(
      session, [](const auto& snapshot) { return snapshot.overrides.now.whole().empty() && rests(snapshot); });
  EXPECT_EQ(again->choices.precision, Precision::kFp32);
  EXPECT_EQ(again->job->runs.back().precision, "fp32");
  EXPECT_FALSE(has("all in BF16"));
  EXPECT_TRUE(has("every linear in FP32"));
  for (const ModeChip& chip : modeChips(*again)) session.post(chip.remove);
  const SnapshotPtr bare = waitUntil(session, [](const auto& snapshot) {
    return snapshot.overrides.now.empty() && snapshot.work.flags.find("--disable") == std::string::npos;
  });
  EXPECT_FALSE(has("--disable fuse-binary"));
  EXPECT_FALSE(has("every linear in FP32"));
  EXPECT_TRUE(bare->overrides.now.empty());
}

TEST_F(SessionTest, ShowsWhatANodeGives) {
  Session session(optionsFor(modelFile("small.pt")));
  const SnapshotPtr first = settled(session);
  ASSERT_EQ(first->status.state, JobState::kDone);
  EXPECT_EQ(first->work.values, nullptr);
  session.post(ValuesCommand{first->job->model.origins.back().id});
  const SnapshotPtr shown =
      waitUntil(session, [](const StudioSnapshot& s) { return rests(s) && s.work.values != nullptr; });
  EXPECT_EQ(shown->status.state, JobState::kDone);
  EXPECT_EQ(shown->work.values->forms.at(0).form, "original");
  EXPECT_EQ(panelTable("values", *shown).rows.size(), shown->work.values->forms.size());
}

TEST_F(SessionTest, LooksForTheFirstWrongNode) {
  Session session(optionsFor(modelFile("small.pt")));
  ASSERT_EQ(settled(session)->status.state, JobState::kDone);
  session.post(FirstWrongNodeCommand{});
  const SnapshotPtr found =
      waitUntil(session, [](const StudioSnapshot& snapshot) { return snapshot.work.first_wrong.found != nullptr; });
  EXPECT_EQ(found->work.first_wrong.sentence, "No node is over the tolerance.");
  EXPECT_EQ(found->status.state, JobState::kDone);
  EXPECT_GT(found->work.first_wrong.found->compared, 0);
  EXPECT_EQ(found->job->runs.size(), 2u);  // what was measured stays
}

TEST_F(SessionTest, InputsThatCannotBeGuessedAreAskedForBesideTheGraph) {
  for (const auto& [file, input] :
       {std::pair<const char*, const char*>{"no_guess.pt", "x:2x3"}, {"unpacks.pt", "x:2x3x6"}, {"nested.pt", ""}}) {
    Session session(optionsFor(modelFile(file)));
    SnapshotPtr snapshot = settled(session);
    EXPECT_EQ(snapshot->status.state, JobState::kFailed) << file;
    EXPECT_EQ(snapshot->status.code, ExitCode::kUsage);
    ASSERT_NE(snapshot->job->frozen, nullptr) << file;
    EXPECT_FALSE(snapshot->job->frozen->nodes.empty());
    EXPECT_EQ(snapshot->work.inputs.problem, snapshot->status.message);
    EXPECT_EQ(snapshot->work.inputs.asked, 1U);
    EXPECT_EQ(snapshot->work.inputs.arguments.size(), snapshot->job->model.inputs.size());
    EXPECT_TRUE(whyNotStart(*snapshot).empty());
    if (*input == 0) {
      EXPECT_EQ(snapshot->work.inputs.arguments[0].type, "List[Tensor]");
      EXPECT_EQ(snapshot->work.inputs.arguments[0].example, "[1x3x224x224]");
      EXPECT_EQ(snapshot->job->model.inputs[0].description, "");
      continue;
    }
    session.post(OptimizeCommand{Precision::kFp32, 1, {input}});
    snapshot = waitUntil(session, rests);
    EXPECT_EQ(snapshot->status.state, JobState::kDone) << file << ": " << snapshot->status.message;
    EXPECT_TRUE(snapshot->work.inputs.problem.empty());
  }
}

TEST_F(SessionTest, OfAFileThatCannotBeReadNothingElseIsShown) {
  Session session(optionsFor(modelFile("small.pt")));
  ASSERT_EQ(settled(session)->status.state, JobState::kDone);
  session.post(OpenCommand{modelFile("victim.txt")});
  const SnapshotPtr snapshot = waitUntil(session, rests);
  EXPECT_EQ(snapshot->status.state, JobState::kFailed);
  EXPECT_EQ(snapshot->job->frozen, nullptr);
  EXPECT_EQ(snapshot->work.file, modelFile("victim.txt"));
  EXPECT_THAT(whyNotStart(*snapshot), HasSubstr("could not be opened"));
}

TEST_F(SessionTest, SaysWhatWasWrittenAndWhyFlagsAreRefused) {
  Session session(optionsFor(modelFile("small.pt")));
  ASSERT_EQ(settled(session)->status.state, JobState::kDone);
  session.post(SaveTableCommand{{"run", [](const StudioSnapshot&, PanelTable* table) { table->columns = {"a"}; }},
                                pit_.path("table.csv")});
  SnapshotPtr snapshot = waitUntil(session, rests);
  EXPECT_EQ(snapshot->log->back().path, pit_.path("table.csv"));
  EXPECT_EQ(lastWritten(*snapshot), pit_.path("table.csv"));
  session.post(FlagsCommand{"--no-such-flag"});
  snapshot = waitUntil(session, [](const StudioSnapshot& s) { return s.work.flags_answer.number == 1; });
  EXPECT_THAT(snapshot->work.flags_answer.problem, HasSubstr("cannot be used"));
  session.post(FlagsCommand{"--no-winograd"});
  snapshot = waitUntil(session, [](const StudioSnapshot& s) { return rests(s) && s.work.flags_answer.number == 2; });
  EXPECT_EQ(snapshot->work.flags_answer.problem, "");
  std::ofstream(pit_.path("0001-mine.ir")) << "mine";
  session.post(FlagsCommand{"--dump " + pit_.path("")});
  snapshot = waitUntil(session, [](const StudioSnapshot& s) { return s.work.flags_answer.number == 3; });
  EXPECT_THAT(snapshot->work.flags_answer.problem, HasSubstr("holds dumped graphs already; give another folder."));
}

TEST_F(SessionTest, OpensRecordedRunsWithoutAModel) {
  {
    Session session(optionsFor(modelFile("small.pt")));
    ASSERT_EQ(settled(session)->status.state, JobState::kDone);
  }
  Session session(optionsFor(pit_.path("studio.db")));
  const SnapshotPtr recorded = settled(session);
  EXPECT_EQ(recorded->status.state, JobState::kRecorded);
  EXPECT_EQ(recorded->job->runs.size(), 2u);
}

TEST_F(SessionTest, FailuresAreShownAndLeaveItUsable) {
  Session session(optionsFor(modelFile("truncated.pt")));
  const SnapshotPtr failed = settled(session);
  EXPECT_EQ(failed->status.state, JobState::kFailed);
  EXPECT_THAT(failed->status.message, HasSubstr("is cut short"));
  session.post(OpenCommand{modelFile("small.pt")});
  for (int i = 0; i < 3000 && session.latest()->status.state != JobState::kDone; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  EXPECT_EQ(session.latest()->status.state, JobState::kDone) << session.latest()->status.message;
}

TEST_F(SessionTest, CancelEndsTheJobAtOnce) {
  SessionOptions options = optionsFor(modelFile("endless.pt"));
  options.request.inputs = {"x:4x4"};
  Session session(std::move(options));
  std::this_thread::sleep_for(std::chrono::milliseconds(800));
  const auto begin = std::chrono::steady_clock::now();
  session.post(CancelCommand{});
  EXPECT_EQ(settled(session)->status.state, JobState::kCancelled);
  expectWithin("end of a cancelled job", secondsSince(begin), 1, "s");
}

// Ctrl-C in the terminal from which a window was opened.
TEST_F(SessionTest, InterruptClosesTheWindowAndLeavesNothingBehind) {
  const std::string folder = pit_.path("tmp-of-window");
  fs::create_directory(folder);
  const char* before = std::getenv("TMPDIR");
  const std::string restored = before != nullptr ? before : "";
  ::setenv("TMPDIR", folder.c_str(), 1);
  CommandLine line;
  line.model = modelFile("endless.pt");
  line.database = pit_.path("studio.db");
  line.inputs = {"x:4x4"};
  bool worked = false, closed = false;
  const int code = openStudio(line, [&](const WindowOptions& options, SnapshotSource& source) {
    for (int i = 0; i < 1000 && !worked; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
      worked = !fs::is_empty(folder) && source.latest()->status.state == JobState::kWorking;
    }
    std::atomic<bool> woken{false};
    source.setWakeup([&woken] { woken = true; });
    ::kill(::getpid(), SIGINT);
    for (int i = 0; i < 500 && !closed; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
      closed = woken && !options.after_frame({});
    }
    source.setWakeup({});
    return 0;
  });
  restored.empty() ? ::unsetenv("TMPDIR") : ::setenv("TMPDIR", restored.c_str(), 1);
  EXPECT_TRUE(worked);
  EXPECT_TRUE(closed);
  EXPECT_EQ(code, static_cast<int>(kInterrupted));
  EXPECT_TRUE(fs::is_empty(folder));
}

TEST(Hint, ChoosesInstancesAndThreadsAndSaysSo) {
  const int cores = usableCores();
  for (const std::string goal : {"latency", "throughput"}) {
    const Sandpit pit;
    const Outcome outcome =
        pit.run({"bench", modelFile("small.pt"), "--hint", goal, "--iterations", "20", "--warmup", "0", "--json"});
    ASSERT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_THAT(outcome.err, HasSubstr("--hint " + goal + ": "));
    EXPECT_THAT(outcome.err, HasSubstr("1 x " + std::to_string(cores) + " threads"));
    const nlohmann::json runs = nlohmann::json::parse(outcome.out)["runs"];
    ASSERT_EQ(runs.size(), 2u);
    for (const nlohmann::json& run : runs) {
      EXPECT_LE(run["threads"].get<int>() * run["instances"].get<int>(), cores);
      EXPECT_EQ(run["threads"], runs[0]["threads"]);
      EXPECT_EQ(run["instances"], runs[0]["instances"]);
    }
    if (goal == "latency") {
      EXPECT_EQ(runs[0]["instances"], 1);
    }
  }
  const Sandpit pit;
  EXPECT_EQ(pit.run({"bench", modelFile("small.pt"), "--hint", "latency", "--threads", "1"}).code, 2);
  EXPECT_EQ(pit.run({"bench", modelFile("small.pt"), "--hint", "speed"}).code, 2);
}

}  // namespace
}  // namespace ipex_studio::testing
