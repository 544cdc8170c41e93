// Calls of the constructors and methods that the operator library registered.
#include "core/lower/region_object.h"

#include <torch/custom_class.h>

#include "core/base/error.h"
#include "core/plan/prepared_weights.h"
#include "core/record/option_names.h"

namespace ipex_studio {

using torch::jit::IValue;

c10::ClassTypePtr regionType() {
  const c10::ClassTypePtr type = torch::getCustomClass("__torch__.torch.classes.ipex_studio.Region");
  IPEX_CHECK(type != nullptr, "libipex_studio_ops is linked");
  return type;
}

IValue makeRegionObject(const std::string& plan_text, const std::vector<at::Tensor>& constants) {
  const c10::ClassTypePtr type = regionType();
  IValue object(c10::ivalue::Object::create(c10::StrongTypePtr(nullptr, type), 1));
  torch::jit::Stack stack{object, plan_text, constants};
  type->getMethod("__init__").run(stack);
  return object;
}

std::vector<IValue> regionObjects(const torch::jit::Module& module) {
  std::vector<IValue> regions;
  for (std::size_t index = 0; module.hasattr("region_" + std::to_string(index)); ++index) {
    IValue region = module.attr("region_" + std::to_string(index));
    if (!region.isObject() || region.toObject()->type() != regionType()) break;
    regions.push_back(std::move(region));
  }
  return regions;
}

namespace {

IValue callMethod(const IValue& object, const std::string& method, std::vector<IValue> arguments) {
  torch::jit::Stack stack{object};
  stack.insert(stack.end(), arguments.begin(), arguments.end());
  object.toObject()->type()->getMethod(method).run(stack);
  return stack.empty() ? IValue() : stack.back();
}

}  // namespace

void setOriginalCode(const IValue& region, const std::string& text, const std::vector<at::Tensor>& tensors) {
  callMethod(region, "set_original_code", {text, tensors});
}

IValue tuneRegions(const torch::jit::Module& module, TuneMode mode, bool allow_winograd, const std::string& record) {
  const std::vector<IValue> regions = regionObjects(module);
  if (regions.empty() || mode == TuneMode::kOff) return {};
  const c10::ClassTypePtr type = torch::getCustomClass("__torch__.torch.classes.ipex_studio.Tuning");
  IPEX_CHECK(type != nullptr, "libipex_studio_ops is linked");
  IValue tuning(c10::ivalue::Object::create(c10::StrongTypePtr(nullptr, type), 1));
  callMethod(tuning, "__init__", {mode == TuneMode::kFull ? "full" : "quick", allow_winograd, record});
  for (const IValue& region : regions) callMethod(region, "set_tuning", {tuning});
  return tuning;
}

void setBatchBuckets(const torch::jit::Module& module, const std::vector<std::int64_t>& buckets) {
  for (const IValue& region : regionObjects(module)) callMethod(region, "set_batch_buckets", {buckets});
}

void setLengthBuckets(const torch::jit::Module& module, const std::vector<std::int64_t>& buckets) {
  for (const IValue& region : regionObjects(module)) callMethod(region, "set_length_buckets", {buckets});
}

void setNewSizes(const torch::jit::Module& module, NewSizesMode mode, bool from_now_on) {
  for (const IValue& region : regionObjects(module))
    callMethod(region, "set_new_sizes", {std::string(enumName(mode)), from_now_on});
}

void setTuningBudget(const IValue& tuning, double budget_s) {
  if (!tuning.isNone()) callMethod(tuning, "set_budget", {budget_s});
}

TuningProgress tuningProgress(const IValue& tuning) {
  if (tuning.isNone()) return {};
  const std::vector<std::int64_t> numbers = callMethod(tuning, "progress", {}).toIntVector();
  return {numbers.at(0), numbers.at(1), numbers.at(2)};
}

std::string tuningRecord(const IValue& tuning, bool fresh) {
  return tuning.isNone() ? std::string() : callMethod(tuning, "record", {fresh}).toStringRef();
}

std::optional<RegionVerdict> knownVerdict(const IValue& tuning, const std::string& region) {
  if (tuning.isNone()) return std::nullopt;
  const std::vector<std::int64_t> known = callMethod(tuning, "verdict", {region}).toIntVector();
  if (known.size() != 3) return std::nullopt;
  return RegionVerdict{known[0] != 0, known[1], known[2]};
}

void rememberVerdict(const IValue& tuning, const std::string& region, const RegionVerdict& verdict) {
  callMethod(tuning, "put_verdict", {region, verdict.given_up, verdict.region_ns, verdict.interpreter_ns});
}

IValue callRegion(const IValue& region, const std::string& method) { return callMethod(region, method, {}); }

std::int64_t savePreparedWeights(const torch::jit::Module& module, int fd, std::int64_t begin) {
  std::string machine;
  std::vector<PreparedRegion> prepared;
  std::vector<IValue> keep;
  for (const IValue& region : regionObjects(module)) {
    keep.push_back(callRegion(region, "packed"));
    std::vector<IValue> parts;
    for (const IValue& part : keep.back().toTupleRef().elements()) parts.push_back(part);
    machine = parts.at(0).toStringRef();
    const std::vector<std::int64_t> places = parts.at(2).toIntVector();
    const c10::ArrayRef<IValue> forms = parts.at(3).toListRef();
    const std::vector<at::Tensor> bytes = parts.at(4).toTensorVector();
    PreparedRegion& own = prepared.emplace_back();
    own.id = parts.at(1).toStringRef();
    for (std::size_t w = 0; w < bytes.size(); ++w) {
      own.weights.push_back({static_cast<std::uint64_t>(places.at(3 * w)),
                             static_cast<std::uint32_t>(places.at(3 * w + 1)),
                             static_cast<std::uint64_t>(places.at(3 * w + 2)), forms[w].toStringRef(),
                             bytes[w].data_ptr(), static_cast<std::size_t>(bytes[w].numel())});
    }
  }
  return writePreparedWeights(fd, begin, machine, prepared);
}

}  // namespace ipex_studio
