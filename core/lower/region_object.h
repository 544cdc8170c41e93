// Region objects seen through TorchScript alone: the class is registered by the operator library (kernels/torch).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/record/options.h"
#include "core/torch/torch_compat.h"

namespace ipex_studio {

c10::ClassTypePtr regionType();

// Makes an ipex_studio::Region. Throws Error(kBadModel) if text and constants do not fit.
torch::jit::IValue makeRegionObject(const std::string& plan_text, const std::vector<at::Tensor>& constants);

// Gives a region the code that it replaced (kernels/torch/plans/original_code.h).
void setOriginalCode(const torch::jit::IValue& region, const std::string& text, const std::vector<at::Tensor>& tensors);

// Returns the regions of an optimized module, in order of their number.
std::vector<torch::jit::IValue> regionObjects(const torch::jit::Module& module);

// Makes an ipex_studio::Tuning that all regions of the module share from now on; none if the options ask for nothing.
torch::jit::IValue tuneRegions(const torch::jit::Module& module, TuneMode mode, bool allow_winograd,
                               const std::string& record);

// Lets batches between these sizes run on the plan of the next larger one (kernels/torch/plans/plan_cache.h). Throws
// c10::Error.
void setBatchBuckets(const torch::jit::Module& module, const std::vector<std::int64_t>& buckets);

// The same for lengths, the sizes of axis 1.
void setLengthBuckets(const torch::jit::Module& module, const std::vector<std::int64_t>& buckets);

// Says how exports of the module meet sizes that they have not seen; with `from_now_on` the module itself does, too. It
// prepares a plan for each at once before.
void setNewSizes(const torch::jit::Module& module, NewSizesMode mode, bool from_now_on);

// Limits the time of measuring from now on; steps that it does not reach keep the known choice or the default.
void setTuningBudget(const torch::jit::IValue& tuning, double budget_s);

// Writes the weights that the regions of a module have packed in its runs, from byte `begin` of a file on
// (core/plan/prepared_weights.h); returns the offset of their end. Throws Error(kFailure).
std::int64_t savePreparedWeights(const torch::jit::Module& module, int fd, std::int64_t begin);

struct TuningProgress {
  std::int64_t done = 0, total = 0;  // steps
  std::int64_t spent_ns = 0;
};
// Thread-safe while the module runs. All zeros if `tuning` is None.
TuningProgress tuningProgress(const torch::jit::IValue& tuning);
// Returns the measurements as MemoryTuningStore's text; with `fresh` only those that were not known before.
std::string tuningRecord(const torch::jit::IValue& tuning, bool fresh);

// The remembered times of a region and of the interpreter for the same nodes.
struct RegionVerdict {
  bool given_up = false;  // the interpreter has them
  std::int64_t region_ns = 0, interpreter_ns = 0;
};
// The verdict of the tuning record for this number of threads; none if `tuning` is None or knows nothing. `region` says
// all that the times depend on beside machine and kernels.
std::optional<RegionVerdict> knownVerdict(const torch::jit::IValue& tuning, const std::string& region);
void rememberVerdict(const torch::jit::IValue& tuning, const std::string& region, const RegionVerdict& verdict);

// Calls a method without arguments ("start_profile", "stop_profile").
torch::jit::IValue callRegion(const torch::jit::IValue& region, const std::string& method);

}  // namespace ipex_studio
