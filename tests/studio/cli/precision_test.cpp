// calibrate, quantize, run with several precisions, tune; and the messages about data and recipes that cannot be used.
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

class PrecisionTest : public ::testing::Test {
 protected:
  std::string data(int count, float scale = 1) const { return writeSamples(pit_.path("data.npy"), count, scale); }
  // Expects one sentence on the last line, the given code, and no recipe or model left behind.
  void refused(std::vector<std::string> arguments, int code, const std::string& part) const {
    expectOneSentence(pit_.run(arguments), code, part);
    EXPECT_FALSE(fs::exists(pit_.path("out.json")));
    EXPECT_FALSE(fs::exists(pit_.path("out.pt")));
  }
  const Sandpit pit_;
};

TEST_F(PrecisionTest, CalibrateQuantizeAndRun) {
  const std::string set = data(64), recipe = pit_.path("recipe.json");
  const Outcome calibrated =
      pit_.run({"calibrate", modelFile("small.pt"), "--data", set, "--threads", "1", "-o", recipe});
  ASSERT_EQ(calibrated.code, 0) << calibrated.err;
  EXPECT_THAT(calibrated.err, HasSubstr("Saw 64 samples; "));
  EXPECT_FALSE(fs::exists(recipe + ".interrupted"));
  ASSERT_TRUE(json::accept(readText(recipe)));

  const Outcome quantized = pit_.run({"quantize", modelFile("small.pt"), "--recipe", recipe, "--data", set, "--threads",
                                      "1", "-o", pit_.path("q.pt"), "--json"});
  ASSERT_EQ(quantized.code, 0) << quantized.err;
  EXPECT_EQ(json::parse(quantized.out)["runs"][0]["precision"], "int8");
  EXPECT_TRUE(fs::exists(pit_.path("q.pt")));

  const Outcome run = pit_.run({"bench", modelFile("small.pt"), "--recipe", recipe, "--data", set, "--precision",
                                "fp32,int8", "--iterations", "10", "--warmup", "0", "--threads", "1", "--json"});
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

TEST_F(PrecisionTest, TheCosineThatIsNeededCanBeChosen) {
  const std::string set = data(16), out = pit_.path("q.pt");
  const std::vector<std::string> command{"quantize", modelFile("small.pt"), "--data", set, "--threads", "1", "-o",
                                         out,        "--equalize"};
  const auto with = [&](const std::string& cosine) {
    std::vector<std::string> asked = command;
    asked.insert(asked.end(), {"--min-cosine", cosine, "--json"});
    return pit_.run(asked);
  };
  const Outcome refused = with("1");
  EXPECT_EQ(refused.code, 4) << refused.err;
  EXPECT_THAT(refused.err, HasSubstr("a cosine of 1 was asked for (--min-cosine)"));
  EXPECT_FALSE(fs::exists(out));
  const Outcome passed = with("0.5");
  EXPECT_EQ(passed.code, 0) << passed.err;
  EXPECT_TRUE(fs::exists(out));
  EXPECT_THAT(passed.err, HasSubstr("a cosine of 0.5 was asked for"));
  EXPECT_EQ(with("1.5").code, 2);
}

TEST_F(PrecisionTest, BitsAndGroupsAreForWeightsAlone) {
  const std::string model = modelFile("small.pt"), out = pit_.path("out.pt");
  refused({"quantize", model, "--recipe", "dynamic", "--bits", "4", "-o", out}, 2,
          "--recipe weight-only; leave them out");
  refused({"quantize", model, "--data", data(4), "--group", "32", "-o", out}, 2, "--recipe weight-only; add that");
  refused({"quantize", model, "--recipe", "weight-only", "--bits", "4", "--group", "0", "-o", out}, 2,
          "give --group 32, 64 or 128");
  refused({"quantize", model, "--recipe", "weight-only", "--equalize", "-o", out}, 2, "--equalize is for calibrating");
  EXPECT_EQ(pit_.run({"quantize", model, "--recipe", "weight-only", "--bits", "5", "-o", out}).code, 2);
}

TEST_F(PrecisionTest, TuneFindsAnAssignmentWithinTheBudget) {
  const Outcome tuned =
      pit_.run({"tune", modelFile("small.pt"), "--data", data(32), "--min-sqnr", "20", "--time-budget", "60",
                "--threads", "1", "--json", "-o", pit_.path("t.pt"), "--save-recipe", pit_.path("t.json")});
  ASSERT_EQ(tuned.code, 0) << tuned.err;
  const json result = json::parse(tuned.out);
  ASSERT_FALSE(result["sensitivities"].empty());
  int chosen = 0, front = 0;
  for (const json& trial : result["tradeoffs"]) {
    chosen += trial["chosen"].get<bool>() ? 1 : 0;
    front += trial["on_front"].get<bool>() ? 1 : 0;
    EXPECT_TRUE(trial["allowed"].get<bool>() || !trial["chosen"].get<bool>());
    EXPECT_FALSE(trial["assignment"].get<std::string>().empty());
  }
  EXPECT_EQ(chosen, 1);
  EXPECT_GE(front, 1);
  EXPECT_TRUE(fs::exists(pit_.path("t.pt")));
  EXPECT_FALSE(fs::exists(pit_.path("t.pt.interrupted")));
  // The window finds the trials of this command.
  const Outcome table = pit_.run({pit_.path("data/ipex-studio/profile.db"), "--panel", "precision", "--json"});
  ASSERT_EQ(table.code, 0) << table.err;
  const json tried = json::parse(table.out)["tried"];
  ASSERT_EQ(tried.size(), result["tradeoffs"].size());
  for (const json& each : tried) EXPECT_FALSE(each["decisions"].get<std::string>().empty()) << each["name"];
}

// Assignments that pass the budget on the data but fail verification are not chosen: a search that ends without an
// export would be of no use.
TEST_F(PrecisionTest, TuneChoosesNothingThatCannotBeExported) {
  const Outcome tuned = pit_.run({"tune", modelFile("small.pt"), "--data", data(16), "--min-sqnr", "1", "--min-cosine",
                                  "1", "--time-budget", "20", "--threads", "1", "--json", "-o", pit_.path("t.pt")});
  ASSERT_EQ(tuned.code, 0) << tuned.err;
  EXPECT_TRUE(fs::exists(pit_.path("t.pt")));
  for (const json& trial : json::parse(tuned.out)["tradeoffs"])
    EXPECT_EQ(trial["chosen"].get<bool>(), trial["name"] == "fp32") << trial;
}

TEST_F(PrecisionTest, AKilledCalibrationGoesOnToTheSameRecipe) {
  const std::string set = data(20000), recipe = pit_.path("recipe.json"), state = recipe + ".interrupted";
  const std::vector<std::string> command{"calibrate", modelFile("small.pt"), "--data", set,       "--threads",
                                         "1",         "--samples",           "20000",  "--force", "-o",
                                         recipe};
  const pid_t pid = pit_.start(command);
  for (int i = 0; i < 3000 && !fs::exists(state) && !fs::exists(recipe); ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
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
  refused({"calibrate", model, "--data", pit_.path("nothing"), "-o", out}, 2,
          "there is no such readable file or folder");
  fs::create_directory(pit_.path("empty"));
  refused({"calibrate", model, "--data", pit_.path("empty"), "-o", out}, 2, "is empty: no JPEG or PNG images");
  std::string bytes = samples(4);
  const float nan = std::numeric_limits<float>::quiet_NaN();
  std::memcpy(&bytes[2 * kElements * sizeof(float)], &nan, sizeof nan);
  writeNpy(pit_.path("nan.npy"), "<f4", "(4, 3, 8, 8)", bytes);
  refused({"calibrate", model, "--data", pit_.path("nan.npy"), "-o", out}, 2, "Sample 2 of ");
  std::ofstream(pit_.path("p.toml")) << "[image]\nresize = -1\n";
  refused({"calibrate", model, "--data", data(4), "--preprocess", pit_.path("p.toml"), "-o", out}, 2,
          "resize must be whole pixels");
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
  for (std::size_t at = foreign.find(key); at != std::string::npos; at = foreign.find(key, at + key.size()))
    foreign.insert(at + key.size(), "other.");
  std::ofstream(pit_.path("foreign.json")) << foreign;
  refused({"quantize", model, "--recipe", pit_.path("foreign.json"), "-o", out}, 2, "another model");
}

// Constant activations give no range to scale by, and still no wrong number.
TEST_F(PrecisionTest, ConstantActivationsAreCalibrated) {
  const std::string recipe = pit_.path("recipe.json");
  const Outcome calibrated = pit_.run({"calibrate", modelFile("small.pt"), "--data", data(8, 0), "-o", recipe});
  ASSERT_EQ(calibrated.code, 0) << calibrated.err;
  const Outcome run = pit_.run({"bench", modelFile("small.pt"), "--recipe", recipe, "--data", data(8, 0), "--precision",
                                "int8", "--iterations", "10", "--warmup", "0", "--threads", "1"});
  EXPECT_EQ(run.code, 0) << run.err;
}

// An accuracy over labels of one class would say nothing, and empty data has no samples: the messages say so.
TEST_F(PrecisionTest, LabelsThatTellNothingAreSaid) {
  const std::string model = modelFile("small.pt");
  for (const char* name : {"", "/cat"}) fs::create_directory(pit_.path("one") + name);
  const Outcome image = pit_.runProgram(
      {"/usr/bin/python3", "-c",
       "import sys, zlib, struct\n"
       "row = b'\\0' + bytes(24)\n"
       "part = lambda name, data: struct.pack('>I', len(data)) + name + data + struct.pack('>I', zlib.crc32(name + "
       "data))\n"
       "head = part(b'IHDR', struct.pack('>IIBBBBB', 8, 8, 8, 2, 0, 0, 0))\n"
       "png = b'\\x89PNG\\r\\n\\x1a\\n' + head + part(b'IDAT', zlib.compress(row * 8)) + part(b'IEND', b'')\n"
       "[open(f'{sys.argv[1]}/{i}.png', 'wb').write(png) for i in range(3)]\n",
       pit_.path("one/cat")});
  ASSERT_EQ(image.code, 0) << image.err;
  refused({"bench", model, "--data", pit_.path("one"), "--metric", "top-1"}, 2, "All 3 samples of ");
  refused({"tune", model, "--data", pit_.path("one"), "-o", pit_.path("out.pt")}, 2, "are of one class");
  writeNpy(pit_.path("none.npy"), "<f4", "(0, 3, 8, 8)", "");
  refused({"calibrate", model, "--data", pit_.path("none.npy"), "-o", pit_.path("out.json")}, 2, "holds no samples");
}

TEST_F(PrecisionTest, WeightsThatAreNotFiniteKeepFP32) {
  const std::string model = modelFile("nan_weight.pt"), recipe = pit_.path("recipe.json");
  const Outcome calibrated = pit_.run({"calibrate", model, "--data", data(8), "-o", recipe});
  ASSERT_EQ(calibrated.code, 0) << calibrated.err;
  const Outcome run = pit_.run({"bench", model, "--recipe", recipe, "--data", data(8), "--precision", "int8",
                                "--iterations", "10", "--warmup", "0", "--threads", "1", "--db", pit_.path("nan.db")});
  EXPECT_EQ(run.code, 0) << run.err;
  const Outcome remarks =
      pit_.runProgram({"sqlite3", pit_.path("nan.db"), "SELECT text FROM remark WHERE pass = 'insert-quantize'"});
  EXPECT_THAT(remarks.out, HasSubstr("NaN or infinity"));
}

TEST_F(PrecisionTest, ConfigurationsOfOtherModelsAreRefused) {
  const std::string out = pit_.path("out.pt");
  // A configuration file as Intel Extension for PyTorch writes it, for a network with other modules.
  std::ofstream(pit_.path("int8_conf.json"))
      << R"({"encoder": {"q_op_infos": {"0": {"op_type": "<class 'torch.nn.modules.linear.Linear'>",
      "op_type_is_module": true, "fqn": "encoder.dense",
      "input_tensor_infos": [{"id": 0, "orig_dtype": "torch.float32", "inf_dtype": "torch.quint8", "force_dtype": "torch.quint8", "scale": 0.02, "zero_point": 10}],
      "weight_tensor_infos": [{"orig_dtype": "torch.float32", "inf_dtype": "torch.qint8", "scale": [0.1], "zero_point": [0]}],
      "output_tensor_infos": [{"id": 1, "orig_dtype": "torch.float32", "inf_dtype": "torch.float32"}]}},
      "nonq_op_infos": {}, "layer_output_infos": []}})";
  refused({"quantize", modelFile("small.pt"), "--recipe", pit_.path("int8_conf.json"), "-o", out}, 2, "model");
}

