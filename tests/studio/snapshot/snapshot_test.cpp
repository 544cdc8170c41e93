// Indexes and advice over synthetic jobs, and text shortened for display.
#include "studio/snapshot/snapshot.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "core/record/device_copy_name.h"
#include "core/record/slow_reasons.h"
#include "core/record/warning_reasons.h"
#include "studio/ui/selection.h"
#include "tests/studio/synthetic_job.h"

namespace ipex_studio {
namespace {

using ::testing::HasSubstr;

// True if one of the first lines of advice holds the text.
bool isAdvised(const StudioSnapshot& snapshot, const std::string& text, std::size_t first) {
  const auto& advice = snapshot.index->advice;
  return std::any_of(advice.begin(), advice.begin() + static_cast<std::ptrdiff_t>(std::min(first, advice.size())),
                     [&](const Advice& each) { return each.text.find(text) != std::string::npos; });
}

TEST(Snapshot, IndexesTheResnetJob) {
  const SnapshotPtr snapshot = testing::resnetSnapshot();
  const JobIndex& index = *snapshot->index;
  ASSERT_EQ(index.stages.size(), 11U);
  EXPECT_EQ(index.stages[0].name, "frozen");
  // The last pass leaves one region; the stage before it is shown by default.
  EXPECT_EQ(index.default_stage, 9);
  EXPECT_EQ(index.stages[6].graph, index.stages[5].graph) << "a pass that changed nothing shows the graph before it";
  ASSERT_NE(index.optimized.run, nullptr);
  EXPECT_GT(index.speedup.value, 1.2);
  EXPECT_LE(index.speedup.low, index.speedup.value);
  EXPECT_GE(index.speedup.high, index.speedup.value);
  EXPECT_NEAR(index.optimized.steps_ns + index.optimized.unattributed_ns, index.optimized.latency.p50_ns, 1);
  double share = 0;
  for (const OperationRow& row : index.optimized.rows) share += row.share;
  EXPECT_NEAR(share, index.optimized.steps_ns / index.optimized.latency.p50_ns, 1e-9);
}

TEST(Snapshot, OriginsLeadFromEveryStageToTheSameRows) {
  const SnapshotPtr snapshot = testing::resnetSnapshot();
  const JobIndex& index = *snapshot->index;
  const GraphIndex& frozen = index.graphs[index.stages[0].graph];
  const GraphIndex& after = index.graphs[index.stages[9].graph];
  for (const GraphNode& node : frozen.graph->nodes) {
    const std::vector<std::int32_t> nodes = nodesOf(after, node.origins);
    ASSERT_EQ(nodes.size(), 1U) << node.name;
    EXPECT_FALSE(rowsOf(index.optimized, node.origins).empty()) << node.name;
  }
}

// The optimized run again on a device, with a copy that takes as long as a third of it.
TEST(Snapshot, DevicesSideBySideAndWhatCopiesTake) {
  JobRecord job = *testing::resnetJob();
  const auto cpu =
      std::find_if(job.runs.begin(), job.runs.end(), [](const RunRecord& run) { return run.variant == "optimized"; });
  ASSERT_NE(cpu, job.runs.end());
  RunRecord device = *cpu;
  device.device = "opencl";
  for (StepRecord& step : device.steps) step.device = "opencl:0";
  StepRecord copy = device.steps.back();
  copy.index = static_cast<std::int32_t>(device.steps.size());
  copy.name = "cpu to xpu:0: conv1";
  copy.kind = "reorder";
  copy.kernel = kDeviceCopyName;
  copy.implementation = "cpu to opencl:0";
  StepTime time;
  time.step = copy.index;
  time.elapsed_ns.assign(3, device.latency_ns[0] / 3);
  device.steps.push_back(copy);
  device.step_times.push_back(time);
  for (std::int64_t& ns : device.latency_ns) ns += ns / 3;
  job.runs.insert(cpu, device);
  const auto index = buildJobIndex(job);
  ASSERT_EQ(index->devices.size(), 1u);
  ASSERT_EQ(index->devices[0].runs.size(), 2u);
  const auto told = std::find_if(index->advice.begin(), index->advice.end(), [](const Advice& each) {
    return each.text.find("1 copy to and from opencl takes") != std::string::npos;
  });
  ASSERT_NE(told, index->advice.end());
  EXPECT_EQ(told->tab, "devices");
}

TEST(Snapshot, BaselineOfAStepIsTheSumOverItsOrigins) {
  const SnapshotPtr snapshot = testing::resnetSnapshot();
  const JobIndex& index = *snapshot->index;
  double total = 0;
  for (const OperationRow& row : index.optimized.rows) {
    EXPECT_TRUE(row.group != KindGroup::kReorder || row.baseline_ns == 0);
    total += row.baseline_ns;
  }
  EXPECT_NEAR(total, index.baseline.steps_ns, 1);
}

TEST(Snapshot, AdviceNamesNumbersAndLeadsSomewhere) {
  const SnapshotPtr snapshot = testing::resnetSnapshot();
  const auto& advice = snapshot->index->advice;
  ASSERT_GE(advice.size(), 3U);
  EXPECT_LE(advice.size(), 8U);
  EXPECT_TRUE(isAdvised(*snapshot, "3 conversions cost", 4));
  for (const Advice& a : advice) {
    EXPECT_TRUE(a.link.empty() || !a.origins.empty() || !a.tab.empty()) << a.text;
  }
}

// Another layout spares a reorder, but no cast, which changes the dtype alone.
TEST(Snapshot, LayoutsAreAdvisedAgainstReordersOnly) {
  auto job = std::make_shared<JobRecord>(*testing::resnetJob());
  RunRecord& run = job->runs.back();
  const auto conversion =
      std::find_if(run.steps.begin(), run.steps.end(), [](const StepRecord& step) { return step.kind == "reorder"; });
  ASSERT_NE(conversion, run.steps.end());
  conversion->last_use = conversion->index + 1;
  run.dispatches = {{conversion->last_use, "slow", "nhwc", true, "chosen", 40000000, 0},
                    {conversion->last_use, "quick", conversion->src_layout, false, "slower", 1000000, 0}};
  const auto advised = [&] {
    const SnapshotPtr snapshot = makeSnapshot(job, testing::donePartsOf(*job), nullptr);
    const auto& advice = snapshot->index->advice;
    return std::any_of(advice.begin(), advice.end(), [](const Advice& each) {
      return each.text.find("would need no reorder before it") != std::string::npos;
    });
  };
  EXPECT_TRUE(advised());
  conversion->kind = "cast";
  conversion->dst_layout = conversion->src_layout;
  EXPECT_FALSE(advised());
}

TEST(Snapshot, MoreThreadsThanCoresAreAWarningWithTheCoresOnOffer) {
  auto job = std::make_shared<JobRecord>(*testing::resnetJob());
  job->machine.cores = 2;
  for (RunRecord& run : job->runs) run.threads = 2, run.instances = 1;
  EXPECT_FALSE(isAdvised(*makeSnapshot(job, testing::donePartsOf(*job), nullptr), "wait for each other", 8));
  for (RunRecord& run : job->runs) run.threads = 16;
  const SnapshotPtr snapshot = makeSnapshot(job, testing::donePartsOf(*job), nullptr);
  ASSERT_TRUE(isAdvised(*snapshot, "16 threads share 2 cores", 1));
  EXPECT_EQ(snapshot->index->advice[0].threads, 2);
  EXPECT_EQ(snapshot->index->advice[0].offer, "Use 2 threads");
}

TEST(Snapshot, WhatMadeTheFileSlowIsToldFirst) {
  auto job = std::make_shared<JobRecord>(*testing::resnetJob());
  const std::string text = "4 operations on weights alone (norm) are done anew in each run of the file.";
  job->remarks.push_back({kLoadedModel, RemarkKind::kApplied, kWeightWorkReason, text, {}});
  EXPECT_TRUE(isAdvised(*makeSnapshot(job, testing::donePartsOf(*job), nullptr), text, 1));
}

TEST(Snapshot, APassThatWasLeftOutIsAWarning) {
  auto job = std::make_shared<JobRecord>(*testing::resnetJob());
  const std::string text = "Pass fold-pad was left out: it broke the graph: aten::add reads %y.";
  job->remarks.push_back({"fold-pad", RemarkKind::kMissed, kLeftOutReason, text, {}});
  const SnapshotPtr snapshot = makeSnapshot(job, testing::donePartsOf(*job), nullptr);
  const auto& advice = snapshot->index->advice;
  const auto found = std::find_if(advice.begin(), advice.end(), [&](const Advice& each) { return each.text == text; });
  ASSERT_NE(found, advice.end());
  EXPECT_EQ(found->tone, Advice::Tone::kWarning);
  EXPECT_EQ(found->tab, "remarks");
}

TEST(Snapshot, EmptyJobHasEmptyIndexes) {
  const SnapshotPtr snapshot = makeSnapshot(nullptr, {}, nullptr);
  EXPECT_TRUE(snapshot->index->stages.empty());
  EXPECT_EQ(snapshot->index->optimized.run, nullptr);
  EXPECT_TRUE(snapshot->index->advice.empty());
  EXPECT_EQ(snapshot->index->speedup.value, 0);
}

TEST(Snapshot, StatusKeepsTheIndexAndCounts) {
  const SnapshotPtr first = testing::resnetSnapshot();
  SnapshotParts parts;
  parts.status.state = JobState::kWorking;
  const SnapshotPtr second = withStatus(first, parts);
  EXPECT_EQ(second->index, first->index);
  EXPECT_EQ(second->job, first->job);
  EXPECT_EQ(second->revision, first->revision + 1);
  EXPECT_EQ(second->status.state, JobState::kWorking);
}

TEST(Snapshot, IndexKeepsItsRecordsAlive) {
  std::shared_ptr<const JobIndex> index = testing::resnetSnapshot()->index;
  EXPECT_EQ(index->optimized.run->variant, "optimized");
}

TEST(Snapshot, TimesOfABusyMachineAreCalledUncertain) {
  auto job = std::make_shared<JobRecord>(*testing::resnetJob());
  RunRecord& run = job->runs.back();
  run.latency_ns = {10000000, 31000000, 12000000, 28000000, 11000000, 35000000, 30000000, 10500000};
  run.turn.clear();
  const auto snapshot = makeSnapshot(job, {}, nullptr);
  ASSERT_FALSE(snapshot->index->advice.empty());
  const Advice& first = snapshot->index->advice.front();
  EXPECT_THAT(first.text, HasSubstr("Times are uncertain by ±"));
  EXPECT_EQ(first.action, "run.optimize");
  EXPECT_EQ(first.tab, "latency");
}

TEST(Snapshot, HostileRecordsAreIndexed) {
  const auto job = testing::hostileJob();
  const SnapshotPtr snapshot = makeSnapshot(job, {}, nullptr);
  for (const OperationRow& row : snapshot->index->optimized.rows) {
    EXPECT_LE(row.name.size(), 200U);
    EXPECT_EQ(std::count(row.name.begin(), row.name.end(), '\n'), 0);
  }
}

TEST(Text, DisplayTextCutsAtCharactersAndDropsControls) {
  EXPECT_EQ(displayText("a\nb\x1b[0m\tc"), "a b [0m c");
  EXPECT_EQ(displayText("short"), "short");
  const std::string cut = displayText(std::string(1 << 20, 'x'), 20);
  EXPECT_EQ(cut.size(), 20U);
  EXPECT_EQ(displayText("ééééééé", 9), "ééé…");
}

TEST(Text, Shapes) {
  EXPECT_EQ(formatShape("Float(1, 64, 56, 56, strides=[1, 2, 3, 4], requires_grad=0)"), "1×64×56×56");
  EXPECT_EQ(formatShape("1x3x224x224:float32"), "1×3×224×224:float32");
  EXPECT_EQ(formatShape("int[]"), "int[]");
  EXPECT_EQ(formatShape("Tensor"), "Tensor");
  EXPECT_EQ(formatShape("0x1f"), "0×1f");
}

TEST(Text, Times) {
  EXPECT_EQ(formatTime(2.444e6), "2.44 ms");
  EXPECT_EQ(formatTime(870e3), "870 µs");
  EXPECT_EQ(formatTime(999.7e3), "1.00 ms");
  EXPECT_EQ(formatTime(124.06e6), "124 ms");
  EXPECT_EQ(formatTime(-3.5e3), "-3.50 µs");
  EXPECT_EQ(formatTime(0), "0 ms");
  EXPECT_EQ(formatBytes(5140), "5.14 kB");
  EXPECT_EQ(formatBytes(12), "12 B");
  EXPECT_EQ(formatBytes(97500000), "97.5 MB");
  EXPECT_EQ(formatTime(62.04e3), "62.0 µs");
  EXPECT_EQ(formatTime(1.5e9), "1.50 s");
  EXPECT_EQ(formatSpread({2.17e6, 0.01e6, 5}), "2.17 ± 0.01 ms");
}

TEST(Text, KindGroups) {
  EXPECT_EQ(kindGroup("aten::conv2d"), KindGroup::kConvolution);
  EXPECT_EQ(kindGroup("ipex_studio::convolution"), KindGroup::kConvolution);
  EXPECT_EQ(kindGroup("aten::layer_norm"), KindGroup::kNormalization);
  EXPECT_EQ(kindGroup("aten::scaled_dot_product_attention"), KindGroup::kAttention);
  EXPECT_EQ(kindGroup("aten::add_"), KindGroup::kElementwise);
  EXPECT_EQ(kindGroup("reorder"), KindGroup::kReorder);
  EXPECT_EQ(kindGroup("aten::addmm"), KindGroup::kLinear);
  EXPECT_EQ(kindGroup("prim::If"), KindGroup::kOther);
}

TEST(Statistics, IntervalOfTheMedian) {
  EXPECT_EQ(timeStatistics({}).samples, 0);
  EXPECT_EQ(timeStatistics({5}).p50_ns, 5);
  std::vector<std::int64_t> samples;
  for (int i = 1; i <= 101; ++i) samples.push_back(i);
  const TimeStatistics statistics = timeStatistics(samples);
  EXPECT_EQ(statistics.p50_ns, 51);
  EXPECT_NEAR(statistics.half_width_ns, 10.5, 1);
}

TEST(SelectionTest, SetsAreSortedAndCounted) {
  Selection selection;
  selection.select({5, 1, 5, 3}, false);
  EXPECT_EQ(selection.origins(), (std::vector<OriginId>{1, 3, 5}));
  const std::uint64_t generation = selection.generation();
  selection.select({1, 3, 5}, true);
  EXPECT_EQ(selection.generation(), generation) << "nothing changed";
  EXPECT_EQ(selection.revealGeneration(), 1U);
  EXPECT_TRUE(selection.overlaps({9, 3}));
  EXPECT_FALSE(selection.overlaps({2, 4}));
  selection.clear();
  EXPECT_TRUE(selection.empty());
}

}  // namespace
}  // namespace ipex_studio
