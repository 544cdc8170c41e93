// The source of models in the database: written once per model, read back, imported, pruned.
#include <gtest/gtest.h>

#include "core/record/records_json.h"
#include "core/record/source_record.h"
#include "profiler/database.h"
#include "profiler/sqlite.h"
#include "tests/profiler/old_database.h"
#include "tests/profiler/synthetic_job.h"
#include "tests/profiler/temp_directory.h"

namespace ipex_studio {
namespace {

SourceRecord netSource() {
  SourceRecord source;
  source.files = {{"code/__torch__.py", false, 1, "def forward(x):\n  return conv(x)\n", false},
                  {"net.py", true, 7, "  \x01 'ümlaut %s'\n", true}};
  source.places = {{0, 0, 1, true}, {0, 0, 2, false}, {3, 1, 7, false}};
  return source;
}

TEST(SourceRows, AreReadAsTheyWereWritten) {
  const testing::TempDirectory directory;
  Database database = Database::open(directory.file("p.db"), OpenMode::kReadWrite);
  const std::int64_t job = database.record(testing::smallJob());
  EXPECT_EQ(database.source(job), nullptr);
  database.recordSource(job, netSource());
  database.recordSource(job, netSource());
  const auto read = database.source(job);
  ASSERT_TRUE(read);
  EXPECT_EQ(dumpJson(toJson(*read)), dumpJson(toJson(netSource())));
}

TEST(SourceRows, AreSharedByJobsOfAModelAndImportedAndPrunedWithIt) {
  const testing::TempDirectory directory;
  {
    Database other = Database::open(directory.file("a.db"), OpenMode::kReadWrite);
    other.recordSource(other.record(testing::smallJob()), netSource());
  }
  Database database = Database::open(directory.file("b.db"), OpenMode::kReadWrite);
  ASSERT_EQ(database.import(directory.file("a.db")), 1);
  JobRecord later = testing::smallJob();
  later.started_unix_ns += 1;
  EXPECT_TRUE(database.source(database.record(later)));
  database.prune({0, -1});
  EXPECT_EQ(Connection(directory.file("b.db"), false).integer("SELECT count(*) FROM source_place"), 0);
}

TEST(SourceRows, OfOldAndForeignDatabasesAreHarmless) {
  const testing::TempDirectory directory;
  testing::makeOldDatabase(directory.file("old.db"), 8);
  EXPECT_EQ(Database::open(directory.file("old.db"), OpenMode::kReadOnly).source(1), nullptr);
  Database database = Database::open(directory.file("p.db"), OpenMode::kReadWrite);
  const std::int64_t job = database.record(testing::smallJob());
  database.recordSource(job, netSource());
  Connection(directory.file("p.db"), true).execute("UPDATE source_place SET file = 9 WHERE position = 1");
  EXPECT_EQ(database.source(job)->places.size(), 2U);
}

TEST(SourceRows, NamesOfFilesThatDoNotExistAreMalformed) {
  nlohmann::json json = toJson(netSource());
  json["places"][0]["file"] = 2;
  EXPECT_ANY_THROW(recordFromJson<SourceRecord>(json));
}

}  // namespace
}  // namespace ipex_studio
