// What-ifs in the session: a waiting engine keeps the model ready for them, and the time to a verdict.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "profiler/statistics.h"
#include "studio/job/interleaved_timing.h"
#include "studio/job/session_prepared.h"
#include "studio/panels/panel_list.h"
#include "studio/session/session.h"
#include "tests/studio/cli/program.h"
#include "tests/studio/session/quick_session.h"

namespace ipex_studio::testing {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds kLongestWait{300};

double secondsSince(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

// Makes rounds of two samples off `ns` by once and twice `noise`, above and below it in alternate rounds.
std::vector<std::int64_t> roundsOf(double ns, double noise, int rounds, std::vector<std::int32_t>* turn) {
  std::vector<std::int64_t> samples;
  turn->clear();
  for (int t = 0; t < rounds; ++t) {
    for (int s = 0; s < 2; ++s) {
      samples.push_back(static_cast<std::int64_t>(ns * (1 + (t % 2 == 0 ? noise : -noise) * (1 + s))));
      turn->push_back(t);
    }
  }
  return samples;
}

bool decided(double ratio, double noise, int rounds) {
  std::vector<std::int32_t> round_a, round_b;
  const auto before = roundsOf(1e6, 0.001, rounds, &round_a);
  const auto after = roundsOf(ratio * 1e6, noise, rounds, &round_b);
  return isDecided({before, round_a}, {after, round_b});
}

TEST(Rounds, EndWhereAllOfThemAgreeOrNothingDiffers) {
  EXPECT_TRUE(decided(0.9, 0.01, kMinRoundsToDecide));
  EXPECT_TRUE(decided(1.1, 0.01, kMinRoundsToDecide));
  EXPECT_FALSE(decided(0.9, 0.01, kMinRoundsToDecide - 1)) << "too few to tell";
  EXPECT_FALSE(decided(0.99, 0.1, 2 * kMinRoundsToDecide)) << "the turns contradict each other";
  EXPECT_TRUE(decided(1, 0.001, kMinRoundsToDecide)) << "a difference of a thousandth is none";
}

class WhatIfTest : public ::testing::Test {
 protected:
  SessionOptions options(const std::string& model) const { return quickOptions(model, pit_); }
  const Sandpit pit_;
};

TEST_F(WhatIfTest, AnEngineWaitsWithTheModelForWhateverIsDecided) {
  const CheckedModel model = checkModel(modelFile("small.pt"));
  JobRequest request = quickRequest();
  const Cancellation cancellation;
  PreparedEngine prepared(model, request, 1, cancellation);
  JobRequest other = request;
  other.optimize.disabled_passes = {"fuse-activation"};
  other.measure.duration_s = 9;
  EXPECT_TRUE(prepared.fits(other, 1));
  EXPECT_FALSE(prepared.fits(request, 2));
  other.inputs = {"x:2x3x8x8"};
  EXPECT_FALSE(prepared.fits(other, 1));
  other = request;
  other.trust = true;
  EXPECT_FALSE(prepared.fits(other, 1)) << "what waits in the sandbox serves nobody who trusts";
  EXPECT_TRUE(prepared.wait());
  prepared.process->kill();
  EXPECT_FALSE(prepared.wait()) << "a dead one is of no use";
}

// An engine that waited gives the same results as a new one.
TEST_F(WhatIfTest, WhatWaitedGivesTheSameResults) {
  const CheckedModel model = checkModel(modelFile("small.pt"));
  const JobRequest request = quickRequest();
  JobEvents events;
  const Cancellation cancellation;
  const auto first = [&] {
    auto job = std::make_unique<ModelJob>(model, request, false, events, cancellation);
    job->optimize();
    job->measure();
    return job;
  };
  JobRequest after = request;
  after.optimize.disabled_passes = {"fuse-activation"};
  ModelJob anew(model, after, first(), nullptr, events, cancellation);
  ModelJob waited(model, after, first(), std::make_unique<PreparedEngine>(model, after, 1, cancellation), events,
                  cancellation);
  for (ModelJob* job : {&anew, &waited}) {
    job->optimize();
    job->measure();
    EXPECT_TRUE(job->accurate());
  }
  const RunRecord& one = anew.job().runs.back();
  const RunRecord& other = waited.job().runs.back();
  EXPECT_EQ(one.accuracy.max_abs, other.accuracy.max_abs);
  EXPECT_EQ(one.accuracy.sqnr_db, other.accuracy.sqnr_db);
  ASSERT_EQ(one.steps.size(), other.steps.size());
  for (std::size_t s = 0; s < one.steps.size(); ++s) EXPECT_EQ(one.steps[s].kernel, other.steps[s].kernel);
  EXPECT_EQ(anew.job().passes.size(), waited.job().passes.size());
  EXPECT_EQ(anew.job().remarks.size(), waited.job().remarks.size());
  EXPECT_GT(one.peak_rss_bytes, 0);
  EXPECT_EQ(other.peak_rss_bytes, 0) << "what was computed ahead is not this version's memory";
  waited.exportTo(pit_.path("fast.pt"), ExportForm::kCompiled);
  EXPECT_NO_THROW(checkModel(pit_.path("fast.pt")));
}

// A window that draws during some of the timed blocks.
class BusyWindow : public JobEvents {
 public:
  void onTimed(bool timed) override {
    blocks_ += timed && !timed_ ? 1 : 0;
    timed_ = timed;
  }
  bool disturbed(double begin_ns, double end_ns) override {
    EXPECT_TRUE(begin_ns > 0 && end_ns >= begin_ns);
    ++asked_;
    return blocks_ > first_ && blocks_ <= last_;
  }
  int first_ = 1 << 30, last_ = 1 << 30, blocks_ = 0, asked_ = 0;
  bool timed_ = false;
};

TEST_F(WhatIfTest, SamplesThatOverlapDrawingDoNotCount) {
  const CheckedModel model = checkModel(modelFile("small.pt"));
  JobRequest request = quickRequest();
  request.measure.iterations = 20;
  request.measure.warmup_s = 0;
  const Cancellation cancellation;
  const auto blocksOf = [&](BusyWindow& window) {
    ModelJob job(model, request, false, window, cancellation);
    job.optimize();
    job.measure();
    EXPECT_FALSE(window.timed_);
    EXPECT_GT(window.asked_, 0);
    return job.job().runs.back().latency_ns.size();
  };
  BusyWindow quiet;
  EXPECT_EQ(blocksOf(quiet), 20u);
  // One round is disturbed by drawing and taken again.
  BusyWindow once;
  once.first_ = 3;
  once.last_ = 4;
  EXPECT_EQ(blocksOf(once), 20u);
  EXPECT_EQ(once.blocks_, quiet.blocks_ + 1);
  // If all rounds are disturbed, each is taken again twice and counts in the end; otherwise nothing would ever be
  // measured.
  BusyWindow always;
  always.first_ = 0;
  EXPECT_EQ(blocksOf(always), 20u);
  EXPECT_GT(always.blocks_, quiet.blocks_ + 10);
}

// What passes gain is measured beside the model, which stays as it was and can be tried and exported.
TEST_F(WhatIfTest, PassesAreLeftOutOneAtATimeAndTheModelStays) {
  Session session(options(modelFile("small.pt")));
  const SnapshotPtr first = waitUntil(session, rests);
  ASSERT_EQ(first->status.state, JobState::kDone) << first->status.message;
  EXPECT_FALSE(first->index->waterfall.bars.empty());
  session.post(PassGainsCommand{{"fuse-activation", "lower-to-plan"}});
  const SnapshotPtr known =
      waitUntil(session, [](const StudioSnapshot& s) { return s.work.pass_gains.gains.size() == 2; });
  EXPECT_EQ(known->status.state, JobState::kDone);
  EXPECT_EQ(known->job->passes.size(), first->job->passes.size());
  EXPECT_EQ(known->job->started_unix_ns, first->job->started_unix_ns);
  EXPECT_EQ(known->work.pass_gains.of_job, first->job->started_unix_ns);
  for (const PassGain& gain : known->work.pass_gains.gains) {
    EXPECT_LE(gain.low_ns, gain.gain_ns) << gain.pass;
    EXPECT_GE(gain.high_ns, gain.gain_ns) << gain.pass;
  }
  const PanelTable table = panelTable("passes", *known);
  std::size_t measured = 0;
  for (const auto& row : table.rows) measured += std::isfinite(row[8].number) ? 1 : 0;
  EXPECT_EQ(measured, 2U);
  session.post(ExportCommand{pit_.path("fast.pt"), ExportForm::kCompiled, {}, {}});
  const SnapshotPtr exported =
      waitUntil(session, [](const StudioSnapshot& s) { return s.work.exported.state == ExportResult::State::kDone; });
  EXPECT_EQ(exported->work.exported.problem, "");
  // Shown again, the job still has them.
  session.post(ShowJobCommand{known->history->shown_job});
  const SnapshotPtr again =
      waitUntil(session, [](const StudioSnapshot& s) { return s.status.state == JobState::kRecorded; });
  EXPECT_EQ(again->work.pass_gains.of_job, again->job->started_unix_ns);
  EXPECT_EQ(again->work.pass_gains.gains.size(), 2U);
}

TEST_F(WhatIfTest, GainsOfPassesNeedAModelThatWasMeasured) {
  Session session(options(""));
  session.post(PassGainsCommand{{"fuse-activation"}});
  const SnapshotPtr refused = waitUntil(session, [](const StudioSnapshot& s) { return !s.status.message.empty(); });
  EXPECT_EQ(refused->status.message, "Optimize the model first; what a pass gains is measured against that.");
}

// Measures a verdict, from pressing to the snapshot that shows it. IPEX_WHAT_IF_MODEL names a ResNet-50 (or another
// model, with IPEX_WHAT_IF="layer1=bf16 kind:convolution=bf16 …"); IPEX_WHAT_IF_THREADS, default 1. Prints the time and
// asserts none.
TEST_F(WhatIfTest, TimesToTheVerdict) {
  const char* model = std::getenv("IPEX_WHAT_IF_MODEL");
  if (model == nullptr) GTEST_SKIP() << "a measurement: set IPEX_WHAT_IF_MODEL";
  const char* threads = std::getenv("IPEX_WHAT_IF_THREADS");
  const char* wanted = std::getenv("IPEX_WHAT_IF");
  std::istringstream words(
      wanted != nullptr ? wanted
                        : "layer3.2.conv2=bf16 layer1.0.conv1=bf16 layer2=bf16 layer4.1.conv2=bf16 kind:linear=bf16 "
                          "kind:convolution=bf16 layer1=fp32");
  SessionOptions own = options(model);
  own.request.measure = MeasureOptions();
  own.request.measure.threads = threads != nullptr ? std::atoi(threads) : 1;
  own.request.optimize.tune = TuneMode::kQuick;
  Session session(own);
  const SnapshotPtr first = waitUntil(session, rests, kLongestWait);
  ASSERT_EQ(first->status.state, JobState::kDone) << first->status.message;
  std::vector<std::int64_t> verdicts_ms;
  std::size_t tries = 0;
  for (std::string word; words >> word;) {
    std::this_thread::sleep_for(std::chrono::seconds(4));  // as a user would look at the last result
    const std::size_t equals = word.find('=');
    const PrecisionOverride decision{word.substr(0, equals), word.substr(equals + 1)};
    const auto begin = Clock::now();
    session.post(OverrideCommand{session.latest()->overrides.now.with(decision), true});
    std::string stage, stages;
    while (session.latest()->tries->size() == tries && secondsSince(begin) < 120) {
      const std::string now = session.latest()->status.stage;
      if (now != stage)
        stages += " " + std::to_string(static_cast<int>(secondsSince(begin) * 1e3)) + " " + (stage = now) + ",";
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    verdicts_ms.push_back(static_cast<std::int64_t>(secondsSince(begin) * 1e3));
    const SnapshotPtr done = waitUntil(session, rests, kLongestWait);
    ASSERT_GT(done->tries->size(), tries) << done->status.message;
    tries = done->tries->size();
    const WhatIf& result = done->tries->back();
    const RunRecord& run = *done->index->optimized.run;
    std::printf(
        "%-24s %5.2f s  %+.3f ms [%+.3f, %+.3f]  %.0f dB -> %.0f dB  compile %lld tune %lld first %lld ms, %zu "
        "samples\n  %s\n",
        word.c_str(), static_cast<double>(verdicts_ms.back()) / 1e3, result.delta_ns / 1e6, result.delta_low_ns / 1e6,
        result.delta_high_ns / 1e6, result.before_db, result.after_db, static_cast<long long>(run.compile_ns / 1000000),
        static_cast<long long>(run.tune_ns / 1000000), static_cast<long long>(run.first_run_ns / 1000000),
        run.latency_ns.size(), stages.c_str());
  }
  std::printf("median %.2f s of %zu, most %.2f s\n", static_cast<double>(median(verdicts_ms)) / 1e3, verdicts_ms.size(),
              static_cast<double>(*std::max_element(verdicts_ms.begin(), verdicts_ms.end())) / 1e3);
}

}  // namespace
}  // namespace ipex_studio::testing
