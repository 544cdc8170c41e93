// See training.h.
#include "core/train/training.h"

#include <ATen/Parallel.h>
#include <ATen/autocast_mode.h>
#include <fmt/format.h>
#include <torch/csrc/jit/runtime/graph_executor.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "core/base/clock.h"
#include "core/base/error.h"
#include "core/graph/origins.h"
#include "core/torch/module_graphs.h"
#include "core/torch/random_numbers.h"
#include "core/torch/torch_error.h"
#include "core/train/first_fault.h"

namespace ipex_studio {
namespace {

constexpr double kNoNumber = std::numeric_limits<double>::quiet_NaN();

// Autocast of the CPU for its scope. Weights that were cast are forgotten at the end, before they change.
class Autocast {
 public:
  explicit Autocast(bool on) : was_(at::autocast::is_cpu_enabled()) {
    at::autocast::set_cpu_enabled(on);
    at::autocast::set_autocast_cpu_dtype(at::kBFloat16);
  }
  ~Autocast() {
    at::autocast::clear_cache();
    at::autocast::set_cpu_enabled(was_);
  }
  Autocast(const Autocast&) = delete;
  Autocast& operator=(const Autocast&) = delete;

 private:
  bool was_;
};

[[noreturn]] void refuseNothingToTrain(const torch::jit::Module& module) {
  const bool has_parameters = module.parameters().size() > 0;
  throw Error(ExitCode::kUsage,
              has_parameters
                  ? "The model has no parameter that asks for a gradient, so there is nothing to train; call "
                    "requires_grad_() on those that are to be trained before it is saved."
                  : "The model is frozen or has no parameters: freezing and optimizing make constants of them, which "
                    "cannot be trained; give the file as torch.jit.script saved it.");
}

// Parameters that ask for gradients, once each, and their names.
std::vector<at::Tensor> trained(const torch::jit::Module& module, std::vector<std::string>* names) {
  std::vector<at::Tensor> parameters;
  std::set<const at::TensorImpl*> seen;
  for (const auto& parameter : module.named_parameters()) {
    if (!parameter.value.requires_grad() || !seen.insert(parameter.value.unsafeGetTensorImpl()).second) continue;
    if (parameter.value.scalar_type() != at::kFloat) {
      throw Error(
          ExitCode::kUsage,
          fmt::format("The parameter {} is {}, but those that are trained have to be FP32; save the model after "
                      "float().",
                      parameter.name, at::toString(parameter.value.scalar_type())));
    }
    names->push_back(parameter.name);
    parameters.push_back(parameter.value);
  }
  if (parameters.empty()) refuseNothingToTrain(module);
  return parameters;
}

std::int64_t stepsPerEpoch(const DataSet& data) { return std::max<std::int64_t>(1, data.fullBatches()); }

// Share of the labels with the greatest score; NaN for other targets.
double accuracyOf(const Loss& loss, const at::Tensor& output, const at::Tensor& targets) {
  if (!loss.takesLabels() || targets.dim() != 1) return kNoNumber;
  const at::NoGradGuard no_gradients;
  return output.argmax(1).eq(targets).to(at::kDouble).mean().item<double>();
}

const char* faultName(double value) { return std::isnan(value) ? "NaN" : "infinite"; }

// Normalizations and dropouts of a traced file, which always run as in evaluation.
bool isFixedInEvaluation(const torch::jit::Node* node) {
  const std::string kind = node->kind().toQualString();
  const char* const argument = kind == "aten::batch_norm" ? "training" : kind == "aten::dropout" ? "train" : nullptr;
  if (argument == nullptr || !node->hasNamedInput(argument)) return false;
  const auto value = torch::jit::toIValue(node->namedInput(argument));
  return value && value->isBool() && !value->toBool();
}

}  // namespace

Training::Training(torch::jit::Module module, DataSet& data, const DataSet* validation, const TrainingOptions& options)
    : module_(std::move(module)),
      data_(data),
      validation_(validation),
      options_(options),
      loss_(options.loss),
      parameters_(trained(module_, &names_)),
      forward_(module_, options.by_kernels),
      optimizer_(options.optimizer, parameters_),
      per_epoch_(stepsPerEpoch(data)),
      schedule_(options.schedule, per_epoch_, options.epochs),
      data_fingerprint_(data.fingerprint()) {
  if (!options_.arguments) options_.arguments = [](const Inputs& values) { return values; };
  const bool labels = loss_.takesLabels() && validation != nullptr && validation->labelled();
  if (!options.metric.empty()) {
    metric_ = Metric::fromName(options.metric);
  } else if (labels) {
    metric_ = Metric(MetricKind::kTop1);
  }
  check();
}

// Forwards without gradients tell whether loss and metric fit, before anything is changed.
void Training::check() {
  const torch::jit::GraphOptimizerEnabledGuard plain(false);
  const at::NoGradGuard no_gradients;
  const DataBatch batch = data_.batch(0);
  module_.eval();
  try {
    const at::Tensor output = firstTensor(forward_(options_.arguments(batch.inputs)));
    loss_.check(output, batch.targets);
    loss_.checkLabels(output, data_.labels());
    if (validation_ == nullptr) return;
    loss_.checkLabels(output, validation_->labels());
    Judgement judgement;
    judge(validation_->batch(0), &judgement);
  } catch (const Error&) {
    throw;
  } catch (const std::exception& problem) {
    throw runError(problem);
  }
}

std::uint64_t Training::randomSeed(std::int64_t index) const {
  return options_.seed * 0x9e3779b97f4a7c15u + static_cast<std::uint64_t>(index) * 0xbf58476d1ce4e5b9u + 1;
}

std::vector<std::string> Training::notes() const {
  std::int64_t fixed = 0;
  forEachGraph(module_, [&](torch::jit::Graph& graph) {
    for (const torch::jit::Node* node : allNodes(graph)) fixed += isFixedInEvaluation(node) ? 1 : 0;
  });
  if (fixed == 0) return {};
  return {
      fmt::format("{} batch norms and dropouts of the model always run as in evaluation, as torch.jit.trace records "
                  "them; script the model to train them.",
                  fixed)};
}

TrainingRecord Training::record() const {
  TrainingRecord record;
  record.loss = options_.loss;
  record.optimizer = options_.optimizer;
  record.schedule = options_.schedule;
  record.precision = options_.bf16 ? "bf16" : "fp32";
  if (hasMetric()) {
    record.metric = metric_ ? metric_->name() : "loss";
    record.higher_is_better = metric_ && metric_->higherIsBetter();
  }
  record.epochs = options_.epochs;
  record.steps_per_epoch = per_epoch_;
  record.batch = data_.batchSize();
  record.samples = data_.size();
  for (const at::Tensor& parameter : parameters_) record.parameters += parameter.numel();
  record.threads = at::get_num_threads();
  record.resumed_at = resumed_at_;
  return record;
}

at::Tensor Training::lossOf(const Inputs& arguments, const at::Tensor& targets, LayerTimer* timer, at::Tensor* output) {
  {
    const Autocast autocast(options_.bf16);
    *output = firstTensor(timer ? forward_.timed(arguments, timer) : forward_(arguments));
  }
  loss_.check(*output, targets);
  return loss_(*output, targets);
}

std::unique_ptr<LayerTimer> Training::timerOfStep() const {
  constexpr std::int64_t kFirst = 2;  // behind those that make what all others use
  const std::int64_t index = done_ - resumed_at_ - kFirst;
  const bool profiled = options_.profile_every > 0 && index >= 0 && index % options_.profile_every == 0;
  return profiled ? std::make_unique<LayerTimer>(names_, parameters_) : nullptr;
}

// The step runs again with a look at each gradient function, to tell where it begins.
void Training::requireFiniteGradients(double norm, const Inputs& arguments, const at::Tensor& targets) {
  if (std::isfinite(norm)) return;
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    const at::Tensor& gradient = parameters_[i].grad();
    if (!gradient.defined() || gradient.to_dense().isfinite().all().item<bool>()) continue;
    {
      const at::NoGradGuard no_gradients;
      putBuffersBack();
    }
    SeededGenerator generator;
    generator.seed(randomSeed(done_));
    for (const at::Tensor& parameter : parameters_) parameter.mutable_grad().reset();
    LayerTimer timer(names_, parameters_);
    at::Tensor output;
    const at::Tensor loss = lossOf(arguments, targets, &timer, &output);
    const std::string place = firstGradientFault(loss, [&timer](std::int64_t number) { return timer.layerOf(number); });
    fault_ = fmt::format("step {}: {}", done_ + 1, place.empty() ? "the gradient of " + names_[i] : place);
    throw Error(ExitCode::kAccuracy,
                fmt::format("The gradient of {} is not finite at step {}{}, while the loss still is; lower the "
                            "learning rate, or look at the operation that reads it.",
                            names_[i], done_ + 1, place.empty() ? "" : ", first out of " + place));
  }
}

