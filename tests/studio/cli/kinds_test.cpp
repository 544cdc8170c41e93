// Kinds of models that strangers have: warnings, and files that were not saved for this machine.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/studio/cli/program.h"

namespace ipex_studio::testing {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

class Kinds : public ::testing::Test {
 protected:
  Outcome run(const std::string& model, std::vector<std::string> more = {}) const {
    std::vector<std::string> arguments{"run", modelFile(model), "--iterations", "10",    "--threads", "1", "--warmup",
                                       "0",   "--tune",         "off",          "--json"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return pit_.run(arguments);
  }
  // Expects exit code 0, right results, and at least this share of the nodes in plans.
  Outcome expectPlanned(const std::string& model, double share, std::vector<std::string> more = {}) const {
    Outcome outcome = run(model, std::move(more));
    EXPECT_EQ(outcome.code, 0) << model << ": " << outcome.err;
    if (outcome.code != 0) return outcome;
    const json optimized = json::parse(outcome.out)["runs"][1];
    EXPECT_EQ(optimized["accuracy"]["pass"], true) << model;
    EXPECT_GE(optimized["coverage"]["nodes"], share) << model;
    return outcome;
  }

  Sandpit pit_;
};

TEST_F(Kinds, WarningsAndNoGradAreStepsOfTheInterpreter) {
  expectPlanned("warns.pt", 0.4, {"--input", "x:2x6", "-o", pit_.path("fast.pt")});
  const Outcome verify = pit_.run({"verify", modelFile("warns.pt"), pit_.path("fast.pt"), "--input", "x:3x6"});
  EXPECT_EQ(verify.code, 0) << verify.err;
}

TEST_F(Kinds, FilesThatWereSavedForSomethingElse) {
  EXPECT_THAT(expectPlanned("training.pt", 0.9, {"--input", "x:1x3x16x16"}).err, HasSubstr("saved in training mode"));
  EXPECT_THAT(expectPlanned("half.pt", 0.9, {"--input", "x:1x3x16x16"}).err, HasSubstr("computed in FP32"));
  expectPlanned("half.pt", 0.9, {"--input", "x:1x3x16x16:float16"});
  expectPlanned("double.pt", 0);
  expectPlanned("double.pt", 0, {"--input", "x:2x3x16x16:float64"});
  expectPlanned("for_mobile.pt", 0, {"--input", "x:1x3x16x16"});
  expectPlanned("quantized_lstm.pt", 0, {"--input", "x:2x5x6"});
  const Outcome lost = run("for_inference.pt", {"--input", "x:1x3x16x16"});
  EXPECT_EQ(lost.code, 3);
  EXPECT_THAT(lost.err, HasSubstr("torch.jit.optimize_for_inference moved its weights"));
  EXPECT_EQ(pit_.run({"inspect", modelFile("for_inference.pt")}).code, 0);
}

}  // namespace
}  // namespace ipex_studio::testing
