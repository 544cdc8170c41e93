// Runs one model on the processor and on another device, and prints both side by side.
//
//   build/sample_compare_devices model.pt opencl x:1x3x224x224
#include <algorithm>
#include <cstdio>
#include <exception>
#include <map>
#include <string>
#include <vector>

#include "core/base/error.h"
#include "core/model/measure.h"
#include "core/verify/verify.h"
#include "passes/optimize.h"

namespace {

using namespace ipex_studio;

// The model on one device, with what was measured of it.
struct OnDevice {
  std::string device;
  OptimizedModel fast;
  AccuracyRecord accuracy;
  std::vector<std::int64_t> samples_ns;
  RunRecord profile;
};

double medianMs(std::vector<std::int64_t> samples_ns) {
  if (samples_ns.empty()) return 0;
  std::nth_element(samples_ns.begin(), samples_ns.begin() + samples_ns.size() / 2, samples_ns.end());
  return static_cast<double>(samples_ns[samples_ns.size() / 2]) / 1e6;
}

OnDevice optimizeOn(const std::string& device, Model& model, const Inputs& example) {
  OptimizeOptions options;
  options.device = device;
  Observer silent;
  OnDevice on{device, optimizeModel(model.module(), example, options, silent), {}, {}, {}};
  on.accuracy = verifyModule(model.module(), on.fast.module, {example}, "").front();
  return on;
}

// Times both by turns, so that a slow drift of the machine favours neither, then their steps.
void measure(std::vector<OnDevice>& devices, const Inputs& example) {
  constexpr int kRounds = 10, kProfiledRuns = 20;
  constexpr double kRound_s = 0.05;
  for (int round = 0; round < kRounds; ++round) {
    for (OnDevice& on : devices) {
      for (const std::int64_t ns : timeForward(on.fast.module, example, kRound_s, 0)) on.samples_ns.push_back(ns);
    }
  }
  for (OnDevice& on : devices) profileSteps(on.fast.module, example, kProfiledRuns, on.fast.origins, on.profile);
}

void print(const std::vector<OnDevice>& devices) {
  std::printf("%-12s %10s %8s  %s\n", "device", "p50 ms", "steps", "results");
  for (const OnDevice& on : devices) {
    std::printf("%-12s %10.3f %8zu  %s, %.1f dB\n", on.device.c_str(), medianMs(on.samples_ns), on.profile.steps.size(),
                on.accuracy.pass ? "agree" : "differ", on.accuracy.sqnr_db);
  }
  // Steps of one name compute the same; copies and changes of layout have names of their own.
  std::map<std::string, std::map<std::string, std::pair<double, std::string>>> rows;
  for (const OnDevice& on : devices) {
    std::map<std::int32_t, double> times;
    for (const StepTime& time : on.profile.step_times) times[time.step] = medianMs(time.elapsed_ns);
    for (const StepRecord& step : on.profile.steps) {
      auto& [ms, kernel] = rows[step.name][on.device];
      ms += times[step.index];
      kernel = step.kernel;
    }
  }
  std::printf("\n%-40s", "step");
  for (const OnDevice& on : devices) std::printf("  %9s ms  %-24s", on.device.c_str(), "kernel");
  for (const auto& [name, row] : rows) {
    std::printf("\n%-40s", name.c_str());
    for (const OnDevice& on : devices) {
      const auto found = row.find(on.device);
      if (found == row.end()) {
        std::printf("  %12s  %-24s", "-", "");
      } else {
        std::printf("  %12.4f  %-24s", found->second.first, found->second.second.c_str());
      }
    }
  }
  std::printf("\n");
}

int run(const char* model_path, const std::string& device, const std::vector<std::string>& inputs) {
  setThreads(0);
  Model model = Model::load(model_path);
  std::vector<InputSpec> given;
  for (const std::string& input : inputs) given.push_back(parseInputSpec(input));
  const Inputs example = makeInputs(model.completeInputs(given), /*seed=*/0);
  std::vector<OnDevice> devices;
  for (const std::string& where : {std::string("cpu"), device}) devices.push_back(optimizeOn(where, model, example));
  measure(devices, example);
  print(devices);
  const bool agree = std::all_of(devices.begin(), devices.end(), [](const OnDevice& on) { return on.accuracy.pass; });
  return static_cast<int>(agree ? ExitCode::kOk : ExitCode::kAccuracy);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) {
    std::fprintf(stderr, "usage: compare_devices MODEL.pt DEVICE [NAME:SIZES …]\n");
    return static_cast<int>(ExitCode::kUsage);
  }
  try {
    return run(argv[1], argv[2], {argv + 3, argv + argc});
  } catch (const Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return static_cast<int>(error.code());
  } catch (const std::exception& error) {
    std::fprintf(stderr, "compare_devices stopped: %s\n", error.what());
    return static_cast<int>(ExitCode::kFailure);
  }
}
