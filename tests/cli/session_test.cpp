// The session and its jobs in this process; the engine is the real one.
#include "studio/session.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <atomic>

#include <chrono>
#include <filesystem>
#include <thread>

#include "tests/cli/program.h"

namespace ipex_studio::testing {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

JobRequest quickRequest() {
  JobRequest request;
  request.measure.threads = 1;
  request.measure.warmup_s = 0.01;
  request.measure.iterations = 10;
  return request;
}

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
  EXPECT_THROW(moveExport(garbage.get(), pit.path("fast.pt")), Error);
  EXPECT_EQ(readText(pit.path("fast.pt")), "old");
  EXPECT_EQ(std::distance(fs::directory_iterator(pit.path()), fs::directory_iterator()), 3) << "a copy was left behind";
}

class SessionTest : public ::testing::Test {
 protected:
  SessionOptions optionsFor(const std::string& file) const { return {file, pit_.path("studio.db"), quickRequest()}; }

  // The first snapshot in another state than kWorking.
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

  session.post(ExportCommand{pit_.path("fast.pt"), ExportForm::kPortable});
  for (int i = 0; i < 1000 && !fs::exists(pit_.path("fast.pt")); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  EXPECT_NO_THROW(checkModel(pit_.path("fast.pt")));
  EXPECT_EQ(Database::open(pit_.path("studio.db"), OpenMode::kReadOnly).jobs().size(), 1u);
  session.setWakeup({});
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
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(1));
}

}  // namespace
}  // namespace ipex_studio::testing
