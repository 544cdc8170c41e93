#include "kernels/torch/plans/region.h"

#include "core/base/error.h"
#include "core/op/plan_spec.h"
#include "core/record/records_json.h"
#include "kernels/torch/plans/prepared_files.h"

namespace ipex_studio {

Region::Region(const std::string& plan_text, std::vector<at::Tensor> constants)
    : plans_(planSpecFromText(plan_text), std::move(constants)) {}

Region::State Region::state() const {
  return {planSpecToText(plans_.spec()), plans_.constants(), IPEX_STUDIO_VERSION, plans_.tuningRecord(),
          plans_.batchBuckets()};
}

Region::State Region::stateFrom(const c10::IValue& saved) {
  std::vector<c10::IValue> parts;
  if (saved.isTuple()) {
    for (const c10::IValue& part : saved.toTupleRef().elements()) parts.push_back(part);
  }
  const bool fits = parts.size() >= 4 && parts.size() <= 5 && parts[0].isString() && parts[1].isTensorList() &&
                    parts[2].isString() && parts[3].isString() && (parts.size() == 4 || parts[4].isIntList());
  if (!fits) {
    const std::string writer = parts.size() > 2 && parts[2].isString() ? " (" + parts[2].toStringRef() + ")" : "";
    throw Error(ExitCode::kBadModel,
                "The regions in this file were written by another version of ipex-studio" + writer +
                    ", which this one (" IPEX_STUDIO_VERSION ") does not read; export the model again.");
  }
  std::vector<std::int64_t> buckets;
  if (parts.size() == 5) buckets = parts[4].toIntVector();
  return {parts[0].toStringRef(), parts[1].toTensorVector(), parts[2].toStringRef(), parts[3].toStringRef(),
          std::move(buckets)};
}

Region::Packed Region::packed() const {
  std::vector<WeightCache::Packed> buffers;
  const PreparedRegion region = plans_.packedRegion(&buffers);
  const auto kept = std::make_shared<const std::vector<WeightCache::Packed>>(std::move(buffers));
  Packed packed;
  std::get<0>(packed) = preparedMachine();
  std::get<1>(packed) = region.id;
  for (const PreparedRegion::Weight& weight : region.weights) {
    for (const std::uint64_t number : {weight.constant, std::uint64_t{weight.constant_crc}, weight.offset}) {
      std::get<2>(packed).push_back(static_cast<std::int64_t>(number));
    }
    std::get<3>(packed).push_back(weight.form);
    std::get<4>(packed).push_back(at::from_blob(
        const_cast<void*>(weight.data), {static_cast<std::int64_t>(weight.bytes)}, [kept](void*) {}, at::kByte));
  }
  return packed;
}

void Region::startProfile() {
  profile_ = std::make_shared<PlanProfile>();
  plans_.setProfile(profile_);
}

std::string Region::stopProfile() {
  plans_.setProfile(nullptr);
  const std::shared_ptr<PlanProfile> profile = std::exchange(profile_, nullptr);
  if (!profile || profile->steps.empty()) return "{}";
  nlohmann::json out = {{"begin_ns", profile->begin_ns}, {"elapsed_ns", profile->elapsed_ns}};
  out["steps"] = nlohmann::json::array();
  out["dispatches"] = nlohmann::json::array();
  for (const StepRecord& step : profile->steps) out["steps"].push_back(toJson(step));
  for (const DispatchRecord& dispatch : profile->dispatches) out["dispatches"].push_back(toJson(dispatch));
  return dumpJson(out);
}

}  // namespace ipex_studio
