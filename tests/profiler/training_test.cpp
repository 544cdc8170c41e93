// Trainings in the database: written and read back, listed, imported, pruned.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "core/record/records_json.h"
#include "profiler/database.h"
#include "profiler/export/export_json.h"
#include "profiler/run_table.h"
#include "profiler/training_table.h"
#include "tests/profiler/old_database.h"
#include "tests/profiler/synthetic_job.h"
#include "tests/profiler/temp_directory.h"

namespace ipex_studio {
namespace {

using ::testing::HasSubstr;

constexpr double kNoNumber = std::numeric_limits<double>::quiet_NaN();

// Every field of every record is set.
JobRecord trainingJob() {
  JobRecord job = testing::smallJob();
  job.command = "train";
  job.runs.clear();
  job.passes.clear();
  job.remarks.clear();
  job.frozen = nullptr;
  auto training = std::make_shared<TrainingRecord>();
  *training = {"cross_entropy",
               "adamw:lr=0.001",
               "cosine:warmup=2",
               "bf16",
               "top-1",
               true,
               3,
               2,
               64,
               130,
               1234567,
               2,
               2,
               true,
               {},
               {},
               "step 7: aten::log of head",
               {{3, "conv", 5'000'000, 7'000'000, 1'000'000, 432, 0.25, 2'000'000},
                {3, "aten::relu", 1'000'000, 2'000'000, 0, 0, kNoNumber, -10},
                {4, "conv", 9, 8, 7, 432, 0.5, 1}},
               {{3, 10, "forward", "conv", 2'000'000, 0, 2'500'000}, {3, 30, "backward", "", -5, 1728, 6}}};
  training->steps = {{3, 1, 2.5, 0.001, 1.25, 0.125, 11, 22, 33, 44},
                     {4, 1, 1.5, 0.0005, 1.5, kNoNumber, 12, 23, 34, 45},
                     {6, 2, 0.75, 0.00025, 1e-9, 0.5, 13, 24, 35, 46}};
  training->ends = {{2, 4, 2, 0.875, 1'500'000'000}, {3, 6, 0.75, kNoNumber, 7}};
  job.training = training;
  return job;
}

TEST(TrainingRows, AreReadAsTheyWereWritten) {
  const testing::TempDirectory directory;
  Database database = Database::open(directory.file("p.db"), OpenMode::kReadWrite);
  const JobRecord job = trainingJob();
  const JobRecord read = database.job(database.record(job));
  ASSERT_TRUE(read.training);
  EXPECT_EQ(dumpJson(toJson(read)), dumpJson(toJson(job)));
  EXPECT_TRUE(std::isnan(read.training->steps[1].accuracy));
  EXPECT_FALSE(database.job(database.record(testing::smallJob())).training);
}

TEST(TrainingRows, AreListedWithTheirLastValues) {
  const testing::TempDirectory directory;
  Database database = Database::open(directory.file("p.db"), OpenMode::kReadWrite);
  database.record(trainingJob());
  const std::vector<JobSummary> jobs = database.jobs();
  ASSERT_EQ(jobs.size(), 1u);
  ASSERT_TRUE(jobs[0].training);
  EXPECT_EQ(jobs[0].training->steps, 6);
  EXPECT_EQ(jobs[0].training->loss, 0.75);
  EXPECT_EQ(jobs[0].training->step_ns, (110 + 114 + 2 * 118) / 4);
  EXPECT_EQ(trainingName({"fp32", "top-1", 3, 1, true, 6, 0.75, 0.875, 1}), "training to step 6, top-1 87.50 %");
  EXPECT_EQ(trainingName({"fp32", "", 3, 1, true, 6, 0.75, kNoNumber, 1}), "training to step 6, loss 0.75");
  EXPECT_THAT(jobTable(jobs, 120, false), HasSubstr("training to step 6, loss 0.75"));
  const nlohmann::json listed = jobsJson(jobs)["jobs"][0]["training"];
  EXPECT_EQ(listed["steps"], 6);
  EXPECT_EQ(listed["finished"], true);
}

TEST(TrainingRows, AreShownAsText) {
  const JobRecord job = trainingJob();
  const TrainingRecord& training = *job.training;
  EXPECT_THAT(trainingLine(job),
              HasSubstr("1234567 parameters · 130 samples, 64 a step · cross_entropy, adamw:lr=0.001"));
  EXPECT_EQ(epochLine(training, training.ends[0]), "epoch 2 of 3: loss 2, top-1 87.50 %, 1.5 s");
  EXPECT_EQ(epochLine(training, training.ends[1]), "epoch 3 of 3: loss 0.75, 0.0 s");
  EXPECT_THAT(stepLine(training), HasSubstr("data 11 %, forward 20 %, backward 30 %, optimizer 39 %"));
  EXPECT_EQ(stepLine({}), "");
}

TEST(TrainingRows, TheLastProfiledStepIsShownAsText) {
  TrainingRecord training = *trainingJob().training;
  EXPECT_THAT(profileText(training), HasSubstr("layers of step 4"));
  training.layers.pop_back();
  const std::string text = profileText(training);
  EXPECT_THAT(text, HasSubstr("layers of step 3  forward ms  backward ms  update ms  share"));
  EXPECT_THAT(text,
              HasSubstr("conv                    5.00         7.00       1.00   81 %         432      0.25      2.0"));
  EXPECT_THAT(text, HasSubstr("81 %"));
  EXPECT_THAT(text, HasSubstr("tensors of a step: 2.5 MB at most, 0 MB of it gradients, in forward of conv"));
  EXPECT_THAT(text, HasSubstr("in forward of conv\n"));
  for (int i = 0; i < 20; ++i) training.layers.push_back({3, "more", 1, 1, 1, 10, 3, 1000});
  EXPECT_THAT(profileText(training), HasSubstr("10 others"));
  EXPECT_EQ(profileText({}), "");
}

TEST(TrainingRows, ADatabaseOfVersion13HasNoProfiles) {
  const testing::TempDirectory directory;
  testing::makeOldDatabase(directory.file("old.db"), 13);
  Connection(directory.file("old.db"), true)
      .execute("INSERT INTO training VALUES (1, 'mse', 'sgd', 'constant', 'fp32', '', 1, 1, 1, 1, 1, 1, 1, 0, 1)");
  const JobRecord before = Database::open(directory.file("old.db"), OpenMode::kReadOnly).job(1);
  ASSERT_TRUE(before.training);
  EXPECT_EQ(before.training->fault, "");
  EXPECT_TRUE(before.training->layers.empty());
  Database database = Database::open(directory.file("old.db"), OpenMode::kReadWrite);
  EXPECT_EQ(dumpJson(toJson(database.job(1))), dumpJson(toJson(before)));
}

TEST(TrainingRows, AreImportedAndPruned) {
  const testing::TempDirectory directory;
  Database::open(directory.file("a.db"), OpenMode::kReadWrite).record(trainingJob());
  Database database = Database::open(directory.file("b.db"), OpenMode::kReadWrite);
  EXPECT_EQ(database.import(directory.file("a.db")), 1);
  EXPECT_EQ(database.job(1).training->steps.size(), 3u);
  EXPECT_EQ(database.prune({0, -1}), 1);
  EXPECT_EQ(Connection(directory.file("b.db"), false).integer("SELECT count(*) FROM training_step"), 0);
  EXPECT_EQ(Connection(directory.file("b.db"), false).integer("SELECT count(*) FROM training_layer"), 0);
}

TEST(TrainingRows, ADatabaseOfBeforeHasNone) {
  const testing::TempDirectory directory;
  testing::makeOldDatabase(directory.file("old.db"), 7);
  const Database old = Database::open(directory.file("old.db"), OpenMode::kReadOnly);
  EXPECT_FALSE(old.job(1).training);
  EXPECT_FALSE(old.jobs().at(0).training);
}

}  // namespace
}  // namespace ipex_studio
