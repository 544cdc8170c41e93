// Models and jobs as a library: names, pins, what is forgotten, and words that find them.
#include "profiler/library/library.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/error.h"
#include "profiler/run_table.h"
#include "profiler/sqlite.h"
#include "tests/profiler/old_database.h"
#include "tests/profiler/synthetic_job.h"
#include "tests/profiler/temp_directory.h"

namespace ipex_studio {
namespace {

using ::testing::HasSubstr;

class LibraryTest : public ::testing::Test {
 protected:
  Database create(const char* name = "profile.db") {
    return Database::open(directory_.file(name), OpenMode::kReadWrite);
  }
  // Records `jobs` jobs of each model; the later ones are newer.
  static void fill(Database& database, const std::vector<std::string>& models, int jobs) {
    std::int64_t when = 1;
    for (int j = 0; j < jobs; ++j) {
      for (const std::string& model : models) {
        JobRecord job = testing::smallJob(static_cast<std::uint64_t>(when));
        job.model.path = "/models/" + model + ".pt";
        job.model.sha256 = std::string(64 - model.size(), 'a') + model;
        job.started_unix_ns = when++;
        database.record(job);
      }
    }
  }
  static std::string shaOf(const std::string& model) { return std::string(64 - model.size(), 'a') + model; }

  testing::TempDirectory directory_;
};

TEST_F(LibraryTest, GroupsJobsByModelWithThePinnedOnesFirst) {
  Database database = create();
  fill(database, {"one", "two"}, 2);
  std::vector<JobSummary> jobs = database.jobs();
  std::vector<LibraryModel> models = libraryOf(jobs);
  ASSERT_EQ(models.size(), 2U);
  EXPECT_EQ(models[0].path, "/models/two.pt") << "the newest job is of it";
  EXPECT_EQ(models[0].jobs.size(), 2U);
  EXPECT_GT(ratioOf(jobs[models[0].result]), 0);
  ASSERT_NE(resultOf(jobs[0]), nullptr);
  EXPECT_TRUE(resultOf(jobs[0])->judged);
  database.setPinned({shaOf("one")}, true);
  database.setName({shaOf("one")}, "The first");
  jobs = database.jobs();
  models = libraryOf(jobs);
  EXPECT_EQ(models[0].name, "The first");
  EXPECT_TRUE(models[0].pinned);
}

TEST_F(LibraryTest, NamesAndPinsStayAndAreTakenAway) {
  {
    Database database = create();
    fill(database, {"one"}, 1);
    database.setName({"", 1}, "before the fix");
    database.setPinned({"", 1}, true);
  }
  Database database = create();
  EXPECT_EQ(database.jobs()[0].name, "before the fix");
  EXPECT_TRUE(database.jobs()[0].pinned);
  EXPECT_FALSE(database.jobs()[0].model_pinned);
  database.setName({"", 1}, "");
  database.setPinned({"", 1}, false);
  EXPECT_EQ(database.jobs()[0].name, "");
  EXPECT_EQ(Connection(directory_.file("profile.db"), false).integer("SELECT count(*) FROM job_mark"), 0);
  EXPECT_THROW(database.setName({"", 7}, "x"), Error);
  EXPECT_THROW(database.setPinned({"no such", 0}, true), Error);
  EXPECT_THROW(database.setName({"", 1}, "two\nlines"), Error);
  EXPECT_THROW(database.setName({"", 1}, std::string(201, 'x')), Error);
}

TEST_F(LibraryTest, WhatIsPinnedIsNeverPruned) {
  Database database = create();
  fill(database, {"one", "two"}, 3);
  database.setPinned({"", 1}, true);
  database.setPinned({shaOf("two")}, true);
  EXPECT_EQ(database.prune({0, -1}), 2);
  std::vector<std::int64_t> left;
  for (const JobSummary& job : database.jobs()) left.push_back(job.id);
  EXPECT_EQ(left, (std::vector<std::int64_t>{6, 4, 2, 1}));
  EXPECT_EQ(database.prune({-1, 1}), 0) << "nothing is left that may go";
}

TEST_F(LibraryTest, ForgetsJobsAndModelsWithAllThatIsKeptOfThem) {
  Database database = create();
  fill(database, {"one", "two"}, 2);
  database.setName({"", 1}, "gone soon");
  EXPECT_EQ(database.forget({"", 1}), 1);
  EXPECT_EQ(database.jobs().size(), 3U);
  database.trust(shaOf("two"));
  database.setName({shaOf("two")}, "Two");
  database.rememberInputs(shaOf("two"), {{"x", "1x3", false}});
  EXPECT_EQ(database.forget({shaOf("two")}), 2);
  EXPECT_EQ(database.jobs().size(), 1U);
  EXPECT_FALSE(database.isTrusted(shaOf("two")));
  EXPECT_TRUE(database.rememberedInputs(shaOf("two")).empty());
  Connection connection(directory_.file("profile.db"), false);
  EXPECT_EQ(connection.integer("SELECT count(*) FROM model"), 1);
  EXPECT_EQ(connection.integer("SELECT count(*) FROM job_mark"), 0);
  EXPECT_EQ(connection.integer("SELECT count(*) FROM model_mark"), 0);
  EXPECT_EQ(database.check(), "ok");
  EXPECT_THROW(database.forget({"", 1}), Error);
}

TEST_F(LibraryTest, ImportBringsNamesAndPinsAndKeepsTheOnesHere) {
  Database from = create("from.db");
  fill(from, {"one", "two"}, 1);
  from.setName({"", 1}, "theirs");
  from.setName({shaOf("one")}, "One of them");
  from.setPinned({shaOf("two")}, true);
  Database to = create("to.db");
  fill(to, {"two"}, 1);
  to.setName({shaOf("two")}, "Ours");
  to.import(directory_.file("from.db"));
  std::vector<std::string> names;
  for (const JobSummary& job : to.jobs()) {
    names.push_back(job.model_name + "/" + job.name);
    EXPECT_FALSE(job.model_pinned) << "a mark that is here stays as it is";
  }
  EXPECT_THAT(names, ::testing::Contains("One of them/theirs"));
  EXPECT_THAT(names, ::testing::Contains("Ours/"));
}

TEST_F(LibraryTest, OldDatabasesAreListedWithoutMarks) {
  const std::string path = directory_.file("old.db");
  testing::makeOldDatabase(path, 10);
  const Database old = Database::open(path, OpenMode::kReadOnly);
  ASSERT_EQ(old.jobs().size(), 1U);
  EXPECT_EQ(old.jobs()[0].name, "");
  EXPECT_FALSE(old.jobs()[0].pinned);
}

TEST_F(LibraryTest, WordsMeanAJobOrAModel) {
  Database database = create();
  fill(database, {"one", "two"}, 1);
  database.setName({shaOf("two")}, "Second");
  const std::vector<JobSummary> jobs = database.jobs();
  EXPECT_EQ(findItem(jobs, "1").job, 1);
  EXPECT_EQ(findItem(jobs, "one.pt").sha256, shaOf("one"));
  EXPECT_EQ(findItem(jobs, "/models/two.pt").sha256, shaOf("two"));
  EXPECT_EQ(findItem(jobs, "Second").sha256, shaOf("two"));
  EXPECT_EQ(findItem(jobs, shaOf("two")).sha256, shaOf("two"));
  for (const char* word : {"3", "three.pt", "", "aaaaaaaa", "aaa"}) EXPECT_THROW(findItem(jobs, word), Error) << word;
  EXPECT_TRUE(matches(jobs[0], "SECOND two"));
  EXPECT_FALSE(matches(jobs[0], "second one"));
  EXPECT_TRUE(matches(jobs[0], ""));
}

TEST_F(LibraryTest, TheTableHasColumnsForMarksOnlyWhereThereAreSome) {
  Database database = create();
  fill(database, {"one"}, 1);
  EXPECT_THAT(jobTable(database.jobs(), 200, false), ::testing::Not(HasSubstr("pinned")));
  database.setName({"", 1}, "before the fix");
  database.setPinned({"", 1}, true);
  database.setName({shaOf("one")}, "First");
  const std::string table = jobTable(database.jobs(), 200, false);
  for (const char* text : {"pinned", "before the fix", "First (one.pt)"}) EXPECT_THAT(table, HasSubstr(text));
}

}  // namespace
}  // namespace ipex_studio
