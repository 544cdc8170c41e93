// The process boundary: messages of the studio about engines that die, hang or lie.
#include "studio/job/process.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <random>
#include <thread>

#include "tests/goal.h"
#include "tests/studio/cli/program.h"

namespace ipex_studio::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class FakeEngine : public ::testing::Test {
 protected:
  EngineProcess& start(const std::string& behaviour) {
    std::ofstream(pit_.path("behaviour")) << behaviour;
    EngineStart start;
    start.program = IPEX_SOURCE_DIR "/tests/studio/job/fake_engine.py";
    start.job_folder = pit_.path();
    start.sandbox = false;
    start.threads = 3;
    start.limits = limits_;
    engine_.emplace(start, cancellation_);
    return *engine_;
  }

  // Reads until an Error is thrown, and returns it.
  Error failureOf(const std::string& behaviour) {
    EngineProcess& engine = start(behaviour);
    try {
      while (true) engine.receive();
    } catch (const Error& error) {
      return error;
    }
  }

  Sandpit pit_;
  Cancellation cancellation_;
  EngineLimits limits_;
  std::optional<EngineProcess> engine_;
};

TEST_F(FakeEngine, DeathBySignalBecomesASentenceAndACode) {
  for (const auto& [number, words] : {std::pair{SIGSEGV, "crashed"},
                                      {SIGILL, "crashed"},
                                      {SIGXCPU, "CPU time"},
                                      {SIGXFSZ, "larger file"},
                                      {SIGKILL, "out of memory"}}) {
    const Error error = failureOf("signal " + std::to_string(number));
    EXPECT_EQ(static_cast<int>(error.code()), 128 + number);
    EXPECT_THAT(error.what(), HasSubstr(words));
    EXPECT_THAT(error.what(), HasSubstr("(stage: fake stage)"));
  }
}

TEST_F(FakeEngine, FailedCheckIsQuoted) {
  const Error error = failureOf("check");
  EXPECT_EQ(static_cast<int>(error.code()), 128 + SIGABRT);
  EXPECT_THAT(error.what(), HasSubstr("CHECK(a == b) failed: they differ"));
}

TEST_F(FakeEngine, EndingWithoutResultIsAFailure) {
  EXPECT_STREQ(failureOf("exit").what(), "The engine ended without a result (stage: fake stage).");
  EXPECT_STREQ(failureOf("half a frame").what(), "The engine ended without a result (stage: fake stage).");
}

TEST_F(FakeEngine, HangIsEndedAfterTheTimeout) {
  limits_.silence_s = 0.6;
  const auto begin = std::chrono::steady_clock::now();
  const Error error = failureOf("hang");
  EXPECT_THAT(error.what(), HasSubstr("gave no sign of life for 1 s (stage: fake stage)"));
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(60)) << "it was waited for";
}

TEST_F(FakeEngine, LiesAreRefused) {
  EXPECT_THAT(failureOf("oversize").what(), HasSubstr("malformed message"));
  EXPECT_THAT(failureOf("garbage").what(), HasSubstr("malformed"));
  EXPECT_THAT(failureOf("array").what(), HasSubstr("malformed message"));
  EXPECT_THAT(failureOf("wrong error").what(), HasSubstr("malformed message"));
}

TEST_F(FakeEngine, ErrorsKeepTheirCode) {
  const Error error = failureOf("error");
  EXPECT_EQ(error.code(), ExitCode::kBadModel);
  EXPECT_STREQ(error.what(), "The file is bad.");
}

TEST_F(FakeEngine, CancellationInterruptsTheWait) {
  EngineProcess& engine = start("hang");
  std::thread canceller([this] {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    cancellation_.request();
  });
  const auto begin = std::chrono::steady_clock::now();
  try {
    while (true) engine.receive();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), kInterrupted);
  }
  expectWithin("end of the wait for an engine that hangs", secondsSince(begin), 2, "s");
  canceller.join();
}

TEST_F(FakeEngine, StartsWithLimitsAndACleanEnvironment) {
  ::setenv("SECRET_TOKEN", "x", 1);
  limits_.memory_bytes = std::int64_t{4} << 30;
  limits_.data_bytes = std::int64_t{3} << 30;
  EngineProcess& engine = start("limits");
  engine.receive();
  const nlohmann::json limits = engine.receive();
  EXPECT_EQ(limits["core"], 0);
  EXPECT_EQ(limits["memory"], std::int64_t{4} << 30);
  EXPECT_EQ(limits["data"], std::int64_t{3} << 30);
  EXPECT_EQ(limits["threads"], "3");
  EXPECT_TRUE(limits["group"]);
  EXPECT_THAT(limits["environment"].dump(), Not(HasSubstr("SECRET_TOKEN")));
  // 0, 1, 2, the channel, and the descriptor that lists them.
  EXPECT_EQ(limits["descriptors"].size(), 5u) << limits["descriptors"];
}

