// Commands that need no engine answer at once.
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "profiler/database.h"
#include "tests/goal.h"
#include "tests/profiler/synthetic_job.h"
#include "tests/studio/cli/program.h"

namespace ipex_studio::testing {
namespace {

constexpr double kAtOnce_s = 0.05;
constexpr double kPerMegabyte_s = 0.0008;

// Takes the least of several runs, to exclude other work on the machine, and stops at the first that is quick enough. A
// command that spreads its work evenly over `threads` takes at most that share of its CPU time if so many cores are
// free.
void expectAnswer(const Sandpit& pit, const std::vector<std::string>& arguments, double enough_s, int threads = 1) {
  double least = 1e9;
  for (int i = 0; i < 25 && least >= enough_s; ++i) {
    const Outcome outcome = pit.run(arguments);
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_FALSE(outcome.out.empty() && outcome.err.empty());
    least = std::min({least, outcome.seconds, threads > 1 ? outcome.cpu_seconds / threads : outcome.seconds});
  }
  expectWithin(fmt::format("{}", fmt::join(arguments, " ")), least * 1e3, enough_s * 1e3);
}

TEST(Speed, HelpAnswersAtOnce) {
  const Sandpit pit;
  expectAnswer(pit, {"--help"}, kAtOnce_s);
}

TEST(Speed, InspectTakesItsTimeByTheMegabyte) {
  const Sandpit pit;
  expectAnswer(pit, {"inspect", modelFile("small.pt")}, kAtOnce_s);
  expectAnswer(pit, {"inspect", modelFile("wide_19.pt")}, kAtOnce_s);
  expectAnswer(pit, {"inspect", modelFile("wide_100.pt")}, 100 * kPerMegabyte_s, 2);
}

TEST(Speed, RecordedRunsAreReadAtOnce) {
  const Sandpit pit;
  const std::string path = pit.path("twenty.db");
  {
    Database database = Database::open(path, OpenMode::kReadWrite);
    JobRecord job = syntheticJob();  // like that of a ResNet-50, with two runs
    for (int i = 0; i < 10; ++i) {
      job.started_unix_ns += 1'000'000'000;
      database.record(job);
    }
  }
  expectAnswer(pit, {"compare", path, "1", "20"}, kAtOnce_s);
  expectAnswer(pit, {"report", path, "-o", pit.path("report.html"), "--force"}, kAtOnce_s);
}

}  // namespace
}  // namespace ipex_studio::testing
