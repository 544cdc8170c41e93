// Commands of a session that make a model faster than the first optimization: recipes from data, searched precisions,
// kernels
// measured at length. Each goes on where it was interrupted.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "studio/job/session_request.h"
#include "studio/session/session.h"

namespace ipex_studio {
namespace {

constexpr std::int64_t kCalibrationSamples = 1000;  // where the user leaves it to us

}  // namespace

std::string Session::statePath(const char* what) const {
  if (!model_) return "";
  const std::string database = options_.database_path.empty() ? defaultDatabasePath() : options_.database_path;
  return fmt::format("{}.{}.{}", database, model_->report.sha256.substr(0, 16), what);
}

void Session::lookForInterrupted() {
  std::error_code ignored;
  TuningState& tuning = parts_.work.tuning;
  tuning.possible = model_ != nullptr;
  tuning.calibration_waits = model_ && std::filesystem::exists(statePath("calibration"), ignored);
  tuning.search_waits = model_ && std::filesystem::exists(statePath("search"), ignored);
}

void Session::tune(const TuneCommand& command) {
  if (!model_) throw Error(ExitCode::kUsage, "Open a model first; recorded runs cannot be tuned.");
  if (parts_.work.trust.asked()) throw Error(ExitCode::kUsage, "Say first how far this model is to be trusted.");
  setState(JobState::kWorking, "");
  prepared_.reset();  // it would have a share of the machine while others are timed
  if (command.goal == TuneGoal::kKernels) {
    options_.request.optimize.tune = TuneMode::kFull;
    startJob();
    return;
  }
  JobDatabase database(options_.database_path);
  JobRequest request = requestWith(Overrides(), database);
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

void Session::makeRecipe(const TuneCommand& command, const JobRequest& request) {
  std::string recipe = request.optimize.quantization_recipe;
  TuningState& tuning = parts_.work.tuning;
  if (command.recipe.empty()) {
    const StateFile state(statePath("calibration"), command.restart);
    tuning.calibration_waits = true;  // unless it comes to its end
    const CalibrationResult result = calibrateModel(*model_, request, state, *this, cancellation_);
    state.remove();
    recipe = result.recipe;
    tuning.recipe = fmt::format("{} samples of {} were seen; {} of {} operations can be INT8.", result.samples,
                                command.data, result.lowered, result.operations);
  } else {
    tuning.recipe = fmt::format("Taken from {}.", command.recipe);
  }
  log(LogLevel::kInfo, tuning.recipe);
  options_.request.optimize.quantization_recipe = recipe;
  if (!command.save_recipe.empty()) writeFileAtomically(command.save_recipe, recipe);
  lookForInterrupted();
  if (command.goal == TuneGoal::kQuantize) {
    options_.request.optimize.precision = Precision::kInt8;
    options_.request.data = request.data;
    startJob();
    return;
  }
  setState(latest()->index->optimized.run != nullptr ? JobState::kDone : JobState::kReady, tuning.recipe);
}

void Session::searchAssignments(const TuneCommand& command, const JobRequest& request) {
  const StateFile state(statePath("search"), command.restart);
  TuningState& tuning = parts_.work.tuning;
  tuning.search_waits = true;
  MemoryTuningStore measured;
  PrecisionSearchResult found = searchPrecisions(*model_, request, state, measured, *this, cancellation_);
  JobDatabase(options_.database_path).recordTuning(measured);
  if (!command.save_recipe.empty()) writeFileAtomically(command.save_recipe, found.recipe);
  tuning.recipe = fmt::format("Found by a search on {}.", command.data);
  // Earlier decisions by hand are part of the search, or superseded by it.
  overrides_ = OverrideHistory();
  options_.request.optimize.precision = found.precision;
  options_.request.optimize.quantization_recipe = found.recipe;
  options_.request.data = request.data;
  startJob(&found);
  state.remove();
  lookForInterrupted();
  publishStatus();
}

// Every assignment that a search has tried shows as soon as it is judged.
void Session::onState(const std::string& text) {
  std::vector<TradeoffRecord> tried = triedSoFar(text);
  if (tried.size() == latest()->job->tradeoffs.size()) return;
  JobRecord record = *latest()->job;
  record.tradeoffs = std::move(tried);
  record.sensitivities.clear();
  onRecord(record);
}

}  // namespace ipex_studio
