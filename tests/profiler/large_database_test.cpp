// Databases of the size they have after a year: a thousand runs are listed, and two with thousands of steps compared,
// at once. In a campaign each of the thousand has its five thousand steps.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>

#include "profiler/comparison.h"
#include "profiler/database.h"
#include "profiler/sqlite.h"
#include "tests/goal.h"
#include "tests/profiler/synthetic_job.h"
#include "tests/profiler/temp_directory.h"

namespace ipex_studio {
namespace {

double bestMs(const std::function<void()>& work) {
  double best = 1e9;
  for (int i = 0; i < 3; ++i) {
    const double begin = cpuMs();
    work();
    best = std::min(best, cpuMs() - begin);
  }
  return best;
}

// A job with two runs of about `steps` steps and few samples of each.
JobRecord jobWithSteps(std::uint64_t seed, std::int32_t steps) { return testing::syntheticJob(seed, {steps / 3, 10}); }

// Copies job 1 with all rows of its steps and their times, in one transaction.
void multiplyJob(const std::string& path, std::int64_t jobs) {
  Connection connection(path, false);
  Transaction transaction(connection);
  Statement job(connection,
                "INSERT INTO job SELECT NULL, model_id, machine_id, command, options, started_unix_ns + ?1, frozen_id "
                "FROM job WHERE id = 1");
  Statement of_first(connection, "SELECT id FROM run WHERE job_id = 1 ORDER BY position");
  Statement run(connection,
                "INSERT INTO run SELECT NULL, ?1, position, variant, device, precision, threads, instances, "
                "warmup_iterations, samples, p50_ns, "
                "latency_ns, turn, load_ns, compile_ns, tune_ns, first_run_ns, peak_rss_bytes, cpu_per_wall, "
                "coverage_nodes, coverage_time, "
                "export_bytes FROM run WHERE id = ?2");
  Statement steps(connection,
                  "INSERT INTO plan_step SELECT ?1, step, position, region, name, kind, spec, kernel, implementation, "
                  "src_layout, dst_layout, "
                  "dst_shape, precision, origins, flops, bytes, arena_begin, arena_size, last_use, micro_batches FROM "
                  "plan_step WHERE run_id = ?2");
  Statement times(connection,
                  "INSERT INTO step_time SELECT ?1, position, step, name, kind, origins, thread, begin_ns, elapsed_ns "
                  "FROM step_time WHERE run_id = ?2");
  Statement accuracy(connection,
                     "INSERT INTO accuracy SELECT ?1, position, origins, output, reference, max_abs, max_rel, sqnr_db, "
                     "cosine, pass, text FROM "
                     "accuracy WHERE run_id = ?2");
  for (std::int64_t j = 1; j < jobs; ++j) {
    job.bind(j).run();
    const std::int64_t job_id = connection.lastId();
    for (of_first.bind(); of_first.next();) {
      const std::int64_t from = of_first.integer(0);
      run.bind(job_id, from).run();
      const std::int64_t to = connection.lastId();
      for (Statement* rows : {&steps, &times, &accuracy}) rows->bind(to, from).run();
    }
  }
  transaction.commit();
}

TEST(LargeDatabase, OpensAndComparesInTimeWhateverIsInEveryRun) {
  if (std::getenv("IPEX_CAMPAIGN") == nullptr) GTEST_SKIP() << "writes five million steps; set IPEX_CAMPAIGN=1";
  using Clock = std::chrono::steady_clock;
  const auto wallMs = [](Clock::time_point begin) {
    return std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
  };
  const testing::TempDirectory directory;
  const std::string path = directory.file("profile.db");
  Database::open(path, OpenMode::kReadWrite).record(jobWithSteps(2, 5000));
  const auto begin = Clock::now();
  multiplyJob(path, 500);
  Connection reader(path, false);
  // Steps of plans, and nodes of the original model.
  const std::int64_t step_rows = reader.integer("SELECT count(*) FROM step_time");
  std::printf("%lld timed steps of %lld runs, %.1f GB, written in %.0f s\n", static_cast<long long>(step_rows),
              static_cast<long long>(reader.integer("SELECT count(*) FROM run")),
              static_cast<double>(std::filesystem::file_size(path)) / 1e9, wallMs(begin) / 1e3);
  EXPECT_GE(step_rows, 5'000'000);
  std::vector<JobSummary> jobs;
  double open = 1e9, compare = 1e9, show = 1e9, wall = 1e9;
  for (int i = 0; i < 3; ++i) {
    double at = cpuMs();
    jobs = Database::open(path, OpenMode::kReadOnly).jobs(1000);
    open = std::min(open, cpuMs() - at);
    // Two runs of different jobs, far apart in the file.
    at = cpuMs();
    const auto at_wall = Clock::now();
    const Database database = Database::open(path, OpenMode::kReadOnly);
    const RunSet set = compareRunSet(database, {jobs[10].runs.back().id, jobs[480].runs.back().id});
    compare = std::min(compare, cpuMs() - at);
    wall = std::min(wall, wallMs(at_wall));
    std::int32_t steps = 0;
    for (const RunSetRow& row : set.rows) steps += row.steps.back();
    EXPECT_GT(steps, 4000);
    at = cpuMs();
    EXPECT_EQ(Database::open(path, OpenMode::kReadOnly).job(jobs[250].id).runs.size(), 2U);
    show = std::min(show, cpuMs() - at);
  }
  ASSERT_EQ(jobs.size(), 500U);
  std::printf("compared in %.1f ms by the clock, a whole job with its graphs read in %.1f ms\n", wall, show);
  expectWithin("list of 1,000 runs of 5,000 steps", open, 300);
  expectWithin("comparison of two runs of 5,000 steps", compare, 100);
}

TEST(LargeDatabase, OpensAndComparesInTime) {
  const testing::TempDirectory directory;
  const std::string path = directory.file("profile.db");
  std::vector<std::int64_t> runs;
  {
    Database database = Database::open(path, OpenMode::kReadWrite);
    JobRecord small = testing::syntheticJob(1, {1, 5});
    // A query costs the same however many steps the other runs have.
    for (int j = 0; j < 498; ++j) {
      small.started_unix_ns += 1000;
      database.record(small);
    }
    for (const std::uint64_t seed : {2U, 3U}) {
      JobRecord job = jobWithSteps(seed, 5000);
      job.started_unix_ns = small.started_unix_ns + static_cast<std::int64_t>(seed);
      database.record(job);
    }
  }
  std::size_t listed = 0;
  const double open = bestMs([&] {
    const Database database = Database::open(path, OpenMode::kReadOnly);
    const auto jobs = database.jobs(1000);
    listed = 0;
    runs.clear();
    for (const JobSummary& job : jobs) listed += job.runs.size();
    for (int j = 0; j < 2; ++j) runs.push_back(jobs[static_cast<std::size_t>(j)].runs.back().id);
  });
  ASSERT_GE(listed, 1000U);
  std::size_t rows = 0;
  const double compare = bestMs([&] {
    const Database database = Database::open(path, OpenMode::kReadOnly);
    rows = compareRunSet(database, runs).rows.size();
  });
  EXPECT_GT(rows, 0U);
  expectWithin("list of 1,000 runs", open, 300);
  expectWithin("comparison of two runs of 5,000 steps", compare, 100);
}

}  // namespace
}  // namespace ipex_studio
