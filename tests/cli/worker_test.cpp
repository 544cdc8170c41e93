// Models on other machines, with this machine standing in for them: the worker is the program itself behind a pair of pipes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <thread>

#include "studio/session.h"
#include "studio/session_worker.h"
#include "tests/cli/program.h"

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
  EXPECT_THAT(full->worker, ElementsAre("ssh", "-T", "-o", "BatchMode=yes", "-p", "2222", "--", "me@host.example", "ipex-studio"));
  EXPECT_EQ(full->path, "my net.pt; rm -rf x") << "no shell ever sees it";
  EXPECT_FALSE(parseRemote("net.pt"));
  for (const char* bad : {"ssh://", "ssh://host", "ssh://host/", "ssh:///net.pt", "ssh://-oProxyCommand=x/net.pt", "ssh://a b/net.pt",
                          "ssh://host:/net.pt", "ssh://host:x/net.pt", "ssh://$(id)/net.pt"}) {
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
  const Outcome run = pit.run({"run", modelFile("small.pt"), "--worker", programPath(), "--threads", "1", "--iterations", "20", "--warmup", "0", "-o",
                               pit.path("fast.pt"), "--json"});
  ASSERT_EQ(run.code, 0) << run.err;
  const nlohmann::json job = nlohmann::json::parse(run.out);
  EXPECT_EQ(job["runs"].size(), 2U);
  EXPECT_NO_THROW(checkModel(pit.path("fast.pt")));
  const Outcome verified = pit.run({"verify", modelFile("small.pt"), pit.path("fast.pt"), "--threads", "1"});
  EXPECT_EQ(verified.code, 0) << verified.err;
}

// Behind sshd both streams are pipes, and the words pass a shell.
TEST(Worker, SpeaksThroughPipesToo) {
  const Sandpit pit;
  const std::string behind = "sh -c 'cat | \"" + programPath() + "\" worker | cat' --";
  const Outcome run = pit.run({"bench", modelFile("small.pt"), "--worker", behind, "--threads", "1", "--iterations", "20", "--warmup", "0", "--json"});
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
  refused(modelFile("small.pt"), "/nonexistent/ipex-studio", 1, "The worker /nonexistent/ipex-studio cannot be started");
  refused(modelFile("small.pt"), "sh -c 'echo no such host >&2; exit 255'", 1, "no such host");
  refused(modelFile("small.pt"), "sh -c 'echo welcome to this machine; sleep 5'", 1, "malformed message");
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

}  // namespace
}  // namespace ipex_studio::testing
