#include "core/plan/tuner_compare.h"

#include <algorithm>
#include <limits>
#include <numeric>

namespace ipex_studio {
namespace {

class Contender {
 public:
  Contender(const PlanSpec& spec, const PlanRequest& request, const KernelList& kernels, WeightCache& weights)
      : plan_(Plan::compile(spec, request, kernels, weights)),
        instance_(*plan_),
        least_(plan_->steps().size(), std::numeric_limits<std::int64_t>::max()),
        begin_ns_(least_.size()),
        elapsed_ns_(least_.size()) {}

  void run(const void* const* inputs, void* const* outputs, const std::function<std::int64_t()>& clock_ns) {
    instance_.runTimed(inputs, outputs, begin_ns_.data(), elapsed_ns_.data(), clock_ns);
    for (std::size_t s = 0; s < least_.size(); ++s) least_[s] = std::min(least_[s], elapsed_ns_[s]);
  }

  const std::vector<TensorDesc>& outputs() const { return plan_->outputs(); }
  double total_ns() const { return std::accumulate(least_.begin(), least_.end(), 0.0); }

 private:
  std::unique_ptr<Plan> plan_;
  Plan::Instance instance_;
  std::vector<std::int64_t> least_, begin_ns_, elapsed_ns_;
};

}  // namespace

PlanTimes comparePlans(const PlanSpec& spec, const PlanRequest& request, const KernelList& kernels, WeightCache& weights,
                       const std::shared_ptr<const PlanChoices>& choices, const CompareLimits& limits) {
  std::vector<AlignedBuffer> memory;
  const auto zeros = [&](std::size_t bytes) {
    memory.emplace_back(std::max<std::size_t>(bytes, 1));
    std::fill_n(static_cast<char*>(memory.back().data()), bytes, char{0});
    return memory.back().data();
  };
  std::vector<const void*> inputs;
  for (const TensorDesc& input : request.tensor_inputs) inputs.push_back(zeros(input.absent() ? 0 : input.bytes()));
  PlanRequest as_default = request, as_chosen = request;
  as_default.choices = nullptr;
  as_chosen.choices = choices;
  Contender contenders[] = {{spec, as_default, kernels, weights}, {spec, as_chosen, kernels, weights}};
  std::vector<void*> outputs;
  for (const TensorDesc& output : contenders[0].outputs()) outputs.push_back(zeros(output.bytes()));
  const std::int64_t begin = limits.clock_ns();
  for (int round = 0; round < limits.most_rounds && (round < 3 || limits.clock_ns() - begin < limits.budget_ns); ++round) {
    for (int turn = 0; turn < 2; ++turn) contenders[(round + turn) % 2].run(inputs.data(), outputs.data(), limits.clock_ns);
  }
  return {contenders[0].total_ns(), contenders[1].total_ns()};
}

}  // namespace ipex_studio
