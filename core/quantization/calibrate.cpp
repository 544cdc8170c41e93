// The calibration runs: observers at the values of plans, state to resume from, and the final recipe.
#include "core/quantization/calibrate.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "core/base/error.h"
#include "core/lower/region_object.h"
#include "core/model/run_mode.h"
#include "core/plan/value_source.h"
#include "core/record/records_json.h"
#include "core/torch/torch_error.h"

namespace ipex_studio {
namespace {

using nlohmann::json;

constexpr const char kStateFormat[] = "ipex-studio-calibration";

ValueSource& sourceOf(const torch::jit::IValue& region) {
  const auto holder = region.toObject()->getSlot(0).toCapsule();
  auto* source = dynamic_cast<ValueSource*>(holder.get());
  IPEX_CHECK(source != nullptr, "a region shows its values");
  return *source;
}

bool isFinite(const torch::jit::IValue& value) {
  if (!value.isTensor() || !value.toTensor().defined() || !at::isFloatingType(value.toTensor().scalar_type()))
    return true;
  // NaN and infinity survive a sum; finite values of FP32 do not overflow a sum in FP64.
  const at::Tensor tensor = value.toTensor();
  return tensor.isfinite().all().item<bool>();
}

}  // namespace

struct Calibrator::Impl {
  torch::jit::Module module;
  CalibrationPlan plan;
  CalibrationOptions options;
  std::vector<torch::jit::IValue> regions;
  std::vector<std::unordered_map<std::int32_t, int>> points;  // per region: value number to point
  std::vector<ValueObserver> observers;                       // per point
  std::int64_t calls = 0;

  Impl(torch::jit::Module given, CalibrationPlan what, CalibrationOptions how)
      : module(std::move(given)),
        plan(std::move(what)),
        options(how),
        regions(regionObjects(module)),
        observers(plan.points.size()) {
    std::vector<bool> taken(plan.points.size(), false);
    for (const auto& region : regions) points.push_back(resultsOf(sourceOf(region).planSpec(), &taken));
    for (std::size_t r = 0; r < regions.size(); ++r) addInputs(sourceOf(regions[r]).planSpec(), &taken, &points[r]);
  }

  int pointOf(OriginId number, bool of_result, std::size_t operand) const {
    if (number < 0 || static_cast<std::size_t>(number) >= plan.results.size()) return -1;
    const CalibrationResult& result = plan.results[static_cast<std::size_t>(number)];
    if (of_result) return result.point;
    return operand < result.operands.size() ? result.operands[operand] : -1;
  }

  // Maps the values that steps write to observation points. The last of several operations of a node gives its result.
  std::unordered_map<std::int32_t, int> resultsOf(const PlanSpec& spec, std::vector<bool>* taken) const {
    std::unordered_map<int, std::int32_t> last;  // point to value
    for (const PlanNode& node : spec.nodes) {
      if (node.is_int) continue;
      for (std::size_t d = 0; d < node.dst.size() && d < node.origins.size(); ++d) {
        const int point = pointOf(node.origins[d], true, 0);
        if (point >= 0) last[point] = node.dst[d];
      }
    }
    std::unordered_map<std::int32_t, int> found;
    for (const auto& [point, value] : last) {
      found[value] = point;
      (*taken)[static_cast<std::size_t>(point)] = true;
    }
    return found;
  }

  // Adds values from outside of all regions; the first region that reads one observes it.
  void addInputs(const PlanSpec& spec, std::vector<bool>* taken, std::unordered_map<std::int32_t, int>* found) const {
    for (const PlanNode& node : spec.nodes) {
      if (node.is_int || node.origins.empty()) continue;
      for (std::size_t s = 0; s < node.src.size(); ++s) {
        const bool is_input = node.src[s] >= 0 && static_cast<std::size_t>(node.src[s]) < spec.inputs.size();
        const int point = is_input ? pointOf(node.origins[0], false, s) : -1;
        if (point < 0 || (*taken)[static_cast<std::size_t>(point)]) continue;
        (*taken)[static_cast<std::size_t>(point)] = true;
        (*found)[node.src[s]] = point;
      }
    }
  }

  void hook(bool on) {
    for (std::size_t r = 0; r < regions.size(); ++r) {
      if (!on) {
        sourceOf(regions[r]).setValueHook({});
        continue;
      }
      sourceOf(regions[r]).setValueHook([this, r](std::int32_t value, const TensorDesc& desc, const void* data) {
        const auto found = points[r].find(value);
        if (found == points[r].end() || desc.dtype != DType::kF32) return;
        const auto point = static_cast<std::size_t>(found->second);
        const bool channels = calls < options.channel_calls;
        observers[point].observe(desc, static_cast<const float*>(data),
                                 channels ? plan.points[point].channel_axis : -1);
      });
    }
  }

