// When a lower precision is said to be slower than FP32 was.
#include "profiler/faster_fp32.h"

#include <gtest/gtest.h>

namespace ipex_studio {
namespace {

RunSet twoRuns(std::int64_t fp32_ns, std::int64_t low_ns, double ratio_high) {
  RunSet set;
  RunSummary fp32, low;
  fp32.precision = "fp32";
  low.precision = "bf16";
  fp32.threads = low.threads = 2;
  fp32.p50_ns = fp32_ns;
  low.p50_ns = low_ns;
  set.runs = {fp32, low};
  const double ratio = static_cast<double>(fp32_ns) / static_cast<double>(low_ns);
  set.ratio = {{1, 1, 1}, {ratio, ratio * 0.98, ratio_high}};
  return set;
}

TEST(FasterFp32, IsSaidWhereTheIntervalIsClear) {
  const auto found = fasterFp32(twoRuns(3270000, 4100000, 0.82), "bf16");
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->p50_ns, 3270000);
  EXPECT_FALSE(fasterFp32(twoRuns(3270000, 3300000, 1.01), "bf16")) << "within noise";
  EXPECT_FALSE(fasterFp32(twoRuns(4100000, 3270000, 1.3), "bf16")) << "BF16 is faster";
  EXPECT_FALSE(fasterFp32(twoRuns(3270000, 4100000, 0.82), "fp32"));
  EXPECT_FALSE(fasterFp32(twoRuns(3270000, 4100000, 0.82), "int8")) << "not among the runs";
}

TEST(FasterFp32, IsNotSaidOfOtherThreadsOrMachines) {
  RunSet threads = twoRuns(3270000, 4100000, 0.82);
  threads.runs[0].threads = 8;
  EXPECT_FALSE(fasterFp32(threads, "bf16"));
  RunSet machine = twoRuns(3270000, 4100000, 0.82);
  machine.same_machine = false;
  EXPECT_FALSE(fasterFp32(machine, "bf16"));
}

TEST(NewestRuns, OwnJobFirstThenOthersOfTheModel) {
  JobSummary shown, earlier, other;
  shown.sha256 = earlier.sha256 = "a";
  other.sha256 = "b";
  const auto run = [](std::int64_t id, const char* precision) {
    RunSummary summary;
    summary.id = id;
    summary.variant = "optimized";
    summary.precision = precision;
    return summary;
  };
  shown.runs = {run(9, "bf16")};
  other.runs = {run(8, "fp32")};
  earlier.runs = {run(7, "fp32"), run(6, "bf16")};
  EXPECT_EQ(newestRuns({shown, other, earlier}, shown, {"fp32", "bf16", "int8"}), (std::vector<std::int64_t>{7, 9, 0}));
  // What ran on another device is no other precision of this.
  earlier.runs[0].device = "xpu";
  EXPECT_EQ(newestRuns({shown, other, earlier}, shown, {"fp32", "bf16"}), (std::vector<std::int64_t>{0, 9}));
}

}  // namespace
}  // namespace ipex_studio
