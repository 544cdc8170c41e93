// Errors that users meet, with their exact messages and exit codes. Nothing may be lost or left behind.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "tests/studio/cli/program.h"

namespace ipex_studio::testing {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::StartsWith;

struct BadInput {
  const char* name;
  std::vector<std::string> arguments;  // "@name" is a file of make_models.py
  int code;
  std::string message;  // the last line of stderr, without "ipex-studio: "; "@name" as above
};

void PrintTo(const BadInput& input, std::ostream* stream) { *stream << input.name; }

std::string withFiles(std::string text) {
  for (std::size_t at = text.find('@'); at != std::string::npos; at = text.find('@', at)) {
    std::size_t end = text.find_first_of("'\" ,", at);
    if (end == std::string::npos) end = text.size();
    text.replace(at, end - at, modelFile(text.substr(at + 1, end - at - 1)));
  }
  return text;
}

std::string lastLine(const std::string& text) {
  if (text.empty()) return "";
  const std::size_t end = text.find_last_not_of('\n');
  const std::size_t begin = text.rfind('\n', end);
  return text.substr(begin == std::string::npos ? 0 : begin + 1, end - (begin == std::string::npos ? -1 : begin));
}

class BadInputs : public ::testing::TestWithParam<BadInput> {};

TEST_P(BadInputs, EndWithOneSentenceAndACode) {
  const Sandpit pit;
  std::vector<std::string> arguments;
  for (const std::string& argument : GetParam().arguments) arguments.push_back(withFiles(argument));
  const Outcome outcome = pit.run(arguments);
  EXPECT_EQ(outcome.code, GetParam().code) << outcome.err;
  EXPECT_EQ(lastLine(outcome.err), "ipex-studio: " + withFiles(GetParam().message));
  EXPECT_EQ(outcome.out, "");
  EXPECT_TRUE(fs::is_empty(pit.path("tmp"))) << "a job folder was left behind";
}

INSTANTIATE_TEST_SUITE_P(
    Cli, BadInputs,
    ::testing::Values(
        BadInput{"missing_file", {"run", "/nonexistent/model.pt"}, 3, "There is no file '/nonexistent/model.pt'."},
        BadInput{"directory", {"run", "/usr"}, 3, "'/usr' is a directory; name the TorchScript .pt file inside it."},
        BadInput{"empty_file", {"run", "@empty.pt"}, 3, "'@empty.pt' is empty; copy or export the model again."},
        BadInput{"truncated_zip",
                 {"run", "@truncated.pt"},
                 3,
                 "'@truncated.pt' is cut short or has bytes appended: no ZIP directory ends at its 4000 bytes; copy or "
                 "download it again."},
        BadInput{"onnx",
                 {"inspect", "@model.onnx"},
                 3,
                 "'@model.onnx' is an ONNX model, not a TorchScript model; export the PyTorch model it came from with "
                 "torch.jit.save(torch.jit.script(model), '@model.torchscript.pt')."},
        BadInput{"state_dict",
                 {"run", "@state_dict.pt"},
                 3,
                 "'@state_dict.pt' is a pickled state dict, not a TorchScript model; export it with "
                 "torch.jit.save(torch.jit.script(model), '@state_dict.torchscript.pt')."},
        BadInput{
            "unknown_operator",
            {"run", "@unknown_op.pt"},
            3,
            "'@unknown_op.pt' uses the operator aten::relu_of_the_future, which libtorch 1.13.0 does not have; build "
            "ipex-studio with the PyTorch version that wrote the file, or load the library that defines the "
            "operator with --library FILE."},
        BadInput{
            "wrong_shape",
            {"run", "@small.pt", "--input", "x:1x5x16x16"},
            2,
            "The model refused these inputs: Given groups=1, weight of size [8, 3, 3, 3], expected input[1, 5, 16, "
            "16] to have 3 channels, but got 5 channels instead; give the right sizes and types with --input."},
        BadInput{"wrong_dtype",
                 {"run", "@small.pt", "--input", "x:1x3x16x16:int64"},
                 2,
                 "The model refused these inputs: expected scalar type Long but found Float; give the right sizes and "
                 "types with --input."},
        BadInput{"too_many_inputs",
                 {"run", "@small.pt", "--input", "x:1x3x16x16", "--input", "y:1"},
                 2,
                 "The model takes 1 inputs and 2 were given; remove an --input flag."},
        BadInput{
            "no_guess",
            {"run", "@no_guess.pt"},
            2,
            "The input 'x' (Tensor) cannot be guessed from the model; add --input x:1x3x224x224 with your values."},
        BadInput{"malformed_input",
                 {"run", "@small.pt", "--input", "x"},
                 2,
                 "--input x is neither NAME:1x3x224x224 nor NAME=VALUE."},
        BadInput{"malformed_shape",
                 {"run", "@small.pt", "--input", "x:1,3,16,16"},
                 2,
                 "--input x:1,3,16,16: the sizes \"1,3,16,16\" must look like 1x3x224x224."},
        BadInput{
            "no_guess_for_complex_values",
            {"run", "@spectrum.pt"},
            2,
            "The input 'z' (Tensor) cannot be guessed from the model; add --input z:8:complex64 with your values."},
        BadInput{"too_few_dimensions",
                 {"run", "@unpacks.pt"},
                 2,
                 "The model refused these inputs: Expected 3 elements in a list but found 2; give the right sizes "
                 "and types with --input."},
        BadInput{"inputs_file_of_another_model",
                 {"run", "@small.pt", "--input", "x:1x3x16x16", "--inputs", "@inputs.pt"},
                 2,
                 "--inputs @inputs.pt holds 1 values, but forward has only 0 arguments left for them."},
        BadInput{"missing_inputs_file",
                 {"run", "@small.pt", "--inputs", "/nonexistent.npy"},
                 2,
                 "--inputs /nonexistent.npy: there is no such readable file."},
        BadInput{"out_of_memory",
                 {"run", "@huge.pt", "--input", "x:2x2"},
                 1,
                 "There is not enough memory to run this model on these inputs; try smaller ones."},
        BadInput{"portable_fp16",
                 {"run", "@small.pt", "--precision", "fp16", "--force-precision", "--form", "portable", "-o",
                  "/tmp/never.pt"},
                 5,
                 "--form portable: stock PyTorch of this version computes no FP16 on CPUs; use --form compiled, or "
                 "--precision bf16."},
        BadInput{"unknown_device",
                 {"bench", "@small.pt", "--device", "tpu"},
                 2,
                 "--device tpu is unknown; use cpu, xpu[:N] or opencl[:N]."},
        BadInput{"malformed_device",
                 {"bench", "@small.pt", "--device", "opencl:x"},
                 2,
                 "--device opencl:x is unknown; use cpu, xpu[:N] or opencl[:N]."},
        BadInput{"unknown_pass",
                 {"run", "@small.pt", "--disable", "fold-nothing"},
                 2,
                 "There is no pass named \"fold-nothing\"; `ipex-studio passes` lists them."},
        BadInput{"decision_without_precision",
                 {"run", "@small.pt", "--decide", "convolution"},
                 2,
                 "\"convolution\" decides nothing; write what and a precision, as in layer1.0.conv3=fp32."},
        BadInput{"decision_for_an_unknown_precision",
                 {"run", "@small.pt", "--decide", "*=fp64"},
                 2,
                 "\"*=fp64\" decides nothing; write what and a precision, as in layer1.0.conv3=fp32."},
        BadInput{"unknown_pass_to_show",
                 {"show", "@small.pt", "--after", "fold-nothing"},
                 2,
                 "There is no pass \"fold-nothing\"; `ipex-studio passes` lists them."},
        BadInput{"output_is_a_directory",
                 {"run", "@small.pt", "-o", "/usr"},
                 2,
                 "/usr is a directory; give the name of a file."},
        BadInput{"output_folder_missing",
                 {"run", "@small.pt", "-o", "/nonexistent/fast.pt"},
                 2,
                 "The directory /nonexistent does not exist; make it first."},
        BadInput{
            "no_arguments", {}, 2, "which file? Give a model (.pt) or a profile.db, or one of the commands of --help."},
        BadInput{"unknown_flag",
                 {"run", "@small.pt", "--fast"},
                 2,
                 "The following argument was not expected: --fast. Try --help."},
        BadInput{"database_missing",
                 {"compare", "/nonexistent.db", "1", "2"},
                 6,
                 "The profile database /nonexistent.db does not exist."},
        BadInput{"not_a_database",
                 {"report", "@small.pt", "-o", "/tmp/never.html"},
                 6,
                 "@small.pt is not a profile database; name another file with --db."},
        BadInput{"prune_without_bound",
                 {"db", "prune"},
                 2,
                 "db prune needs to know what to keep: --keep N jobs, or --keep-mb MB."},
        BadInput{"window_size",
                 {"@small.pt", "--size", "wide"},
                 2,
                 "--size wide: give it as 1600x1000, each side from 64 to 16384 pixels."},
        BadInput{"studio_on_nothing", {"/nonexistent/model.pt"}, 3, "There is no file '/nonexistent/model.pt'."}),
    [](const auto& info) { return std::string(info.param.name); });

// Runs `script` with $DIR on a small file system of its own, which not every machine allows.
Outcome onSmallDisk(const Sandpit& pit, const std::string& mount_options, const std::string& script) {
  fs::create_directory(pit.path("disk"));
  return pit.runProgram(
      {"unshare", "-rm", "sh", "-c",
       "DIR='" + pit.path("disk") + "'; mount -t tmpfs -o " + mount_options + " tmpfs \"$DIR\" || exit 99; " + script});
}

std::string command(const std::string& arguments) { return "'" + programPath() + "' " + arguments; }

TEST(Disk, FullWhileRecordingStillPrintsTheResult) {
  const Sandpit pit;
  const Outcome outcome =
      onSmallDisk(pit, "size=224k",
                  command("run '" + modelFile("small.pt") +
                          "' --iterations 10 --threads 1 --warmup 0 --json --db \"$DIR/profile.db\""));
  if (outcome.code == 99 || outcome.code == 1) GTEST_SKIP() << "no mounts here: " << outcome.err;
  EXPECT_EQ(outcome.code, 6) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("\"speedup_p50\""));
  EXPECT_THAT(lastLine(outcome.err), StartsWith("ipex-studio: The run is not recorded. "));
}

