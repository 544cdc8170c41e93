// Models on other machines, played by this machine: the worker is the program itself behind a pair of pipes.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <thread>

#include "studio/job/session_worker.h"
#include "studio/session/session.h"
#include "tests/studio/cli/program.h"
#include "tests/studio/cli/samples.h"
#include "tests/studio/session/quick_request.h"

namespace ipex_studio::testing {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(Worker, NamesOfOtherMachines) {
  const auto plain = parseRemote("ssh://host/models/net.pt");
  ASSERT_TRUE(plain);
  EXPECT_THAT(plain->worker, ElementsAre("ssh", "-T", "-o", "BatchMode=yes", "--", "host", "ipex-studio"));
  EXPECT_EQ(plain->path, "/models/net.pt");
  const auto full = parseRemote("ssh://me@host.example:2222/~/my net.pt; rm -rf x");
  ASSERT_TRUE(full);
  EXPECT_THAT(full->worker,
              ElementsAre("ssh", "-T", "-o", "BatchMode=yes", "-p", "2222", "--", "me@host.example", "ipex-studio"));
  EXPECT_EQ(full->path, "my net.pt; rm -rf x") << "no shell ever sees it";
  EXPECT_FALSE(parseRemote("net.pt"));
  for (const char* bad : {"ssh://", "ssh://host", "ssh://host/", "ssh:///net.pt", "ssh://-oProxyCommand=x/net.pt",
                          "ssh://a b/net.pt", "ssh://host:/net.pt", "ssh://host:x/net.pt", "ssh://$(id)/net.pt"}) {
    EXPECT_THROW(parseRemote(bad), Error) << bad;
  }
}

TEST(Worker, CommandsAreWords) {
  EXPECT_THAT(splitCommand("ssh -p 22 host ipex-studio"), ElementsAre("ssh", "-p", "22", "host", "ipex-studio"));
  EXPECT_THAT(splitCommand(" '/a b/ipex-studio' \"\" x'y z'"), ElementsAre("/a b/ipex-studio", "", "xy z"));
  EXPECT_TRUE(splitCommand("").empty());
  EXPECT_THROW(splitCommand("a 'b"), Error);
}

TEST(Worker, RunsAndExportsAsIfItWereHere) {
  const Sandpit pit;
  const Outcome run = pit.run({"run", modelFile("small.pt"), "--worker", programPath(), "--threads", "1",
                               "--iterations", "20", "--warmup", "0", "-o", pit.path("fast.pt"), "--json"});
  ASSERT_EQ(run.code, 0) << run.err;
  const nlohmann::json job = nlohmann::json::parse(run.out);
  EXPECT_EQ(job["runs"].size(), 2U);
  EXPECT_NO_THROW(checkModel(pit.path("fast.pt")));
  const Outcome verified = pit.run({"verify", modelFile("small.pt"), pit.path("fast.pt"), "--threads", "1"});
  EXPECT_EQ(verified.code, 0) << verified.err;
}

// Behind sshd both streams are pipes, and the command passes a shell.
TEST(Worker, SpeaksThroughPipesToo) {
  const Sandpit pit;
  const std::string behind = "sh -c 'cat | \"" + programPath() + "\" worker | cat' --";
  const Outcome run = pit.run({"bench", modelFile("small.pt"), "--worker", behind, "--threads", "1", "--iterations",
                               "20", "--warmup", "0", "--json"});
  EXPECT_EQ(run.code, 0) << run.err;
}

TEST(Worker, WhatGoesWrongThereIsASentenceHere) {
  const Sandpit pit;
  const auto refused = [&](const std::string& model, const std::string& worker, int code, const std::string& part) {
    const Outcome outcome = pit.run({"bench", model, "--worker", worker, "--iterations", "5", "--threads", "1"});
    EXPECT_EQ(outcome.code, code) << outcome.err;
    EXPECT_THAT(outcome.err, HasSubstr(part));
  };
  refused("/nonexistent.pt", programPath(), 3, "nonexistent.pt");
  refused(modelFile("truncated.pt"), programPath(), 3, "is cut short");
  refused(modelFile("small.pt"), "/nonexistent/ipex-studio", 1,
          "The worker /nonexistent/ipex-studio cannot be started");
  refused(modelFile("small.pt"), "sh -c 'echo no such host >&2; exit 255'", 1, "no such host");
  refused(modelFile("small.pt"), "sh -c 'echo welcome to this machine; sleep 5'", 1, "malformed message");
}

constexpr char kAbleWorker[] = IPEX_SOURCE_DIR "/tests/studio/job/able_worker.py";

// The other machine's abilities decide which precisions are offered, whatever this machine has.
TEST(Worker, SaysWhatItsMachineCan) {
  const Sandpit pit;
  const auto asked = [&](const std::string& abilities, const std::string& precision) {
    return pit.run({"bench", modelFile("small.pt"), "--worker",
                    fmt::format("{} {} '{}'", kAbleWorker, programPath(), abilities), "--threads", "1", "--iterations",
                    "5", "--warmup", "0", "--precision", precision});
  };
  const Outcome without = asked(R"([{"precision": "bf16", "lacks": "CPU is too old"}])", "bf16");
  EXPECT_EQ(without.code, 5);
  EXPECT_THAT(without.err,
              HasSubstr("--precision bf16: the worker's CPU is too old, slower than FP32; use --precision fp32"));
  EXPECT_EQ(asked(R"([{"precision": "bf16", "lacks": ""}, {"precision": "fp5", "lacks": ""}])", "bf16").code, 0);
  EXPECT_EQ(asked(R"([{"precision": "fp16", "lacks": ""}])", "fp32,fp16").code, 0);
  for (const char* malformed : {"7", "[7]", R"([{"precision": "bf16"}])", "{}"}) {
    EXPECT_THAT(asked(malformed, "fp32").err, HasSubstr("malformed message")) << malformed;
  }
}

// The window's chips show the worker's abilities: FP16 if it has it, BF16 with the reason if it lacks it.
TEST(Worker, TellsTheWindowItsPrecisions) {
  const Sandpit pit;
  SessionOptions options;
  options.file = modelFile("small.pt");
  options.database_path = pit.path("studio.db");
  options.worker = {kAbleWorker, programPath(),
                    R"([{"precision": "bf16", "lacks": "CPU is too old"}, {"precision": "fp16", "lacks": ""}])"};
  options.request = quickRequest();
  options.request.remote = true;
  Session session(options);
  for (int i = 0; i < 6000 && !(session.idle() && session.latest()->status.state != JobState::kWorking); ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  const SnapshotPtr done = session.latest();
  ASSERT_EQ(done->status.state, JobState::kDone) << done->status.message;
  const auto& choices = done->choices.precisions;
  ASSERT_EQ(choices.size(), 4U);
  EXPECT_FALSE(choices[1].available);
  EXPECT_THAT(choices[1].reason, HasSubstr("Not here: the worker's CPU is too old"));
  EXPECT_EQ(choices[2].precision, Precision::kFp16);
  EXPECT_TRUE(choices[2].available);
}

TEST(Worker, ServesTheWindow) {
  const Sandpit pit;
  SessionOptions options;
  options.file = modelFile("small.pt");
  options.database_path = pit.path("studio.db");
  options.worker = {programPath()};
  options.request.remote = true;
  options.request.measure.threads = 1;
  options.request.measure.warmup_s = 0.01;
  options.request.measure.iterations = 10;
  Session session(options);
  const auto settle = [&] {
    for (int i = 0; i < 6000 && !(session.idle() && session.latest()->status.state != JobState::kWorking); ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    return session.latest();
  };
  const SnapshotPtr done = settle();
  ASSERT_EQ(done->status.state, JobState::kDone) << done->status.message;
  EXPECT_EQ(done->job->runs.size(), 2U);
  EXPECT_FALSE(done->index->stages.empty());
  session.post(ExportCommand{pit.path("fast.pt"), ExportForm::kPortable, {}, {}});
  EXPECT_EQ(settle()->work.exported.state, ExportResult::State::kDone) << session.latest()->work.exported.problem;
  EXPECT_NO_THROW(checkModel(pit.path("fast.pt")));
}

// Calibration, INT8, a search and long measurements run on the worker; recipes and trials are kept on this machine.
TEST(Worker, TunesForTheWindow) {
  const Sandpit pit;
  SessionOptions options;
  options.file = modelFile("small.pt");
  options.database_path = pit.path("studio.db");
  options.worker = {programPath()};
  options.request = quickRequest();
  options.request.remote = true;
  Session session(options);
  const auto settle = [&] {
    for (int i = 0; i < 12000 && !(session.idle() && session.latest()->status.state != JobState::kWorking); ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    return session.latest();
  };
  ASSERT_EQ(settle()->status.state, JobState::kDone) << session.latest()->status.message;
  EXPECT_TRUE(session.latest()->work.remote);
  TuneCommand tune;
  tune.request.data.path = writeSamples(pit.path("data.npy"), 32);
  tune.request.save_recipe = pit.path("recipe.json");
  session.post(tune);
  EXPECT_THAT(settle()->work.tuning.recipe, HasSubstr("32 samples")) << session.latest()->status.message;
  EXPECT_TRUE(fs::exists(tune.request.save_recipe));
  tune.goal = TuneGoal::kQuantize;
  tune.request.recipe = tune.request.save_recipe;
  tune.request.save_recipe.clear();
  session.post(tune);
  const SnapshotPtr lowered = settle();
  ASSERT_EQ(lowered->status.state, JobState::kDone) << lowered->status.message;
  EXPECT_EQ(lowered->index->optimized.run->precision, "int8");
  EXPECT_FALSE(lowered->index->optimized.run->metrics.empty()) << "judged on the data there";
  tune.goal = TuneGoal::kSearch;
  tune.request.recipe.clear();
  tune.request.search.min_sqnr_db = 1;
  tune.request.search.time_budget_s = 20;
  session.post(tune);
  const SnapshotPtr searched = settle();
  ASSERT_EQ(searched->status.state, JobState::kDone) << searched->status.message;
  EXPECT_GE(searched->job->tradeoffs.size(), 2U);
  TuneCommand kernels;
  kernels.goal = TuneGoal::kKernels;
  session.post(kernels);
  const SnapshotPtr measured = settle();
  ASSERT_EQ(measured->status.state, JobState::kDone) << measured->status.message;
  EXPECT_FALSE(measured->index->optimized.run->dispatches.empty());
  // Missing data give a sentence on this machine.
  tune.request.data.path = "/nonexistent/data.npy";
  session.post(tune);
  EXPECT_EQ(settle()->status.state, JobState::kFailed);
  EXPECT_THAT(session.latest()->status.message, HasSubstr("/nonexistent/data.npy"));
}

TEST(Worker, CalibratesQuantizesAndTunesFromTheCommandLine) {
  const Sandpit pit;
  const std::string model = modelFile("small.pt"), data = writeSamples(pit.path("data.npy"), 32),
                    recipe = pit.path("recipe.json");
  const auto there = [&](std::vector<std::string> words) {
    words.insert(words.end(), {"--worker", programPath(), "--threads", "1"});
    const Outcome outcome = pit.run(words);
    EXPECT_EQ(outcome.code, 0) << words[0] << ": " << outcome.err;
  };
  there({"calibrate", model, "--data", data, "-o", recipe});
  there({"quantize", model, "--recipe", recipe, "-o", pit.path("int8.pt")});
  there({"tune", model, "--data", data, "--min-sqnr", "1", "--time-budget", "20", "-o", pit.path("fast.pt")});
  for (const char* written : {"int8.pt", "fast.pt"}) {
    EXPECT_NO_THROW(checkModel(pit.path(written)));
    const Outcome verified = pit.run({"verify", model, pit.path(written), "--precision", "int8", "--threads", "1"});
    EXPECT_EQ(verified.code, 0) << written << ": " << verified.err;
  }
}

}  // namespace
}  // namespace ipex_studio::testing
