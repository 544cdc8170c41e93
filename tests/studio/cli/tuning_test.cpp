// Measured choice from the command line: its time is reported, it is remembered, and it can be switched off.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "profiler/database.h"
#include "tests/studio/cli/program.h"

namespace ipex_studio::testing {
namespace {

using nlohmann::json;

json optimizedRun(const Outcome& outcome) {
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  return json::parse(outcome.out)["runs"][1];
}

TEST(TuningTest, IsMeasuredOnceAndRemembered) {
  const Sandpit pit;
  const std::string model = modelFile("small.pt");
  const auto run = [&](std::vector<std::string> more) {
    std::vector<std::string> arguments{"bench",    model, "--iterations", "20", "--threads", "1",
                                       "--warmup", "0",   "--json"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return optimizedRun(pit.run(arguments));
  };
  EXPECT_EQ(run({"--tune", "off"})["tune_ms"], 0);
  const auto entries = [&] {
    return Database::open(pit.path("data/ipex-studio/profile.db"), OpenMode::kReadOnly).tunings("", "");
  };
  EXPECT_TRUE(entries().empty());

  const double first_ms = run({})["tune_ms"].get<double>();
  EXPECT_GT(first_ms, 0);
  const auto known = entries();
  ASSERT_FALSE(known.empty());
  int plans = 0, timed = 0;
  for (const auto& [key, entry] : known) {
    EXPECT_EQ(key.threads, 1);
    EXPECT_THAT(key.libraries, ::testing::HasSubstr("oneDNN "));
    plans += entry.spec.rfind("plan ", 0) == 0;
    for (const TuningCandidate& candidate : entry.candidates) timed += candidate.elapsed_ns > 0;
  }
  EXPECT_GT(plans, 0);
  EXPECT_GT(timed, 0);

  // The second start measures and adds nothing: the times of the first still stand, to the nanosecond.
  run({});
  const auto again = entries();
  ASSERT_EQ(again.size(), known.size());
  for (std::size_t e = 0; e < known.size(); ++e) {
    const auto& [then, now] = std::pair(known[e].second, again[e].second);
    ASSERT_EQ(now.candidates.size(), then.candidates.size()) << then.spec;
    for (std::size_t c = 0; c < then.candidates.size(); ++c)
      EXPECT_EQ(now.candidates[c].elapsed_ns, then.candidates[c].elapsed_ns) << then.spec;
  }
}

// Each precision is a plan of its own, whichever others are measured beside it.
TEST(TuningTest, RemembersEveryPrecision) {
  const Sandpit pit;
  const auto plans = [&](const std::string& precisions) {
    const Outcome run = pit.run({"run", modelFile("small.pt"), "--precision", precisions, "--force-precision",
                                 "--iterations", "5", "--threads", "1", "--warmup", "0"});
    EXPECT_EQ(run.code, 0) << run.err;
    int count = 0;
    for (const auto& [key, entry] :
         Database::open(pit.path("data/ipex-studio/profile.db"), OpenMode::kReadOnly).tunings("", "")) {
      count += entry.spec.rfind("plan ", 0) == 0;
    }
    return count;
  };
  const int both = plans("fp32,bf16");
  EXPECT_GE(both, 2);
  EXPECT_EQ(plans("fp32"), both);  // known
  EXPECT_EQ(plans("bf16"), both);
}

TEST(TuningTest, ExportsCarryTheirChoice) {
  const Sandpit pit;
  const std::string model = modelFile("small.pt");
  const Outcome run =
      pit.run({"run", model, "--iterations", "5", "--threads", "1", "--warmup", "0", "-o", pit.path("fast.pt")});
  ASSERT_EQ(run.code, 0) << run.err;
  const Outcome verify = pit.run({"verify", model, pit.path("fast.pt"), "--threads", "1", "--json"});
  EXPECT_EQ(verify.code, 0) << verify.err;
  // The record was measured with other threads: a hint that is ignored.
  const Outcome other = pit.run({"verify", model, pit.path("fast.pt"), "--threads", "2", "--json"});
  EXPECT_EQ(other.code, 0) << other.err;
}

TEST(TuningTest, NamesItsModes) {
  const Sandpit pit;
  const Outcome wrong = pit.run({"bench", modelFile("small.pt"), "--tune", "never"});
  EXPECT_EQ(wrong.code, 2);
  EXPECT_THAT(wrong.err, ::testing::HasSubstr("--tune"));
}

}  // namespace
}  // namespace ipex_studio::testing
