// The calibration job, and recipes from texts.
#include "studio/engine/job_recipe.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>

#include "core/base/error.h"
#include "core/quantization/calibrate.h"
#include "core/quantization/ipex_configuration.h"
#include "core/record/records_json.h"
#include "passes/optimize.h"
#include "studio/engine/jobs.h"

namespace ipex_studio {
namespace {

using Clock = std::chrono::steady_clock;
using nlohmann::json;

constexpr double kFirstCheckpoint_s = 0.2, kLongestCheckpoint_s = 5;  // each wait is twice the one before

// The model to calibrate: FP32, fused, and planned by rules of thumb, since observers take most of the time anyway.
// Ranges do not depend on the device, and the host needs no copy for each value that is observed.
OptimizedModel calibrationModel(const torch::jit::Module& module, const Inputs& example,
                                const OptimizeOptions& options) {
  OptimizeOptions own = options;
  own.device = "cpu";
  own.precision = Precision::kFp32;
  own.calibrate = true;
  own.quantization_recipe.clear();
  own.dump_directory.clear();
  own.rewrite_limit = -1;
  Observer silent;
  return optimizeModel(module, example, own, silent);
}

CalibrationOptions calibrationOptions(const CalibrationRequest& request, bool equalize) {
  CalibrationOptions options;
  options.observer.kind = observerFromName(request.method);
  options.observer.percentile = request.percentile;
  options.equalization = equalize;
  return options;
}

// Writes the data's fingerprint and the calibrator's state into one text, which fits that data only.
std::string wrap(const DataSet& data, const Calibrator& calibrator) {
  json state = {
      {"format", "ipex-studio-calibration-job"}, {"data", data.fingerprint()}, {"calibrator", calibrator.state()}};
  return dumpJson(state);
}

void unwrap(const std::string& text, const DataSet& data, Calibrator* calibrator) {
  const json state = json::parse(text, nullptr, false);
  const bool whole = state.is_object() && state.value("format", "") == "ipex-studio-calibration-job" &&
                     state.contains("calibrator") && state["calibrator"].is_string() && state.contains("data") &&
                     state["data"].is_string();
  if (!whole)
    throw Error(ExitCode::kUsage, "The interrupted calibration is damaged; remove its file, or add --restart.");
  if (state["data"].get<std::string>() != data.fingerprint()) {
    throw Error(ExitCode::kUsage,
                "The interrupted calibration used other data; give the same --data, --samples, --batch and --seed, or "
                "add --restart.");
  }
  calibrator->restore(state["calibrator"].get<std::string>());
}

}  // namespace

std::string ownRecipe(const std::string& text, const torch::jit::Module& module, const Inputs& example,
                      const OptimizeOptions& options) {
  if (text.empty()) return text;
  if (!looksLikeIpexConfiguration(text)) {
    recipeFromText(text);  // throws if it is damaged
    return text;
  }
  OptimizeOptions plain = options;
  plain.equalize = false;  // its ranges are those of the unequalized model
  const OptimizedModel model = calibrationModel(module, example, plain);
  return recipeToText(recipeFromIpexConfiguration(text, *model.calibration, Recipe()));
}

Recipe calibrate(const EngineJob& job, const torch::jit::Module& module, const DataSet& data, const JobInputs& inputs,
                 const std::string& state, const std::function<void(const std::string&)>& checkpoint,
                 Channel& channel) {
  channel.progress("prepare the calibration", 0);
  OptimizedModel model = calibrationModel(module, inputs.example(), job.optimize);
  Calibrator calibrator(model.module, *model.calibration, calibrationOptions(job.calibration, job.optimize.equalize));
  if (!state.empty()) unwrap(state, data, &calibrator);
  std::int64_t batches = data.batches();
  if (job.calibration.samples > 0)
    batches = std::min(batches, (job.calibration.samples + job.data.batch - 1) / job.data.batch);
  const std::int64_t first = std::min(calibrator.calls(), batches);
  if (first > 0) channel.log(fmt::format("The calibration goes on after {} of {} batches.", first, batches));
  const Clock::time_point begin = Clock::now();
  Clock::time_point last = begin;
  double wait_s = kFirstCheckpoint_s;
  for (std::int64_t b = first; b < batches; ++b) {
    const DataBatch batch = data.batch(b);
    calibrator.observe(inputs.withData(batch.inputs));
    const Clock::time_point now = Clock::now();
    if (std::chrono::duration<double>(now - last).count() < wait_s) continue;
    last = now;
    wait_s = std::min(2 * wait_s, kLongestCheckpoint_s);
    checkpoint(wrap(data, calibrator));
    channel.progress(fmt::format("calibrate, {} of {} batches", b + 1, batches),
                     static_cast<double>(b + 1) / static_cast<double>(batches));
  }
  const double elapsed_s = std::chrono::duration<double>(Clock::now() - begin).count();
  const std::int64_t run = std::max<std::int64_t>(1, batches - first);
  channel.log(fmt::format("Calibrated on {} batches in {:.1f} s, {:.2f} ms each.", batches, elapsed_s,
                          1e3 * elapsed_s / static_cast<double>(run)));
  return calibrator.finish();
}

void runCalibrateJob(const EngineJob& job, Channel& channel) {
  channel.progress("load", 0);
  Model model = loadModel(job);
  for (const std::string& note : model.notes()) channel.log(note);
  const std::unique_ptr<DataSet> data = openJobData(model, job);
  IPEX_CHECK(data != nullptr, "a calibration has data");
  const JobInputs inputs(model, job, namedInputs(*data, data->batch(0)));
  const auto checkpoint = [&channel](const std::string& state) { channel.send({{"type", "state"}, {"text", state}}); };
  const Recipe recipe = calibrate(job, model.module(), *data, inputs, job.state, checkpoint, channel);
  std::int64_t lowered = 0;
  for (const RecipeNode& node : recipe.nodes) lowered += node.precision == "int8" || node.precision == "auto" ? 1 : 0;
  channel.send(
      {{"type", "result"},
       {"recipe", recipeToText(recipe)},
       {"samples", std::min(data->size(), job.calibration.samples > 0 ? job.calibration.samples : data->size())},
       {"operations", static_cast<std::int64_t>(recipe.nodes.size())},
       {"lowered", lowered}});
}

}  // namespace ipex_studio