TEST_F(FakeEngine, ArrivesInPieces) {
  EngineProcess& engine = start("drip");
  engine.receive();
  EXPECT_EQ(engine.receive()["type"], "late");
}

TEST_F(FakeEngine, NoProcessIsLeftBehind) {
  const pid_t pid = start("hang").pid();
  engine_.reset();
  EXPECT_EQ(::kill(pid, 0), -1);
}

TEST(EngineProcess, MissingProgramIsOneSentence) {
  const Sandpit pit;
  const Cancellation cancellation;
  EngineStart start;
  start.program = "/nonexistent/engine";
  start.job_folder = pit.path();
  start.sandbox = false;
  try {
    EngineProcess engine(start, cancellation);
    FAIL() << "started";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "The engine /nonexistent/engine cannot be started (No such file or directory).");
  }
}

// ---- Frames.

TEST(Frames, SurviveAnySplit) {
  int sockets[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, sockets), 0);
  const nlohmann::json message = {{"type", "samples"}, {"text", std::string(5000, 'x')}};
  ASSERT_TRUE(writeFrame(sockets[0], message));
  ASSERT_TRUE(writeFrame(sockets[0], message));
  ::close(sockets[0]);
  std::string bytes;
  char chunk[1000];
  for (ssize_t count; (count = ::read(sockets[1], chunk, sizeof chunk)) > 0;) bytes.append(chunk, count);
  ::close(sockets[1]);
  for (std::size_t step : {1, 3, 4, 5, 977, 100000}) {
    FrameReader reader;
    int found = 0;
    for (std::size_t at = 0; at < bytes.size(); at += step) {
      reader.append(bytes.data() + at, std::min(step, bytes.size() - at));
      while (auto next = reader.next()) {
        EXPECT_EQ(*next, message);
        ++found;
      }
    }
    EXPECT_EQ(found, 2);
    EXPECT_FALSE(reader.hasPartial());
  }
}

// Replaces a random value in `json` by one of another kind.
void mutate(nlohmann::json& json, std::mt19937_64& random) {
  const nlohmann::json replacements[] = {nullptr,
                                         -1,
                                         1e300,
                                         true,
                                         "",
                                         nlohmann::json::array(),
                                         nlohmann::json::object(),
                                         std::string(3000, 'a'),
                                         18446744073709551615ull};
  nlohmann::json* place = &json;
  while (place->is_structured() && !place->empty() && random() % 4 != 0) {
    auto item = place->begin();
    std::advance(item, static_cast<long>(random() % place->size()));
    place = &*item;
  }
  *place = replacements[random() % std::size(replacements)];
}

template <class Read>
void fuzz(const nlohmann::json& good, const Read& read) {
  EXPECT_NO_THROW(read(good));
  std::mt19937_64 random(7);
  for (int round = 0; round < 2000; ++round) {
    nlohmann::json bad = good;
    mutate(bad, random);
    try {
      read(bad);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ExitCode::kFailure);
    }
  }
}

TEST(Messages, MutatedOnesAreRefusedWithAnError) {
  EngineJob job;
  job.inputs = {"x:1x3"};
  job.optimize.disabled_passes = {"fold-batch-norm"};
  fuzz(toJson(job), [](const auto& json) { engineJobFromJson(json); });
  fuzz(toJson(Turn{1, 0.3, 5}), [](const auto& json) { turnFromJson(json); });
  fuzz(toJson(RoundResult{1, {5, 6}, 6, 7, 8, {}}), [](const auto& json) { turnResultFromJson(json); });
  fuzz(toJson(FinishRequest{1, ExportForm::kPortable, true}), [](const auto& json) { finishRequestFromJson(json); });
}

TEST(Messages, JobsComeBackAsTheyWere) {
  EngineJob job;
  job.kind = JobKind::kVerify;
  job.model_name = "m.pt";
  job.inputs = {"x:1x3", "n=4"};
  job.guessed = {"y:1"};
  job.inputs_path = "/a";
  job.reset_method = "reset";
  job.optimize.rewrite_limit = 12;
  job.optimize.preserved_methods = {"reset"};
  job.measure.threads = 7;
  job.measure.seed = 18446744073709551615ull;
  job.optimize_only = true;
  job.job_folder = "/tmp/x";
  EXPECT_EQ(toJson(engineJobFromJson(toJson(job))), toJson(job));
}

TEST(Messages, RandomBytesNeverCrashTheReader) {
  std::mt19937_64 random(3);
  for (int round = 0; round < 500; ++round) {
    FrameReader reader(1 << 16);
    std::string bytes(random() % 300, '\0');
    for (char& byte : bytes) byte = static_cast<char>(random() % 8 == 0 ? random() : 0);
    reader.append(bytes.data(), bytes.size());
    try {
      while (reader.next()) {
      }
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ExitCode::kFailure);
    }
  }
}

}  // namespace
}  // namespace ipex_studio::testing
