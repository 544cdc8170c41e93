// profile.db: written records are read back, and views agree with statistics.h.
#include "profiler/database.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cmath>

#include "core/base/error.h"
#include "core/record/records_json.h"
#include "profiler/sqlite.h"
#include "profiler/statistics.h"
#include "tests/profiler/synthetic_job.h"
#include "tests/profiler/temp_directory.h"

namespace ipex_studio {
namespace {

using testing::smallJob;
using testing::syntheticJob;
using testing::TempDirectory;

class DatabaseTest : public ::testing::Test {
 protected:
  Database create() { return Database::open(path(), OpenMode::kReadWrite); }
  std::string path() const { return directory_.file("profile.db"); }
  std::int64_t query(const char* sql) { return Connection(path(), false).integer(sql); }

  TempDirectory directory_;
};

TEST_F(DatabaseTest, JobComesBackAsItWas) {
  Database database = create();
  JobRecord job = smallJob();
  job.runs[1].steps[0].device = "opencl:1";
  const std::int64_t id = database.record(job);
  EXPECT_EQ(toJson(database.job(id)), toJson(job));
  EXPECT_EQ(database.check(), "ok");
}

TEST_F(DatabaseTest, TextThatIsHostileToSqlComesBackAsItWas) {
  Database database = create();
  JobRecord job = smallJob();
  job.model.path = "'); DROP TABLE job; --\"\n\xf0\x9f\x92\xa3";
  job.remarks[0].text = std::string("zero\0byte", 9);
  job.runs[1].accuracy.max_rel = std::nan("");
  EXPECT_EQ(dumpJson(toJson(database.job(database.record(job)))), dumpJson(toJson(job)));
}

TEST_F(DatabaseTest, JobThatIsNotConsistentIsRefusedAndLeavesNothing) {
  Database database = create();
  JobRecord job = smallJob();
  job.runs[1].dispatches[0].step = 999;
  EXPECT_THROW(database.record(job), Error);
  EXPECT_EQ(query("SELECT count(*) FROM job"), 0);
}

TEST_F(DatabaseTest, ListsNewestFirst) {
  Database database = create();
  for (std::uint64_t seed = 1; seed <= 3; ++seed) database.record(smallJob(seed));
  const auto jobs = database.jobs();
  ASSERT_EQ(jobs.size(), 3u);
  EXPECT_GT(jobs[0].started_unix_ns, jobs[1].started_unix_ns);
  EXPECT_EQ(jobs[0].model_path, "models/resnet50.pt");
  EXPECT_EQ(jobs[0].optimized_p50_ns, median(smallJob(3).runs[1].latency_ns));
  EXPECT_EQ(database.jobs(2).size(), 2u);
  EXPECT_EQ(database.jobs(10, "other").size(), 0u);
  const auto runs = database.runs();
  ASSERT_EQ(runs.size(), 6u);
  EXPECT_EQ(runs[1].variant, "optimized");
  EXPECT_EQ(runs[1].samples, 20);
  EXPECT_EQ(runs[1].cpu, "AMD EPYC 9654");
  const auto [job, position] = database.run(runs[1].id);
  EXPECT_EQ(position, 1u);
  EXPECT_EQ(job.started_unix_ns, jobs[0].started_unix_ns);
}

TEST_F(DatabaseTest, ViewsAgreeWithStatistics) {
  Database database = create();
  JobRecord job = syntheticJob(5, {2, 101});
  database.record(smallJob());
  database.record(job);
  const LatencyStats expected = latencyStats(job.runs[1].latency_ns);
  Connection reader(path(), false);
  Statement stat(reader,
                 "SELECT samples, min_ns, mean_ns, p50_ns, p90_ns, p95_ns, p99_ns, max_ns, throughput_per_s "
                 "FROM run_stat WHERE run_id = 4");
  ASSERT_TRUE(stat.next());
  EXPECT_EQ(stat.integer(0), expected.samples);
  EXPECT_EQ(stat.real(1), expected.min_ns);
  EXPECT_NEAR(stat.real(2), expected.mean_ns, 1e-3);
  EXPECT_EQ(stat.real(3), expected.p50_ns);
  EXPECT_EQ(stat.real(4), expected.p90_ns);
  EXPECT_EQ(stat.real(5), expected.p95_ns);
  EXPECT_EQ(stat.real(6), expected.p99_ns);
  EXPECT_EQ(stat.real(7), expected.max_ns);
  EXPECT_NEAR(stat.real(8), 1e9 / expected.mean_ns, 1e-6);

  EXPECT_EQ(
      reader.integer("SELECT count(*) FROM run JOIN run_stat ON run_id = run.id WHERE run.p50_ns = run_stat.p50_ns"),
      4);

  std::int64_t steps = 0;
  for (const StepTime& time : job.runs[1].step_times) steps += median(time.elapsed_ns);
  EXPECT_EQ(reader.integer("SELECT steps_p50_ns FROM run_unattributed WHERE run_id = 4"), steps);
  EXPECT_EQ(reader.integer("SELECT unattributed_ns FROM run_unattributed WHERE run_id = 4"),
            std::max<std::int64_t>(0, median(job.runs[1].latency_ns) - steps));
  EXPECT_EQ(reader.integer("SELECT p50_ns FROM step_stat WHERE run_id = 4 AND step = 3"),
            median(job.runs[1].step_times[3].elapsed_ns));
  EXPECT_EQ(reader.integer("SELECT round(1000 * speedup_p50) FROM job_speedup WHERE job_id = 2"),
            std::llround(1000.0 * static_cast<double>(median(job.runs[0].latency_ns)) /
                         static_cast<double>(median(job.runs[1].latency_ns))));
  EXPECT_EQ(reader.integer("SELECT count(*) FROM node WHERE job_id = 2 AND pass = 0"), 18);
  EXPECT_EQ(
      reader.text("SELECT kind || ' ' || name || ' ' || origins FROM node WHERE job_id = 2 AND pass = 6 AND node = 1"),
      "ipex_studio::convolution layer1.0.conv2 [3,4,5]");
  EXPECT_EQ(reader.integer("SELECT count(*) FROM run_turn WHERE run_id = 4 AND turn = 10"), 1);
  EXPECT_EQ(reader.integer("SELECT elapsed_ns FROM run_sample WHERE run_id = 4 AND iteration = 7"),
            job.runs[1].latency_ns[7]);
}

TEST_F(DatabaseTest, SharesOfStepsNeverExceedTheWhole) {
  JobRecord job = smallJob();
  for (StepTime& time : job.runs[1].step_times) {
    for (std::int64_t& ns : time.elapsed_ns) ns *= 5;
  }
  create().record(job);
  EXPECT_EQ(query("SELECT round(1000 * sum(share)) FROM step_stat WHERE run_id = 2"), 1000);
  EXPECT_EQ(query("SELECT unattributed_ns FROM run_unattributed WHERE run_id = 2"), 0);
}

TEST_F(DatabaseTest, NoiseIsRecordedWithItsLevel) {
  JobRecord job = smallJob();
  job.runs[1].noise.others = 1.5;
  create().record(job);
  EXPECT_EQ(query("SELECT count(*) FROM run WHERE noise = 'quiet'"), 1);
  EXPECT_EQ(query("SELECT count(*) FROM run WHERE noise = 'busy' AND others = 1.5"), 1);
}

TEST_F(DatabaseTest, InstancesOfAStepShareOneStatistic) {
  JobRecord job = smallJob();
  StepTime second = job.runs[1].step_times[0];
  second.thread = 1;
  for (std::int64_t& ns : second.elapsed_ns) ns *= 3;
  job.runs[1].step_times.push_back(second);
  create().record(job);
  std::vector<std::int64_t> both = job.runs[1].step_times[0].elapsed_ns;
  both.insert(both.end(), second.elapsed_ns.begin(), second.elapsed_ns.end());
  EXPECT_EQ(query("SELECT p50_ns FROM step_stat WHERE run_id = 2 AND step = 0"), median(both));
  EXPECT_EQ(query("SELECT count(*) FROM step_stat WHERE run_id = 2"), 7);
  EXPECT_EQ(query("SELECT count(*) FROM step_sample WHERE run_id = 2 AND step = 0"), 40);
}

TEST_F(DatabaseTest, EveryTableIsStrict) {
  create();
  EXPECT_GT(query("SELECT count(*) FROM pragma_table_list WHERE schema = 'main' AND type = 'table' AND strict"), 14);
  EXPECT_EQ(query("SELECT count(*) FROM pragma_table_list WHERE schema = 'main' AND type = 'table' AND NOT strict "
                  "AND name NOT LIKE 'sqlite_%'"),
            0);
  Connection writer(path(), false);
  EXPECT_THROW(writer.execute("INSERT INTO trusted_model VALUES ('a', 'now')"), Error);
  EXPECT_THROW(writer.execute("INSERT INTO job_input VALUES (77, 0, 'x', '', 0)"), Error);  // no such job
  EXPECT_THROW(writer.execute("PRAGMA writable_schema = ON; UPDATE sqlite_master SET sql = ''"), Error);
}

TEST_F(DatabaseTest, EqualGraphsAreStoredOnce) {
  Database database = create();
  database.record(smallJob(1));
  const std::int64_t once = query("SELECT count(*) FROM snapshot");
  database.record(smallJob(2));
  EXPECT_EQ(query("SELECT count(*) FROM snapshot"), once);
  EXPECT_EQ(query("SELECT count(*) FROM model"), 1);
  EXPECT_EQ(query("SELECT count(*) FROM machine"), 1);
}

TEST_F(DatabaseTest, SamplesBeyondTheBudgetAreThinnedEvenly) {
  Database database = create();
  JobRecord job = smallJob();
  StepTime& time = job.runs[1].step_times[0];
  time.begin_ns.clear();
  time.elapsed_ns.clear();
  for (std::int64_t i = 0; i < 300'000; ++i) time.elapsed_ns.push_back(i);
  const JobRecord back = database.job(database.record(job));
  const auto& kept = back.runs[1].step_times[0].elapsed_ns;
  EXPECT_EQ(kept.size(), 60'000u / job.runs[1].step_times.size());
  EXPECT_NEAR(static_cast<double>(median(kept)), 150'000, 50);
}

TEST_F(DatabaseTest, RemembersInputsTrustAndTuning) {
  Database database = create();
  EXPECT_TRUE(database.rememberedInputs("aa").empty());
  database.rememberInputs("aa", {{"x", "1x3:float32", true}, {"n", "4", false}});
  database.rememberInputs("aa", {{"y", "2x3:float32", false}});
  ASSERT_EQ(database.rememberedInputs("aa").size(), 1u);
  EXPECT_EQ(database.rememberedInputs("aa")[0].name, "y");
  EXPECT_FALSE(database.isTrusted("aa"));
  database.trust("aa");
  database.trust("aa");
  EXPECT_TRUE(database.isTrusted("aa"));

  const TuningKey key{"cpu", "avx512_core", "oneDNN 2.6.3", 2};
  TuningCandidate fast{-1, "brgemm", 1, {"channels-last", ""}, "channels-last", "brgconv", 1000, 1e-7, ""};
  const TuningCandidate refused{-1, "winograd", 0, {}, "", "", 900, 0.5, "inexact"};
  database.putTunings({{key, {"conv 1x1", 1, {fast}}}, {key, {"plan 0", 1, {}}}});
  fast.elapsed_ns = 500;
  database.putTunings({{key, {"conv 1x1", 2, {fast, refused}}}});
  const auto known = database.tunings("cpu", "avx512_core");
  ASSERT_EQ(known.size(), 2u);
  EXPECT_TRUE(known[0].second.candidates.empty());  // the default choice is a choice, too
  const TuningEntry& conv = known[1].second;
  EXPECT_EQ(conv.effort, 2);
  ASSERT_EQ(conv.candidates.size(), 2u);
  EXPECT_EQ(conv.candidates[0].elapsed_ns, 500);
  EXPECT_EQ(conv.candidates[0].src, fast.src);
  EXPECT_EQ(conv.candidates[1].reason, "inexact");
  EXPECT_EQ(known[1].first.threads, 2);
  EXPECT_EQ(database.tunings("cpu", "avx512_core", 1).size(), 1u);
  EXPECT_TRUE(database.tunings("cpu", "avx2").empty());
}

TEST_F(DatabaseTest, ImportsWhatIsNotHereYetButNeverTrust) {
  const std::string other_path = directory_.file("other.db");
  {
    Database other = Database::open(other_path, OpenMode::kReadWrite);
    other.record(smallJob(1));
    other.record(smallJob(2));
    other.trust("aa");
    other.rememberInputs("aa", {{"x", "1x3:float32", false}});
    other.putTunings({{{"cpu", "avx2", "l", 1}, {"conv", 1, {}}}, {{"cpu", "avx2", "l", 1}, {"pool", 1, {}}}});
  }
  Database database = create();
  database.putTunings({{{"cpu", "avx2", "l", 1}, {"conv", 2, {}}}});
  database.record(smallJob(2));
  EXPECT_EQ(database.import(other_path), 1);
  EXPECT_EQ(database.import(other_path), 0);
  EXPECT_EQ(database.jobs().size(), 2u);
  EXPECT_FALSE(database.isTrusted("aa"));
  EXPECT_EQ(database.rememberedInputs("aa").size(), 1u);
  const auto known = database.tunings("cpu", "avx2");
  ASSERT_EQ(known.size(), 2u);
  EXPECT_EQ(known[0].second.effort, 2) << "what was here stays";
  EXPECT_EQ(known[1].second.spec, "pool");
}

TEST_F(DatabaseTest, PruneKeepsTheNewestAndGivesSpaceBack) {
  Database database = create();
  for (std::uint64_t seed = 1; seed <= 5; ++seed) database.record(syntheticJob(seed, {8, 200}));
  const auto before = std::filesystem::file_size(path());
  EXPECT_EQ(database.prune({2, -1}), 3);
  ASSERT_EQ(database.jobs().size(), 2u);
  EXPECT_EQ(database.jobs()[0].started_unix_ns, syntheticJob(5, {1, 1}).started_unix_ns);
  EXPECT_LT(std::filesystem::file_size(path()), before * 2 / 3);
  EXPECT_EQ(database.prune({2, -1}), 0);
  EXPECT_EQ(database.prune({-1, 100'000}), 2);
  EXPECT_EQ(
      query("SELECT (SELECT count(*) FROM snapshot) + (SELECT count(*) FROM step_time) + (SELECT count(*) FROM model)"),
      0);
  EXPECT_EQ(database.check(), "ok");
}

TEST(DefaultDatabasePath, FollowsXdg) {
  const char* home = std::getenv("HOME");
  const std::string old_home = home ? home : "";
  TempDirectory directory;
  setenv("XDG_DATA_HOME", directory.path().c_str(), 1);
  EXPECT_EQ(defaultDatabasePath(), directory.file("ipex-studio/profile.db"));
  EXPECT_EQ(Database::openDefault().path(), defaultDatabasePath());
  setenv("XDG_DATA_HOME", "relative", 1);
  setenv("HOME", "/home/somebody", 1);
  EXPECT_EQ(defaultDatabasePath(), "/home/somebody/.local/share/ipex-studio/profile.db");
  unsetenv("XDG_DATA_HOME");
  EXPECT_EQ(defaultDatabasePath(), "/home/somebody/.local/share/ipex-studio/profile.db");
  setenv("HOME", old_home.c_str(), 1);
}

// Asserts no time, which depends on the disk: the value is printed for the record.
TEST_F(DatabaseTest, RecordingTwoHundredStepsTakesLittle) {
  Database database = create();
  const JobRecord job = syntheticJob(1, {66, 400});
  const auto begin = std::chrono::steady_clock::now();
  database.record(job);
  const auto first = std::chrono::steady_clock::now();
  database.job(1);
  const auto second = std::chrono::steady_clock::now();
  const auto ms = [](auto a, auto b) { return std::chrono::duration<double, std::milli>(b - a).count(); };
  RecordProperty("record_ms", std::to_string(ms(begin, first)));
  RecordProperty("read_ms", std::to_string(ms(first, second)));
  fmt::print("record {:.0f} ms, read {:.0f} ms, file {:.1f} MB\n", ms(begin, first), ms(first, second),
             static_cast<double>(std::filesystem::file_size(path())) / 1e6);
}

}  // namespace
}  // namespace ipex_studio
