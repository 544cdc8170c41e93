// Files that commands write: what is read is never replaced, what exists only with --force, and all of it is judged
// before the work begins.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "tests/studio/cli/program.h"
#include "tests/studio/cli/samples.h"

namespace ipex_studio::testing {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

const std::vector<std::string> kQuick{"--iterations", "5", "--threads", "1", "--warmup", "0", "--tune", "off"};

class Outputs : public ::testing::Test {
 protected:
  Outputs() {
    fs::create_directory(pit_.path("sub"));
    fs::copy_file(modelFile("small.pt"), model_);
    bytes_ = readText(model_);
    writeSamples(pit_.path("data.npy"), 4);
    std::ofstream(pit_.path("old.txt")) << "old";
  }

  // The command is refused at once, and nothing is changed or made.
  void expectRefused(const std::vector<std::string>& arguments, const std::string& part) const {
    SCOPED_TRACE(::testing::PrintToString(arguments));
    const Outcome outcome = pit_.run(arguments);
    EXPECT_EQ(outcome.code, 2) << outcome.err;
    EXPECT_THAT(outcome.err, HasSubstr(part));
    EXPECT_EQ(outcome.out, "");
    EXPECT_EQ(readText(model_), bytes_);
    EXPECT_EQ(readText(pit_.path("old.txt")), old_);
  }

  const Sandpit pit_;
  const std::string model_ = pit_.path("m.pt");
  std::string bytes_, old_ = "old";
};

TEST_F(Outputs, NeverReplaceTheModelByAnyName) {
  const std::string link = pit_.path("link.pt"), hard = pit_.path("hard.pt");
  fs::create_symlink(model_, link);
  fs::create_hard_link(model_, hard);
  fs::create_directory_symlink(pit_.path(), pit_.path("folder"));
  for (const std::string& name :
       {model_, link, hard, pit_.path("sub/../m.pt"), pit_.path("folder/m.pt"), pit_.path("./m.pt")}) {
    for (const char* force : {"--force", "--json"}) {
      expectRefused({"run", model_, "-o", name, force}, "read and never replaced; write to another file");
    }
    expectRefused({"run", link, "-o", name, "--force"}, "never replaced");
    expectRefused({model_, "--screenshot", name, "--force"}, "never replaced");
    expectRefused({model_, "--report", name, "--force"}, "never replaced");
    expectRefused({"check", model_, modelFile("small.pt"), "--junit", name, "--force"}, "never replaced");
    expectRefused({"quantize", model_, "--recipe", "dynamic", "-o", name, "--force"}, "never replaced");
    expectRefused({"calibrate", model_, "--data", pit_.path("data.npy"), "-o", name, "--force"}, "never replaced");
    expectRefused(
        {"tune", model_, "--data", pit_.path("data.npy"), "-o", pit_.path("t.pt"), "--save-recipe", name, "--force"},
        "never replaced");
  }
}

TEST_F(Outputs, NeverReplaceAnythingElseThatIsRead) {
  const std::string data = pit_.path("data.npy"), old = pit_.path("old.txt");
  expectRefused({"run", model_, "--inputs", data, "-o", data, "--force"}, "never replaced");
  expectRefused({"calibrate", model_, "--data", data, "-o", data, "--force"}, "never replaced");
  expectRefused({"quantize", model_, "--recipe", old, "-o", old, "--force"}, "never replaced");
  expectRefused({"check", modelFile("small.pt"), model_, "--markdown", model_, "--force"}, "never replaced");
  expectRefused({"run", model_, "--db", old, "-o", old, "--force"}, "never replaced");
  expectRefused({"check", model_, model_, "--junit", pit_.path("x"), "--markdown", pit_.path("sub/../x")}, "twice");
}

TEST_F(Outputs, ReplaceOtherFilesOnlyWhenForced) {
  const std::string old = pit_.path("old.txt");
  for (std::vector<std::string> command : {std::vector<std::string>{"run", model_, "-o", old},
                                           {model_, "--screenshot", old},
                                           {model_, "--report", old},
                                           {"check", model_, model_, "--markdown", old},
                                           {"quantize", model_, "--recipe", "dynamic", "-o", old}}) {
    expectRefused(command, "exists already; give another name, or --force to replace it");
  }
  fs::create_symlink(pit_.path("nothing"), pit_.path("dangling"));
  expectRefused({"run", model_, "-o", pit_.path("dangling")}, "exists already");
  std::ofstream(pit_.path("p.pt.weights")) << "old";
  expectRefused({"run", model_, "-o", pit_.path("p.pt"), "--prepared"}, "p.pt.weights exists already");
  expectRefused({"run", model_, "-o", "/dev/null", "--force"}, "no plain file");

  std::vector<std::string> forced{"run", model_, "-o", old, "--force"};
  forced.insert(forced.end(), kQuick.begin(), kQuick.end());
  EXPECT_EQ(pit_.run(forced).code, 0);
  old_ = readText(old);
  EXPECT_EQ(old_.substr(0, 2), "PK");
  const std::string db = pit_.path("data/ipex-studio/profile.db"), page = pit_.path("page.html");
  ASSERT_EQ(pit_.run({"report", db, "-o", page}).code, 0);
  expectRefused({"report", db, "-o", page}, "exists already");
  expectRefused({"report", db, "-o", db, "--force"}, "never replaced");
  EXPECT_EQ(pit_.run({"report", db, "-o", page, "--force"}).code, 0);
}

TEST_F(Outputs, ADatabaseThatIsNamedIsOpenedBeforeTheRun) {
  const auto expectNoDatabase = [&](const std::string& path, const std::string& part) {
    for (std::vector<std::string> command : {std::vector<std::string>{"run", model_},
                                             {"bench", model_},
                                             {model_, "--panel", "kernels", "--json"},
                                             {"quantize", model_, "--recipe", "dynamic", "-o", pit_.path("q.pt")}}) {
      command.insert(command.end(), {"--db", path});
      const Outcome outcome = pit_.run(command);
      EXPECT_EQ(outcome.code, 6) << command[0] << outcome.err;
      EXPECT_THAT(outcome.err, HasSubstr(part));
      EXPECT_EQ(outcome.out, "");
      EXPECT_LT(outcome.seconds, 1) << "it was seen only after the run";
    }
  };
  expectNoDatabase(pit_.path("no/such/profile.db"), "for the profile database does not exist");
  expectNoDatabase(pit_.path("old.txt"), "name another file with --db");
  expectNoDatabase(model_, "name another file with --db");
  EXPECT_EQ(readText(model_), bytes_);
  EXPECT_FALSE(fs::exists(pit_.path("q.pt")));
}

TEST_F(Outputs, ThePanelEndsWithTheCodeOfTheRun) {
  for (const std::string& name :
       {std::string("state_dict.pt"), std::string("unknown_op.pt"), std::string("truncated.pt")}) {
    const Outcome run = pit_.run({"run", modelFile(name)});
    EXPECT_EQ(run.code, 3) << run.err;
    const Outcome panel = pit_.run({modelFile(name), "--panel", "kernels", "--json"});
    EXPECT_EQ(panel.code, run.code) << panel.err;
    EXPECT_THAT(run.err, ::testing::EndsWith(panel.err));
  }
  std::vector<std::string> wrong{"run", model_, "--input", "nothing:1x3"};
  const Outcome run = pit_.run(wrong);
  wrong.erase(wrong.begin());
  wrong.insert(wrong.end(), {"--panel", "kernels", "--csv"});
  EXPECT_EQ(run.code, 2);
  EXPECT_EQ(pit_.run(wrong).code, 2);
}

}  // namespace
}  // namespace ipex_studio::testing
