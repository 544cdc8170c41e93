// The library in a session: what opening a model does, names, pins, forgetting, and jobs of two models side by side.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/studio/cli/samples.h"
#include "tests/studio/session/quick_session.h"

namespace ipex_studio {
namespace {

using namespace testing;
using ::testing::HasSubstr;

class LibrarySessionTest : public ::testing::Test {
 protected:
  SessionOptions optionsFor(const std::string& file) const { return quickOptions(file, pit_); }
  Sandpit pit_;
};

TEST_F(LibrarySessionTest, AModelThatOpensShowsItsGraphAndRunsNothing) {
  SessionOptions options = optionsFor(modelFile("small.pt"));
  options.measure_at_once = false;
  Session session(options);
  SnapshotPtr snapshot = waitUntil(session, rests);
  EXPECT_EQ(snapshot->status.state, JobState::kReady) << snapshot->status.message;
  EXPECT_THAT(snapshot->status.message, HasSubstr("Nothing has run yet"));
  ASSERT_NE(snapshot->job->frozen, nullptr);
  EXPECT_FALSE(snapshot->job->frozen->nodes.empty());
  EXPECT_NE(snapshot->source, nullptr);
  EXPECT_FALSE(snapshot->job->model.inputs.empty());
  EXPECT_NE(snapshot->job->model.inputs[0].description, "");
  EXPECT_TRUE(snapshot->job->runs.empty());
  EXPECT_TRUE(snapshot->history->jobs.empty());
  EXPECT_TRUE(whyNotStart(*snapshot).empty());
  session.post(OptimizeCommand{Precision::kFp32, 1, {}});
  snapshot = waitUntil(session, rests);
  EXPECT_EQ(snapshot->status.state, JobState::kDone) << snapshot->status.message;
  EXPECT_EQ(snapshot->job->runs.size(), 2U);
  // The wish holds from the next model on.
  session.post(MeasureAtOnceCommand{true});
  session.post(OpenCommand{modelFile("scaled.pt")});
  snapshot = waitUntil(session, [](const StudioSnapshot& s) { return rests(s) && s.job->runs.size() == 2; });
  EXPECT_EQ(snapshot->work.file, modelFile("scaled.pt"));
  EXPECT_TRUE(snapshot->work.measures_at_once);
}

TEST_F(LibrarySessionTest, InputsThatCannotBeGuessedAreOpenBeforeAnythingRuns) {
  SessionOptions options = optionsFor(modelFile("no_guess.pt"));
  options.measure_at_once = false;
  Session session(options);
  const SnapshotPtr snapshot = waitUntil(session, rests);
  EXPECT_EQ(snapshot->status.state, JobState::kReady) << snapshot->status.message;
  ASSERT_FALSE(snapshot->job->model.inputs.empty());
  EXPECT_EQ(snapshot->job->model.inputs[0].description, "");
  EXPECT_FALSE(snapshot->work.inputs.arguments.empty());
  EXPECT_EQ(snapshot->work.inputs.asked, 1U) << "the dialog opens by itself";
}

TEST_F(LibrarySessionTest, JobsOfTwoModelsAreNamedPinnedComparedAndForgotten) {
  for (const char* file : {"small.pt", "scaled.pt"}) {
    Session session(optionsFor(modelFile(file)));
    const SnapshotPtr done = waitUntil(session, rests);
    ASSERT_EQ(done->status.state, JobState::kDone) << done->status.message;
  }
  Session session(optionsFor(""));
  SnapshotPtr snapshot = waitUntil(session, [](const StudioSnapshot& s) { return s.history->models.size() == 2; });
  EXPECT_EQ(snapshot->status.state, JobState::kEmpty);
  using Action = LibraryCommand::Action;
  session.post(LibraryCommand{Action::kName, {"", 1}, "before the fix"});
  session.post(LibraryCommand{Action::kPin, {snapshot->history->models[1].sha256, 0}, ""});
  snapshot = waitUntil(session, [](const StudioSnapshot& s) { return s.history->models[0].pinned; });
  EXPECT_EQ(snapshot->history->jobs[1].name, "before the fix");
  EXPECT_THAT(snapshot->history->models[0].path, HasSubstr("small.pt"));
  std::vector<std::int64_t> runs;
  for (const JobSummary& job : snapshot->history->jobs) runs.push_back(job.runs.back().id);
  session.post(CompareCommand{runs});
  snapshot = waitUntil(session, [](const StudioSnapshot& s) { return s.comparison != nullptr; });
  EXPECT_FALSE(snapshot->comparison->same_model);
  EXPECT_EQ(snapshot->comparison->runs.size(), 2U);
  session.post(LibraryCommand{Action::kForget, {"", 2}, ""});
  snapshot = waitUntil(session, [](const StudioSnapshot& s) { return s.history->jobs.size() == 1; });
  EXPECT_EQ(snapshot->log->back().text, "Job 2 is forgotten.");
  EXPECT_NE(snapshot->comparison, nullptr) << "what is on the screen stays";
  session.post(ShowJobCommand{1});
  snapshot = waitUntil(session, [](const StudioSnapshot& s) { return s.status.state == JobState::kRecorded; });
  EXPECT_EQ(snapshot->job->runs.size(), 2U);
  session.post(LibraryCommand{Action::kForget, {"", 1}, ""});
  snapshot = waitUntil(session, [](const StudioSnapshot& s) { return s.history->jobs.empty(); });
  EXPECT_EQ(snapshot->history->shown_job, 0);
}

}  // namespace
}  // namespace ipex_studio
