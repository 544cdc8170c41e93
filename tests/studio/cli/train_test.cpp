// train: what it writes, how it goes on after Ctrl-C and kill -9, and what it says where it cannot train.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <random>
#include <thread>

#include "core/runtime/machine_facts.h"
#include "tests/studio/cli/program.h"
#include "tests/studio/cli/samples.h"

namespace ipex_studio::testing {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr int kImages = 96;

class Train : public ::testing::Test {
 protected:
  Train() {
    fs::create_directories(data_);
    writeCifar(data_ + "/data_batch_1.bin", kImages / 2);
    writeCifar(data_ + "/data_batch_2.bin", kImages / 2);
    writeCifar(data_ + "/test_batch.bin", 16);
  }

  // CIFAR-10's binary form: a label and three planes of 32 x 32, whose brightness tells the label.
  static void writeCifar(const std::string& path, int images, int classes = 4) {
    std::ofstream file(path, std::ios::binary);
    for (int i = 0; i < images; ++i) {
      std::string row(1 + 3 * 32 * 32, '\0');
      row[0] = static_cast<char>(i % classes);
      for (std::size_t p = 1; p < row.size(); ++p)
        row[p] =
            static_cast<char>(40 + 50 * (i % classes) + static_cast<int>((p * 7 + static_cast<std::size_t>(i)) % 11));
      file << row;
    }
  }
  std::vector<std::string> command(const std::string& out, const std::vector<std::string>& more = {},
                                   const std::string& optimizer = "sgd:lr=0.05,momentum=0.9") const {
    std::vector<std::string> words{"train",       modelFile("trainable.pt"),
                                   "-o",          pit_.path(out),
                                   "--data",      data_,
                                   "--threads",   "1",
                                   "--batch",     "8",
                                   "--optimizer", optimizer};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }
  // Expects one sentence on the last line, and that nothing was written.
  void refused(const std::vector<std::string>& arguments, int code, const std::string& part) const {
    expectOneSentence(pit_.run(arguments), code, part);
    EXPECT_FALSE(fs::exists(pit_.path("out.pt")));
  }
  void waitForFile(const std::string& path) const {
    for (int i = 0; i < 600 && !fs::exists(path); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }

  const Sandpit pit_;
  const std::string data_ = pit_.path("cifar");
};

TEST_F(Train, WritesAModelThatTheOthersTakeAndRecordsEveryStep) {
  const std::string db = pit_.path("p.db");
  const Outcome trained = pit_.run(
      command("out.pt", {"--epochs", "3", "--schedule", "cosine:warmup=4", "--clip-norm", "5", "--db", db, "--json"}));
  ASSERT_EQ(trained.code, 0) << trained.err;
  EXPECT_THAT(trained.err, HasSubstr("epoch 3 of 3: loss "));
  EXPECT_THAT(trained.err, Not(HasSubstr("evaluation mode")));
  const json result = json::parse(trained.out), training = result["training"];
  EXPECT_EQ(result["step"], 36);
  EXPECT_EQ(result["finished"], true);
  EXPECT_EQ(training["samples"], kImages);  // not those of test_batch.bin
  EXPECT_EQ(training["metric"], "top-1");
  ASSERT_EQ(training["steps"].size(), 36u);
  ASSERT_EQ(training["ends"].size(), 3u);
  EXPECT_LT(training["ends"][2]["loss"].get<double>(), training["ends"][0]["loss"].get<double>());
  EXPECT_EQ(training["steps"][3]["learning_rate"], 0.05);
  EXPECT_TRUE(fs::exists(pit_.path("out.pt.checkpoint")));
  EXPECT_EQ(pit_.run({"run", pit_.path("out.pt"), "--input", "x:1x3x32x32", "--iterations", "5", "--warmup", "0",
                      "--threads", "1", "--tune", "off", "--db", pit_.path("other.db"), "-o", pit_.path("fast.pt")})
                .code,
            0);

  const json listed = json::parse(pit_.run({"db", "list", "--db", db, "--json"}).out)["jobs"][0];
  EXPECT_EQ(listed["command"], "train");
  EXPECT_EQ(listed["training"]["steps"], 36);
  const json table = json::parse(pit_.run({db, "--panel", "training", "--json"}).out);
  ASSERT_EQ(table["rows"].size(), 36u);
  EXPECT_EQ(table["rows"][35]["step"], 36);
  EXPECT_EQ(table["epochs"].size(), 3u);
}

TEST_F(Train, TellsEpochsAndTimesAsText) {
  const Outcome trained = pit_.run(command("out.pt", {"--epochs", "2"}));
  ASSERT_EQ(trained.code, 0) << trained.err;
  EXPECT_THAT(trained.out, HasSubstr("trainable.pt · "));
  EXPECT_THAT(trained.out, HasSubstr("\nepoch 2 of 2: loss "));
  EXPECT_THAT(trained.out, HasSubstr("top-1 "));
  EXPECT_THAT(trained.out, HasSubstr("optimizer "));
  EXPECT_THAT(trained.err, HasSubstr("out.pt.checkpoint goes on from step 24 with --resume."));
}

TEST_F(Train, KilledAndResumedItHasTheBitsOfAnUninterruptedRun) {
  const bool campaign = std::getenv("IPEX_CAMPAIGN") != nullptr;
  const std::string epochs = campaign ? "400" : "40";
  const std::vector<std::string> more{"--epochs", epochs, "--checkpoint-steps", "3", "--db", pit_.path("p.db")};
  ASSERT_EQ(pit_.run(command("whole.pt", more)).code, 0);
  std::vector<std::string> again = more;
  again.emplace_back("--resume");
  const std::string checkpoint = pit_.path("part.pt.checkpoint");
  std::mt19937 random(5);
  for (int kill = 0; kill < (campaign ? 50 : 2) && !fs::exists(pit_.path("part.pt")); ++kill) {
    const bool begun = fs::exists(checkpoint);
    const pid_t pid = pit_.start(command("part.pt", begun ? again : more));
    if (!begun) waitForFile(checkpoint);
    ::usleep(std::uniform_int_distribution<useconds_t>(0, campaign ? 600'000 : 200'000)(random));
    ::kill(pid, SIGKILL);
    waitFor(pid);
  }
  EXPECT_FALSE(fs::exists(pit_.path("part.pt")));
  again.emplace_back("--json");
  const Outcome resumed = pit_.run(command("part.pt", again));
  ASSERT_EQ(resumed.code, 0) << resumed.err;
  const json result = json::parse(resumed.out);
  EXPECT_GT(result["training"]["resumed_at"].get<int>(), 0);
  EXPECT_LT(result["training"]["resumed_at"].get<int>(), result["step"].get<int>());
  const Outcome same =
      pit_.runProgram({"/usr/bin/python3", "-c",
                       "import sys, torch\n"
                       "a, b = (list(torch.jit.load(path).state_dict().values()) for path in sys.argv[1:])\n"
                       "print(len(a), all(torch.equal(x, y) for x, y in zip(a, b)))",
                       pit_.path("whole.pt"), pit_.path("part.pt")});
  EXPECT_EQ(same.out, "9 True\n") << same.err;
}

TEST_F(Train, InterruptedItKeepsWhatWasTrained) {
  const std::vector<std::string> more{"--epochs", "100000", "--checkpoint-steps", "5", "--db", pit_.path("p.db")};
  const pid_t pid = pit_.start(command("out.pt", more));
  waitForFile(pit_.path("out.pt.checkpoint"));
  ::kill(pid, SIGINT);
  EXPECT_EQ(waitFor(pid), 130);
  EXPECT_THAT(readText(pit_.path("err")), HasSubstr("ipex-studio: Interrupted at step "));
  EXPECT_THAT(readText(pit_.path("err")), HasSubstr("nothing is lost, and the same command with --resume goes on.\n"));
  EXPECT_TRUE(fs::exists(pit_.path("out.pt")));
  EXPECT_EQ(pit_.run({"inspect", pit_.path("out.pt")}).code, 0);
  EXPECT_THAT(pit_.run({"db", "list", "--db", pit_.path("p.db")}).out, HasSubstr("training to step "));
  EXPECT_THAT(pit_.run(command("out.pt", {"--epochs", "1"})).err,
              HasSubstr("exists already; add --resume to go on with it"));
}

TEST_F(Train, WhatCannotBeTrainedIsOneSentence) {
  const auto of = [&](const std::string& model, std::vector<std::string> more = {}) {
    std::vector<std::string> words = command("out.pt", std::move(more));
    words[1] = modelFile(model);
    return words;
  };
  refused(of("frozen.pt"), 2, "The model is frozen or has no parameters: freezing and optimizing make constants");
  refused(of("no_guess.pt"), 2, "The model is frozen or has no parameters");
  refused(command("out.pt", {"--loss", "mse"}), 2,
          "The loss mse takes targets of the results' sizes; this model gives Float 8 x 4");
  refused(command("out.pt", {"--loss", "mae"}), 2, "--loss mae: there is no such loss; use cross_entropy");
  refused(command("out.pt", {}, "sgd:lr=-1"), 2, "--optimizer sgd:lr=-1: lr is a number from 0");
  refused(command("out.pt", {"--schedule", "saw"}), 2, "--schedule saw: there is no such schedule");
  refused(of("nan_weight.pt"), 4, "The loss is NaN at step 1, because the parameter linear.weight is not finite; ");
  refused(command("out.pt", {"--resume"}), 2, "There is no checkpoint ");
  refused(command("out.pt", {"--validation", "/nonexistent"}), 2, "/nonexistent");
  writeCifar(data_ + "/data_batch_2.bin", kImages / 2, 5);
  refused(command("out.pt"), 2, "A label of the data is 4, but the model knows 4 classes, 0 to 3.");
}

TEST_F(Train, ACheckpointOfAnotherNetworkIsRefused) {
  ASSERT_EQ(pit_.run(command("out.pt")).code, 0);
  fs::remove(pit_.path("out.pt"));
  std::vector<std::string> other = command("out.pt", {"--resume"});
  other[1] = modelFile("two.pt");
  refused(other, 3, "out.pt.checkpoint is the checkpoint of another network: ");
  fs::resize_file(pit_.path("out.pt.checkpoint"), 1000);
  refused(command("out.pt", {"--resume"}), 3, "out.pt.checkpoint");
}

TEST_F(Train, NanInDataIsNamed) {
  std::vector<std::string> words = command("out.pt", {"--epochs", "2"});
  words[5] = modelFile("spoiled.pt");
  refused(words, 2, "Sample 20 of ");
  EXPECT_TRUE(fs::exists(pit_.path("out.pt.checkpoint")));
}

TEST_F(Train, Bf16IsSaidWhereThereIsNone) {
  const Outcome outcome = pit_.run(command("out.pt", {"--precision", "bf16", "--force-precision", "--json"}));
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(json::parse(outcome.out)["training"]["precision"], "bf16");
  const std::vector<std::string> features = machineFacts().features;
  const bool native = std::any_of(features.begin(), features.end(),
                                  [](const std::string& name) { return name.find("bf16") != std::string::npos; });
  if (native) GTEST_SKIP() << "this CPU has BF16";
  fs::remove(pit_.path("out.pt"));
  refused(command("out.pt", {"--precision", "bf16", "--force"}), 5, "--precision bf16: this CPU ");
}

TEST_F(Train, FullDiskAtACheckpointLosesNothing) {
  fs::create_directory(pit_.path("disk"));
  const std::string quoted = "'" + programPath() + "' train '" + modelFile("trainable.pt") + "' --data '" + data_ +
                             "' --threads 1 --batch 8 --checkpoint-steps 2 --db '" + pit_.path("p.db") +
                             "' -o \"$DIR/out.pt\"";
  const Outcome outcome =
      pit_.runProgram({"unshare", "-rm", "sh", "-c",
                       "DIR='" + pit_.path("disk") + "'; mount -t tmpfs -o size=256k tmpfs \"$DIR\" || exit 99; " +
                           quoted + " --epochs 1 || exit 98; cp \"$DIR/out.pt.checkpoint\" '" + pit_.path("kept") +
                           "'; head -c 400000 /dev/zero > \"$DIR/filler\" 2>/dev/null; " + quoted +
                           " --epochs 2 --resume; code=$?; cmp \"$DIR/out.pt.checkpoint\" '" + pit_.path("kept") +
                           "' && echo same; exit $code"});
  if (outcome.code == 99) GTEST_SKIP() << "no mounts here: " << outcome.err;
  EXPECT_EQ(outcome.code, 1) << outcome.err;
  EXPECT_THAT(outcome.err,
              HasSubstr("warning: The checkpoint of step 14 is not kept, and training goes on. Cannot write "));
  EXPECT_THAT(outcome.err,
              HasSubstr("out.pt.checkpoint (No space left on device). What was trained before is kept in "));
  EXPECT_THAT(outcome.out, EndsWith("same\n"));
}

}  // namespace
}  // namespace ipex_studio::testing
