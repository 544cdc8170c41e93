// Databases as they get after a year: a thousand runs are listed, and two with thousands of steps compared, in no time.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <functional>

#include "profiler/comparison.h"
#include "profiler/database.h"
#include "tests/cpu_time.h"
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

// Both runs of a job with about so many steps each and few samples of each.
JobRecord jobWithSteps(std::uint64_t seed, std::int32_t steps) { return testing::syntheticJob(seed, {steps / 3, 10}); }

TEST(LargeDatabase, OpensAndComparesInTime) {
  const testing::TempDirectory directory;
  const std::string path = directory.file("profile.db");
  std::vector<std::int64_t> runs;
  {
    Database database = Database::open(path, OpenMode::kReadWrite);
    JobRecord small = testing::syntheticJob(1, {1, 5});
    // What is asked for costs the same however long the steps of the other runs are.
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
  std::printf("%zu runs listed in %.1f ms (goal 300), two of 5,000 steps compared in %zu rows in %.1f ms (goal 100)\n", listed, open, rows,
              compare);
  EXPECT_GT(rows, 0U);
#ifndef __SANITIZE_ADDRESS__
  EXPECT_LE(open, 300);
  EXPECT_LE(compare, 100);
#endif
}

}  // namespace
}  // namespace ipex_studio
