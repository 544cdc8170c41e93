// calibrate, quantize, run with several precisions, tune; and what is said about data and recipes that cannot be used.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <thread>

#include "tests/cli/program.h"

namespace ipex_studio::testing {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using ::testing::EndsWith;
using ::testing::HasSubstr;

constexpr int kElements = 3 * 8 * 8;

void writeNpy(const std::string& path, const char* descr, const std::string& shape, const std::string& bytes) {
  std::string header = std::string("{'descr': '") + descr + "', 'fortran_order': False, 'shape': " + shape + ", }";
  while ((10 + header.size() + 1) % 64 != 0) header += ' ';
  header += '\n';
  std::ofstream file(path, std::ios::binary);
  file.write("\x93NUMPY\x01\x00", 8);
  file.put(static_cast<char>(header.size() & 0xff)).put(static_cast<char>(header.size() >> 8));
  file << header << bytes;
}

// Images of small.pt: the same numbers every time.
std::string samples(int count, float scale = 1) {
  std::vector<float> values(static_cast<std::size_t>(count) * kElements);
  std::uint32_t state = 1;
  for (float& value : values) {
    state = state * 1664525u + 1013904223u;
    value = scale * (static_cast<float>(state >> 8) / 8388608.f - 1);
  }
  return std::string(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float));
}

class PrecisionTest : public ::testing::Test {
 protected:
  std::string data(int count, float scale = 1) const {
    const std::string path = pit_.path("data.npy");
    writeNpy(path, "<f4", "(" + std::to_string(count) + ", 3, 8, 8)", samples(count, scale));
    return path;
  }
  // One sentence on the last line, the given code, no recipe or model left behind.
  void refused(std::vector<std::string> arguments, int code, const std::string& part) const {
    const Outcome outcome = pit_.run(arguments);
    EXPECT_EQ(outcome.code, code) << outcome.err;
    const std::size_t line = outcome.err.rfind("ipex-studio: ");
    ASSERT_NE(line, std::string::npos) << outcome.err;
    const std::string sentence = outcome.err.substr(line);
    EXPECT_THAT(sentence, HasSubstr(part));
    EXPECT_THAT(sentence, EndsWith(".\n"));
    EXPECT_EQ(std::count(sentence.begin(), sentence.end(), '\n'), 1) << sentence;
    EXPECT_FALSE(fs::exists(pit_.path("out.json")));
    EXPECT_FALSE(fs::exists(pit_.path("out.pt")));
  }
  const Sandpit pit_;
};

TEST_F(PrecisionTest, CalibrateQuantizeAndRun) {
  const std::string set = data(64), recipe = pit_.path("recipe.json");
  const Outcome calibrated = pit_.run({"calibrate", modelFile("small.pt"), "--data", set, "--threads", "1", "-o", recipe});
  ASSERT_EQ(calibrated.code, 0) << calibrated.err;
  EXPECT_THAT(calibrated.err, HasSubstr("Saw 64 samples; "));
  EXPECT_FALSE(fs::exists(recipe + ".interrupted"));
  ASSERT_TRUE(json::accept(readText(recipe)));

  const Outcome quantized =
      pit_.run({"quantize", modelFile("small.pt"), "--recipe", recipe, "--data", set, "--threads", "1", "-o", pit_.path("q.pt"), "--json"});
  ASSERT_EQ(quantized.code, 0) << quantized.err;
  EXPECT_EQ(json::parse(quantized.out)["runs"][0]["precision"], "int8");
  EXPECT_TRUE(fs::exists(pit_.path("q.pt")));

  const Outcome run = pit_.run({"bench", modelFile("small.pt"), "--recipe", recipe, "--data", set, "--precision", "fp32,int8", "--iterations", "10",
                                "--warmup", "0", "--threads", "1", "--json"});
  ASSERT_EQ(run.code, 0) << run.err;
  const json runs = json::parse(run.out)["runs"];
  ASSERT_EQ(runs.size(), 3u);
  EXPECT_EQ(runs[0]["variant"], "baseline");
  EXPECT_EQ(runs[1]["precision"], "fp32");
  EXPECT_EQ(runs[2]["precision"], "int8");
  EXPECT_EQ(runs[2]["metrics"][0]["name"], "sqnr");
  EXPECT_EQ(runs[2]["metrics"][0]["samples"], 64);
  EXPECT_GT(runs[1]["metrics"][0]["value"].get<double>(), runs[2]["metrics"][0]["value"].get<double>());
  EXPECT_GT(runs[2]["metrics"][0]["value"].get<double>(), 20);
  EXPECT_GT(runs[2]["export_mb"].get<double>(), 0);
}

TEST_F(PrecisionTest, TuneFindsAnAssignmentWithinTheBudget) {
  const Outcome tuned = pit_.run({"tune", modelFile("small.pt"), "--data", data(32), "--min-sqnr", "20", "--time-budget", "60", "--threads", "1", "--json",
                                  "-o", pit_.path("t.pt"), "--save-recipe", pit_.path("t.json")});
  ASSERT_EQ(tuned.code, 0) << tuned.err;
  const json result = json::parse(tuned.out);
  ASSERT_FALSE(result["sensitivities"].empty());
  int chosen = 0, front = 0;
  for (const json& trial : result["tradeoffs"]) {
    chosen += trial["chosen"].get<bool>() ? 1 : 0;
    front += trial["on_front"].get<bool>() ? 1 : 0;
    EXPECT_TRUE(trial["allowed"].get<bool>() || !trial["chosen"].get<bool>());
  }
  EXPECT_EQ(chosen, 1);
  EXPECT_GE(front, 1);
  EXPECT_TRUE(fs::exists(pit_.path("t.pt")));
  EXPECT_FALSE(fs::exists(pit_.path("t.pt.interrupted")));
}

