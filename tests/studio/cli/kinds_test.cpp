// Kinds of models that strangers have: exported methods, operators of their own, warnings, and files that were not
// saved for this machine.
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
  // Two of the seven nodes compute, and both are planned.
  expectPlanned("warns.pt", 2.0 / 7 - 1e-6, {"--input", "x:2x6", "-o", pit_.path("fast.pt")});
  const Outcome verify = pit_.run({"verify", modelFile("warns.pt"), pit_.path("fast.pt"), "--input", "x:3x6"});
  EXPECT_EQ(verify.code, 0) << verify.err;
}

TEST_F(Kinds, FilesThatWereSavedForSomethingElse) {
  EXPECT_THAT(expectPlanned("training.pt", 0.9, {"--input", "x:1x3x16x16"}).err, HasSubstr("saved in training mode"));
  EXPECT_THAT(expectPlanned("half.pt", 0.9, {"--input", "x:1x3x16x16"}).err, HasSubstr("computed in FP32"));
  expectPlanned("half.pt", 0.9, {"--input", "x:1x3x16x16:float16"});
  expectPlanned("double.pt", 0);
  expectPlanned("double.pt", 0, {"--input", "x:2x3x16x16:float64"});
  expectPlanned("double.pt", 0.5, {"--input", "x:2x3x16x16:float64", "--decide", "kind:double=fp32"});
  expectPlanned("for_mobile.pt", 0, {"--input", "x:1x3x16x16"});
  expectPlanned("quantized_lstm.pt", 0, {"--input", "x:2x5x6"});
  const Outcome lost = run("for_inference.pt", {"--input", "x:1x3x16x16"});
  EXPECT_EQ(lost.code, 3);
  EXPECT_THAT(lost.err, HasSubstr("torch.jit.optimize_for_inference moved its weights"));
  EXPECT_EQ(pit_.run({"inspect", modelFile("for_inference.pt")}).code, 0);
}

TEST_F(Kinds, WhatWasTracedInTrainingModeEvaluatesOnRequest) {
  const std::vector<std::string> inputs{"--input", "x:1x3x16x16"};
  EXPECT_THAT(run("traced_training.pt", inputs).out, HasSubstr("run in training mode"));
  std::vector<std::string> flags = inputs;
  flags.insert(flags.end(), {"--evaluation", "-o", pit_.path("fast.pt")});
  EXPECT_THAT(expectPlanned("traced_training.pt", 0.9, flags).err, HasSubstr("run in evaluation mode, and so does"));
  EXPECT_EQ(pit_.run({"verify", modelFile("traced_training.pt"), pit_.path("fast.pt"), "--evaluation", "--input",
                      "x:3x3x16x16"})
                .code,
            0);
}

TEST_F(Kinds, AnExportedMethodInThePlaceOfForward) {
  EXPECT_THAT(pit_.run({"inspect", modelFile("streaming.pt")}).out, HasSubstr("methods     step  (besides forward"));
  const std::vector<std::string> inputs{"--input", "x:2x6", "--input", "state:2x6", "--method", "step"};
  std::vector<std::string> more = inputs;
  more.insert(more.end(), {"-o", pit_.path("fast.pt")});
  expectPlanned("streaming.pt", 0.9, more);
  std::vector<std::string> verify{"verify", modelFile("streaming.pt"), pit_.path("fast.pt")};
  verify.insert(verify.end(), inputs.begin(), inputs.end());
  EXPECT_EQ(pit_.run(verify).code, 0);
  EXPECT_EQ(pit_.run({"verify", modelFile("streaming.pt"), pit_.path("fast.pt"), "--input", "x:2x6"}).code, 0);
  const Outcome portable = run("streaming.pt", {"--input", "x:2x6", "--input", "state:2x6", "--method", "step",
                                                "--form", "portable", "-o", pit_.path("portable.pt")});
  EXPECT_EQ(portable.code, 0) << portable.err;
  const Outcome missing = run("streaming.pt", {"--method", "walk"});
  EXPECT_EQ(missing.code, 2);
  EXPECT_THAT(missing.err, HasSubstr("The model has no method 'walk' to be optimized in the place of forward; name one "
                                     "of its methods with --method: step."));
}

TEST_F(Kinds, OperatorsOfAUsersLibrary) {
  const std::vector<std::string> input{"--input", "x:1x3x16x16"};
  const Outcome without = run("user_operator.pt", input);
  EXPECT_EQ(without.code, 3);
  EXPECT_THAT(without.err, HasSubstr("uses the operator user_library::twice_relu"));
  EXPECT_THAT(without.err, HasSubstr("--library FILE"));
  const std::string library = IPEX_BINARY_DIR "/libuser_operators.so";
  std::vector<std::string> more{"--input", "x:1x3x16x16", "--library", library, "-o", pit_.path("fast.pt")};
  expectPlanned("user_operator.pt", 0.4, more);
  const Outcome verify = pit_.run(
      {"verify", modelFile("user_operator.pt"), pit_.path("fast.pt"), "--library", library, "--input", "x:1x3x16x16"});
  EXPECT_EQ(verify.code, 0) << verify.err;
  more.insert(more.end(), {"--form", "portable", "--precision", "bf16", "--force-precision", "--force"});
  EXPECT_EQ(run("user_operator.pt", more).code, 0);
  const Outcome missing = run("user_operator.pt", {"--library", "/nonexistent.so"});
  EXPECT_EQ(missing.code, 2);
  EXPECT_THAT(missing.err, HasSubstr("--library /nonexistent.so: there is no such readable file."));
  const Outcome none = run("user_operator.pt", {"--library", modelFile("small.pt")});
  EXPECT_EQ(none.code, 2);
  EXPECT_THAT(none.err, HasSubstr("cannot be loaded"));
}

}  // namespace
}  // namespace ipex_studio::testing
