// The search over precisions. Measures how much time each operation's INT8 and BF16 save and how much they disturb the
// results, then builds, times and judges the assignments that are worth a try; the fastest within the budget that beats
// FP32 again, interleaved, wins. One file over 400 lines, because the stages of one search share its models, its state
// and its trials; costs, models, timing and the saved state have files of their own.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>

#include "core/base/error.h"
#include "core/model/measure.h"
#include "core/model/run_mode.h"
#include "core/record/records_json.h"
#include "core/runtime/machine_facts.h"
#include "core/torch/random_numbers.h"
#include "passes/optimize.h"
#include "studio/engine/job_recipe.h"
#include "studio/engine/job_verify.h"
#include "studio/engine/jobs.h"
#include "studio/engine/paired_timing.h"
#include "studio/engine/precision_costs.h"
#include "studio/engine/search_models.h"
#include "studio/engine/search_state.h"

namespace ipex_studio {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::int64_t kComparedSamples = 32;  // samples that a sensitivity is measured on
constexpr int kCumulativePoints = 8;
constexpr int kProfiles = 15;
constexpr double kTiming_s = 0.5;
constexpr double kSensitivityShare = 0.5;  // of the time budget
constexpr double kCastBytesPerNs = 8;      // speed of a cast on one core, memory to memory
constexpr double kWorthIt = 0.98;          // largest share of FP32's time that is worth a lower precision
constexpr int kConfirmed = 4;              // most assignments that are compared with FP32 again

class Search {
 public:
  Search(const EngineJob& job, Channel& channel)
      : job_(job),
        channel_(channel),
        model_(loadModel(job)),
        data_(openJobData(model_, job)),
        inputs_(model_, job, namedInputs(*data_, data_->batch(0))),
        metric_(jobMetric(job.data, *data_)),
        models_(job, model_.module(), inputs_.example(), channel),
        reference_(freezeBaseline(model_.module(), job.optimize.preserved_methods)),
        reference_state_(reference_) {}

  void run() {
    state_ = SearchState::read(job_.state, data_->fingerprint());
    prepareRecipe();
    prepareChoices();
    measureCosts();
    measureSensitivities();
    measureCumulative();
    tryAssignments();
    sendResult();
  }

 private:
  double elapsed() const { return std::chrono::duration<double>(Clock::now() - begin_).count(); }
  bool outOfTime(double share) const { return elapsed() > share * job_.search.time_budget_s; }
  void save() { channel_.send({{"type", "state"}, {"text", state_.text()}}); }

  void prepareRecipe() {
    if (state_.recipe.empty()) {
      const std::string given =
          ownRecipe(job_.optimize.quantization_recipe, model_.module(), inputs_.example(), job_.optimize);
      if (!given.empty()) {
        state_.recipe = given;
      } else {
        const auto checkpoint = [this](const std::string& text) {
          state_.calibration = text;
          save();
        };
        state_.recipe =
            recipeToText(calibrate(job_, model_.module(), *data_, inputs_, state_.calibration, checkpoint, channel_));
        state_.calibration.clear();
      }
      save();
    }
    recipe_ = recipeFromText(state_.recipe);
  }

  // The precision to optimize the whole model for, so that everything assigned is possible.
  static Precision precisionOf(const Assignment& assignment) {
    const auto all = [&](char precision) { return assignment.find_first_not_of(precision) == Assignment::npos; };
    return all(kInFp32) ? Precision::kFp32 : all(kInBf16) ? Precision::kBf16 : Precision::kInt8;
  }

  BuiltModel buildTuned(const Assignment& assignment) {
    return models_.buildTuned(precisionOf(assignment), recipeToText(recipeOf(assignment)));
  }

