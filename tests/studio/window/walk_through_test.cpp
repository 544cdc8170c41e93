// Walks through the real window by scripts, as users would: slow steps, three precisions, a model that crashes, a large
// model, recorded runs alone. Also the frame rate with software OpenGL.
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>

#include "studio/window/window.h"
#include "tests/goal.h"
#include "tests/studio/display.h"
#include "tests/studio/synthetic_job.h"

namespace ipex_studio {
namespace {

class WindowTestWalk : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(display_.ready());
    std::string pattern = ::testing::TempDir() + "walk_XXXXXX";
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  // Runs the script; returns the commands that were posted.
  std::vector<Command> walk(const SnapshotPtr& snapshot, const std::string& script) {
    WindowOptions options;
    options.width = 1600;
    options.height = 1000;
    options.script_path = folder_ / "walk.txt";
    std::ofstream(options.script_path) << script << "expect blocked 0\n";
    testing::FixedSource source(snapshot);
    EXPECT_EQ(runWindow(options, source), 0);
    return std::move(source.posted);
  }
  std::string picture(const char* name) const { return folder_ / (std::string(name) + ".png"); }

  testing::Display display_;
  std::filesystem::path folder_;
};

template <class Wanted>
const Wanted* find(const std::vector<Command>& posted) {
  for (const Command& command : posted) {
    if (const auto* found = std::get_if<Wanted>(&command)) return found;
  }
  return nullptr;
}

// A finished job with every fact that a session adds.
SnapshotPtr fullSnapshot() {
  auto job = std::make_shared<JobRecord>(*testing::resnetJob());
  for (const StepRecord& step : job->runs.back().steps) {
    if (step.kind == "reorder") continue;
    SensitivityRecord sensitivity;
    sensitivity.origins = step.origins;
    sensitivity.precision = "int8";
    sensitivity.sqnr_db = 28 + std::fmod(step.index * 7.3, 30);
    sensitivity.cumulative_db = sensitivity.sqnr_db - 6;
    sensitivity.fp32_ns = 1000000;
    sensitivity.low_ns = 420000 + step.index * 3000;
    sensitivity.chosen = step.index % 9 == 4 ? "fp32" : "int8";
    sensitivity.reason = "over the error budget";
    job->sensitivities.push_back(std::move(sensitivity));
  }
  SnapshotParts parts = testing::donePartsOf(*job);
  parts.choices.precisions = {{Precision::kFp32, true, ""}, {Precision::kBf16, true, ""}, {Precision::kInt8, true, ""}};
  parts.comparison = std::make_shared<const RunSet>(compareRunSet({{job.get(), 0}, {job.get(), 1}}));
  parts.overrides.possible = true;
  return makeSnapshot(job, std::move(parts), nullptr);
}

TEST_F(WindowTestWalk, FromTheCostlyReorderToAWhatIfToTheExport) {
  const auto posted = walk(fullSnapshot(),
                           "wait settled\nexpect state done\nscrub fuse-activation\nwait settled\n"
                           "scrub propagate-layout\nwait settled\ndo tab.operations\ndo group.kind\n"
                           "wait settled\ndo row.next\ndo group.none\nselect layer2.0.conv1\nwait settled\n"
                           "do graph.zoom-selection\ndo tab.kernels\nwait settled\nscreenshot " +
                               picture("kernels") +
                               "\ndo tab.precision\nwait settled\ndo override.bf16\ndo override.try\n"
                               "wait settled\ndo tab.save-csv\ndo run.export\nwait settled\n");
  const auto* decided = find<OverrideCommand>(posted);
  ASSERT_NE(decided, nullptr);
  ASSERT_EQ(decided->next.precisions.size(), 1U);
  EXPECT_EQ(decided->next.precisions[0].precision, "bf16");
  EXPECT_EQ(decided->next.precisions[0].what.rfind("layer2.0.conv1", 0), 0U);
  const auto* saved = find<SaveTableCommand>(posted);
  ASSERT_NE(saved, nullptr);
  EXPECT_EQ(saved->path, "resnet50-precision.csv");
  EXPECT_TRUE(std::filesystem::exists(picture("kernels")));
}

TEST_F(WindowTestWalk, FromTheWaterfallToItsNodesToWhatPassesGain) {
  const auto posted = walk(fullSnapshot(),
                           "wait settled\nexpect bars 3\ndo row.next\ndo row.next\nwait settled\nexpect selected 10\n"
                           "screenshot " +
                               picture("waterfall") + "\ndo pass.gains\nwait settled\n");
  EXPECT_TRUE(std::filesystem::exists(picture("waterfall")));
  const auto* gains = find<PassGainsCommand>(posted);
  ASSERT_NE(gains, nullptr);
  EXPECT_GE(gains->passes.size(), 5U);
}

TEST_F(WindowTestWalk, ThreePrecisionsSideBySide) {
  walk(fullSnapshot(),
       "wait settled\ndo color.precision\ndo tab.precision\ndo row.next\nwait settled\nexpect selected 1\n"
       "do tab.compare\ndo row.next\nwait settled\nscreenshot " +
           picture("compare") + "\ndo tab.next\ndo tab.previous\ndo tab.previous\nwait settled\n");
  EXPECT_TRUE(std::filesystem::exists(picture("compare")));
}

TEST_F(WindowTestWalk, FromTheCurvesToTheNextRun) {
  const auto posted = walk(
      fullSnapshot(), "wait settled\nexpect points 24\nkey Shift+U\nwait settled\nscreenshot " + picture("curves") +
                          "\nkey Shift+E\ndo curves.axis\ndo curves.measure-of\ndo curves.next\nwait settled\n"
                          "do curves.use\ndo curves.measure\ncurves 5 1,2\nwait settled\n");
  EXPECT_TRUE(std::filesystem::exists(picture("curves")));
  const auto* used = find<UsePointCommand>(posted);
  ASSERT_NE(used, nullptr);
  EXPECT_EQ(used->point.instances, 2) << "the most samples per second";
  std::vector<const CurvesCommand*> measured;
  for (const Command& command : posted) {
    if (const auto* found = std::get_if<CurvesCommand>(&command)) measured.push_back(found);
  }
  ASSERT_EQ(measured.size(), 2U);
  EXPECT_EQ(measured[1]->request.time_s, 5);
  EXPECT_EQ(measured[1]->request.batch, (std::vector<std::int64_t>{1, 2}));
}

TEST_F(WindowTestWalk, LinesOfTheSourceAndNodesLeadToEachOther) {
  const auto posted =
      walk(testing::resnetSnapshot(),
           "wait settled\ndo tab.source\nselect layer1.0.conv2\nwait settled\nscreenshot " + picture("node") +
               "\ndo source.language\nwait settled\ndo row.next\nwait settled\nexpect selected 1\n"
               "screenshot " +
               picture("line") + "\n");
  EXPECT_TRUE(posted.empty());
  EXPECT_TRUE(std::filesystem::exists(picture("line")));
}

TEST_F(WindowTestWalk, ACrashedModelSaysWhy) {
  const auto job = testing::resnetJob({false, false});
  SnapshotParts parts = testing::donePartsOf(*job);
  parts.status.state = JobState::kFailed;
  parts.status.message = "The engine was ended by signal 11 (invalid memory access) while it ran the model.";
  walk(makeSnapshot(job, std::move(parts), nullptr),
       "wait settled\nexpect state failed\nexpect message signal 11\ndo tab.log\nwait settled\ndo tab.operations\n"
       "do tab.memory\ndo tab.roofline\ndo tab.kernels\nwait settled\n");
}

TEST_F(WindowTestWalk, TenThousandNodes) {
  const auto job = testing::chainJob(10000);
  walk(makeSnapshot(job, testing::donePartsOf(*job), nullptr),
       "wait settled\nexpect nodes 10000\nselect node7777\nwait settled\nexpect selected 1\ndo graph.zoom-selection\n"
       "do graph.trace\ndo graph.fit\nwait settled\n");
}

TEST_F(WindowTestWalk, RecordedRunsAlone) {
  const auto job = testing::resnetJob();
  SnapshotParts parts = testing::donePartsOf(*job);
  parts.status.state = JobState::kRecorded;
  const auto posted = walk(makeSnapshot(job, std::move(parts), nullptr),
                           "wait settled\nexpect state recorded\ndo tab.timeline\ndo timeline.recorded\n"
                           "do timeline.zoom-in\ndo timeline.later\nwait settled\ndo tab.latency\ndo run.optimize\n"
                           "do override.try\nwait settled\n");
  EXPECT_TRUE(posted.empty()) << "recorded runs cannot be run again";
}

TEST_F(WindowTestWalk, FifteenFramesASecondInSoftware) {
  testing::FixedSource source(fullSnapshot());
  WindowOptions options;
  options.width = 1920;
  options.height = 1080;
  const auto now = [] { return std::chrono::steady_clock::now(); };
  auto begin = now();
  int frames = -20;  // the driver loads its parts in the first frames
  double per_s = 0;
  options.after_frame = [&](const FrameStatistics&) {
    if (frames == 0) begin = now();
    ++frames;
    source.wake();
    per_s = frames / std::max(1e-9, std::chrono::duration<double>(now() - begin).count());
    return frames < 90;
  };
  runWindow(options, source);
  EXPECT_GE(frames, 90);
  expectWithin("frame of 1920x1080 drawn in software", 1000 / per_s, 1000.0 / 15);
}

TEST_F(WindowTestWalk, ByKeysAlone) {
  const auto posted = walk(testing::resnetSnapshot(),
                           "wait settled\nkey Tab\nkey Enter\nwait settled\nexpect dialogs 1\nkey Escape\n"
                           "wait settled\nexpect dialogs 0\nselect layer1.0.conv2\nkey Shift+F10\nwait settled\n"
                           "expect dialogs 1\nscreenshot " +
                               picture("menu") +
                               "\nkey Escape\nwait settled\nexpect dialogs 0\nexpect selected 1\n"
                               "do graph.fold-level\nwait settled\ndo graph.unfold-level\nwait settled\n"
                               "key Shift+Q\nwait settled\n");
  EXPECT_NE(find<ValuesCommand>(posted), nullptr);
}

}  // namespace
}  // namespace ipex_studio
