// What passes gain in the database: written, replaced, read back, imported, pruned, and in reports.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "profiler/database.h"
#include "profiler/export/export_html.h"
#include "profiler/sqlite.h"
#include "tests/profiler/old_database.h"
#include "tests/profiler/synthetic_job.h"
#include "tests/profiler/temp_directory.h"

namespace ipex_studio {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

const std::vector<PassGain> kGains = {{"fold-batch-norm", 2.5e6, 2.25e6, 2.75e6}, {"fuse-activation", -1e5, -3e5, 1e5}};

TEST(PassGainRows, AreReadAsTheyWereWrittenLast) {
  const testing::TempDirectory directory;
  Database database = Database::open(directory.file("p.db"), OpenMode::kReadWrite);
  const std::int64_t job = database.record(testing::smallJob());
  EXPECT_TRUE(database.passGains(job).empty());
  database.recordPassGains(job, {{"fuse-activation", 7, 6, 8}});
  database.recordPassGains(job, kGains);
  const auto read = database.passGains(job);
  ASSERT_EQ(read.size(), 2U);
  for (std::size_t i = 0; i < read.size(); ++i) {
    EXPECT_EQ(read[i].pass, kGains[i].pass);
    EXPECT_EQ(read[i].gain_ns, kGains[i].gain_ns);
    EXPECT_EQ(read[i].low_ns, kGains[i].low_ns);
    EXPECT_EQ(read[i].high_ns, kGains[i].high_ns);
  }
  EXPECT_TRUE(read[0].clear());
  EXPECT_FALSE(read[1].clear());
}

TEST(PassGainRows, AreImportedAndPrunedWithTheirJob) {
  const testing::TempDirectory directory;
  {
    Database other = Database::open(directory.file("a.db"), OpenMode::kReadWrite);
    other.recordPassGains(other.record(testing::smallJob()), kGains);
  }
  Database database = Database::open(directory.file("b.db"), OpenMode::kReadWrite);
  ASSERT_EQ(database.import(directory.file("a.db")), 1);
  EXPECT_EQ(database.passGains(1).size(), 2U);
  database.prune({0, -1});
  EXPECT_EQ(Connection(directory.file("b.db"), false).integer("SELECT count(*) FROM pass_gain"), 0);
}

TEST(PassGainRows, OldDatabasesHaveNone) {
  const testing::TempDirectory directory;
  testing::makeOldDatabase(directory.file("old.db"), 9);
  EXPECT_TRUE(Database::open(directory.file("old.db"), OpenMode::kReadOnly).passGains(1).empty());
  Database::open(directory.file("old.db"), OpenMode::kReadWrite).recordPassGains(1, kGains);
  EXPECT_EQ(Database::open(directory.file("old.db"), OpenMode::kReadOnly).passGains(1).size(), 2U);
}

TEST(PassGainRows, StandInTheReportWhereTheyWereMeasured) {
  JobRecord job = testing::smallJob();
  PassRecord pass;
  pass.index = 1;
  pass.name = "fold-batch-norm";
  job.passes = {pass};
  EXPECT_THAT(htmlReport(job), Not(HasSubstr("gains, ms")));
  EXPECT_THAT(htmlReport(job, {}, kGains), HasSubstr("2.50 (2.25 to 2.75)"));
}

}  // namespace
}  // namespace ipex_studio
