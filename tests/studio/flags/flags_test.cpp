// Flags fill the request, and the request becomes a job.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/error.h"
#include "studio/flags/command_line.h"
#include "studio/flags/flags_in_force.h"
#include "studio/flags/job_request.h"

namespace ipex_studio {
namespace {

using ::testing::ElementsAre;

CommandLine parsed(const std::string& words) {
  CommandLine line;
  makeApp(line)->parse(words, false);
  return line;
}

TEST(Flags, FillTheRequest) {
  const CommandLine line = parsed(
      "run m.pt --input x:1x2 --input n=3 --method step --library a.so --library b.so --preserve a,b --reset back "
      "--trust --timeout 5 --hint throughput --warmup "
      "0.1 "
      "--duration 2 --iterations 7 --seed 18446744073709551615 --precision bf16,int8,fp32 --force-precision --disable "
      "p,q "
      "--tune full --no-winograd --batch-buckets 8,2 --length-buckets 64,16 --new-sizes background --limit 3 --dump d "
      "--data s.npy --samples "
      "4 --batch 2 --bits 4 "
      "--group 64 --ranges kl --percentile 99 --equalize --restart --metric top-1 --min-cosine 0.5 --form portable "
      "--prepared");
  EXPECT_EQ(line.kind, CommandKind::kRun);
  EXPECT_THAT(line.inputs, ElementsAre("x:1x2", "n=3"));
  EXPECT_EQ(line.method, "step");
  EXPECT_THAT(line.libraries, ElementsAre("a.so", "b.so"));
  EXPECT_THAT(line.optimize.preserved_methods, ElementsAre("a", "b"));
  EXPECT_EQ(line.silence_s, 5);
  EXPECT_EQ(line.measure.hint, Hint::kThroughput);
  EXPECT_EQ(line.measure.iterations, 7);
  EXPECT_EQ(line.measure.seed, 18446744073709551615ULL);
  EXPECT_EQ(line.optimize.precision, Precision::kFp32);
  EXPECT_THAT(line.also, ElementsAre(Precision::kBf16, Precision::kInt8));
  EXPECT_THAT(line.optimize.disabled_passes, ElementsAre("p", "q"));
  EXPECT_EQ(line.optimize.tune, TuneMode::kFull);
  EXPECT_FALSE(line.optimize.allow_winograd);
  EXPECT_EQ(line.optimize.new_sizes, NewSizesMode::kBackground);
  EXPECT_EQ(line.optimize.rewrite_limit, 3);
  EXPECT_EQ(line.optimize.dump_directory, "d");
  EXPECT_EQ(line.weights.bits, 4);
  EXPECT_EQ(line.weights.group, 64);
  EXPECT_EQ(line.calibration.method, "kl");
  EXPECT_EQ(line.data.metric, "top-1");
  EXPECT_EQ(line.form, ExportForm::kPortable);
  EXPECT_TRUE(line.trust && line.force_precision && line.optimize.equalize && line.restart && line.prepared);
}

TEST(Flags, TheLastDeviceIsTheOneThatIsExported) {
  const CommandLine line = parsed("run m.pt --device opencl:1,xpu,cpu");
  EXPECT_EQ(line.optimize.device, "cpu");
  EXPECT_THAT(line.also_devices, ElementsAre("opencl:1", "xpu"));
  EXPECT_THROW(jobRequest(parsed("show m.pt --device cpu,opencl"), "show"), Error);
  EXPECT_THROW(jobRequest(parsed("bisect m.pt --precision fp32,bf16"), "bisect"), Error);
  const auto flags = flagsInForce(line);
  ASSERT_EQ(flags.size(), 1u);
  EXPECT_EQ(flags[0].words, "--device opencl:1,xpu,cpu");
  Request reset = line;
  EXPECT_TRUE(resetFlag("--device", &reset));
  EXPECT_TRUE(flagsInForce(reset).empty());
}

TEST(Flags, RequestsOfAPersonBeginWithTheirOwnDefaults) {
  const JobRequest request = jobRequest(parsed("run m.pt"), "run");
  EXPECT_EQ(request.optimize.tune, TuneMode::kQuick);
  EXPECT_EQ(request.calibration.samples, 1000);
  EXPECT_EQ(jobRequest(parsed("calibrate m.pt -o r.json --data d"), "calibrate").calibration.samples, 0);
  EXPECT_EQ(Request().optimize.tune, TuneMode::kOff);
}

TEST(Flags, JobsGetWhatFollowsFromFlags) {
  const JobRequest request = jobRequest(
      parsed("run m.pt --reset back --preserve a --batch-buckets 8,2 --recipe weight-only --worker x"), "run");
  EXPECT_THAT(request.optimize.preserved_methods, ElementsAre("a", "back"));
  EXPECT_THAT(request.optimize.batch_buckets, ElementsAre(2, 8));
  EXPECT_NE(request.optimize.quantization_recipe, "");
  EXPECT_TRUE(request.remote);
  EXPECT_THROW(jobRequest(parsed("run m.pt --bits 4"), "run"), Error);
  EXPECT_THROW(jobRequest(parsed("run m.pt --equalize --recipe dynamic"), "run"), Error);
  EXPECT_THROW(exportForm(parsed("run m.pt --prepared")), Error);
  EXPECT_THROW(exportForm(parsed("run m.pt --only-ops ops.txt")), Error);
  EXPECT_THROW(jobRequest(parsed("run m.pt -o x --only-ops /nonexistent"), "run"), Error);
}

TEST(Flags, CommandsTakeTheirSets) {
  for (const char* command : {"calibrate", "tune"})
    EXPECT_THROW(parsed(std::string(command) + " m.pt -o x"), CLI::RequiredError) << command << " needs data";
  EXPECT_THROW(parsed("bench m.pt --form portable"), CLI::ParseError);
  EXPECT_EQ(parsed("inspect m.pt --only-ops ops.txt").only_ops_path, "ops.txt");
  EXPECT_THROW(parsed("bench m.pt --only-ops ops.txt"), CLI::ParseError);
  EXPECT_THROW(parsed("run m.pt --hint latency --threads 2"), CLI::ExcludesError);
  EXPECT_EQ(parsed("tune m.pt -o x --data d --precision auto").optimize.precision, Precision::kFp32);
  EXPECT_EQ(parsed("verify m.pt n.pt --precision bf16").optimize.precision, Precision::kBf16);
}

std::string wordsInForce(const Request& request) {
  std::string words;
  for (const FlagInForce& flag : flagsInForce(request)) words += (words.empty() ? "" : " ") + flag.words;
  return words;
}

TEST(Flags, InForceAreThoseThatDifferFromTheDefaults) {
  EXPECT_EQ(wordsInForce(parsed("run m.pt")), "");
  EXPECT_EQ(wordsInForce(parsed("run m.pt --input x:1x2 --threads 2 --precision bf16")), "") << "these have controls";
  const std::string words =
      "--library a.so --library b.so --preserve a,b --instances 2 --disable p,q --tune full --no-winograd --limit 3";
  EXPECT_EQ(wordsInForce(parsed("run m.pt " + words)), words);
  EXPECT_EQ(wordsInForce(parsed("run m.pt --metric \"my metric.pt\"")), "--metric \"my metric.pt\"");
}

TEST(Flags, EachCanBeTakenBack) {
  CommandLine line = parsed("run m.pt --instances 2 --disable p,q --no-winograd --seed 4 --limit 7 --tune off");
  for (const FlagInForce& flag : flagsInForce(line)) {
    EXPECT_TRUE(resetFlag(flag.name, &line)) << flag.name;
    EXPECT_EQ(wordsInForce(line).find(flag.name + " "), std::string::npos) << wordsInForce(line);
  }
  EXPECT_EQ(wordsInForce(line), "");
  EXPECT_EQ(line.measure.instances, 1);
  EXPECT_TRUE(line.optimize.allow_winograd);
  EXPECT_EQ(line.optimize.tune, TuneMode::kQuick);
  EXPECT_FALSE(resetFlag("--nonsense", &line));
}

}  // namespace
}  // namespace ipex_studio
