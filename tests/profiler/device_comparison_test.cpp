// Devices side by side: times, copies, errors and winners of nodes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/record/device_copy_name.h"
#include "profiler/device_comparison.h"
#include "profiler/export/export_json.h"

namespace ipex_studio {
namespace {

using ::testing::HasSubstr;

void addStep(RunRecord* run, const char* name, const char* kernel, std::vector<OriginId> origins, std::int64_t ns) {
  StepRecord step;
  step.index = static_cast<std::int32_t>(run->steps.size());
  step.name = name;
  step.kind = std::string(kernel) == kDeviceCopyName ? "reorder" : "linear";
  step.kernel = kernel;
  step.origins = std::move(origins);
  StepTime time;
  time.step = step.index;
  time.elapsed_ns = {ns, ns, ns};
  run->steps.push_back(std::move(step));
  run->step_times.push_back(std::move(time));
}

// Two nodes: "a" is faster on the processor, "b" on the device, which copies in and out.
JobRecord twoDevices() {
  JobRecord job;
  job.model.origins = {{0, "a", "aten::linear", 0, ""}, {1, "b", "aten::linear", 0, ""}};
  RunRecord baseline, cpu, device;
  baseline.variant = "baseline";
  cpu.variant = device.variant = "optimized";
  device.device = "opencl:1";
  cpu.latency_ns = {3000000, 3000000, 3000000};
  device.latency_ns = {2000000, 2000000, 2000000};
  addStep(&cpu, "a", "linear_simd", {0}, 1000000);
  addStep(&cpu, "b", "linear_onednn", {1}, 2000000);
  addStep(&device, "cpu to xpu:1: a", kDeviceCopyName, {0}, 100000);
  addStep(&device, "a", "linear_xpu", {0}, 1200000);
  addStep(&device, "b", "linear_xpu", {1}, 500000);
  addStep(&device, "xpu:1 to cpu: b", kDeviceCopyName, {1}, 50000);
  AccuracyRecord error;
  error.origins = {1};
  error.reference = "fp32, alone";
  error.max_rel = 3e-7;
  device.node_accuracy.push_back(error);
  job.runs = {baseline, cpu, device};
  return job;
}

TEST(DeviceComparison, TellsWinnersCopiesAndErrors) {
  const auto comparisons = compareDevices(twoDevices());
  ASSERT_EQ(comparisons.size(), 1u);
  const DeviceComparison& both = comparisons[0];
  ASSERT_EQ(both.rows.size(), 2u);
  EXPECT_EQ(both.rows[0].name, "b") << "the slowest first";
  EXPECT_EQ(both.rows[0].fastest, 1);
  EXPECT_EQ(both.rows[0].shares[1].kernels, "linear_xpu");
  EXPECT_EQ(both.rows[0].shares[1].p50_ns, 500000) << "copies count apart";
  EXPECT_EQ(both.rows[0].shares[1].copy_ns, 50000);
  EXPECT_DOUBLE_EQ(both.rows[0].shares[1].error, 3e-7);
  EXPECT_LT(both.rows[0].shares[0].error, 0) << "was not compared";
  EXPECT_EQ(both.rows[1].name, "a") << "copies name no rows";
  EXPECT_EQ(both.rows[1].fastest, 0);
  EXPECT_EQ(both.runs[1].copies, 2);
  EXPECT_EQ(both.runs[1].copy_ns, 150000);
  EXPECT_EQ(both.runs[0].wins, 1);
  EXPECT_NEAR(both.runs[1].ratio.value, 1.5, 1e-9);
}

TEST(DeviceComparison, NobodyWinsWhatTheHostComputesForAll) {
  JobRecord job = twoDevices();
  job.runs[2].steps[2].kernel = "linear_onednn";  // of b
  EXPECT_EQ(compareDevices(job).at(0).rows.at(0).fastest, -1);
  EXPECT_EQ(compareDevices(job).at(0).runs.at(1).wins, 0);
}

TEST(DeviceComparison, NobodyWinsCloseNodesOrAlone) {
  JobRecord job = twoDevices();
  job.runs[2].step_times[1].elapsed_ns = {1030000};
  job.runs[1].step_times.pop_back();
  const auto comparisons = compareDevices(job);
  for (const DeviceRow& row : comparisons.at(0).rows) EXPECT_EQ(row.fastest, -1) << row.name;
}

TEST(DeviceComparison, IsATableAndJson) {
  const JobRecord job = twoDevices();
  const std::string text = deviceTable(job);
  EXPECT_THAT(text, HasSubstr("opencl:1: 2.00 ms, 1.50× as fast as cpu"));
  EXPECT_THAT(text, HasSubstr("2 copies take 0.150 ms (7.5 %)"));
  EXPECT_THAT(text, HasSubstr("opencl:1 4.00×"));
  const auto json = benchJson(job)["devices"];
  ASSERT_EQ(json.size(), 1u);
  EXPECT_EQ(json[0]["nodes"][0]["fastest"], "opencl:1");
  EXPECT_EQ(json[0]["nodes"][0]["on"][0]["error"], nullptr);
  EXPECT_EQ(json[0]["runs"][1]["copies"], 2);
}

TEST(DeviceComparison, OneDeviceHasNone) {
  JobRecord job = twoDevices();
  job.runs[2].precision = "bf16";
  EXPECT_TRUE(compareDevices(job).empty());
  EXPECT_EQ(deviceTable(job), "");
  EXPECT_EQ(benchJson(job).count("devices"), 0u);
}

}  // namespace
}  // namespace ipex_studio
