// The command curves: points, what is left out, JSON, the database, reports, and Ctrl-C.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <chrono>
#include <nlohmann/json.hpp>
#include <thread>

#include "core/runtime/machine_facts.h"
#include "profiler/database.h"
#include "tests/studio/cli/program.h"

namespace ipex_studio::testing {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

TEST(Curves, MeasureEveryPointAndRecordThem) {
  const Sandpit pit;
  const Outcome run = pit.run({"curves", modelFile("small.pt"), "--threads", "1", "--batch", "1,4", "--seconds", "0.5",
                               "--latency-limit", "1e6", "--db", pit.path("c.db"), "--json"});
  ASSERT_EQ(run.code, 0) << run.err;
  const json page = json::parse(run.out);
  EXPECT_EQ(page["schema"], 1);
  const bool several = usableCores() > 1;
  std::size_t fp32 = 0;
  for (const json& point : page["points"]) {
    fp32 += point["precision"] == "fp32" ? 1 : 0;
    EXPECT_GT(point["requests"].get<int>(), 0);
    EXPECT_GT(point["p50_ms"].get<double>(), 0);
    EXPECT_GE(point["p99_ms"], point["p50_ms"]);
    EXPECT_GT(point["memory_bytes"].get<double>(), 1e6);
    EXPECT_TRUE(point["accurate"].get<bool>());
    EXPECT_NEAR(point["samples_per_s"].get<double>(),
                point["requests_per_s"].get<double>() * point["batch"].get<double>(), 1e-6);
  }
  EXPECT_EQ(fp32, several ? 4U : 2U);
  for (const char* best : {"throughput", "latency", "within_limit"})
    EXPECT_TRUE(page["best"][best].is_number()) << best;
  EXPECT_THAT(page["sentence"].get<std::string>(), HasSubstr("at batch"));
  EXPECT_THAT(run.err, HasSubstr("To run it so: ipex-studio run"));
  const Database database = Database::open(pit.path("c.db"), OpenMode::kReadOnly);
  const JobSummary job = database.jobs(1).front();
  EXPECT_EQ(job.command, "curves");
  EXPECT_EQ(database.curves(job.id).points.size(), page["points"].size());
  ASSERT_EQ(pit.run({"report", pit.path("c.db"), "-o", pit.path("c.html")}).code, 0);
  EXPECT_THAT(readText(pit.path("c.html")), HasSubstr("samples per second by batch size"));
  // What the panel shows is the same.
  const Outcome panel = pit.run({pit.path("c.db"), "--panel", "curves", "--json"});
  ASSERT_EQ(panel.code, 0) << panel.err;
  const json rows = json::parse(panel.out)["rows"];
  ASSERT_EQ(rows.size(), page["points"].size());
  EXPECT_NEAR(rows[0]["p50_ms"].get<double>(), page["points"][0]["p50_ms"].get<double>(), 1e-9);
}

TEST(Curves, GiveInputsThatRunTakes) {
  const Sandpit pit;
  const Outcome run = pit.run({"curves", modelFile("two.pt"), "--input", "ids:1x2:int64[0,9]", "--input", "x:1x2x6",
                               "--threads", "1", "--instances", "1", "--batch", "3", "--seconds", "0.2", "--json"});
  ASSERT_EQ(run.code, 0) << run.err;
  const json point = json::parse(run.out)["points"][0];
  EXPECT_EQ(point["batch"], 3);
  std::vector<std::string> words = {"run", modelFile("two.pt"), "--iterations", "5"};
  for (const json& input : point["inputs"]) words.insert(words.end(), {"--input", input.get<std::string>()});
  EXPECT_EQ(pit.run(words).code, 0);
}

TEST(Curves, SayWhatIsLeftOut) {
  const Sandpit pit;
  const Outcome text = pit.run({"curves", modelFile("small.pt"), "--threads", "1", "--instances", "1,1000", "--batch",
                                "1,2", "--seconds", "0.2"});
  ASSERT_EQ(text.code, 0) << text.err;
  EXPECT_THAT(text.out, HasSubstr("1000 instances of 1 thread need 1000 cores"));
  EXPECT_THAT(text.out, HasSubstr("requests/s"));
  expectOneSentence(pit.run({"curves", modelFile("small.pt"), "--instances", "1000"}), 2, "No point is left");
  expectOneSentence(pit.run({"curves", modelFile("small.pt"), "--precision", "int8"}), 2, "--recipe");
  expectOneSentence(pit.run({"curves", modelFile("small.pt"), "--dump", pit.path("d")}), 2, "--dump");
  expectOneSentence(pit.run({"curves", pit.path("nothing.pt")}), 3, "nothing.pt");
  EXPECT_EQ(pit.run({"curves", modelFile("small.pt"), "--batch", "0"}).code, 2);
}

TEST(Curves, KeepWhatWasMeasuredUntilCtrlC) {
  const Sandpit pit;
  const pid_t pid =
      pit.start({"curves", modelFile("small.pt"), "--threads", "1", "--instances", "1", "--batch", "1,2", "--precision",
                 "fp32", "--tune", "off", "--seconds", "600", "--db", pit.path("c.db"), "--json"});
  std::this_thread::sleep_for(std::chrono::seconds(8));  // a round of two turns takes two seconds
  ::kill(pid, SIGINT);
  const int code = waitFor(pid);
  ASSERT_EQ(code, 130) << readText(pit.path("err"));
  const std::string out = readText(pit.path("out"));
  if (out.empty()) GTEST_SKIP() << "the machine was too slow for a round";
  const json page = json::parse(out);
  EXPECT_FALSE(page["complete"].get<bool>());
  EXPECT_GT(page["points"][0]["requests"].get<int>(), 0);
  EXPECT_FALSE(Database::open(pit.path("c.db"), OpenMode::kReadOnly).curves(1).complete);
}

}  // namespace
}  // namespace ipex_studio::testing
