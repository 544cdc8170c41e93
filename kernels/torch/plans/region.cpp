#include "kernels/torch/plans/region.h"

#include <algorithm>

#include "core/base/clock.h"
#include "core/base/error.h"
#include "core/op/plan_spec.h"
#include "core/record/option_names.h"
#include "core/record/original_code_step.h"
#include "core/record/records_json.h"
#include "core/torch/tensor_bridge.h"
#include "kernels/torch/plans/prepared_files.h"

namespace ipex_studio {

Region::Region(const std::string& plan_text, std::vector<at::Tensor> constants)
    : plans_(planSpecFromText(plan_text), std::move(constants)), integers_(plans_.spec()) {}

Region::State Region::state() const {
  return {planSpecToText(plans_.spec()),
          plans_.constants(),
          IPEX_STUDIO_VERSION,
          plans_.tuningRecord(),
          plans_.batchBuckets(),
          original_code_ ? original_code_->text() : std::string(),
          original_code_ ? original_code_->tensors() : std::vector<at::Tensor>(),
          enumName(new_sizes_),
          plans_.lengthBuckets()};
}

void Region::setOriginalCode(const std::string& text, std::vector<at::Tensor> tensors) {
  original_code_ = text.empty() ? nullptr : std::make_unique<OriginalCode>(text, std::move(tensors));
  plans_.setRefusesNan(original_code_ != nullptr);
}

void Region::setNewSizes(const std::string& mode, bool from_now_on) {
  new_sizes_ = enumFromName<NewSizesMode>(mode).value_or(NewSizesMode::kReturning);
  if (from_now_on) plans_.setNewSizes(original_code_ ? new_sizes_ : NewSizesMode::kAtOnce);
}

void Region::run(c10::ArrayRef<const at::Tensor*> tensors, at::IntArrayRef sizes, at::Tensor* results) {
  if (!integers_.fit(tensors)) return runOtherIntegers(tensors, sizes, results);
  runPlanned(tensors, sizes, results);
}

void Region::runOtherIntegers(c10::ArrayRef<const at::Tensor*> tensors, at::IntArrayRef sizes, at::Tensor* results) {
  const auto converted = integers_.converted(tensors);
  if (!converted) return runPlanned(tensors, sizes, results);  // says what it takes
  std::vector<const at::Tensor*> pointers;
  for (const at::Tensor& tensor : *converted) pointers.push_back(&tensor);
  runPlanned(pointers, sizes, results);
}

void Region::runPlanned(c10::ArrayRef<const at::Tensor*> tensors, at::IntArrayRef sizes, at::Tensor* results) {
  PlanCache::NoRun no_run;
  try {
    if (plans_.tryRun(tensors, sizes, results, &no_run, original_code_ != nullptr)) return;
    if (no_run.postponed) {
      if (runBeforePlan(tensors, sizes, results) || plans_.tryRun(tensors, sizes, results, &no_run)) return;
    }
    if (!original_code_) throw Error(ExitCode::kFailure, no_run.why);
  } catch (const std::exception& problem) {
    if (!original_code_ || !plans_.isTypedFor(tensors)) throw;
    no_run.why = problem.what();
  }
  runOriginalCode(tensors, sizes, results, no_run.why);
}

// Computes the results as plans leave them: row-major, and in memory of their own.
std::vector<at::Tensor> Region::computeOriginal(c10::ArrayRef<const at::Tensor*> tensors, at::IntArrayRef sizes) {
  std::vector<at::Tensor> results = original_code_->run(tensors, sizes, plans_.constants());
  if (results.size() != plans_.spec().outputs.size()) {
    throw Error(ExitCode::kBadModel,
                "The original code of a region in this file has another number of results; export the model again.");
  }
  for (at::Tensor& result : results) {
    const bool own = result.use_count() == 1 && result.has_storage() && result.storage().use_count() == 1;
    if (!own || !result.is_contiguous()) result = result.clone(at::MemoryFormat::Contiguous);
  }
  return results;
}

// False if the original code cannot compute them.
bool Region::runBeforePlan(c10::ArrayRef<const at::Tensor*> tensors, at::IntArrayRef sizes, at::Tensor* results) try {
  const std::int64_t begin = nowNs();
  std::vector<at::Tensor> computed = computeOriginal(tensors, sizes);
  plans_.ranOtherwise(tensors, nowNs() - begin);
  std::move(computed.begin(), computed.end(), results);
  return true;
} catch (const std::exception&) {
  return false;
}

void Region::runOriginalCode(c10::ArrayRef<const at::Tensor*> tensors, at::IntArrayRef sizes, at::Tensor* results,
                             const std::string& why) {
  const std::int64_t begin = nowNs();
  std::vector<at::Tensor> computed = computeOriginal(tensors, sizes);
  std::move(computed.begin(), computed.end(), results);
  if (!warned_.exchange(true)) warnOnce("A part of this model runs its original code, which is slower: " + why);
  if (profile_ && !plans_.spec().outputs.empty()) recordOriginalCode(results[0], why, begin, nowNs() - begin);
}

void Region::recordOriginalCode(const at::Tensor& result, const std::string& why, std::int64_t begin_ns,
                                std::int64_t elapsed_ns) {
  if (profile_->steps.size() != 1 || profile_->steps[0].kernel != kOriginalCodeKernel) {
    StepRecord step;
    step.kind = "original code";
    step.kernel = kOriginalCodeKernel;
    step.dst_shape = descOf(result).dims.str();
    std::string last;
    for (const PlanNode& node : plans_.spec().nodes) {
      if (node.is_int) continue;
      (step.name.empty() ? step.name : last) = node.name;
      step.origins.insert(step.origins.end(), node.origins.begin(), node.origins.end());
    }
    if (!last.empty()) step.name += " … " + last;
    std::sort(step.origins.begin(), step.origins.end());
    step.origins.erase(std::unique(step.origins.begin(), step.origins.end()), step.origins.end());
    *profile_ = {};
    profile_->steps = {step};
    profile_->dispatches = {{0, "plan", "", false, why, 0, 0}, {0, kOriginalCodeKernel, "", true, "chosen", 0, 0}};
    profile_->begin_ns.resize(1);
    profile_->elapsed_ns.resize(1);
  }
  profile_->begin_ns[0].push_back(begin_ns);
  profile_->elapsed_ns[0].push_back(elapsed_ns);
}

Region::State Region::stateFrom(const c10::IValue& saved) {
  std::vector<c10::IValue> parts;
  if (saved.isTuple()) {
    for (const c10::IValue& part : saved.toTupleRef().elements()) parts.push_back(part);
  }
  const bool fits = (parts.size() == 4 || parts.size() == 5 || (parts.size() >= 7 && parts.size() <= 9)) &&
                    parts[0].isString() && parts[1].isTensorList() && parts[2].isString() && parts[3].isString() &&
                    (parts.size() == 4 || parts[4].isIntList()) &&
                    (parts.size() < 7 || (parts[5].isString() && parts[6].isTensorList())) &&
                    (parts.size() < 8 || parts[7].isString()) && (parts.size() < 9 || parts[8].isIntList());
  if (!fits) {
    const std::string writer = parts.size() > 2 && parts[2].isString() ? " (" + parts[2].toStringRef() + ")" : "";
    throw Error(ExitCode::kBadModel,
                "The regions in this file were written by another version of ipex-studio" + writer +
                    ", which this one (" IPEX_STUDIO_VERSION ") does not read; export the model again.");
  }
  std::vector<std::int64_t> buckets;
  if (parts.size() > 4) buckets = parts[4].toIntVector();
  const bool has_code = parts.size() >= 7;
  return {parts[0].toStringRef(),
          parts[1].toTensorVector(),
          parts[2].toStringRef(),
          parts[3].toStringRef(),
          std::move(buckets),
          has_code ? parts[5].toStringRef() : std::string(),
          has_code ? parts[6].toTensorVector() : std::vector<at::Tensor>(),
          parts.size() >= 8 ? parts[7].toStringRef() : std::string(),
          parts.size() == 9 ? parts[8].toIntVector() : std::vector<std::int64_t>()};
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
