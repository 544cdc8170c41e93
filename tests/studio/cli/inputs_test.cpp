// Inputs of a model: values by flags and from files, ranges of sizes, state.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/studio/cli/program.h"

namespace ipex_studio::testing {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

class InputsOfRuns : public ::testing::Test {
 protected:
  Outcome run(const std::string& model, std::vector<std::string> more) const {
    std::vector<std::string> arguments{"run", modelFile(model), "--iterations", "10", "--threads", "1", "--warmup",
                                       "0",   "--json"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return pit_.run(arguments);
  }
  // Returns the graph's first lines, with the sizes that were seen.
  std::string graph(const std::string& model, std::vector<std::string> more) const {
    std::vector<std::string> arguments{"show", modelFile(model), "--after", "frozen"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const Outcome show = pit_.run(arguments);
    EXPECT_EQ(show.code, 0) << show.err;
    return show.out;
  }

  Sandpit pit_;
};

TEST_F(InputsOfRuns, FilesOfEveryForm) {
  EXPECT_THAT(graph("small.pt", {"--inputs", modelFile("inputs.pt")}), HasSubstr("Float(1, 3, 16, 16,"));
  // Arguments come by position from a tuple, by name from archives and dicts, the rest from flags.
  EXPECT_THAT(graph("two.pt", {"--inputs", modelFile("tuple_of_two.pt")}),
              ::testing::AllOf(HasSubstr("Float(5, 6,"), HasSubstr("Long(5,")));
  EXPECT_THAT(graph("two.pt", {"--inputs", modelFile("two.npz")}),
              ::testing::AllOf(HasSubstr("Float(5, 6,"), HasSubstr("Long(5,")));
  EXPECT_THAT(graph("two.pt", {"--inputs", modelFile("x.npy"), "--input", "ids:5:int64[0,9]"}),
              HasSubstr("Float(5, 6,"));
  EXPECT_THAT(graph("two.pt", {"--inputs", modelFile("first_of_two.pt"), "--input", "ids:2:int64[0,9]"}),
              HasSubstr("Float(2, 6,"));
}

TEST_F(InputsOfRuns, IntsFloatsBoolsAndNone) {
  const Outcome none = run("options.pt", {"--input", "x:2x6", "--input", "count=3", "--input", "scale=0.5", "--input",
                                          "flag=true", "--input", "mask=None"});
  EXPECT_EQ(none.code, 0) << none.err;
  EXPECT_EQ(json::parse(none.out)["runs"][1]["accuracy"]["pass"], true);
  EXPECT_THAT(graph("options.pt", {"--input", "x:2x6", "--input", "count=3", "--input", "scale=0.5", "--input",
                                   "flag=False", "--input", "mask:6x6"}),
              HasSubstr("Float(6, 6,"));
}

TEST_F(InputsOfRuns, ComplexTensorsAndNumbers) {
  const Outcome run_ = run("spectrum.pt", {"--input", "z:2x8:complex64", "--input", "w:8:complex64", "--input",
                                           "scale=1+2j", "-o", pit_.path("fast.pt")});
  EXPECT_EQ(run_.code, 0) << run_.err;
  EXPECT_EQ(json::parse(run_.out)["runs"][1]["accuracy"]["pass"], true);
  for (const char* number : {"3", "0.5", "-2j", "-1e-3-0.5j"}) {
    const Outcome other = run("spectrum.pt", {"--input", "z:2x8:complex128", "--input", "w:8:complex128", "--input",
                                              std::string("scale=") + number});
    EXPECT_EQ(other.code, 0) << number << ": " << other.err;
  }
  const Outcome wrong =
      run("spectrum.pt", {"--input", "z:2x8:complex64", "--input", "w:8:complex64", "--input", "scale=1+2"});
  EXPECT_EQ(wrong.code, 2);
}

TEST_F(InputsOfRuns, DefaultsStayAsTheyAre) {
  const Outcome defaults = run("defaults.pt", {});
  EXPECT_EQ(defaults.code, 0) << defaults.err;
  EXPECT_THAT(defaults.err, HasSubstr("--input scale=1.0"));
  const Outcome mask = run("defaults.pt", {"--input", "x:2x6", "--input", "mask:2x6:bool", "--input", "scale=2"});
  EXPECT_EQ(mask.code, 0) << mask.err;
  const Outcome wrong = run("defaults.pt", {"--input", "x:2x6", "--input", "scale=true"});
  EXPECT_EQ(wrong.code, 2);
  EXPECT_THAT(wrong.err, HasSubstr("The input 'scale' takes float, and true is no float"));
}

TEST_F(InputsOfRuns, AnyNestingFromFlagsAndFiles) {
  const Outcome flags =
      run("nested.pt", {"--input", "images=[1..4x6, 3]", "--input", "named={a: 1x6}", "--input", "pair=(2, [3])"});
  EXPECT_EQ(flags.code, 2);  // a tensor of one axis has a dtype behind it: 3 alone is a number
  EXPECT_THAT(flags.err, HasSubstr("The input 'images' takes List[Tensor], and 3 is no Tensor; give another with"));
  const Outcome good = run(
      "nested.pt", {"--input", "images=[1..4x6, 3:float32]", "--input", "named={a: 1x6}", "--input", "pair=(2, [3])"});
  EXPECT_EQ(good.code, 0) << good.err;
  const Outcome file = run("nested.pt", {"--inputs", modelFile("nested_inputs.pt"), "-o", pit_.path("fast.pt")});
  EXPECT_EQ(file.code, 0) << file.err;
  EXPECT_EQ(json::parse(file.out)["runs"][1]["accuracy"]["pass"], true);
}

TEST_F(InputsOfRuns, DataAndAFileTogether) {
  for (const char* file : {"ids.npy", "tuple_of_two.pt"}) {
    const Outcome both = run("two.pt", {"--data", modelFile("x.npy"), "--batch", "5", "--inputs", modelFile(file)});
    EXPECT_EQ(both.code, 0) << file << both.err;
  }
}

TEST_F(InputsOfRuns, RangesAreVerifiedAtBothEndsAndBetween) {
  const Outcome fits = run("not_three.pt", {"--input", "x:1..2x6", "--instances", "2"});
  EXPECT_EQ(fits.code, 0) << fits.err;
  EXPECT_EQ(json::parse(fits.out)["runs"][1]["instances"], 2);
  // The model fails at a batch of three: the middle of one range, the upper end of another.
  for (const char* range : {"x:1..5x6", "x:1..3x6"}) {
    const Outcome refused = run("not_three.pt", {"--input", range});
    EXPECT_EQ(refused.code, 1) << range;
    EXPECT_THAT(refused.err,
                ::testing::EndsWith("ipex-studio: The model failed while running: ValueError: three rows.\n"));
  }
}

// The export starts from the state in the file, whatever ran before it was written: its results are compared with those
// of the file again.
TEST_F(InputsOfRuns, StateIsTheFilesOwn) {
  using Flags = std::vector<std::string>;
  const std::string out = pit_.path("fast.pt");
  const auto expectSame = [&](const Flags& inputs, const Flags& more) {
    Flags flags = inputs;
    flags.insert(flags.end(), more.begin(), more.end());
    flags.insert(flags.end(), {"-o", out, "--force"});
    const Outcome ran = run("counter.pt", flags);
    EXPECT_EQ(ran.code, 0) << ran.err;
    EXPECT_EQ(json::parse(ran.out)["runs"][1]["accuracy"]["pass"], true);
    Flags verify{"verify", modelFile("counter.pt"), out};
    verify.insert(verify.end(), inputs.begin(), inputs.end());
    const Outcome same = pit_.run(verify);
    EXPECT_EQ(same.code, 0) << same.err;
  };
  expectSame({"--input", "x:2x6"}, {});
  expectSame({"--inputs", modelFile("x.npy")}, {"--form", "portable"});
  expectSame({"--input", "x:2x6"}, {"--reset", "restart"});
}

TEST_F(InputsOfRuns, AHalfMayBeRoundedEitherWay) {
  const Outcome ran = run("bytes.pt", {"--input", "x:1x3x256x256"});
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_LE(json::parse(ran.out)["runs"][1]["accuracy"]["max_abs"].get<double>(), 1);
  if (json::parse(ran.out)["runs"][1]["accuracy"]["max_abs"].get<double>() > 0) {
    EXPECT_THAT(ran.err, HasSubstr("values differ, each where the model rounds"));
  }
}

TEST_F(InputsOfRuns, RandomNumbersAreEqualOnBothSides) {
  const Outcome ran = run("dice.pt", {"--input", "x:2x6"});
  EXPECT_EQ(ran.code, 0) << ran.err;
  const json accuracy = json::parse(ran.out)["runs"][1]["accuracy"];
  EXPECT_EQ(accuracy["pass"], true);
  EXPECT_GT(accuracy["sqnr_db"].get<double>(), 100);
  EXPECT_THAT(ran.err, HasSubstr("The model draws random numbers"));
}

}  // namespace
}  // namespace ipex_studio::testing
