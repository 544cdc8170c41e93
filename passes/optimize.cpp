#include "passes/optimize.h"

#include <fmt/format.h>
#include <torch/csrc/jit/passes/shape_analysis.h>

#include <algorithm>
#include <new>

#include "core/base/clock.h"
#include "core/base/error.h"
#include "core/base/freed_memory.h"
#include "core/graph/fused_op.h"
#include "core/graph/graph_heap.h"
#include "core/lower/bf16_products.h"
#include "core/lower/region_object.h"
#include "core/lower/regions.h"
#include "core/model/module_state.h"
#include "core/pipeline/graph_fault.h"
#include "core/pipeline/pipeline.h"
#include "core/quantization/quantizable_ops.h"
#include "core/record/warning_reasons.h"
#include "core/runtime/machine_facts.h"
#include "core/runtime/plan_device.h"
#include "core/torch/torch_error.h"
#include "passes/original_code.h"
#include "passes/pipeline.h"
#include "passes/slow_regions.h"

namespace ipex_studio {
namespace {

void requireSupported(const OptimizeOptions& options) {
  if (options.precision == Precision::kInt8 && options.quantization_recipe.empty()) {
    throw Error(ExitCode::kUsage, "INT8 needs a recipe: calibrate the model first (ipex-studio calibrate).");
  }
  if (!options.batch_buckets.empty() && !options.length_buckets.empty())
    throw Error(ExitCode::kUsage, "Buckets are for batches or for lengths; give one of the two.");
  IPEX_CHECK(!options.calibrate || options.precision == Precision::kFp32, "calibration runs in FP32");
}

// The device that the options ask for. The engine has opened its own.
Device& deviceOf(const OptimizeOptions& options) {
  return options.device == "cpu" || !planDevice().isHost() ? planDevice() : openDevice(options.device);
}

// A model with a node that cannot be run on its own still runs, and what needs no shapes is still rewritten.
void recordShapesOrSay(torch::jit::Module& module, const Inputs& example, std::vector<Remark>* remarks) {
  try {
    recordShapes(module, example);
  } catch (const Error& problem) {
    if (problem.code() != ExitCode::kUnsupported) throw;
    remarks->push_back({"record-shapes", RemarkKind::kMissed, reasons::kUnknownShape, problem.what(), {}});
  }
}

// Builds the regions of the graph. Returns what broke it, as a clause; empty: the graph is sound.
std::string buildSoundRegions(torch::jit::Graph& graph, OriginTable& origins, const LeftOut& left_out,
                              RegionResult* regions) {
  try {
    *regions = buildRegions(graph, origins, left_out);
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& error) {
    return fmt::format("it failed: {}", shortMessage(error));
  }
  const std::string fault = graphFault(graph);
  return fault.empty() ? fault : fmt::format("it broke the graph: {}", fault);
}

// The last pass: it needs the module, since a region's object becomes an attribute of it. If it breaks the graph, the
// module becomes a copy of `result.rewritten`.
void lowerToPlan(OriginTable& origins, int index, const OptimizeOptions& options, Observer& observer,
                 OptimizedModel& result) {
  auto graph = result.module.get_method("forward").graph();
  PassRecord record;
  record.index = index;
  record.name = kLowerToPlanName;
  record.summary = kLowerToPlanSummary;
  record.hash_before = graphHash(*graph);
  const std::int64_t begin = nowNs();
  // Calibration identifies the value that a step writes by the numbers that its plan was made with.
  OriginTable numbers;
  if (options.calibrate)
    result.calibration = std::make_shared<const CalibrationPlan>(planCalibration(*graph, origins, &numbers));
  const auto left_out = [&](const torch::jit::Node* node) {
    const auto& names = options.disabled_passes;
    return std::find(names.begin(), names.end(), rewriteName(kLowerToPlanName, origins.of(node))) != names.end();
  };
  RegionResult regions;
  const std::string fault =
      buildSoundRegions(*graph, options.calibrate ? numbers : origins,
                        options.disabled_passes.empty() ? LeftOut() : LeftOut(left_out), &regions);
  if (!fault.empty()) {
    const std::string text = fmt::format("Pass {} was left out: {}.", kLowerToPlanName, fault);
    if (options.calibrate) throw Error(ExitCode::kFailure, text);
    regions = {};
    regions.remarks.push_back({kLowerToPlanName, RemarkKind::kMissed, kLeftOutReason, text, {}});
    result.module = copyModule(result.rewritten.clone(/*inplace=*/true));
    graph = result.module.get_method("forward").graph();
  }
  if (options.calibrate) regions.remarks.clear();
  for (std::size_t r = 0; r < regions.attributes.size(); ++r) {
    const auto& [name, object] = regions.attributes[r];
    result.module.register_attribute(name, object.type(), object);
    if (options.calibrate) continue;  // observed once and thrown away
    if (const auto code = writeOriginalCode(regions.code[r])) setOriginalCode(object, code->text, code->tensors);
  }
  record.elapsed_ns = nowNs() - begin;
  record.hash_after = fault.empty() ? graphHash(*graph) : record.hash_before;
  record.changed = !regions.attributes.empty();
  record.rewrites = static_cast<std::int32_t>(regions.attributes.size());
  record.missed = std::max(0, static_cast<std::int32_t>(regions.remarks.size()) - record.rewrites);
  record.nodes_after = countNodes(*graph);
  if (record.changed) {
    record.snapshot = std::make_shared<const GraphSnapshot>(makeSnapshot(*graph, origins, index, kLowerToPlanName));
  }
  for (const Remark& remark : regions.remarks) observer.onRemark(remark);
  observer.onPass(record);
  result.coverage.nodes =
      regions.nodes_total == 0 ? 0 : static_cast<double>(regions.nodes_inside) / regions.nodes_total;
  // The interpreter has no device, so it takes nothing back that was asked to run on one.
  const bool judged = planDevice().isHost() && options.tune != TuneMode::kOff && !options.calibrate &&
                      !regions.attributes.empty() && !isDisabled(options, kEliminateSlowRegionName);
  if (judged) {
    result.regions = std::make_shared<RegionHistory>(
        RegionHistory{std::move(origins), std::move(regions.code), typesOf(*graph), regions.nodes_total});
  }
}

// All that is done to the graph; the plans of its regions come after it.
void rewriteModel(FrozenModel frozen, const OptimizeOptions& options, Observer& observer,
                  const std::function<bool()>& cancelled, OptimizedModel& result) {
  const GraphHeap heap;
  result.module = std::move(frozen.module);
  const auto graph = result.module.get_method("forward").graph();
  OriginTable origins;
  origins.assign(*graph);
  for (const Remark& remark : frozen.remarks) observer.onRemark(remark);
  result.nodes = countNodes(*graph);
  result.frozen = makeSnapshot(*graph, origins, 0, "frozen");
  result.origins = origins.origins();

  OptimizeOptions passes_only = options;
  if (!passes_only.capabilities) passes_only.capabilities = capabilitiesOf(deviceOf(options));
  // A model that was converted to BF16, or traced under autocast, computes so wherever that pays.
  if (options.precision == Precision::kFp32 && !options.calibrate && passes_only.capabilities->bf16 &&
      multipliesInBf16(*graph)) {
    passes_only.precision = Precision::kBf16;
  }
  auto& disabled = passes_only.disabled_passes;
  disabled.erase(std::remove_if(disabled.begin(), disabled.end(),
                                [](const std::string& name) {
                                  return name == kEliminateSlowRegionName || passOfRewrite(name) == kLowerToPlanName;
                                }),
                 disabled.end());
  const ConstantAttributes attributes(result.module, options.preserved_methods);
  const auto record_again = [&] { recordShapes(result.module, frozen.example); };
  result.rewrites =
      runPipeline(*graph, origins, defaultPasses(), passes_only, observer, cancelled, attributes, record_again);
  result.divisors = origins.divisors();
  result.rewritten = copyModule(result.module.clone(/*inplace=*/true));
  for (const torch::jit::Node* node : graph->nodes()) {
    if (node->kind() != c10::prim::Constant) result.rewritten_origins.push_back(origins.of(node));
  }
  for (const torch::jit::Node* node : allNodes(*graph)) {
    if (node->owningBlock() != graph->block()) result.inner_origins.push_back(origins.of(node));
    for (const torch::jit::Value* output : node->outputs()) result.rewritten_dtypes.push_back(knownDtype(output));
  }
  torch::jit::EraseShapeInformation(result.rewritten.get_method("forward").graph());
  if (options.plan_regions && !isDisabled(options, kLowerToPlanName)) {
    lowerToPlan(origins, static_cast<int>(defaultPasses().size()) + 1, options, observer, result);
  }
}

}  // namespace

FrozenModel freezeModel(const torch::jit::Module& module, const Inputs& example,
                        const std::vector<std::string>& preserved) {
  const torch::NoGradGuard no_grad;
  const std::int64_t begin = nowNs();
  FrozenModel frozen;
  frozen.module = freezeForPasses(module, preserved);
  frozen.example = example;
  recordShapesOrSay(frozen.module, example, &frozen.remarks);
  frozen.elapsed_ns = nowNs() - begin;
  return frozen;
}

OptimizedModel optimizeModel(FrozenModel frozen, const OptimizeOptions& options, Observer& observer,
                             const std::function<bool()>& cancelled) {
  requireSupported(options);
  const PlanDeviceScope on_device(deviceOf(options));
  const torch::NoGradGuard no_grad;
  const std::int64_t begin = nowNs() - frozen.elapsed_ns;
  OptimizedModel result;
  try {
    rewriteModel(std::move(frozen), options, observer, cancelled, result);
    if (!options.batch_buckets.empty()) setBatchBuckets(result.module, options.batch_buckets);
    if (!options.length_buckets.empty()) setLengthBuckets(result.module, options.length_buckets);
    setNewSizes(result.module, options.new_sizes, /*from_now_on=*/false);
    result.tuning = tuneRegions(result.module, options.tune, options.allow_winograd, options.tuning_record);
    // The example's sizes must not reach the interpreter's own optimizer as truths.
    torch::jit::EraseShapeInformation(result.module.get_method("forward").graph());
  } catch (const c10::Error& problem) {
    throw runError(problem);
  }
  returnFreedMemory();  // graphs as they were, and what was folded
  result.compile_ns = nowNs() - begin;
  return result;
}

OptimizedModel optimizeModel(const torch::jit::Module& module, const Inputs& example, const OptimizeOptions& options,
                             Observer& observer, const std::function<bool()>& cancelled) {
  requireSupported(options);
  try {
    return optimizeModel(freezeModel(module, example, options.preserved_methods), options, observer, cancelled);
  } catch (const c10::Error& problem) {
    throw runError(problem);
  }
}

torch::jit::Module optimize(const torch::jit::Module& module, const Inputs& example, const OptimizeOptions& options) {
  Observer silent;
  OptimizedModel optimized = optimizeModel(module, example, options, silent);
  try {
    eliminateSlowRegions(optimized, example, options, silent);
    setNewSizes(optimized.module, options.new_sizes, /*from_now_on=*/true);
  } catch (const c10::Error& problem) {
    throw runError(problem);
  }
  return optimized.module;
}

}  // namespace ipex_studio
