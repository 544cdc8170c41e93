// From a trained ResNet-50 to INT8: load, calibrate, convert, save, load again, infer.
//
//   deploy trained.pt quantization_model.pt
//
// Calibrates on 1,000 training images, then runs the 10,000 test images one by one in FP32, BF16 (where the CPU has it)
// and INT8, interleaved, and prints accuracy and average latency per image of each.
#include <chrono>
#include <cstdio>
#include <exception>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "core/base/error.h"
#include "core/data/data_set.h"
#include "core/data/metrics.h"
#include "core/model/measure.h"
#include "core/quantization/calibrate.h"
#include "core/runtime/machine_facts.h"
#include "passes/optimize.h"

namespace {

using namespace ipex_studio;
using Clock = std::chrono::steady_clock;

constexpr const char* kImages = "/usr/share/datasets/fashion-mnist/";
constexpr std::int64_t kCalibrationImages = 1000;

std::string preprocessing() {
  std::ifstream file(IPEX_SAMPLE_DIR "/preprocess.toml");
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

DataSet images(const std::string& name, std::int64_t samples) {
  DataSetOptions options;
  options.preprocess = preprocessFromText(preprocessing(), "preprocess.toml");
  options.samples = samples;
  return DataSet(kImages + name + "-images-idx3-ubyte.gz", options);
}

// Observes the values of the network's tensors on training images.
std::string calibrate(const Model& model, const Inputs& example) {
  OptimizeOptions options;
  options.calibrate = true;
  Observer silent;
  Model own = model;
  const OptimizedModel prepared = optimizeModel(own.module(), example, options, silent);
  Calibrator calibrator(prepared.module, *prepared.calibration, CalibrationOptions());
  const DataSet data = images("train", kCalibrationImages);
  for (std::int64_t i = 0; i < data.batches(); ++i) calibrator.observe(data.batch(i).inputs);
  return recipeToText(calibrator.finish());
}

struct Variant {
  std::string name;
  OptimizedModel model;
  Metric accuracy{MetricKind::kTop1};
  double seconds = 0;
};

Variant convert(const Model& model, const Inputs& example, const char* name, Precision precision,
                const std::string& recipe) {
  OptimizeOptions options;
  options.precision = precision;
  options.quantization_recipe = recipe;
  options.tune = TuneMode::kQuick;
  Observer silent;
  Model own = model;
  Variant variant;
  variant.name = name;
  variant.model = optimizeModel(own.module(), example, options, silent);
  variant.model.module.forward(example);  // measures kernels once
  return variant;
}

void runAll(const DataSet& data, std::vector<Variant>& variants) {
  const torch::NoGradGuard no_gradients;
  for (std::int64_t i = 0; i < data.batches(); ++i) {
    const DataBatch image = data.batch(i);
    for (Variant& variant : variants) {
      const Clock::time_point begin = Clock::now();
      const torch::jit::IValue scores = variant.model.module.forward(image.inputs);
      variant.seconds += std::chrono::duration<double>(Clock::now() - begin).count();
      variant.accuracy.add(scores, image.targets, image.samples);
    }
  }
}

// Measures accuracy as a program does that has only the file.
double accuracyOfFile(const std::string& path, const DataSet& data) {
  const torch::NoGradGuard no_gradients;
  torch::jit::Module module = torch::jit::load(path);
  Metric accuracy(MetricKind::kTop1);
  for (std::int64_t i = 0; i < data.batches(); ++i) {
    const DataBatch image = data.batch(i);
    accuracy.add(module.forward(image.inputs), image.targets, image.samples);
  }
  return accuracy.record().value;
}

int run(const std::string& trained, const std::string& target) {
  setThreads(0);
  const Model model = Model::load(trained);
  const DataSet test = images("t10k", 0);
  const Inputs example = test.batch(0).inputs;

  const Clock::time_point begin = Clock::now();
  const std::string recipe = calibrate(model, example);
  std::printf("calibrated on %lld images in %.1f s\n", static_cast<long long>(kCalibrationImages),
              std::chrono::duration<double>(Clock::now() - begin).count());

  std::vector<Variant> variants;
  variants.push_back(convert(model, example, "FP32", Precision::kFp32, ""));
  if (hasBf16(machineFacts().isa)) variants.push_back(convert(model, example, "BF16", Precision::kBf16, ""));
  variants.push_back(convert(model, example, "INT8", Precision::kInt8, recipe));
  variants.back().model.preprocess = preprocessing();  // goes with the file
  exportModule(variants.back().model, target, ExportForm::kCompiled);

  runAll(test, variants);
  std::printf("%-6s %10s %14s %9s   (%s)\n", "", "accuracy", "ms per image", "speed-up", machineFacts().isa.c_str());
  for (const Variant& variant : variants) {
    std::printf("%-6s %9.2f%% %14.3f %8.2fx\n", variant.name.c_str(), 100 * variant.accuracy.record().value,
                1e3 * variant.seconds / static_cast<double>(test.size()), variants.front().seconds / variant.seconds);
  }
  std::printf("%s, loaded again: %.2f%%\n", target.c_str(), 100 * accuracyOfFile(target, test));
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: deploy TRAINED.pt QUANTIZATION_MODEL.pt\n");
    return static_cast<int>(ExitCode::kUsage);
  }
  try {
    return run(argv[1], argv[2]);
  } catch (const Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return static_cast<int>(error.code());
  } catch (const std::exception& error) {
    std::fprintf(stderr, "deploy stopped: %s\n", error.what());
    return static_cast<int>(ExitCode::kFailure);
  }
}
