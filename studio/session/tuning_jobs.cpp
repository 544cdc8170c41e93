// See tuning_jobs.h.
#include "studio/session/tuning_jobs.h"

#include <fmt/format.h>

#include <filesystem>

#include "core/base/replace_file.h"
#include "core/record/request_form.h"
#include "studio/job/outputs.h"

namespace ipex_studio {
namespace {

constexpr std::int64_t kCalibrationSamples = 1000;  // default where the user gives no number

}  // namespace

std::string TuningJobs::statePath(const char* what) const {
  if (!model_.loaded()) return "";
  const std::string database = model_.databasePath().empty() ? defaultDatabasePath() : model_.databasePath();
  return fmt::format("{}.{}.{}", database, model_.checked().report.sha256.substr(0, 16), what);
}

void TuningJobs::lookForInterrupted() {
  std::error_code ignored;
  calibration_waits_ = model_.loaded() && std::filesystem::exists(statePath("calibration"), ignored);
  search_waits_ = model_.loaded() && std::filesystem::exists(statePath("search"), ignored);
}

void TuningJobs::run(const TuneCommand& command) {
  if (!model_.loaded()) throw Error(ExitCode::kUsage, "Open a model first; recorded runs cannot be tuned.");
  if (model_.trustIsAsked()) throw Error(ExitCode::kUsage, "Say first how far this model is to be trusted.");
  reporter_.setState(JobState::kWorking, "");
  runner_.dropPrepared();
  if (command.goal == TuneGoal::kKernels) {
    model_.request().optimize.tune = TuneMode::kFull;
    runner_.start();
    return;
  }
  JobDatabase database(model_.databasePath());
  JobRequest request = model_.requestWith(Overrides(), database);
  request.data = DataRequest();
  copyFormFields(command.request, &request);
  if (!request.data.preprocess_path.empty()) request.data.preprocess = readPreprocessText(request.data.preprocess_path);
  request.calibration.samples = request.data.samples > 0 ? request.data.samples : kCalibrationSamples;
  if (!request.recipe.empty()) request.optimize.quantization_recipe = readRecipeText(request.recipe);
  checkOutputs({{request.save_recipe}, {model_.file(), request.data.path, request.recipe}},
               "name another for the recipe");
  const bool needs_data = command.goal != TuneGoal::kQuantize || request.recipe.empty();
  if (needs_data && request.data.path.empty())
    throw Error(ExitCode::kUsage, "Say which data to use: a folder of images, or .npy, .npz or .pt tensors.");
  if (command.goal == TuneGoal::kSearch) {
    searchAssignments(command, request);
  } else {
    makeRecipe(command, request);
  }
}

void TuningJobs::makeRecipe(const TuneCommand& command, const JobRequest& request) {
  std::string recipe = request.optimize.quantization_recipe;
  std::string source = fmt::format("Taken from {}.", command.request.recipe);
  if (command.request.recipe.empty()) {
    const StateFile state(statePath("calibration"), command.request.restart);
    calibration_waits_ = true;  // until it comes to its end
    const CalibrationResult result = calibrateModel(model_.checked(), request, state, reporter_, cancellation_);
    state.remove();
    recipe = result.recipe;
    source = fmt::format("{} samples of {} were seen; {} of {} operations can be INT8.", result.samples,
                         command.request.data.path, result.lowered, result.operations);
  }
  reporter_.log(LogLevel::kInfo, source);
  model_.setRecipe(recipe, source);
  if (!command.request.save_recipe.empty()) writeFileAtomically(command.request.save_recipe, recipe);
  lookForInterrupted();
  if (command.goal == TuneGoal::kQuantize) {
    model_.request().optimize.precision = Precision::kInt8;
    model_.request().data = request.data;
    runner_.start();
    return;
  }
  const bool measured = reporter_.latest()->index->optimized.run != nullptr;
  reporter_.setState(measured ? JobState::kDone : JobState::kReady, source);
}

void TuningJobs::searchAssignments(const TuneCommand& command, const JobRequest& request) {
  const StateFile state(statePath("search"), command.request.restart);
  search_waits_ = true;
  MemoryTuningStore measured;
  PrecisionSearchResult found = searchPrecisions(model_.checked(), request, state, measured, reporter_, cancellation_);
  JobDatabase(model_.databasePath()).recordTuning(measured);
  if (!command.request.save_recipe.empty()) writeFileAtomically(command.request.save_recipe, found.recipe);
  model_.setRecipe(found.recipe, fmt::format("Found by a search on {}.", command.request.data.path));
  // Earlier decisions by hand are part of the search, or superseded by it.
  decisions_.clear();
  model_.request().optimize.precision = found.precision;
  model_.request().data = request.data;
  runner_.start(&found);
  state.remove();
  lookForInterrupted();
  reporter_.publishStatus();
}

}  // namespace ipex_studio