void Training::refuseLoss(double loss, const Inputs& arguments) {
  std::string where;
  for (std::size_t i = 0; i < parameters_.size() && where.empty(); ++i) {
    if (!parameters_[i].isfinite().all().item<bool>())
      where = fmt::format("because the parameter {} is not finite", names_[i]);
    if (!where.empty()) fault_ = fmt::format("step {}: the parameter {}", done_ + 1, names_[i]);
  }
  if (where.empty()) {
    const TrainingForward::PlainOrder plain(forward_);
    SeededGenerator generator;
    generator.seed(randomSeed(done_));
    const std::string place = firstFault(module_, arguments, std::isnan(loss));
    fault_ = fmt::format("step {}: {}", done_ + 1, place.empty() ? "the loss" : place);
    where = place.empty() ? "first in the loss itself" : "first out of " + place;
  }
  throw Error(ExitCode::kAccuracy,
              fmt::format("The loss is {} at step {}, {}; lower the learning rate, or add --clip-norm 1.",
                          faultName(loss), done_ + 1, where));
}

void Training::keepBuffers() {
  buffers_.clear();
  for (const auto& buffer : module_.named_buffers()) buffers_.emplace_back(buffer.name, buffer.value.clone());
}

void Training::putBuffersBack() {
  std::size_t i = 0;
  for (const auto& buffer : module_.named_buffers()) {
    if (i < buffers_.size() && buffer.value.sizes().equals(buffers_[i].second.sizes()))
      at::Tensor(buffer.value).copy_(buffers_[i].second);
    ++i;
  }
}

