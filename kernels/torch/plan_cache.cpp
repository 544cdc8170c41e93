#include "kernels/torch/plan_cache.h"

#include <ATen/Parallel.h>
#include <fmt/format.h>
#include <omp.h>

#include "core/plan/error.h"
#include "core/plan/machine_facts.h"
#include "kernels/kernel_list.h"
#include "core/graph/tensor_bridge.h"

namespace ipex_studio {
namespace {

constexpr std::size_t kMaxEntries = 16;
constexpr std::size_t kMaxIdleInstances = 8;

bool sameInput(const TensorDesc& desc, const at::Tensor& tensor) {
  if (tensor.dim() != desc.dims.rank || dtypeOf(tensor.scalar_type()) != desc.dtype) return false;
  for (int axis = 0; axis < desc.dims.rank; ++axis) {
    if (tensor.size(axis) != desc.dims[axis] || tensor.stride(axis) != desc.strides[axis]) return false;
  }
  return true;
}

void append(PlanProfile& profile, const Plan& plan, const std::vector<std::int64_t>& begin, const std::vector<std::int64_t>& elapsed) {
  if (profile.steps.size() != plan.steps().size()) {
    profile.steps = plan.steps();
    profile.dispatches = plan.dispatches();
    profile.begin_ns.assign(plan.steps().size(), {});
    profile.elapsed_ns.assign(plan.steps().size(), {});
  }
  for (std::size_t step = 0; step < begin.size(); ++step) {
    profile.begin_ns[step].push_back(begin[step]);
    profile.elapsed_ns[step].push_back(elapsed[step]);
  }
}

}  // namespace

const KernelList& processKernels() {
  static const std::unique_ptr<KernelList> kernels = makeKernelList();
  return *kernels;
}

PlanCache::PlanCache(PlanSpec spec, std::vector<at::Tensor> constants)
    : spec_(std::move(spec)), constants_(std::move(constants)) {
  bool fits = constants_.size() == spec_.constants.size();
  for (std::size_t c = 0; fits && c < constants_.size(); ++c) {
    fits = constants_[c].defined() && constants_[c].is_contiguous() && descOf(constants_[c]) == spec_.constants[c];
  }
  if (!fits) throw Error(ExitCode::kBadModel, "The plan inside this file does not fit its weights; export the model again.");
}

PlanCache::~PlanCache() = default;

bool PlanCache::matches(const PlanRequest& request, const std::vector<at::Tensor>& tensors,
                        const std::vector<std::int64_t>& ints, int threads) const {
  if (request.target.threads != threads) return false;
  std::size_t next_tensor = 0;
  std::size_t next_int = 0;
  for (std::size_t i = 0; i < spec_.inputs.size(); ++i) {
    const bool same = spec_.inputs[i].is_int ? request.int_inputs[i] == ints[next_int++]
                                             : sameInput(request.tensor_inputs[i], tensors[next_tensor++]);
    if (!same) return false;
  }
  return true;
}

PlanRequest PlanCache::makeRequest(const std::vector<at::Tensor>& tensors, const std::vector<std::int64_t>& ints, int threads) const {
  PlanRequest request;
  request.target.threads = threads;
  request.target.isa = machineFacts().isa;
  std::size_t next_tensor = 0;
  std::size_t next_int = 0;
  for (const PlanSpec::Input& input : spec_.inputs) {
    request.tensor_inputs.push_back(input.is_int ? TensorDesc() : descOf(tensors[next_tensor++]));
    request.int_inputs.push_back(input.is_int ? ints[next_int++] : 0);
  }
  for (const at::Tensor& constant : constants_) request.constants.push_back(constant.data_ptr());
  return request;
}

std::shared_ptr<PlanCache::Entry> PlanCache::entryFor(const std::vector<at::Tensor>& tensors, const std::vector<std::int64_t>& ints) {
  const int threads = omp_get_max_threads();
  const std::lock_guard<std::mutex> lock(mutex_);
  for (auto at = entries_.begin(); at != entries_.end(); ++at) {
    if (!matches((*at)->request, tensors, ints, threads)) continue;
    entries_.splice(entries_.begin(), entries_, at);
    return entries_.front();
  }
  auto entry = std::make_shared<Entry>();
  entry->request = makeRequest(tensors, ints, threads);
  entry->plan = Plan::compile(spec_, entry->request, processKernels(), weights_);
  entries_.push_front(entry);
  if (entries_.size() > kMaxEntries) entries_.pop_back();
  return entry;
}

std::vector<at::Tensor> PlanCache::run(const std::vector<at::Tensor>& given, const std::vector<std::int64_t>& ints) {
  at::internal::lazy_init_num_threads();
  std::vector<at::Tensor> tensors;
  tensors.reserve(given.size());
  for (const at::Tensor& tensor : given) tensors.push_back(planInput(tensor));
  std::size_t expected_ints = 0;
  for (const PlanSpec::Input& input : spec_.inputs) expected_ints += input.is_int ? 1 : 0;
  if (ints.size() != expected_ints || tensors.size() != spec_.inputs.size() - expected_ints) {
    throw Error(ExitCode::kBadModel, "The plan inside this file gets another number of inputs than it takes; export the model again.");
  }
  const std::shared_ptr<Entry> entry = entryFor(tensors, ints);
  std::unique_ptr<Plan::Instance> instance;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (!entry->idle.empty()) {
      instance = std::move(entry->idle.back());
      entry->idle.pop_back();
    }
  }
  if (!instance) instance = std::make_unique<Plan::Instance>(*entry->plan);

  std::vector<const void*> inputs;
  std::size_t next_tensor = 0;
  for (const PlanSpec::Input& input : spec_.inputs) inputs.push_back(input.is_int ? nullptr : tensors[next_tensor++].data_ptr());
  std::vector<at::Tensor> results;
  std::vector<void*> outputs;
  for (const TensorDesc& desc : entry->plan->outputs()) {
    results.push_back(emptyTensor(desc));
    outputs.push_back(results.back().data_ptr());
  }
  if (profile_) {
    std::vector<std::int64_t> begin(entry->plan->steps().size()), elapsed(begin.size());
    instance->runTimed(inputs.data(), outputs.data(), begin.data(), elapsed.data());
    append(*profile_, *entry->plan, begin, elapsed);
  } else {
    instance->run(inputs.data(), outputs.data());
  }
  const std::lock_guard<std::mutex> lock(mutex_);
  if (entry->idle.size() < kMaxIdleInstances) entry->idle.push_back(std::move(instance));
  return results;
}

}  // namespace ipex_studio
