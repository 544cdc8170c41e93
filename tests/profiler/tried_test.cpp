// Trials on a model are written with a job, found again when the model is opened, and absent from older files.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "core/record/records_json.h"
#include "profiler/database.h"
#include "profiler/sqlite.h"
#include "tests/profiler/old_database.h"
#include "tests/profiler/synthetic_job.h"
#include "tests/profiler/temp_directory.h"

namespace ipex_studio {
namespace {

JobRecord plainJob(const char* command, std::int64_t started) {
  JobRecord made = testing::syntheticJob(1, {1, 8});
  made.command = command;
  made.started_unix_ns = started;
  return made;
}

JobRecord search(std::int64_t started, std::int32_t points) {
  JobRecord found = plainJob("tune", started);
  SensitivityRecord sensitivity;
  sensitivity.key = "layer1.0.conv1:aten::_convolution#0";
  sensitivity.name = "layer1.0.conv1 convolution";
  sensitivity.precision = "int8";
  sensitivity.chosen = "fp32";
  found.sensitivities = {sensitivity, sensitivity};
  for (std::int32_t p = 0; p < points; ++p) {
    TradeoffRecord tried;
    tried.name = fmt::format("point {}", p);
    tried.elapsed_ns = 1000000 - p;
    tried.assignment = p == 0 ? "00" : p == 1 ? "01" : "bf16";
    found.tradeoffs.push_back(tried);
  }
  return found;
}

JobRecord whatIf(std::int64_t started, const char* what) {
  JobRecord tried = plainJob("what-if", started);
  tried.runs.front().variant = "before";
  tried.decisions = {{"*", "fp32", "", "", "", ""},
                     {what, "bf16", "", "", "", ""},
                     {"layer1.0.conv2 + relu", "", "convolution{}|relu", "1x64x56x56", "own", "nhwc"}};
  return tried;
}

class TriedTest : public ::testing::Test {
 protected:
  std::string path() const { return directory_.file("profile.db"); }
  TriedBefore tried(const Database& database) const {
    const JobRecord like = plainJob("run", 0);
    return database.tried(like.model.sha256, like.machine, like.runs.back().threads, like.runs.back().instances);
  }
  testing::TempDirectory directory_;
};

TEST_F(TriedTest, JobsKeepAssignmentsAndDecisions) {
  Database database = Database::open(path(), OpenMode::kReadWrite);
  for (const JobRecord& written : {search(1, 3), whatIf(2, "layer2")})
    EXPECT_EQ(toJson(database.job(database.record(written))), toJson(written));
  Database other = Database::open(directory_.file("other.db"), OpenMode::kReadWrite);
  EXPECT_EQ(other.import(path()), 2);
  EXPECT_EQ(tried(other).tradeoffs.size(), 3U);
  EXPECT_EQ(tried(other).what_ifs.size(), 1U);
  EXPECT_EQ(other.check(), "ok");
}

TEST_F(TriedTest, TheNewestSearchAndAllWhatIfsAreFoundAgain) {
  Database database = Database::open(path(), OpenMode::kReadWrite);
  EXPECT_TRUE(tried(database).tradeoffs.empty());
  JobRecord newest = search(20, 3);
  newest.options = R"({"optimize":{"quantization_recipe":"{}"}})";
  database.record(newest);
  database.record(search(10, 2));
  database.record(whatIf(40, "layer4"));
  database.record(whatIf(30, "layer3"));
  database.record(plainJob("studio", 50));
  // Times under other conditions must not be compared with these.
  JobRecord alone = whatIf(60, "layer1");
  alone.runs.back().threads += 1;
  database.record(alone);
  JobRecord elsewhere = search(70, 1);
  elsewhere.machine.cpu = "another";
  database.record(elsewhere);
  const TriedBefore before = tried(database);
  EXPECT_EQ(before.options, newest.options);
  EXPECT_EQ(before.started_unix_ns, 20);
  ASSERT_EQ(before.tradeoffs.size(), 3U);
  EXPECT_EQ(before.tradeoffs[1].assignment, "01");
  EXPECT_EQ(before.sensitivities.size(), 2U);
  ASSERT_EQ(before.what_ifs.size(), 2U);
  EXPECT_EQ(before.what_ifs[0].decisions[1].what, "layer3");
  EXPECT_EQ(before.what_ifs[1].decisions[1].what, "layer4");
  EXPECT_EQ(before.what_ifs[0].runs[0].variant, "before");
  EXPECT_EQ(before.what_ifs[0].runs[1].latency_ns, whatIf(30, "").runs[1].latency_ns);
  EXPECT_EQ(before.what_ifs[0].runs[1].accuracy.sqnr_db, whatIf(30, "").runs[1].accuracy.sqnr_db);
  EXPECT_TRUE(before.what_ifs[0].runs[1].steps.empty());
}

TEST_F(TriedTest, FilesOfTheVersionBeforeAreReadAndBroughtForward) {
  {
    testing::makeOldDatabase(path(), 3);
    Connection old(path(), true);
    old.execute("INSERT INTO tradeoff VALUES (1, 0, 'fp32', 7, 0, 99, 1, 0, 0, 1, 1, 1)");
  }
  MachineFacts machine;
  machine.cpu = "cpu";
  machine.isa = "avx2";
  for (const OpenMode mode : {OpenMode::kReadOnly, OpenMode::kReadWrite}) {
    const Database database = Database::open(path(), mode);
    EXPECT_EQ(database.job(1).tradeoffs.at(0).name, "fp32");
    const TriedBefore before = database.tried("aa", machine, 2, 1);
    ASSERT_EQ(before.tradeoffs.size(), 1U);
    EXPECT_EQ(before.tradeoffs[0].assignment, "");
    EXPECT_TRUE(before.what_ifs.empty());
  }
  Database database = Database::open(path(), OpenMode::kReadWrite);
  database.record(search(90, 2));
  EXPECT_EQ(tried(database).tradeoffs.size(), 2U);
}

}  // namespace
}  // namespace ipex_studio