TrainingStep Training::step() {
  TrainingStep step;
  const std::int64_t begin = nowNs();
  const DataBatch batch = data_.batch(done_ % per_epoch_);
  const Inputs arguments = options_.arguments(batch.inputs);
  const std::int64_t read = nowNs();
  keepBuffers();
  SeededGenerator generator;
  generator.seed(randomSeed(done_));
  at::Tensor output;
  const std::unique_ptr<LayerTimer> timer = timerOfStep();
  const at::Tensor loss = lossOf(arguments, batch.targets, timer.get(), &output);
  step.loss = loss.item<double>();
  const std::int64_t forward = nowNs();
  try {
    if (!std::isfinite(step.loss)) refuseLoss(step.loss, arguments);
    if (!loss.requires_grad()) {
      throw Error(
          ExitCode::kUsage,
          "The model's result does not depend on its parameters, or is computed without gradients, so it cannot "
          "be trained.");
    }
    for (const at::Tensor& parameter : parameters_) parameter.mutable_grad().reset();
    timer ? timer->backward([&loss] { loss.backward(); }) : loss.backward();
    const std::int64_t backward = nowNs();
    step.learning_rate = optimizer_.learningRate() * schedule_.factor(done_);
    std::vector<std::int64_t> each_ns;  // by parameter
    step.gradient_norm = optimizer_.step(step.learning_rate, options_.clip_norm, timer ? &each_ns : nullptr);
    requireFiniteGradients(step.gradient_norm, arguments, batch.targets);
    step.backward_ns = backward - forward;
    step.update_ns = nowNs() - backward;
    if (timer) timer->update(step.update_ns, each_ns);
  } catch (const Error&) {
    const at::NoGradGuard no_gradients;
    putBuffersBack();
    throw;
  }
  step.step = ++done_;
  if (timer) profile_ = timer->profile(step.step);
  step.accuracy = accuracyOf(loss_, output, batch.targets);
  step.data_ns = read - begin;
  step.forward_ns = forward - read;
  return step;
}

