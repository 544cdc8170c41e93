// Training: makes the loss of a scripted module small, step by step, through libtorch's autograd and layers of ours.
//
// Everything that a step draws at random – the order of samples, their variation, dropout – depends on the seed and the
// step's number alone. A checkpoint therefore holds no state of a generator, and a training that goes on from one has
// the same bits as one that was never interrupted, at the same number of threads.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "core/data/data_set.h"
#include "core/data/metrics.h"
#include "core/record/records.h"
#include "core/train/checkpoint.h"
#include "core/train/loss.h"
#include "core/train/schedule.h"
#include "core/train/training_forward.h"
#include "core/train/training_optimizer.h"

namespace ipex_studio {

struct TrainingOptions {
  std::string loss = "cross_entropy";                  // core/train/loss.cpp
  std::string optimizer = "sgd:lr=0.01,momentum=0.9";  // core/train/training_optimizer.cpp
  std::string schedule = "constant";                   // core/train/schedule.h
  std::int64_t epochs = 1;
  std::uint64_t seed = 0;
  double clip_norm = 0;    // largest norm of all gradients together; 0: any
  bool bf16 = false;       // autocast: convolutions and matrix products in BF16, parameters in FP32
  bool by_kernels = true;  // layers by operators of ours (training_layers.h); false: libtorch's
  // Steps from one that is profiled to the next, from the third one on: those before it make what all others use.
  // 0: none.
  std::int64_t profile_every = 100;
  std::string metric;  // as Metric::fromName() takes it; empty: top-1 where there are labels, else the loss
  // Arguments of forward for a batch's values; empty: the values themselves.
  std::function<Inputs(const Inputs&)> arguments;
};

// Follows a training. Called between steps, on the thread that trains.
class TrainingWatch {
 public:
  virtual ~TrainingWatch() = default;
  virtual void onStep(const TrainingStep& /*step*/) {}
  virtual void onProfile(const StepProfile& /*profile*/) {}
  virtual void onEpoch(const TrainingEpoch& /*epoch*/) {}
  virtual void onValidation(std::int64_t /*batch*/, std::int64_t /*batches*/) {}
  // True if the training is to end before its next step, or in the middle of a validation.
  virtual bool stops() { return false; }
};

// Not thread-safe.
class Training {
 public:
  // `module`: in any mode, shared and changed in place. `data` brings targets; `validation` may be null. Throws
  // Error(kUsage) in one sentence for options that cannot be read, data without targets, and a module that is frozen or
  // has nothing to train; runs forward once, without gradients, and throws where the loss fits neither its result nor
  // the targets.
  Training(torch::jit::Module module, DataSet& data, const DataSet* validation, const TrainingOptions& options);

  // The record as it is before the first step: `steps` and `ends` are empty.
  TrainingRecord record() const;
  // Sentences about what will not be trained as might be expected.
  std::vector<std::string> notes() const;
  // Steps that were done, and those of all epochs.
  std::int64_t done() const { return done_; }
  std::int64_t total() const { return per_epoch_ * options_.epochs; }
  // Seed of the random numbers that forward draws in step `index` from 0 on.
  std::uint64_t randomSeed(std::int64_t index) const;

  // The last step that was profiled; empty before there is one.
  const StepProfile& profile() const { return profile_; }
  // The operation where NaN or infinity began, for run() that threw because of it: "step 3: aten::log of head"; empty
  // otherwise.
  const std::string& fault() const { return fault_; }

  // Trains until all epochs are over, `watch` stops it, or `steps` more are done. Returns true if all epochs are over.
  // Throws Error(kAccuracy) before the update of a step whose loss or gradients are not finite, with the parameter or
  // the operation where that begins; the module is then as before the step.
  bool run(TrainingWatch& watch, std::int64_t steps = INT64_MAX);

  // Writes the module, in evaluation mode, and what resume() needs.
  void saveCheckpoint(std::ostream& stream);
  // Puts a training back to where the checkpoint was written; to be called before run(). The module must be the
  // checkpoint's. Throws Error(kUsage) if data, batch, seed or optimizer are not those of the checkpoint.
  void resume(const TrainingState& state);
  // Writes the module, in evaluation mode. `preprocess`: goes along as extra/preprocess.toml; empty: none.
  void saveModel(std::ostream& stream, const std::string& preprocess);

 private:
  void check();
  TrainingStep step();
  // `timer`: null if nobody asks for times.
  at::Tensor lossOf(const Inputs& arguments, const at::Tensor& targets, LayerTimer* timer, at::Tensor* output);
  std::unique_ptr<LayerTimer> timerOfStep() const;
  void requireFiniteGradients(double norm, const Inputs& arguments, const at::Tensor& targets);
  [[noreturn]] void refuseLoss(double loss, const Inputs& arguments);
  void keepBuffers();
  void putBuffersBack();
  bool endEpoch(TrainingWatch& watch);
  // Sum of the losses of samples, where no metric judges.
  struct Judgement {
    double loss = 0;
    std::int64_t samples = 0;
  };
  void judge(const DataBatch& batch, Judgement* judgement);
  // The metric on all of the data for validation; nullopt if `watch` stopped it.
  std::optional<double> judgeAll(TrainingWatch& watch);
  bool hasMetric() const { return validation_ != nullptr; }

  torch::jit::Module module_;
  DataSet& data_;
  const DataSet* validation_;
  TrainingOptions options_;
  Loss loss_;
  std::vector<std::string> names_;
  std::vector<at::Tensor> parameters_;
  TrainingForward forward_;  // before the optimizer: states lie as their parameters do
  TrainingOptimizer optimizer_;
  std::int64_t per_epoch_;
  Schedule schedule_;
  std::optional<Metric> metric_;  // of the validation; none: the loss
  std::string data_fingerprint_;
  std::vector<std::pair<std::string, at::Tensor>> buffers_;  // before the step
  std::int64_t done_ = 0;
  std::int64_t resumed_at_ = 0;
  StepProfile profile_;
  std::string fault_;
  std::int64_t judged_ = 0;       // epochs whose end was seen
  double epoch_loss_ = 0;         // sum over steps of this epoch
  std::int64_t epoch_steps_ = 0;  // steps in it
  std::int64_t epoch_begin_ns_ = 0;
};

}  // namespace ipex_studio