  Recipe recipeOf(const Assignment& assignment) const {
    Recipe recipe = recipe_;
    for (std::size_t c = 0; c < choices_.size(); ++c) {
      RecipeNode* node = recipe.node(choices_[c].node.key);
      IPEX_CHECK(node != nullptr, "a candidate is in its recipe");
      if (assignment[c] != kInInt8) node->precision = assignment[c] == kInBf16 ? "bf16" : "fp32";
    }
    return recipe;
  }

  Assignment all(char precision) const { return Assignment(choices_.size(), precision); }

  // Collects the operations that the recipe allows to be lowered, with their origins.
  void prepareChoices() {
    OptimizeOptions own = models_.options(Precision::kFp32, TuneMode::kOff);
    own.calibrate = true;
    Observer silent;
    const OptimizedModel planned = optimizeModel(model_.module(), inputs_.example(), own, silent);
    const auto ids = originsByKey(planned.origins);
    CalibrationPlan plan = *planned.calibration;
    std::vector<std::vector<int>> reads;
    std::vector<int> writes;
    for (std::size_t c = 0; c < plan.candidates.size(); ++c) {
      const RecipeNode* node = recipe_.node(plan.candidates[c].key);
      if (node == nullptr || node->precision == "fp32" || node->precision == "bf16") continue;
      PrecisionChoice choice;
      choice.node = *node;
      const auto id = ids.find(node->key.substr(0, node->key.find('@')));
      if (id != ids.end()) choice.origins.push_back(id->second);
      choice.cumulative_db = std::numeric_limits<double>::quiet_NaN();
      choices_.push_back(std::move(choice));
      reads.push_back(c < plan.reads.size() ? plan.reads[c] : std::vector<int>());
      writes.push_back(c < plan.writes.size() ? plan.writes[c] : -1);
    }
    if (choices_.empty())
      throw Error(ExitCode::kUnsupported,
                  "No operation of this model can be computed in INT8; use --precision bf16 or fp32.");
    plan.reads = std::move(reads);
    plan.writes = std::move(writes);
    edges_ = edgesOf(plan, recipe_, kCastBytesPerNs);
  }

  // Measures the time of each operation in FP32, and with everything lowered.
  void measureCosts() {
    has_bf16_ = job_.optimize.device == "cpu" && hasBf16(machineFacts().isa);
    measureTimes("FP32", kInFp32, &PrecisionChoice::fp32_ns);
    measureTimes("INT8", kInInt8, &PrecisionChoice::low_ns);
    if (has_bf16_) measureTimes("BF16", kInBf16, &PrecisionChoice::bf16_ns);
  }

  void measureTimes(const char* name, char precision, double PrecisionChoice::*time_ns) {
    channel_.progress(fmt::format("build {}", name), 0.1);
    BuiltModel built = buildTuned(all(precision));
    channel_.progress(fmt::format("time {}", name), 0.1, true);
    RunRecord profiled;
    profileSteps(built.module(), inputs_.example(), kProfiles, built.model.origins, profiled);
    const std::vector<double> times = timesOf(choices_, profiled);
    for (std::size_t c = 0; c < choices_.size(); ++c) choices_[c].*time_ns = times[c];
  }

  // SQNR of the results against FP32 on a few samples.
  double sqnrOf(const Assignment& assignment) {
    const RunMode mode(reference_);
    BuiltModel built = models_.build(precisionOf(assignment), recipeToText(recipeOf(assignment)));
    Metric sqnr(MetricKind::kSqnr);
    if (expected_.empty()) reference_state_.restore();
    SeededGenerator generator;
    const std::int64_t batches = std::min(data_->batches(), (kComparedSamples + job_.data.batch - 1) / job_.data.batch);
    for (std::int64_t b = 0; b < batches; ++b) {
      const DataBatch batch = data_->batch(b);
      const Inputs arguments = inputs_.withData(batch.inputs);
      generator.seed(static_cast<std::uint64_t>(b));
      if (static_cast<std::size_t>(b) == expected_.size())
        expected_.push_back(firstTensor(reference_.forward(arguments)).clone());
      generator.seed(static_cast<std::uint64_t>(b));
      sqnr.add(built.module().forward(arguments), expected_[static_cast<std::size_t>(b)], batch.samples);
    }
    return sqnr.record().value;
  }

