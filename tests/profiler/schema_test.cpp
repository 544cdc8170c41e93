// A fresh database has the tables of schema.sql, and migrations give the same tables to every older one.
#include <gtest/gtest.h>

#include <map>
#include <regex>
#include <sstream>
#include <utility>

#include "profiler/database.h"
#include "tests/profiler/old_database.h"
#include "tests/profiler/temp_directory.h"

namespace ipex_studio {
namespace {

constexpr std::int64_t kCurrentVersion = 15;

// Returns the statements by "type name", without comments and with spaces only where they separate words.
std::map<std::string, std::string> tablesOf(const std::string& path) {
  Connection connection(path, false);
  std::map<std::string, std::string> tables;
  Statement row(connection, "SELECT type || ' ' || name, coalesce(sql, '') FROM sqlite_master");
  while (row.next()) {
    std::string sql = std::regex_replace(row.text(1), std::regex("--[^\n]*"), "");
    sql = std::regex_replace(sql, std::regex("\\s+"), " ");
    tables[row.text(0)] = std::regex_replace(sql, std::regex(" ?([(),]) ?"), "$1");
  }
  return tables;
}

class SchemaTest : public ::testing::Test {
 protected:
  void SetUp() override {
    Connection(directory_.file("schema.db"), true).execute(testing::sourceText("profiler/schema.sql").c_str());
    expected_ = tablesOf(directory_.file("schema.db"));
    ASSERT_GT(expected_.size(), 20U);
  }
  testing::TempDirectory directory_;
  std::map<std::string, std::string> expected_;
};

TEST_F(SchemaTest, AFreshDatabaseHasTheTablesOfSchemaSql) {
  const std::string path = directory_.file("fresh.db");
  Database::open(path, OpenMode::kReadWrite);
  EXPECT_EQ(tablesOf(path), expected_);
  EXPECT_EQ(Connection(path, false).integer("PRAGMA user_version"), kCurrentVersion);
}

TEST_F(SchemaTest, MigrationsGiveOldDatabasesTheSameTables) {
  for (std::int64_t version = 1; version < kCurrentVersion; ++version) {
    SCOPED_TRACE(version);
    const std::string path = directory_.file(fmt::format("version_{}.db", version));
    testing::makeOldDatabase(path, version);
    if (version >= 5) {
      const char* const column = version == 5 ? "slices" : "micro_batches";
      Connection(path, true).execute(fmt::format("UPDATE plan_step SET {} = 3", column).c_str());
    }
    const std::int32_t micro_batches = version >= 5 ? 3 : 1;
    const auto before = tablesOf(path);
    // Reading leaves the tables of an old file unchanged.
    EXPECT_EQ(Database::open(path, OpenMode::kReadOnly).job(1).runs.at(0).steps.at(0).micro_batches, micro_batches);
    EXPECT_EQ(tablesOf(path), before);
    EXPECT_NE(before, expected_);
    const Database database = Database::open(path, OpenMode::kReadWrite);
    EXPECT_EQ(tablesOf(path), expected_);
    EXPECT_EQ(Connection(path, false).integer("PRAGMA user_version"), kCurrentVersion);
    EXPECT_EQ(database.job(1).runs.at(0).steps.at(0).micro_batches, micro_batches);
    EXPECT_EQ(database.check(), "ok");
  }
}

// Before version 15 the names of kernels and copies alone told the device of a step.
TEST_F(SchemaTest, StepsOfOldDatabasesGetTheirDevice) {
  for (const auto& [asked, named] : {std::pair("opencl", "opencl:0"), std::pair("xpu:1", "xpu:1")}) {
    SCOPED_TRACE(asked);
    const std::string path = directory_.file(fmt::format("{}.db", named));
    testing::makeOldDatabase(path, 14);
    Connection(path, true)
        .execute(
            fmt::format("UPDATE run SET device = '{}';"
                        "INSERT INTO plan_step SELECT run_id, 1, 1, region, name, kind, spec, 'linear_xpu', '', '', "
                        "'', '', precision, '[]', 1, 1, -1, 0, 0, 1, 1 FROM plan_step WHERE step = 0;"
                        "INSERT INTO plan_step SELECT run_id, 2, 2, region, name, kind, spec, 'device_copy', '', "
                        "'', '', '', precision, '[]', 1, 1, -1, 0, 0, 1, 1 FROM plan_step WHERE step = 0;",
                        asked)
                .c_str());
    for (const OpenMode mode : {OpenMode::kReadOnly, OpenMode::kReadWrite}) {
      const auto job = Database::open(path, mode).job(1);
      ASSERT_EQ(job.runs.at(0).steps.size(), 3U);
      EXPECT_EQ(job.runs[0].steps[0].device, "cpu");
      EXPECT_EQ(job.runs[0].steps[1].device, named);
      EXPECT_EQ(job.runs[0].steps[2].device, named);
    }
  }
}

TEST_F(SchemaTest, EveryNumberInSchemaSqlHasAUnit) {
  std::istringstream lines(testing::sourceText("profiler/schema.sql"));
  const std::regex number("  \\w+ +(INTEGER|REAL)\\b.*"), explained(".*(--|PRIMARY KEY|REFERENCES).*");
  for (std::string line; std::getline(lines, line);) {
    EXPECT_TRUE(!std::regex_match(line, number) || std::regex_match(line, explained)) << line;
  }
}

}  // namespace
}  // namespace ipex_studio