TEST_F(PrecisionTest, AKilledSearchGoesOn) {
  const std::string set = data(2000), out = pit_.path("t.pt"), state = out + ".interrupted";
  const std::vector<std::string> command{
      "tune", modelFile("small.pt"), "--data", set,  "--min-sqnr", "10", "--time-budget",
      "60",   "--threads",           "1",      "-o", out};
  const pid_t pid = pit_.start(command);
  const auto searching = [&] {
    return fs::exists(state) && readText(state).find("\"recipe\":\"{") != std::string::npos;
  };
  for (int i = 0; i < 6000 && !searching() && !fs::exists(out); ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  ::kill(pid, SIGKILL);
  waitFor(pid);
  if (!fs::exists(state)) GTEST_SKIP() << "it was done before it could be killed";
  EXPECT_FALSE(fs::exists(out));
  const Outcome resumed = pit_.run(command);
  ASSERT_EQ(resumed.code, 0) << resumed.err;
  EXPECT_THAT(resumed.err, Not(HasSubstr("calibrate, ")));
  EXPECT_THAT(resumed.err, Not(HasSubstr("Calibrated on ")));
  EXPECT_TRUE(fs::exists(out));
  EXPECT_FALSE(fs::exists(state));
}

// Models of PyTorch's own quantization, static and dynamic, are computed with the same integers; without VNNI weights
// lose their eighth bit, which is worth 6 dB.
TEST_F(PrecisionTest, ModelsThatAreQuantizedAlreadyRun) {
  const double least_db = machineCapabilities().vnni ? 30 : 24;
  for (const char* name : {"rounded_onednn.pt", "rounded_qnnpack.pt", "fake_rounded.pt"}) {
    SCOPED_TRACE(name);
    const std::string model = modelFile(name), out = pit_.path(std::string("fast_") + name);
    const Outcome inspected = pit_.run({"inspect", model});
    EXPECT_EQ(inspected.code, 0) << inspected.err;
    const Outcome shown = pit_.run({"show", model, "--input", "x:2x3x16x16"});
    EXPECT_EQ(shown.code, 0) << shown.err;
    const Outcome run = pit_.run({"run", model, "--input", "x:2x3x16x16", "--iterations", "10", "--warmup", "0",
                                  "--threads", "1", "--tune", "off", "--json", "-o", out});
    ASSERT_EQ(run.code, 0) << run.err;
    const json optimized = json::parse(run.out)["runs"][1];
    EXPECT_GT(optimized["accuracy"]["sqnr_db"].get<double>(), least_db);
    EXPECT_GE(optimized["coverage"]["nodes"].get<double>(), 0.9);
    EXPECT_TRUE(fs::exists(out));
  }
  const Outcome dynamic =
      pit_.run({"run", modelFile("rounded_dynamic.pt"), "--input", "input:5x6", "--iterations", "10", "--warmup", "0",
                "--threads", "1", "--tune", "off", "-o", pit_.path("dynamic.pt"), "--db", pit_.path("dynamic.db")});
  EXPECT_EQ(dynamic.code, 0) << dynamic.err;
  // What reads weights as integers counts as INT8, whatever its other operands are.
  const Outcome table = pit_.run({pit_.path("dynamic.db"), "--panel", "operations", "--csv"});
  EXPECT_THAT(table.out, ::testing::ContainsRegex("optimized,[^\n]*,linear,[^\n]*,int8,"));
}

}  // namespace
}  // namespace ipex_studio::testing