  void measureSensitivities() {
    double worst_db = kSqnrOfEqual;
    std::vector<std::size_t> missing;
    for (std::size_t c = 0; c < choices_.size(); ++c) {
      const std::string& key = choices_[c].node.key;
      const auto known = state_.sensitivity_db.find(key);
      if (known == state_.sensitivity_db.end() && outOfTime(kSensitivityShare)) {
        missing.push_back(c);
        continue;
      }
      if (known == state_.sensitivity_db.end()) {
        channel_.progress(fmt::format("sensitivity, {} of {} operations", c + 1, choices_.size()),
                          0.15 + 0.4 * static_cast<double>(c) / static_cast<double>(choices_.size()));
        Assignment alone = all(kInFp32);
        alone[c] = kInInt8;
        state_.sensitivity_db[key] = sqnrOf(alone);
        save();
      }
      choices_[c].sqnr_db = state_.sensitivity_db[key];
      worst_db = std::min(worst_db, choices_[c].sqnr_db);
    }
    if (!missing.empty()) {
      channel_.log(fmt::format("--time-budget: {} operations were not tried alone and count as the most sensitive one.",
                               missing.size()),
                   true);
    }
    for (const std::size_t c : missing) choices_[c].sqnr_db = worst_db;
    for (PrecisionChoice& choice : choices_) choice.noise = std::pow(10, -choice.sqnr_db / 10);
    if (!has_bf16_) return;
    // The noise of BF16 is small and much the same everywhere, so operations get equal shares.
    const std::string key = "bf16";
    if (state_.sensitivity_db.count(key) == 0) state_.sensitivity_db[key] = sqnrOf(all(kInBf16));
    const double share = std::pow(10, -state_.sensitivity_db[key] / 10) / static_cast<double>(choices_.size());
    for (PrecisionChoice& choice : choices_) choice.bf16_noise = share;
  }