TEST_F(PrecisionTest, AKilledCalibrationGoesOnToTheSameRecipe) {
  const std::string set = data(20000), recipe = pit_.path("recipe.json"), state = recipe + ".interrupted";
  const std::vector<std::string> command{"calibrate", modelFile("small.pt"), "--data", set, "--threads", "1", "--samples", "20000", "-o", recipe};
  const pid_t pid = pit_.start(command);
  for (int i = 0; i < 3000 && !fs::exists(state) && !fs::exists(recipe); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  ::kill(pid, SIGKILL);
  waitFor(pid);
  if (!fs::exists(state)) GTEST_SKIP() << "it was done before it could be killed";
  EXPECT_FALSE(fs::exists(recipe));
  const Outcome resumed = pit_.run(command);
  ASSERT_EQ(resumed.code, 0) << resumed.err;
  EXPECT_THAT(resumed.err, HasSubstr("The calibration goes on after "));
  EXPECT_FALSE(fs::exists(state));
  const std::string interrupted = readText(recipe);
  ASSERT_EQ(pit_.run(command).code, 0);
  EXPECT_EQ(interrupted, readText(recipe));
}

TEST_F(PrecisionTest, DataThatCannotBeUsedIsSaid) {
  const std::string model = modelFile("small.pt"), out = pit_.path("out.json");
  refused({"calibrate", model, "--data", pit_.path("nothing"), "-o", out}, 2, "there is no such readable file or folder");
  fs::create_directory(pit_.path("empty"));
  refused({"calibrate", model, "--data", pit_.path("empty"), "-o", out}, 2, "is empty: no JPEG or PNG images");
  std::string bytes = samples(4);
  const float nan = std::numeric_limits<float>::quiet_NaN();
  std::memcpy(&bytes[2 * kElements * sizeof(float)], &nan, sizeof nan);
  writeNpy(pit_.path("nan.npy"), "<f4", "(4, 3, 8, 8)", bytes);
  refused({"calibrate", model, "--data", pit_.path("nan.npy"), "-o", out}, 2, "Sample 2 of ");
  std::ofstream(pit_.path("p.toml")) << "[image]\nresize = -1\n";
  refused({"calibrate", model, "--data", data(4), "--preprocess", pit_.path("p.toml"), "-o", out}, 2, "resize must be whole pixels");
  refused({"bench", model, "--data", data(4), "--metric", "top-1"}, 2, "has no labels");
  refused({"bench", model, "--data", data(4), "--metric", "best"}, 2, "--metric best: there is no such file");
}

TEST_F(PrecisionTest, RecipesThatCannotBeUsedAreSaid) {
  const std::string model = modelFile("small.pt"), out = pit_.path("out.pt");
  refused({"run", model, "--precision", "int8"}, 2, "--precision int8 needs --recipe FILE, or --data PATH");
  refused({"quantize", model, "-o", out}, 2, "quantize needs --recipe FILE, or --data PATH");
  refused({"quantize", model, "--recipe", pit_.path("nothing"), "-o", out}, 2, "there is no such readable file");
  std::ofstream(pit_.path("text.json")) << "{ no json";
  refused({"quantize", model, "--recipe", pit_.path("text.json"), "-o", out}, 2, "this is no JSON");
  std::ofstream(pit_.path("other.json")) << R"({"a": 1})";
  refused({"quantize", model, "--recipe", pit_.path("other.json"), "-o", out}, 2, "recipe");
  const std::string recipe = pit_.path("recipe.json");
  ASSERT_EQ(pit_.run({"calibrate", model, "--data", data(8), "-o", recipe}).code, 0);
  // Operations that this model does not have.
  std::string foreign = readText(recipe);
  const std::string key = "\"key\":\"";
  for (std::size_t at = foreign.find(key); at != std::string::npos; at = foreign.find(key, at + key.size())) foreign.insert(at + key.size(), "other.");
  std::ofstream(pit_.path("foreign.json")) << foreign;
  refused({"quantize", model, "--recipe", pit_.path("foreign.json"), "-o", out}, 2, "another model");
}

// Nothing to scale by, and still no wrong number.
TEST_F(PrecisionTest, ConstantActivationsAreCalibrated) {
  const std::string recipe = pit_.path("recipe.json");
  const Outcome calibrated = pit_.run({"calibrate", modelFile("small.pt"), "--data", data(8, 0), "-o", recipe});
  ASSERT_EQ(calibrated.code, 0) << calibrated.err;
  const Outcome run = pit_.run({"bench", modelFile("small.pt"), "--recipe", recipe, "--data", data(8, 0), "--precision", "int8", "--iterations", "10",
                                "--warmup", "0", "--threads", "1"});
  EXPECT_EQ(run.code, 0) << run.err;
}

}  // namespace
}  // namespace ipex_studio::testing
