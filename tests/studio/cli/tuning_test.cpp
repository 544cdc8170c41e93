// Measured choice from the command line: its time is reported, it is remembered, and it can be switched off.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <map>
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

// The times that db kernels prints are those that it takes elsewhere, and that a run there then knows.
TEST(TuningTest, GoesFromDatabaseToDatabase) {
  const Sandpit pit;
  const std::vector<std::string> bench{
      "bench", modelFile("small.pt"), "--iterations", "5", "--threads", "1", "--warmup", "0", "--json", "--db"};
  const auto run = [&](const std::string& database) {
    std::vector<std::string> arguments = bench;
    arguments.push_back(database);
    optimizedRun(pit.run(arguments));
    return Database::open(database, OpenMode::kReadOnly).tunings("", "");
  };
  const std::string one = pit.path("one.db"), other = pit.path("other.db"), file = pit.path("kernels.json");
  EXPECT_EQ(pit.run({"db", "kernels", "--db", one}).out, "{\"tuning\":[]}\n");
  const auto known = run(one);
  const Outcome printed = pit.run({"db", "kernels", "--db", one});
  EXPECT_EQ(json::parse(printed.out)["tuning"].size(), known.size());
  std::ofstream(file) << printed.out;
  EXPECT_THAT(pit.run({"db", "kernels", file, "--db", other}).err, ::testing::HasSubstr("Took over the times of"));
  const auto after = run(other);
  ASSERT_EQ(after.size(), known.size());
  const auto timesOf = [](const auto& entries) {
    std::map<std::string, std::vector<std::int64_t>> times;
    for (const auto& [key, entry] : entries) {
      for (const TuningCandidate& candidate : entry.candidates) times[entry.spec].push_back(candidate.elapsed_ns);
    }
    return times;
  };
  EXPECT_EQ(timesOf(after), timesOf(known)) << "measured again";
  std::ofstream(file) << "{}";
  const Outcome nothing = pit.run({"db", "kernels", file, "--db", other});
  EXPECT_EQ(nothing.code, 2);
  EXPECT_THAT(nothing.err, ::testing::HasSubstr("holds no times of kernels."));
  EXPECT_EQ(pit.run({"db", "kernels", pit.path("none.json"), "--db", other}).code, 2);
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