TEST(Disk, FullWhileExportingLeavesTheOldFile) {
  const Sandpit pit;
  const Outcome outcome =
      onSmallDisk(pit, "size=16k",
                  "echo old > \"$DIR/fast.pt\"; head -c 8000 /dev/zero > \"$DIR/filler\"; " +
                      command("run '" + modelFile("small.pt") +
                              "' --iterations 10 --threads 1 --warmup 0 --force -o \"$DIR/fast.pt\"") +
                      "; code=$?; cat \"$DIR/fast.pt\"; ls \"$DIR\"; exit $code");
  if (outcome.code == 99) GTEST_SKIP() << "no mounts here: " << outcome.err;
  EXPECT_EQ(outcome.code, 1) << outcome.err;
  EXPECT_THAT(outcome.out, ::testing::EndsWith("old\nfast.pt\nfiller\n"));
  EXPECT_THAT(lastLine(outcome.err), HasSubstr("fast.pt (No space left on device)."));
}

TEST(Disk, ReadOnlyDatabaseFolderIsSaidBeforeTheRun) {
  const Sandpit pit;
  const Outcome outcome =
      onSmallDisk(pit, "ro",
                  command("run '" + modelFile("small.pt") +
                          "' --iterations 10 --threads 1 --warmup 0 --json --db \"$DIR/profile.db\""));
  if (outcome.code == 99 || outcome.code == 1) GTEST_SKIP() << "no mounts here: " << outcome.err;
  EXPECT_EQ(outcome.code, 6) << outcome.err;
  EXPECT_EQ(outcome.out, "");
  EXPECT_THAT(lastLine(outcome.err), HasSubstr("cannot be written; make it and its directory writable"));
}

}  // namespace
}  // namespace ipex_studio::testing
