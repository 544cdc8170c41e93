// From the baseline's time to ours: each cause gets what its nodes and steps took, and all together are the whole.
#include "profiler/waterfall.h"

#include <gtest/gtest.h>

#include <numeric>

#include "tests/profiler/synthetic_job.h"

namespace ipex_studio {
namespace {

constexpr std::int64_t kMicro = 1000;  // ns

StepTime timed(std::int32_t step, const std::string& kind, std::vector<OriginId> origins, std::int64_t ns) {
  StepTime time;
  time.step = step;
  time.name = time.kind = kind;
  time.origins = std::move(origins);
  for (std::int64_t i = 0; i < 21; ++i) time.elapsed_ns.push_back(ns + (i * 8 % 21 - 10) * kMicro / 10);
  return time;
}

RunRecord runOf(const std::string& variant, std::int64_t p50_ns) {
  RunRecord run;
  run.variant = variant;
  run.latency_ns.assign(21, p50_ns);
  return run;
}

// A step with its time.
void addStep(RunRecord* run, const std::string& kind, std::vector<OriginId> origins, std::int64_t ns,
             const std::string& precision = "fp32") {
  StepRecord step;
  step.index = static_cast<std::int32_t>(run->steps.size());
  step.name = step.kind = kind;
  step.precision = precision;
  step.src_layout = "nhwc";
  step.dst_layout = kind == "reorder" ? "nchw" : "nhwc";
  step.origins = origins;
  run->steps.push_back(step);
  run->step_times.push_back(timed(step.index, kind, std::move(origins), ns));
}

// A convolution, its norm and its relu, that became one step in 3 ms instead of 4 + 1 + 0.5.
JobRecord convolutionJob() {
  JobRecord job;
  job.runs = {runOf("baseline", 6000 * kMicro), runOf("optimized", 3200 * kMicro)};
  job.runs[0].step_times = {timed(-1, "aten::conv2d", {0}, 4000 * kMicro),
                            timed(-1, "aten::batch_norm", {1}, 1000 * kMicro),
                            timed(-1, "aten::relu", {2}, 500 * kMicro)};
  addStep(&job.runs[1], "convolution", {0, 1, 2}, 3000 * kMicro);
  job.remarks = {{"fold-batch-norm", RemarkKind::kApplied, "applied", "", {0, 1}},
                 {"fuse-activation", RemarkKind::kApplied, "applied", "", {0, 1, 2}}};
  return job;
}

std::int64_t gainOf(const Waterfall& waterfall, GainCause cause) {
  for (const WaterfallBar& bar : waterfall.bars) {
    if (bar.cause == cause) return bar.gain_ns;
  }
  return 0;
}

void expectWhole(const Waterfall& waterfall) {
  std::int64_t sum = 0;
  for (const WaterfallBar& bar : waterfall.bars) {
    sum += bar.gain_ns;
    std::int64_t parts = 0;
    for (const WaterfallPart& part : bar.parts) parts += part.gain_ns;
    if (bar.cause != GainCause::kOutside) {
      EXPECT_EQ(parts, bar.gain_ns) << causeName(bar.cause);
    }
  }
  EXPECT_EQ(sum, waterfall.before_ns - waterfall.after_ns);
}

TEST(Waterfall, NodesThatAreGoneAreFoldedOrFusedAndTheRestIsTheKernel) {
  const Waterfall waterfall = waterfallOf(convolutionJob());
  EXPECT_EQ(gainOf(waterfall, GainCause::kFolded), 1000 * kMicro);
  EXPECT_EQ(gainOf(waterfall, GainCause::kFused), 500 * kMicro);
  EXPECT_EQ(gainOf(waterfall, GainCause::kKernels), 1000 * kMicro);
  EXPECT_EQ(gainOf(waterfall, GainCause::kOutside), 300 * kMicro);
  expectWhole(waterfall);
}

TEST(Waterfall, ConversionsAreLostByTheirKind) {
  JobRecord job = convolutionJob();
  addStep(&job.runs[1], "reorder", {0, 1, 2}, 70 * kMicro);
  addStep(&job.runs[1], "cast", {0, 1, 2}, 30 * kMicro);
  const Waterfall waterfall = waterfallOf(job);
  EXPECT_EQ(gainOf(waterfall, GainCause::kReorders), -70 * kMicro);
  EXPECT_EQ(gainOf(waterfall, GainCause::kCasts), -30 * kMicro);
  EXPECT_EQ(gainOf(waterfall, GainCause::kKernels), 1000 * kMicro) << "not the convolution's";
  expectWhole(waterfall);
}

TEST(Waterfall, LayoutsGainWhatTuningTimed) {
  JobRecord job = convolutionJob();
  job.runs[1].dispatches = {{0, "a", "channels-last", true, "chosen", 2000 * kMicro, 0},
                            {0, "b", "row-major", false, "slower", 2400 * kMicro, 0}};
  Waterfall waterfall = waterfallOf(job);
  EXPECT_EQ(gainOf(waterfall, GainCause::kLayouts), 600 * kMicro) << "a fifth of the step's time";
  EXPECT_EQ(gainOf(waterfall, GainCause::kKernels), 400 * kMicro);
  expectWhole(waterfall);
  job.runs[1].dispatches[1].elapsed_ns = 9000 * kMicro;
  waterfall = waterfallOf(job);
  EXPECT_EQ(gainOf(waterfall, GainCause::kLayouts), 1000 * kMicro) << "no more than was gained";
  expectWhole(waterfall);
}

TEST(Waterfall, PrecisionIsToldFromKernelsByTheRunInFp32) {
  JobRecord job = convolutionJob();
  job.runs[1].steps[0].precision = "bf16";
  EXPECT_EQ(gainOf(waterfallOf(job), GainCause::kPrecision), 1000 * kMicro) << "no run tells them apart";
  RunRecord fp32 = runOf("optimized", 3700 * kMicro);
  addStep(&fp32, "convolution", {0, 1, 2}, 3600 * kMicro);
  job.runs.insert(job.runs.begin() + 1, fp32);
  job.runs[2].precision = "bf16";
  const Waterfall waterfall = waterfallOf(job);
  EXPECT_EQ(gainOf(waterfall, GainCause::kPrecision), 600 * kMicro);
  EXPECT_EQ(gainOf(waterfall, GainCause::kKernels), 400 * kMicro);
  expectWhole(waterfall);
}

TEST(Waterfall, NodesOfTheInterpreterAndNewStepsHaveBarsOfTheirOwn) {
  JobRecord job = convolutionJob();
  job.runs[0].step_times.push_back(timed(-1, "aten::dropout", {3}, 40 * kMicro));
  job.runs[0].step_times.push_back(timed(-1, "aten::nonzero", {4}, 50 * kMicro));
  job.runs[1].step_times.push_back(timed(-1, "aten::nonzero", {4}, 55 * kMicro));
  addStep(&job.runs[1], "pointwise", {9}, 20 * kMicro);
  const Waterfall waterfall = waterfallOf(job);
  EXPECT_EQ(gainOf(waterfall, GainCause::kRemoved), 40 * kMicro);
  EXPECT_EQ(gainOf(waterfall, GainCause::kInterpreter), -5 * kMicro);
  EXPECT_EQ(gainOf(waterfall, GainCause::kAdded), -20 * kMicro);
  expectWhole(waterfall);
}

TEST(Waterfall, SplitLayersAreComparedAsOne) {
  JobRecord job = convolutionJob();
  addStep(&job.runs[1], "pointwise", {0}, 100 * kMicro);
  const Waterfall waterfall = waterfallOf(job);
  EXPECT_EQ(gainOf(waterfall, GainCause::kKernels), 900 * kMicro);
  EXPECT_EQ(gainOf(waterfall, GainCause::kAdded), 0);
  expectWhole(waterfall);
}

TEST(Waterfall, OfRealSizesIsWhole) {
  for (std::uint64_t seed = 1; seed < 6; ++seed) expectWhole(waterfallOf(testing::syntheticJob(seed)));
}

TEST(Waterfall, IntervalsComeFromWholeRuns) {
  const Waterfall waterfall = waterfallOf(convolutionJob());
  for (const WaterfallBar& bar : waterfall.bars) {
    EXPECT_GT(bar.half_width_ns, 0) << causeName(bar.cause);
    EXPECT_LE(bar.half_width_ns, 6 * kMicro) << causeName(bar.cause);
  }
}

TEST(Waterfall, OneSlowSampleOfEachStepDoesNotWidenTheSum) {
  JobRecord job = convolutionJob();
  // Another program interrupts each run once, each time in another node.
  for (std::size_t node = 0; node < 3; ++node) job.runs[0].step_times[node].elapsed_ns[node] += 8000 * kMicro;
  for (const WaterfallBar& bar : waterfallOf(job).bars)
    EXPECT_LE(bar.half_width_ns, 6 * kMicro) << causeName(bar.cause);
}

TEST(Waterfall, NothingIsNeitherGainedNorLost) {
  for (const std::int64_t ns : {0, 20, -20}) EXPECT_EQ(changeText(ns), "0") << ns;
  EXPECT_EQ(changeText(38'000), "−0.038");
  EXPECT_EQ(changeText(-4'400), "+0.0044");
}

TEST(Waterfall, IsEmptyWhereStepsWereNotTimed) {
  JobRecord job = convolutionJob();
  job.runs[0].step_times.clear();
  EXPECT_TRUE(waterfallOf(job).bars.empty());
  job.runs.pop_back();
  EXPECT_TRUE(waterfallOf(job).bars.empty());
  EXPECT_TRUE(waterfallOf(JobRecord()).bars.empty());
}

}  // namespace
}  // namespace ipex_studio
