// The window's work with a model and the real engine: trust, tune, pin, adopt a point, export and verify, report.
// Scripts drive it as users would, off-screen.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <thread>

#include "core/plan/prepared_weights.h"
#include "studio/cli/commands.h"
#include "studio/session/session.h"
#include "studio/window/window.h"
#include "tests/studio/cli/program.h"
#include "tests/studio/cli/samples.h"
#include "tests/studio/display.h"
#include "tests/studio/session/quick_session.h"

namespace ipex_studio::testing {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

class WindowTestWork : public ::testing::Test {
 protected:
  // Returns the complaint of the script's last `expect`; empty if all held.
  std::string walk(const std::string& model, const std::string& script,
                   const std::function<void(CommandLine&)>& change = {}) const {
    const Display display;
    EXPECT_TRUE(display.ready()) << "install the package xvfb";
    CommandLine line;
    line.model = model;
    line.database = pit_.path("studio.db");
    line.script = pit_.path("script.txt");
    line.size = "1400x900";
    line.measure.threads = 1;
    line.measure.warmup_s = 0.01;
    line.measure.iterations = 20;
    if (change) change(line);
    std::ofstream(line.script) << script << "expect blocked 0\n";
    try {
      openStudio(line, runWindow);
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  }
  const Sandpit pit_;
};

TEST_F(WindowTestWork, DangerousModelsWaitForAnAnswer) {
  const std::string model = modelFile("write_on_load.pt");
  EXPECT_EQ(
      walk(model,
           "wait settled\nexpect state ready\nexpect findings 1\ntrust refuse\nwait settled\nexpect state empty\n"),
      "");
  EXPECT_FALSE(fs::exists(victimFile()));
  // In the sandbox the model can do no harm, whatever it tries.
  EXPECT_EQ(walk(model, "wait settled\ntrust sandbox\nwait settled\nexpect findings 0\n"), "");
  EXPECT_FALSE(fs::exists(victimFile()));
}

TEST_F(WindowTestWork, ExportsAreReadAgainAndCompared) {
  const std::string fast = pit_.path("fast.pt"), plain = pit_.path("plain.pt"), page = pit_.path("page.html"),
                    picture = pit_.path("page.png");
  EXPECT_EQ(walk(modelFile("small.pt"),
                 "wait settled\nexpect state done\nexport " + fast +
                     " prepared\nwait settled\nexpect export done\nexpect status its results are right\nexport " +
                     plain + " portable untuned\nwait settled\nexpect export done\nexport " + pit_.path("no/such.pt") +
                     "\nwait settled\nexpect export failed\nexpect message does not exist\nselect linear\nreport " +
                     page + "\nreport " + picture + "\nwait settled\n"),
            "");
  EXPECT_NO_THROW(checkModel(fast));
  EXPECT_NO_THROW(checkModel(plain));
  EXPECT_GT(fs::file_size(fast + kPreparedSuffix), 0U);
  EXPECT_FALSE(fs::exists(plain + kPreparedSuffix));
  const std::string html = readText(page);
  EXPECT_THAT(html, HasSubstr("<h1>small.pt</h1>"));
  EXPECT_THAT(html, HasSubstr("data:image/png;base64,iVBORw0KGgo"));
  EXPECT_THAT(html, ::testing::Not(HasSubstr("<script")));
  EXPECT_THAT(html, ::testing::Not(HasSubstr("http")));
  EXPECT_EQ(readText(picture).substr(1, 3), "PNG");
}

TEST_F(WindowTestWork, InputsAreAskedForBesideTheGraph) {
  EXPECT_EQ(walk(modelFile("no_guess.pt"),
                 "wait settled\nexpect state failed\nexpect asked 1\nexpect nodes 1\nexpect status cannot be guessed\n"
                 "inputs x:2x3\nwait settled\nexpect state done\n"),
            "");
  // Values of every kind; a wrong one is asked for again.
  EXPECT_EQ(walk(modelFile("nested.pt"),
                 "wait settled\nexpect asked 1\ninputs images=5 | named={a: 2x6} | pair=(2, [3])\nwait settled\n"
                 "expect asked 2\nexpect message takes List[Tensor]\n"
                 "inputs images=[2x6:float32, 3:float32] | named={a: 2x6} | pair=(2, [3])\nwait settled\n"
                 "expect state done\n"),
            "");
  EXPECT_EQ(walk(modelFile("spectrum.pt"),
                 "wait settled\nexpect asked 1\ninputs z:2x8:complex64 | w:8:complex64 | scale=1+2j\nwait settled\n"
                 "expect state done\n"),
            "");
}

// Who has read nothing sees the graph, presses Optimize, and is told what was gained and what is slow.
TEST_F(WindowTestWork, ANewcomerPressesOneButton) {
  EXPECT_EQ(walk("", "do file.measure-at-once\nwait 0.1\nopen " + modelFile("small.pt") +
                         "\nwait 0.1\nwait settled\nexpect state ready\nselect relu\nexpect selected 1\nexpect message "
                         "Optimize (F5)\n"
                         "expect bars 0\ndo run.optimize\nwait 0.1\nwait settled\nexpect state done\nexpect bars 1\n"
                         "expect advice 1\nexpect models 1\n"),
            "");
}

TEST_F(WindowTestWork, TheLibraryIsKeptByNameAndPin) {
  EXPECT_EQ(walk(modelFile("small.pt"),
                 "wait settled\nopen " + modelFile("scaled.pt") +
                     "\nwait 0.1\nwait settled\nexpect models 2\nlibrary name 1 before the fix\nwait 0.1\n"
                     "wait settled\nexpect status Job 1 is called before the fix now.\nlibrary pin small.pt\n"
                     "wait 0.1\nwait settled\nexpect pinned 1\ndo tab.library\ndo row.next\ndo library.first\n"
                     "do row.next\ndo row.next\nwait settled\ndo library.compare\nwait 0.1\nwait settled\n"
                     "expect compared 2\ndo tab.library\ndo library.name\nwait settled\nexpect dialogs 1\n"
                     "key Escape\nwait settled\nexpect dialogs 0\ndo library.forget\nwait settled\n"
                     "expect dialogs 1\nkey Escape\nwait settled\nlibrary forget scaled.pt\nwait 0.1\n"
                     "wait settled\nexpect status The model and its 1 job are forgotten.\nexpect models 1\n"),
            "");
  EXPECT_EQ(Database::open(pit_.path("studio.db"), OpenMode::kReadOnly).jobs().at(0).name, "before the fix");
}

TEST_F(WindowTestWork, ASampleIsMadeForThoseWhoHaveNoModel) {
  ASSERT_EQ(setenv("XDG_DATA_HOME", pit_.path("home").c_str(), 1), 0);
  EXPECT_EQ(walk("",
                 "do file.sample\nwait 0.2\nwait settled\nexpect state done\nselect layer1\nexpect selected 1\n"
                 "open /no/such.pt\nwait 0.1\nwait settled\nexpect state failed\nexpect nodes 0\n"),
            "");
  unsetenv("XDG_DATA_HOME");
  EXPECT_TRUE(fs::exists(pit_.path("home/ipex-studio/sample.pt")));
}

TEST_F(WindowTestWork, CalibratesQuantizesSearchesAndTakesPointsOver) {
  const std::string data = writeSamples(pit_.path("data.npy"), 64), recipe = pit_.path("recipe.json");
  EXPECT_EQ(walk(modelFile("small.pt"),
                 "wait settled\ntune calibrate data=" + data + " save=" + recipe +
                     "\nwait settled\nexpect state done\nexpect recipe 64 samples\ntune quantize data=" + data +
                     " recipe=" + recipe +
                     "\nwait settled\nexpect state done\nexpect recipe Taken from\ntune search data=" + data +
                     " budget=20 sqnr=1\ndo tab.precision\nwait settled\nexpect tradeoffs 2\nload fp32\nwait settled\n"
                     "expect decisions 1\ndo override.try\nwait settled\nexpect tries 1\nexpect tradeoffs 2\nexport " +
                     pit_.path("fast.pt") +
                     "\nwait settled\nexpect export done\ndo override.undo\nwait settled\nload int8\n"
                     "wait settled\nexpect decisions 2\n"),
            "");
  EXPECT_TRUE(fs::exists(recipe));
  EXPECT_NO_THROW(checkModel(pit_.path("fast.pt")));
  // Another window knows the trials, and points can be adopted and measured in it.
  EXPECT_EQ(
      walk(modelFile("small.pt"),
           "wait settled\nexpect state done\nexpect tradeoffs 2\nexpect tries 1\nexpect recipe From the search of\n"
           "load int8\nwait settled\nexpect decisions 2\ndo override.try\nwait settled\nexpect tries 2\nexpect "
           "tradeoffs 2\n"),
      "");
  // A command without a window gives the same.
  const Outcome table = pit_.run({pit_.path("studio.db"), "--panel", "precision", "--json"});
  ASSERT_EQ(table.code, 0) << table.err;
  int searched = 0, by_hand = 0;
  const nlohmann::json shown = nlohmann::json::parse(table.out);
  for (const nlohmann::json& tried : shown["tried"]) {
    EXPECT_GT(tried["time_ms"].get<double>(), 0);
    EXPECT_FALSE(tried["decisions"].get<std::string>().empty());
    (tried["delta_ms"].is_null() ? searched : by_hand) += 1;
  }
  EXPECT_GE(searched, 2);
  EXPECT_EQ(by_hand, 2);
  const Outcome csv = pit_.run({pit_.path("studio.db"), "--panel", "precision", "--csv"});
  EXPECT_THAT(csv.out, HasSubstr("\r\n\r\nname,time_ms,delta_ms,"));
  EXPECT_THAT(
      walk(modelFile("small.pt"), "wait settled\ntune search data=/nonexistent\nwait settled\nexpect state done\n"),
      HasSubstr("it is 'failed'"));
}

// The window accepts the flags of the command line, and wrong flags change nothing.
TEST_F(WindowTestWork, FlagsOfTheCommandLineAreTaken) {
  EXPECT_EQ(walk(modelFile("small.pt"),
                 "wait settled\nexpect state done\nflags --nonsense 3\nwait settled\nexpect state done\nexpect message "
                 "cannot be used\n"
                 "flags -o /tmp/x.pt\nwait settled\nexpect message not chosen here\n"
                 "flags --instances 2 --no-winograd --disable fuse-activation --iterations 8\nwait settled\nexpect "
                 "state done\n"
                 "do run.flags\nwait settled\n"),
            "");
  const Database database = Database::open(pit_.path("studio.db"), OpenMode::kReadOnly);
  const JobRecord job = database.job(database.jobs(1).front().id);
  EXPECT_EQ(database.jobs().size(), 2U);
  EXPECT_EQ(job.runs.back().instances, 2);
  EXPECT_EQ(job.runs.back().threads, 1) << "as it was chosen before";
  const nlohmann::json options = nlohmann::json::parse(job.options);
  EXPECT_FALSE(options["optimize"]["allow_winograd"].get<bool>());
  EXPECT_EQ(options["optimize"]["disabled_passes"], nlohmann::json::array({"fuse-activation"}));
}

// While times are measured the screen holds all passes and the graph behind them.
TEST_F(WindowTestWork, NothingIsMissingWhileItIsMeasured) {
  EXPECT_EQ(walk(modelFile("small.pt"),
                 "wait stage measure\nexpect state working\nexpect passes 10\nexpect nodes 5\nscreenshot " +
                     pit_.path("measuring.png") + "\nexpect state working\nwait settled\nexpect state done\n",
                 [](CommandLine& line) {
                   line.measure.iterations = 0;
                   line.measure.duration_s = 4;
                 }),
            "");
  EXPECT_TRUE(fs::exists(pit_.path("measuring.png")));
}

// Curves are measured beside the job, a point of them is taken for the next run, and its chips go again.
TEST_F(WindowTestWork, CurvesAreMeasuredAndAPointIsTaken) {
  EXPECT_EQ(walk(modelFile("small.pt"),
                 "wait settled\nexpect state done\nexpect points 0\ndo tab.curves\ncurves 0.3 2\nwait settled\nexpect "
                 "state done\nexpect points 1\nexpect bars 1\nexpect message batch 2\ndo curves.use\nwait settled\n"
                 "expect message next run\ndo run.optimize\nwait settled\nexpect state done\n"),
            "");
  const Database database = Database::open(pit_.path("studio.db"), OpenMode::kReadOnly);
  const std::vector<JobSummary> jobs = database.jobs();
  ASSERT_EQ(jobs.size(), 3U);
  EXPECT_EQ(jobs[1].command, "curves");
  const CurvesRecord curves = database.curves(jobs[1].id);
  ASSERT_FALSE(curves.empty());
  const JobRecord after = database.job(jobs[0].id);
  EXPECT_EQ(after.model.inputs[0].description.rfind("2x3x", 0), 0U) << after.model.inputs[0].description;
  EXPECT_TRUE(std::any_of(curves.points.begin(), curves.points.end(), [&](const CurvePoint& point) {
    return point.threads == after.runs.back().threads && point.instances == after.runs.back().instances;
  }));
}

// Keys alone lead to a step and its kernels, and pin another one; the plan then uses it.
TEST_F(WindowTestWork, AnotherKernelIsPinnedAndMeasured) {
  EXPECT_EQ(walk(modelFile("small.pt"),
                 "wait settled\nexpect state done\ndo tab.kernels\nwait settled\ndo row.next\nwait settled\nexpect "
                 "selected 1\n"
                 "do kernel.next\ndo kernel.pin\nwait settled\nexpect tries 1\nexpect decisions 1\nexpect state done\n"
                 "do override.undo\nwait settled\n",
                 [](CommandLine& line) {
                   line.inputs = {"x:1x3x64x64"};
                   line.optimize.tune = TuneMode::kFull;
                 }),
            "");
  const Database database = Database::open(pit_.path("studio.db"), OpenMode::kReadOnly);
  const JobRecord tried = database.job(database.jobs(1).front().id);
  EXPECT_EQ(tried.command, "what-if");
  const auto pin = std::find_if(tried.decisions.begin(), tried.decisions.end(),
                                [](const DecisionRecord& d) { return !d.kernel.empty(); });
  ASSERT_NE(pin, tried.decisions.end());
  int pinned = 0;
  for (const StepRecord& step : tried.runs.back().steps) {
    if (step.spec != pin->spec || step.dst_shape != pin->dst_shape) continue;
    EXPECT_EQ(step.kernel, pin->kernel) << step.name;
    ++pinned;
  }
  EXPECT_GE(pinned, 1);
}

class WorkTest : public ::testing::Test {
 protected:
  const Sandpit pit_;
};

TEST_F(WorkTest, InterruptedSearchesShowWhatTheyHaveAndGoOn) {
  const std::string data = writeSamples(pit_.path("data.npy"), 2000);
  TuneCommand search;
  search.goal = TuneGoal::kSearch;
  search.request.data.path = data;
  search.request.search.min_sqnr_db = 1;
  SessionOptions options;
  options.file = modelFile("small.pt");
  options.database_path = pit_.path("studio.db");
  options.request = quickRequest();
  {
    Session session(options);
    waitUntil(session, rests);
    session.post(search);
    // The search is stopped once a calibration or an assignment is stored.
    for (int i = 0; i < 6000 && !fs::exists(pit_.path("studio.db") + "." +
                                            session.latest()->job->model.sha256.substr(0, 16) + ".search");
         ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    session.post(CancelCommand{});
    const SnapshotPtr stopped = waitUntil(session, rests);
    EXPECT_EQ(stopped->status.state, JobState::kCancelled);
    EXPECT_TRUE(stopped->work.tuning.search_waits);
  }
  // Another window finds the search and resumes it.
  Session session(options);
  EXPECT_TRUE(waitUntil(session, rests)->work.tuning.search_waits);
  session.post(search);
  const SnapshotPtr done = waitUntil(session, rests);
  EXPECT_EQ(done->status.state, JobState::kDone) << done->status.message;
  EXPECT_GE(done->job->tradeoffs.size(), 2U);
  for (const TradeoffRecord& tried : done->job->tradeoffs) EXPECT_FALSE(tried.assignment.empty()) << tried.name;
  EXPECT_FALSE(done->work.tuning.search_waits);
}

// A pin must reach the plan: the step then runs the pinned kernel, and the what-if reports the effect.
TEST_F(WorkTest, PinnedKernelsRun) {
  SessionOptions options;
  options.file = modelFile("small.pt");
  options.database_path = pit_.path("studio.db");
  options.request = quickRequest();
  options.request.inputs = {"x:1x3x64x64"};
  options.request.optimize.tune = TuneMode::kFull;
  Session session(options);
  const SnapshotPtr first = waitUntil(session, rests);
  ASSERT_EQ(first->status.state, JobState::kDone) << first->status.message;
  ASSERT_TRUE(first->tunings);
  const RunRecord& run = *first->index->optimized.run;
  KernelPin pin;
  for (const StepRecord& step : run.steps) {
    for (const TuningEntry& entry : *first->tunings) {
      if (!isTuningOf(entry.spec, step.spec, step.dst_shape)) continue;
      for (const TuningCandidate& candidate : entry.candidates) {
        if (candidate.reason.empty() && candidate.kernel != step.kernel)
          pin = {step.spec, step.dst_shape, candidate.kernel, candidate.dst, step.name};
      }
    }
  }
  ASSERT_FALSE(pin.kernel.empty()) << "no step has two kernels";
  session.post(OverrideCommand{first->overrides.now.with(pin), true});
  const SnapshotPtr tried = waitUntil(session, [](const StudioSnapshot& s) { return rests(s) && !s.tries->empty(); });
  ASSERT_EQ(tried->status.state, JobState::kDone) << tried->status.message;
  const auto& steps = tried->index->optimized.run->steps;
  EXPECT_TRUE(std::any_of(steps.begin(), steps.end(),
                          [&](const StepRecord& step) {
                            return step.spec == pin.spec && step.dst_shape == pin.dst_shape &&
                                   step.kernel == pin.kernel;
                          }))
      << pin.kernel << " for " << pin.spec;
  EXPECT_LE(tried->tries->back().delta_low_ns, tried->tries->back().delta_high_ns);
}

// Stands in for the window: events of the session wake it unless something is timed.
class WatchedWindow : public JobEvents {
 public:
  void onProgress(const std::string& stage, double, double) override {
    const bool measures = stage.rfind("measure kernels", 0) == 0;
    told_ += measures ? 1 : 0;
    drawn_again_ += measures && measured_ && !timed_ ? 1 : 0;
    measured_ = measures;
  }
  void onTimed(bool timed) override { timed_ = timed; }
  int told_ = 0, drawn_again_ = 0;
  bool timed_ = false;

 private:
  bool measured_ = false;
};

// Progress of tuning waits while kernels are timed: one frame shows that it begins, none follows until another stage.
TEST_F(WorkTest, TuningOfKernelsDrawsNothingByItself) {
  JobRequest request = quickRequest();
  request.inputs = {"x:1x3x512x512"};  // so that it takes a while
  request.optimize.tune = TuneMode::kFull;
  const Cancellation cancellation;
  const CheckedModel model = checkModel(modelFile("small.pt"));
  WatchedWindow window;
  ModelJob job(model, request, false, window, cancellation);
  job.optimize();
  EXPECT_GE(window.told_, 2) << "how far it is";
  EXPECT_EQ(window.drawn_again_, 0);
  job.measure();
  EXPECT_FALSE(window.timed_);
}

}  // namespace
}  // namespace ipex_studio::testing
