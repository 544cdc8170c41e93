// See tuning_jobs.h.
#include "studio/session/tuning_jobs.h"

#include <fmt/format.h>

#include <filesystem>

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
  request.data.path = command.data;
  if (!command.preprocess.empty()) request.data.preprocess = readPreprocessText(command.preprocess);
  request.data.samples = command.samples;
  request.data.metric = command.metric;
  request.calibration.method = command.method;
  request.calibration.samples = command.samples > 0 ? command.samples : kCalibrationSamples;
  request.search = SearchRequest{command.max_drop, command.min_sqnr_db, command.time_budget_s};
  if (!command.recipe.empty()) request.optimize.quantization_recipe = readRecipeText(command.recipe);
  if (!command.save_recipe.empty()) checkOutputPath(command.save_recipe);
  const bool needs_data = command.goal != TuneGoal::kQuantize || command.recipe.empty();
  if (needs_data && command.data.empty())
    throw Error(ExitCode::kUsage, "Say which data to use: a folder of images, or .npy, .npz or .pt tensors.");
  if (command.goal == TuneGoal::kSearch) {
    searchAssignments(command, request);
  } else {
    makeRecipe(command, request);
  }
}

void TuningJobs::makeRecipe(const TuneCommand& command, const JobRequest& request) {
  std::string recipe = request.optimize.quantization_recipe;
  std::string source = fmt::format("Taken from {}.", command.recipe);
  if (command.recipe.empty()) {
    const StateFile state(statePath("calibration"), command.restart);
    calibration_waits_ = true;  // unless it comes to its end
    const CalibrationResult result = calibrateModel(model_.checked(), request, state, reporter_, cancellation_);
    state.remove();
    recipe = result.recipe;
    source = fmt::format("{} samples of {} were seen; {} of {} operations can be INT8.", result.samples, command.data,
                         result.lowered, result.operations);
  }
  reporter_.log(LogLevel::kInfo, source);
  model_.setRecipe(recipe, source);
  if (!command.save_recipe.empty()) writeFileAtomically(command.save_recipe, recipe);
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
  const StateFile state(statePath("search"), command.restart);
  search_waits_ = true;
  MemoryTuningStore measured;
  PrecisionSearchResult found = searchPrecisions(model_.checked(), request, state, measured, reporter_, cancellation_);
  JobDatabase(model_.databasePath()).recordTuning(measured);
  if (!command.save_recipe.empty()) writeFileAtomically(command.save_recipe, found.recipe);
  model_.setRecipe(found.recipe, fmt::format("Found by a search on {}.", command.data));
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
