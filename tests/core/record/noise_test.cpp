// What counts as a quiet machine, and what is said where it was not.
#include "core/record/noise.h"

#include <gtest/gtest.h>

namespace ipex_studio {
namespace {

// A run on two of eight CPUs, as it is on a machine with nothing else to do.
RunRecord quietRun() {
  RunRecord run;
  run.threads = 2;
  run.cpu_per_wall = 1.98;
  for (int i = 0; i < 200; ++i) run.latency_ns.push_back(1'000'000 + 1000 * (i % 7));
  run.noise = {3'000'000'000, 2, 0.04, 0, 3, 0, 30'000, 30'600};
  return run;
}

void expectBusy(const RunRecord& run, const std::string& text, NoiseLevel level = NoiseLevel::kBusy) {
  const NoiseVerdict verdict = judgeNoise(run);
  EXPECT_EQ(verdict.level, level) << verdict.text;
  EXPECT_EQ(verdict.text, text);
  EXPECT_EQ(noiseSentence(verdict), std::string(noiseName(level)) + ": " + text + "; measure again when quiet");
}

TEST(Noise, AQuietMachineIsQuiet) {
  EXPECT_EQ(judgeNoise(quietRun()).level, NoiseLevel::kQuiet);
  EXPECT_EQ(noiseSentence(judgeNoise(quietRun())), "quiet");
  RunRecord large = quietRun();  // others have CPUs of their own
  large.noise.cpus = 32;
  large.noise.others = 6;
  EXPECT_EQ(judgeNoise(large).level, NoiseLevel::kQuiet);
  EXPECT_EQ(judgeNoise(RunRecord()).level, NoiseLevel::kUnknown);
}

TEST(Noise, WhoeverTakesCpusIsNamed) {
  RunRecord run = quietRun();
  run.noise.others = 1.06;
  expectBusy(run, "other programs used 1.1 of 2 CPUs");
  run = quietRun();
  run.noise.stolen = 0.07;
  expectBusy(run, "other virtual machines took 7 % of the CPUs");
  run = quietRun();
  run.noise.preempted_per_s = 250;
  expectBusy(run, "threads of the run lost their CPUs to others 250 times a second");
  run = quietRun();
  run.cpu_per_wall = 0.41;
  expectBusy(run, "the run got only 0.41 CPUs");
}

TEST(Noise, QuotasAndSlowClocksAreThrottling) {
  RunRecord run = quietRun();
  run.noise.throttled = 0.25;
  expectBusy(run, "a CPU quota held the run back for 25 % of the time", NoiseLevel::kThrottled);
  run = quietRun();
  run.noise.slowest_chain_ns = 60'000;
  expectBusy(run, "the CPU's clock fell to 50 % of its fastest", NoiseLevel::kThrottled);
}

// The samples tell, too, where nobody looked at the machine: in short runs, and those of earlier versions.
TEST(Noise, ALongTailIsNoise) {
  RunRecord run = quietRun();
  run.noise = NoiseRecord();
  EXPECT_EQ(judgeNoise(run).level, NoiseLevel::kUnknown);
  for (int i = 0; i < 10; ++i) run.latency_ns[static_cast<std::size_t>(20 * i)] = 9'000'000;
  EXPECT_EQ(judgeNoise(run).level, NoiseLevel::kBusy);
  EXPECT_EQ(judgeNoise(run).text, "one run in a hundred took 9.0 times the median");
}

// Threads that wait for one that has no CPU make a run of 0.2 ms one of 100 ms, evenly.
TEST(Noise, RunsThatTheirStepsDoNotExplainAreNoise) {
  RunRecord run = quietRun();
  run.step_times.resize(2);
  run.step_times[0].elapsed_ns = {100'000, 100'000, 100'000, 100'000};
  run.step_times[1].elapsed_ns = {100'000, 100'000};
  EXPECT_EQ(judgeNoise(run).level, NoiseLevel::kQuiet) << "the interpreter takes its time, too";
  for (std::int64_t& ns : run.latency_ns) ns = 100'000'000;
  expectBusy(run, "a run took 100 ms, its steps alone 0.3 ms");
}

TEST(Noise, AJobIsAsNoisyAsItsWorstRun) {
  JobRecord job;
  job.runs = {quietRun(), quietRun()};
  EXPECT_EQ(judgeNoise(job).level, NoiseLevel::kQuiet);
  job.runs[1].noise = NoiseRecord();
  EXPECT_EQ(judgeNoise(job).level, NoiseLevel::kUnknown) << "half of it was not looked at";
  job.runs[0].noise.others = 1;
  EXPECT_EQ(judgeNoise(job).level, NoiseLevel::kBusy);
}

TEST(Noise, LevelsHaveNames) {
  for (const NoiseLevel level : {NoiseLevel::kUnknown, NoiseLevel::kQuiet, NoiseLevel::kBusy, NoiseLevel::kThrottled})
    EXPECT_EQ(noiseLevel(noiseName(level)), level);
}

}  // namespace
}  // namespace ipex_studio
