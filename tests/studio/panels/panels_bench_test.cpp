// Speed of drawing tables and charts without a window: frames over 100,000 rows and 1,000,000 slices. Prints the
// measured times.
#include <gtest/gtest.h>
#include <time.h>

#include <algorithm>
#include <cstdio>
#include <functional>

#include "studio/window/app.h"
#include "tests/goal.h"
#include "tests/studio/null_ui.h"
#include "tests/studio/synthetic_job.h"

namespace ipex_studio {
namespace {

// Makes one plan of `steps` steps, each run `iterations` times, one after the other.
SnapshotPtr longRun(std::int32_t steps, std::int32_t iterations) {
  auto job = std::make_shared<JobRecord>();
  job->model.path = "long.pt";
  RunRecord run;
  run.variant = "optimized";
  constexpr const char* kKinds[] = {"convolution", "linear", "pointwise", "reorder", "pool"};
  std::int64_t total = 0;
  for (std::int32_t s = 0; s < steps; ++s) {
    StepRecord step;
    step.index = s;
    step.kind = kKinds[s % 5];
    step.name = "layer" + std::to_string(s / 100) + ".block" + std::to_string(s % 100) + " + relu";
    step.kernel = "kernel" + std::to_string(s % 17);
    step.dst_shape = "1x64x56x56";
    step.dst_layout = "nhwc";
    step.origins = {s};
    step.flops = 1000000 + s;
    step.bytes = 50000;
    step.arena_begin = s % 8 * 4096;
    step.arena_size = 4096;
    step.last_use = std::min(s + 3, steps - 1);
    total += 1000 + s % 977;
    run.steps.push_back(std::move(step));
  }
  std::int64_t begin = 0;
  for (std::int32_t s = 0; s < steps; ++s) {
    StepTime time;
    time.step = s;
    for (std::int32_t i = 0; i < iterations; ++i) {
      time.begin_ns.push_back(begin + i * (total + 5000));
      time.elapsed_ns.push_back(900 + s % 977);
    }
    begin += 1000 + s % 977;
    run.step_times.push_back(std::move(time));
  }
  run.latency_ns.assign(40, total);
  job->runs.push_back(std::move(run));
  return makeSnapshot(job, testing::donePartsOf(*job), nullptr);
}

class PanelsBench : public ::testing::Test {
 protected:
  PanelsBench() : ui_(1600, 330) {}

  void open(const char* panel, SnapshotPtr snapshot) {
    app_ = std::make_unique<App>(AppOptions{1, "dark", panel, {}}, [] {});
    snapshot_ = std::move(snapshot);
    for (int i = 0; i < 4; ++i) frame();
  }
  int frame() {
    return ui_.frame([this] { app_->frame(*snapshot_, commands_); });
  }  // returns the number of vertices
  void request(const char* action) {
    app_->selection().request(action);
    frame();
  }
  // The best of some frames, in this thread's own CPU time.
  double frameMs() {
    double best = 1e9;
    for (int i = 0; i < 12; ++i) {
      const double begin = cpuMs();
      frame();
      best = std::min(best, cpuMs() - begin);
    }
    return best;
  }

  testing::NullUi ui_;
  std::unique_ptr<App> app_;
  SnapshotPtr snapshot_;
  Commands commands_;
};

TEST_F(PanelsBench, AHundredThousandRows) {
  const SnapshotPtr snapshot = longRun(100000, 1);
  for (const char* panel : {"operations", "precision", "memory", "roofline"}) {
    open(panel, snapshot);
    app_->selection().select({50000}, true);
    frame();
    const double ms = frameMs();
    const bool table = std::string(panel) == "operations";
    expectWithin("frame of " + std::string(panel) + " of 100,000 rows", ms, table ? 2 : 16);
  }
}

TEST_F(PanelsBench, AMillionSlices) {
  open("timeline", longRun(2000, 500));
  request("timeline.recorded");
  ASSERT_EQ(snapshot_->index->optimized.tracks.size(), 1U);
  EXPECT_EQ(snapshot_->index->optimized.tracks[0].slices.size(), 1000000U);
  double worst = frameMs();
  const int vertices = frame();
  EXPECT_GT(vertices, 4 * 1000) << "about one slice a pixel";
  EXPECT_LT(vertices, 4 * 20000);
  for (int zoom = 0; zoom < 24; ++zoom) {
    request("timeline.zoom-in");
    worst = std::max(worst, frameMs());
  }
  expectWithin("frame of 1,000,000 slices, the worst of all zooms", worst, 16);
}

}  // namespace
}  // namespace ipex_studio
