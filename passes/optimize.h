// The one call most users need, and the pieces it is made of. Include this and link ipex_studio::ipex_studio.
//
//   torch::jit::Module fast = ipex_studio::optimize(module, {example}, {});
//   fast.forward({x});                      // same results, fused and planned
//   ipex_studio::exportModule(fast, "fast.pt", ipex_studio::ExportForm::kCompiled);
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/model/model.h"
#include "core/quantization/calibration_plan.h"

namespace ipex_studio {

// The last pass, after defaultPasses(): it needs the module, since regions become attributes of it.
inline constexpr const char kLowerToPlanName[] = "lower-to-plan";
inline constexpr const char kLowerToPlanSummary[] = "Turn each static part of the graph into one compiled plan.";

// The pass after it, once kernels are chosen: eliminateSlowRegions().
inline constexpr const char kEliminateSlowRegionName[] = "eliminate-slow-region";
inline constexpr const char kEliminateSlowRegionSummary[] =
    "Give the nodes of regions that lose against the interpreter back to it.";

struct RegionHistory;

struct OptimizedModel {
  torch::jit::Module module;     // regions are single nodes; ready to run and to export as `compiled`
  torch::jit::Module rewritten;  // after all passes, before regions: fused operators in plain TorchScript
  std::vector<std::vector<OriginId>> rewritten_origins;  // of its nodes in order, without constants
  std::vector<std::vector<OriginId>> inner_origins;      // of the nodes inside of its blocks, as allNodes has them
  std::vector<std::optional<at::ScalarType>>
      rewritten_dtypes;  // of its values, as allNodes has them; its graph says none
  std::vector<Origin> origins;
  std::unordered_map<OriginId, at::Tensor> divisors;   // OriginTable::divisors()
  GraphSnapshot frozen;                                // before any pass
  int nodes = 0;                                       // of the frozen graph
  RewriteCount rewrites;                               // of all passes before lower-to-plan
  Coverage coverage;                                   // nodes; time is filled by measuring
  std::shared_ptr<const CalibrationPlan> calibration;  // OptimizeOptions::calibrate; else null
  torch::jit::IValue tuning;  // region_object.h: what regions measure when they first run; none where they do not
  std::int64_t compile_ns = 0;
  std::string method;  // exported method that stands in the place of forward; exports give both their names back
  std::shared_ptr<RegionHistory> regions;  // for eliminateSlowRegions(); null where there is nothing for it to do
  std::string preprocess;  // TOML (core/data/preprocess.h) that goes into exports as extra/preprocess.toml; empty: none
};

// The start of optimizeModel, whatever its options are: a frozen module, run once so that shapes are known. A caller
// that waits for a decision may make it ahead. It serves one call, since rewriting changes the module.
struct FrozenModel {
  torch::jit::Module module;
  Inputs example;
  std::vector<Remark> remarks;  // on what could not be run
  std::int64_t elapsed_ns = 0;
};
// Throws Error, c10::Error. Not thread-safe on the same module, which stays as it is.
FrozenModel freezeModel(const torch::jit::Module& module, const Inputs& example,
                        const std::vector<std::string>& preserved);
OptimizedModel optimizeModel(FrozenModel frozen, const OptimizeOptions& options, Observer& observer,
                             const std::function<bool()>& cancelled = {});

// Gives the nodes of a region back to the interpreter where that computes them in clearly less time: as the tuning
// record remembers, else as measured by turns on `example`, for a share of the time that tuning takes. Regions choose
// their kernels before they are measured. Reports one pass, with remarks. Does nothing without tuning. To be called
// before the module first runs, whose attributes stay as they are. Throws c10::Error.
void eliminateSlowRegions(OptimizedModel& model, const Inputs& example, const OptimizeOptions& options,
                          Observer& observer);

// Freezes, rewrites and plans. `example` gives the shapes seen first; other shapes work and are planned when they come.
// `observer` gets passes, remarks, and plan steps. `cancelled` may be empty. Throws Error. Not thread-safe on the same
// module; the result may be run from several threads.
OptimizedModel optimizeModel(const torch::jit::Module& module, const Inputs& example, const OptimizeOptions& options,
                             Observer& observer, const std::function<bool()>& cancelled = {});
torch::jit::Module optimize(const torch::jit::Module& module, const Inputs& example,
                            const OptimizeOptions& options = {});

// Writes the file; the parent folder must exist. kPortable writes fused operators out again in stock operators, and
// operators that `only` lacks in those that it lists ("aten::relu"); empty: all are there. Throws Error(kUnsupported)
// that names nodes for which there is no way.
void exportModule(const OptimizedModel& model, const std::string& path, ExportForm form,
                  const std::vector<std::string>& only = {});
void exportModule(const OptimizedModel& model, std::ostream& stream, ExportForm form,
                  const std::vector<std::string>& only = {});

}  // namespace ipex_studio
