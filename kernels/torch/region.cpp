#include "kernels/torch/region.h"

#include "core/plan/plan_spec.h"
#include "core/plan/records_json.h"

namespace ipex_studio {

Region::Region(const std::string& plan_text, std::vector<at::Tensor> constants)
    : plans_(planSpecFromText(plan_text), std::move(constants)) {}

Region::State Region::state() const {
  return {planSpecToText(plans_.spec()), plans_.constants(), IPEX_STUDIO_VERSION, plans_.tuningRecord()};
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