  json signature() const {
    json keys = json::array();
    for (const CalibrationPoint& point : plan.points) keys.push_back(point.key);
    return {
        {"keys", std::move(keys)}, {"channel_calls", options.channel_calls}, {"equalization", options.equalization}};
  }
};

Calibrator::Calibrator(torch::jit::Module module, CalibrationPlan plan, CalibrationOptions options)
    : impl_(std::make_unique<Impl>(std::move(module), std::move(plan), options)) {}

Calibrator::~Calibrator() = default;

std::int64_t Calibrator::calls() const { return impl_->calls; }

torch::jit::IValue Calibrator::observe(const Inputs& inputs) {
  const RunMode mode(impl_->module);
  for (const auto& input : inputs) {
    if (!isFinite(input))
      throw Error(ExitCode::kUsage, fmt::format("Sample {} holds NaN or infinity; leave it out.", impl_->calls));
  }
  impl_->hook(true);
  torch::jit::IValue result;
  try {
    result = impl_->module.forward(inputs);
  } catch (const c10::Error& problem) {
    impl_->hook(false);
    throw runError(problem);
  } catch (const std::runtime_error& problem) {
    impl_->hook(false);
    throw runError(problem);
  }
  impl_->hook(false);
  ++impl_->calls;
  return result;
}

std::string Calibrator::state() const {
  json out = {{"format", kStateFormat}, {"version", 1}, {"calls", impl_->calls}, {"signature", impl_->signature()}};
  out["observers"] = json::array();
  for (const ValueObserver& observer : impl_->observers) out["observers"].push_back(observer.state());
  return dumpJson(out);
}

void Calibrator::restore(const std::string& text) {
  const auto refuse = [](const char* why) {
    throw Error(ExitCode::kUsage,
                fmt::format("The calibration cannot go on: its saved state {}; delete it and start again.", why));
  };
  std::vector<ValueObserver> observers;
  std::int64_t calls = 0;
  try {
    const json in = parseRecordText(text);
    if (!in.is_object() || in.value("format", "") != kStateFormat || in.value("version", 0) != 1)
      refuse("is no state of this version");
    if (in.at("signature") != impl_->signature()) refuse("belongs to another model or other options");
    calls = in.at("calls").get<std::int64_t>();
    for (const json& entry : in.at("observers")) observers.push_back(ValueObserver::fromState(entry));
  } catch (const json::exception&) {
    refuse("is damaged");
  } catch (const Error& problem) {
    if (problem.code() == ExitCode::kUsage) throw;
    refuse("is damaged");
  }
  if (calls < 0 || observers.size() != impl_->observers.size()) refuse("is damaged");
  impl_->observers = std::move(observers);
  impl_->calls = calls;
}

Recipe Calibrator::finish() const {
  const CalibrationPlan& plan = impl_->plan;
  if (impl_->calls == 0)
    throw Error(ExitCode::kUsage, "Nothing was calibrated: the data set is empty; give at least one sample.");
  Recipe recipe;
  recipe.observer = impl_->options.observer;
  recipe.samples = impl_->calls;
  recipe.bias_correction = impl_->options.bias_correction;
  recipe.smooth_alpha = impl_->options.smooth_alpha;
  recipe.equalization = impl_->options.equalization;
  for (std::size_t p = 0; p < plan.points.size(); ++p) {
    const ValueObserver& observer = impl_->observers[p];
    if (observer.count() == 0) continue;
    RecipeValue value;
    value.key = plan.points[p].key;
    value.least = observer.least();
    value.greatest = observer.greatest();
    value.count = observer.count();
    value.nan = observer.nanCount();
    value.inf = observer.infCount();
    ObserverOptions how = recipe.observer;
    if (how.kind == ObserverKind::kAuto && !plan.points[p].clip) how.kind = ObserverKind::kMinMax;
    const ValueRange range = observer.range(how);
    const AffineParameters affine = affineParameters(range);
    value.low = range.low;
    value.high = range.high;
    value.scale = affine.scale;
    value.zero_point = affine.zero_point;
    value.channel_mean = observer.channelMean();
    value.channel_absmax = observer.channelAbsmax();
    recipe.values.push_back(std::move(value));
  }
  recipe.nodes = plan.candidates;
  for (std::size_t n = 0; n < recipe.nodes.size(); ++n) {
    std::vector<int> needed = plan.reads[n];
    needed.push_back(plan.writes[n]);
    for (const int point : needed) {
      const ValueObserver* observer = point < 0 ? nullptr : &impl_->observers[static_cast<std::size_t>(point)];
      if (observer == nullptr || observer->count() == 0 || observer->nanCount() + observer->infCount() == 0) continue;
      recipe.nodes[n].precision = "fp32";
      recipe.nodes[n].reason = fmt::format("its values held NaN or infinity ({} of {})",
                                           observer->nanCount() + observer->infCount(), observer->count());
    }
  }
  return recipe;
}

}  // namespace ipex_studio
