// The hundred models that a search over precisions makes of one.
#pragma once

#include "passes/optimize.h"
#include "studio/engine/channel.h"

namespace ipex_studio {

// One of them. libtorch keeps what a method was compiled to as long as anybody refers to it, so that is let go.
struct BuiltModel {
  explicit BuiltModel(OptimizedModel made) : model(std::move(made)) {}
  ~BuiltModel();
  BuiltModel(const BuiltModel&) = delete;
  BuiltModel& operator=(const BuiltModel&) = delete;

  torch::jit::Module& module() { return model.module; }

  OptimizedModel model;
};

// Makes them. What is measured to choose kernels for one is known to those after it, and sent to the studio: most of their
// steps are the same, and the model that is exported in the end has the kernels that were timed here. Not thread-safe.
class SearchModels {
 public:
  // All of them outlive this.
  SearchModels(const EngineJob& job, const torch::jit::Module& module, const Inputs& example, Channel& channel)
      : job_(job), module_(module), example_(example), channel_(channel), tuning_record_(job.optimize.tuning_record) {}

  // The job's, without what only the whole job writes.
  OptimizeOptions options(Precision precision, TuneMode tune) const;
  // `recipe`: read in INT8 only. Kernels by rules of thumb. Throws what optimizeModel throws.
  BuiltModel build(Precision precision, const std::string& recipe) const;
  // The same with kernels measured as the job says; it has run once.
  BuiltModel buildTuned(Precision precision, const std::string& recipe);

 private:
  OptimizedModel make(Precision precision, const std::string& recipe, TuneMode tune) const;

  const EngineJob& job_;
  const torch::jit::Module& module_;
  const Inputs& example_;
  Channel& channel_;
  std::string tuning_record_;
};

}  // namespace ipex_studio