  // Lowers one operation after the other, the least sensitive first, and measures the results at some places on the
  // way.
  void measureCumulative() {
    std::vector<std::size_t> order(choices_.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::sort(order.begin(), order.end(),
              [&](std::size_t a, std::size_t b) { return choices_[a].sqnr_db > choices_[b].sqnr_db; });
    Assignment lowered = all(kInFp32);
    for (std::size_t i = 0; i < order.size(); ++i) {
      lowered[order[i]] = kInInt8;
      const std::size_t places = kCumulativePoints;
      const bool measured = (i + 1) * places / order.size() != i * places / order.size();
      if (!measured || outOfTime(0.7)) continue;
      channel_.progress("cumulative sensitivity",
                        0.55 + 0.1 * static_cast<double>(i) / static_cast<double>(order.size()));
      choices_[order[i]].cumulative_db = sqnrOf(lowered);
    }
  }

  struct Trial {
    Assignment assignment;
    TradeoffRecord record;
    bool beaten = false;  // true: slower than FP32 interleaved, or not accurate enough
  };

  // True if the record's accuracy is within the budget, compared with FP32, which is the first trial.
  bool allowed(const TradeoffRecord& record) const {
    if (trials_.empty()) return true;  // FP32 itself
    const double fp32 = trials_.front().record.metric;
    if (metric_.kind() == MetricKind::kMse || metric_.kind() == MetricKind::kSqnr)
      return record.sqnr_db >= job_.search.min_sqnr_db;
    const double best = metric_.kind() == MetricKind::kCosine ? 1 : fp32;
    return best - record.metric <= job_.search.max_drop + 1e-12;
  }

  BuiltModel& fp32() {
    if (!fp32_) fp32_.reset(new BuiltModel(buildTuned(all(kInFp32))));
    return *fp32_;
  }

  // The time of FP32; other assignments run interleaved with it and get its time multiplied by their ratio to it, since
  // a machine's speed drifts meanwhile.
  std::int64_t timeOf(BuiltModel& built, const Assignment& assignment) {
    if (assignment == all(kInFp32))
      return static_cast<std::int64_t>(medianForward(built.module(), inputs_.example(), kTiming_s));
    const double ratio = interleavedRatio(built.module(), fp32().module(), inputs_.example(), kWorthIt).value;
    return static_cast<std::int64_t>(ratio * static_cast<double>(trials_.front().record.elapsed_ns));
  }

  // Builds, times and judges an assignment; trials of an interrupted search are taken as they were.
  const Trial& attempt(const Assignment& assignment) {
    const std::string key = SearchState::assignmentKey(assignment), name = assignmentName(assignment);
    Trial trial;
    trial.assignment = assignment;
    const auto known = state_.trials.find(key);
    if (known != state_.trials.end()) {
      trial.record = known->second;
    } else {
      const double fraction = 0.65 + std::min(0.3, 0.03 * static_cast<double>(trials_.size()));
      channel_.progress("try " + name, fraction);
      std::unique_ptr<BuiltModel> lower;
      if (assignment != all(kInFp32)) lower.reset(new BuiltModel(buildTuned(assignment)));
      BuiltModel& built = lower ? *lower : fp32();
      channel_.progress("time " + name, fraction, true);
      trial.record.elapsed_ns = timeOf(built, assignment);
      built.state.restore();
      reference_state_.restore();
      const auto metrics =
          evaluate(built.module(), &reference_, *data_, inputs_, metric_, 64, "judge " + name, channel_);
      trial.record.metric = metrics.front().value;
      for (const MetricRecord& metric : metrics) {
        if (metric.name == "sqnr") trial.record.sqnr_db = metric.value;
      }
    }
    trial.record.name = name;
    trial.record.assignment = key;
    trial.record.int8_nodes = countOf(assignment, kInInt8);
    trial.record.bf16_nodes = countOf(assignment, kInBf16);
    trial.record.fp32_nodes = countOf(assignment, kInFp32);
    trial.record.allowed = allowed(trial.record);
    state_.trials[key] = trial.record;
    save();
    trials_.push_back(std::move(trial));
    return trials_.back();
  }

  // Tries FP32, BF16 and full INT8 as landmarks; then prices of noise, halving the interval between the highest price
  // that breaks the budget and the lowest that keeps it.
  void tryAssignments() {
    attempt(all(kInFp32));
    std::set<Assignment> seen{all(kInFp32), all(kInInt8)};
    if (has_bf16_) {
      attempt(all(kInBf16));
      seen.insert(all(kInBf16));
    }
    const auto tryPrice = [&](double price) {
      Assignment assignment = cheapest(choices_, edges_, price);
      // Without INT8 the model is one graph in BF16, which chooses its operations itself.
      const bool in_bf16 = countOf(assignment, kInInt8) == 0 && countOf(assignment, kInBf16) > 0;
      if (in_bf16) assignment = all(kInBf16);
      if (!seen.insert(assignment).second) {
        for (const Trial& trial : trials_) {
          if (trial.assignment == assignment) return trial.record.allowed;
        }
        return true;
      }
      return attempt(assignment).record.allowed;
    };
    attempt(all(kInInt8));
    if (tryPrice(0)) return;
    double high = highestPrice(choices_), low = high * 1e-9;
    for (int step = 0; step < 8 && !outOfTime(1); ++step) {
      const double middle = std::sqrt(low * high);
      (tryPrice(middle) ? high : low) = middle;
    }
  }

  // The fastest trial within the budget; FP32 where none is faster.
  Trial* fastest() {
    Trial* best = &trials_.front();
    const auto limit = static_cast<std::int64_t>(kWorthIt * static_cast<double>(best->record.elapsed_ns));
    for (Trial& trial : trials_) {
      const bool usable = trial.record.allowed && !trial.beaten && trial.record.elapsed_ns <= limit;
      if (usable && trial.record.elapsed_ns < best->record.elapsed_ns) best = &trial;
    }
    return best;
  }

  // Compares the choice with FP32 again until the interval lies on one side of 1.
  Trial* confirmed() {
    for (int round = 0; round < kConfirmed; ++round) {
      Trial* best = fastest();
      if (best == &trials_.front()) break;
      BuiltModel low = buildTuned(best->assignment);
      // A choice that passes the metric is exported only if its results also pass verification.
      const AccuracyRule rule{precisionOf(best->assignment), job_.optimize.min_cosine};
      const AccuracyRecord accuracy = worstAccuracy(job_, rule, inputs_, !low.state.empty(), {}, low.module());
      if (!accuracy.pass) {
        channel_.log(
            fmt::format("'{}' is not accurate enough ({}), so it is not chosen.", best->record.name, accuracy.text),
            false);
        best->beaten = true;
        best->record.allowed = false;
        continue;
      }
      const InterleavedRatio ratio = ratioToFp32(low, best->record.name);
      if (ratio.value <= kWorthIt && ratio.high < 1) return best;
      channel_.log(
          fmt::format("'{}' takes {:.2f} [{:.2f}, {:.2f}] of FP32's time in turns with it, so it is not chosen.",
                      best->record.name, ratio.value, ratio.low, ratio.high),
          false);
      best->beaten = true;
    }
    channel_.log("No lower precision is faster than FP32 on this machine and accurate enough; FP32 is kept.", false);
    return &trials_.front();
  }

  InterleavedRatio ratioToFp32(BuiltModel& low, const std::string& name) {
    channel_.progress(fmt::format("compare {} with FP32 in turns", name), 0.97, true);
    return interleavedRatio(low.module(), fp32().module(), inputs_.example(), kWorthIt);
  }

  void sendResult() {
    Trial* best = confirmed();
    std::vector<TradeoffRecord*> records;
    for (Trial& trial : trials_) records.push_back(&trial.record);
    markFront(records, metric_.higherIsBetter());
    best->record.chosen = true;
    const std::string precision = best->record.int8_nodes > 0 ? "int8" : best->record.bf16_nodes > 0 ? "bf16" : "fp32";
    nlohmann::json sensitivities = nlohmann::json::array(), tradeoffs = nlohmann::json::array();
    for (std::size_t c = 0; c < choices_.size(); ++c) {
      const char own = best->assignment[c];
      const SensitivityRecord record = sensitivityOf(choices_[c], own, has_bf16_);
      if (own != kInInt8 && precision == "int8") forcePrecision(recipe_, {record.key}, record.chosen, record.reason);
      sensitivities.push_back(toJson(record));
    }
    for (const Trial& trial : trials_) tradeoffs.push_back(toJson(trial.record));
    channel_.send({{"type", "result"},
                   {"precision", precision},
                   {"recipe", recipeToText(recipe_)},
                   {"sensitivities", std::move(sensitivities)},
                   {"tradeoffs", std::move(tradeoffs)}});
  }

  const EngineJob& job_;
  Channel& channel_;
  Model model_;
  std::unique_ptr<DataSet> data_;
  JobInputs inputs_;
  Metric metric_;
  SearchModels models_;
  torch::jit::Module reference_;
  const ModuleState reference_state_;
  const Clock::time_point begin_ = Clock::now();
  SearchState state_;
  Recipe recipe_;
  std::vector<PrecisionChoice> choices_;
  std::vector<PrecisionEdge> edges_;
  std::vector<at::Tensor> expected_;
  std::vector<Trial> trials_;
  std::unique_ptr<BuiltModel> fp32_;  // made when first needed
  bool has_bf16_ = false;
};

}  // namespace

void runSearchJob(const EngineJob& job, Channel& channel) {
  channel.progress("load", 0);
  Search(job, channel).run();
}

}  // namespace ipex_studio
