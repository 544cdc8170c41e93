// Makes the many models, up to hundreds, that a search over precisions tries.
#pragma once

#include "core/model/module_state.h"
#include "passes/optimize.h"
#include "studio/engine/channel.h"

namespace ipex_studio {

// One model. libtorch keeps the compiled code of a method as long as anything refers to it, so the destructor releases
// the methods.
struct BuiltModel {
  explicit BuiltModel(OptimizedModel made) : model(std::move(made)), state(model.module) {}
  ~BuiltModel();
  BuiltModel(const BuiltModel&) = delete;
  BuiltModel& operator=(const BuiltModel&) = delete;

  torch::jit::Module& module() { return model.module; }

  OptimizedModel model;
  const ModuleState state;  // as in the file
};

// Builds models. Kernel times measured for one model are known to later ones, since most of their steps are the same,
// and are sent to the studio, so that the exported model gets the kernels that were timed here. Not thread-safe.
class SearchModels {
 public:
  // Every argument must outlive this object.
  SearchModels(const EngineJob& job, const torch::jit::Module& module, const Inputs& example, Channel& channel)
      : job_(job), module_(module), example_(example), channel_(channel), tuning_record_(job.optimize.tuning_record) {}

  // The job's options without dumps and recipe, which belong to the whole job.
  OptimizeOptions options(Precision precision, TuneMode tune) const;
  // A model with kernels chosen by rules of thumb. `recipe`: read in INT8 only. Throws what optimizeModel throws.
  BuiltModel build(Precision precision, const std::string& recipe) const;
  // A model with kernels measured as the job says, which has run once and begins with
  // the file's state.
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