bool Training::run(TrainingWatch& watch, std::int64_t steps) {
  // The executor's optimized code differs from run to run in its bits; without it each operator is libtorch's own.
  const torch::jit::GraphOptimizerEnabledGuard plain(false);
  try {
    while (true) {
      if (done_ > 0 && done_ % per_epoch_ == 0 && judged_ < done_ / per_epoch_ && !endEpoch(watch)) return false;
      if (done_ >= total()) return true;
      if (steps-- <= 0 || watch.stops()) return false;
      if (epoch_steps_ == 0) {
        data_.startEpoch(done_ / per_epoch_);
        module_.train();
        epoch_begin_ns_ = nowNs();
      }
      const TrainingStep step = this->step();
      epoch_loss_ += step.loss;
      ++epoch_steps_;
      watch.onStep(step);
      if (!profile_.layers.empty() && profile_.layers.front().step == step.step) watch.onProfile(profile_);
    }
  } catch (const Error&) {
    throw;
  } catch (const std::exception& problem) {
    throw runError(problem);
  }
}

bool Training::endEpoch(TrainingWatch& watch) {
  TrainingEpoch epoch;
  epoch.epoch = done_ / per_epoch_;
  epoch.step = done_;
  epoch.loss = epoch_steps_ > 0 ? epoch_loss_ / static_cast<double>(epoch_steps_) : kNoNumber;
  epoch.metric = kNoNumber;
  if (hasMetric()) {
    const auto value = judgeAll(watch);
    if (!value) return false;
    epoch.metric = *value;
  }
  epoch.elapsed_ns = epoch_steps_ > 0 ? nowNs() - epoch_begin_ns_ : 0;
  judged_ = epoch.epoch;
  epoch_loss_ = 0;
  epoch_steps_ = 0;
  watch.onEpoch(epoch);
  return true;
}

void Training::judge(const DataBatch& batch, Judgement* judgement) {
  const torch::jit::IValue result = forward_(options_.arguments(batch.inputs));
  if (metric_) {
    metric_->add(result, batch.targets, batch.samples);
    return;
  }
  at::Tensor output = firstTensor(result);
  const std::int64_t rows = batch.targets.defined() && batch.targets.dim() > 0 ? batch.targets.size(0) : 1;
  if (output.dim() > 0 && output.size(0) > rows) output = output.narrow(0, 0, rows);  // padding
  loss_.check(output, batch.targets);
  judgement->loss += loss_(output, batch.targets).item<double>() * static_cast<double>(rows);
  judgement->samples += rows;
}

std::optional<double> Training::judgeAll(TrainingWatch& watch) {
  const at::NoGradGuard no_gradients;
  module_.eval();
  if (metric_) metric_->clear();
  Judgement judgement;
  for (std::int64_t b = 0; b < validation_->batches(); ++b) {
    if (watch.stops()) return std::nullopt;
    SeededGenerator generator;
    generator.seed(randomSeed(b));
    judge(validation_->batch(b), &judgement);
    watch.onValidation(b + 1, validation_->batches());
  }
  return metric_ ? metric_->record().value
                 : judgement.loss / static_cast<double>(std::max<std::int64_t>(1, judgement.samples));
}

void Training::saveCheckpoint(std::ostream& stream) {
  TrainingState state;
  state.step = done_;
  state.judged = judged_;
  state.data = data_fingerprint_;
  state.seed = options_.seed;
  state.optimizer = optimizer_.name();
  state.states = optimizer_.states();
  state.updates = optimizer_.updates();
  const TrainingForward::PlainOrder plain(forward_);
  module_.eval();
  writeCheckpoint(module_, state, stream);
  module_.train();
}

void Training::resume(const TrainingState& state) {
  const auto refuse = [](const std::string& what) {
    throw Error(ExitCode::kUsage, fmt::format("The checkpoint was made with {}; give the same, or begin anew without "
                                              "--resume.",
                                              what));
  };
  if (state.optimizer != optimizer_.name()) refuse("--optimizer " + state.optimizer);
  if (state.seed != options_.seed) refuse(fmt::format("--seed {}", state.seed));
  if (state.data != data_fingerprint_) refuse("other --data, --samples or --batch");
  if (state.step > total()) refuse(fmt::format("more epochs: it stands at step {} of {}", state.step, total()));
  optimizer_.restore(state.states, state.updates);
  done_ = resumed_at_ = state.step;
  judged_ = state.judged;
}

void Training::saveModel(std::ostream& stream, const std::string& preprocess) {
  torch::jit::ExtraFilesMap extra;
  if (!preprocess.empty()) extra["preprocess.toml"] = preprocess;
  const TrainingForward::PlainOrder plain(forward_);
  module_.eval();
  module_.save(stream, extra);
  module_.train();
}

}  // namespace ipex_studio
