// Two plans of one spec side by side, on zeros and with borrowed weights.
#include "core/tune/tuner_compare.h"

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>
#include <utility>

#include "core/base/huge_pages.h"

namespace ipex_studio {
namespace {

// Smaller constants are packed again.
constexpr std::size_t kMinBorrowed = std::size_t{1} << 20;

// Packed constants whose contents do not matter, because only time is taken: large ones are read from where another
// plan has the same constant in another form, so that two plans of a network need hardly more memory than one.
class BorrowedWeights final : public WeightCache {
 public:
  explicit BorrowedWeights(const WeightCache& lender) {
    for (Entry& entry : lender.entries()) lent_.emplace(entry.source, std::move(entry));
  }

  Packed getOrPack(const void* source, const std::string& form, std::size_t bytes,
                   const std::function<void(void* packed)>& pack) override {
    const auto [begin, end] = lent_.equal_range(source);
    Packed found;
    for (auto at = begin; at != end; ++at) {
      const Packed& buffer = at->second.buffer;
      if (at->second.form == form && buffer->bytes() == bytes) return buffer;
      if (bytes >= kMinBorrowed && buffer->bytes() >= bytes) found = buffer;
    }
    if (!found) return WeightCache::getOrPack(source, form, bytes, pack);
    return std::make_shared<const Buffer>(found, found->data(), bytes);
  }

 private:
  std::multimap<const void*, Entry> lent_;
};

}  // namespace

TimedPlan::TimedPlan(const PlanSpec& spec, const PlanRequest& request, const KernelList& kernels, WeightCache& weights)
    : plan_(Plan::compile(spec, request, kernels, weights)),
      instance_(*plan_),
      least_(plan_->steps().size(), std::numeric_limits<std::int64_t>::max()),
      begin_ns_(least_.size()),
      elapsed_ns_(least_.size()) {
  for (const PlanConstant& constant : plan_->constants())
    collapseIntoHugePages(constant.memory.begin, constant.memory.bytes);
}

void TimedPlan::run(const void* const* inputs, void* const* outputs, const std::function<std::int64_t()>& clock_ns) {
  instance_.runTimed(inputs, outputs, begin_ns_.data(), elapsed_ns_.data(), clock_ns);
  for (std::size_t s = 0; s < least_.size(); ++s) least_[s] = std::min(least_[s], elapsed_ns_[s]);
}

double TimedPlan::total_ns() const { return std::accumulate(least_.begin(), least_.end(), 0.0); }

std::vector<void*> ZeroedMemory::take(const std::vector<TensorDesc>& tensors) {
  std::vector<void*> pointers;
  for (const TensorDesc& tensor : tensors) {
    const std::size_t bytes = tensor.absent() ? 0 : tensor.bytes();
    buffers_.emplace_back(std::max<std::size_t>(bytes, 1));
    std::fill_n(static_cast<char*>(buffers_.back().data()), bytes, char{0});
    pointers.push_back(buffers_.back().data());
  }
  return pointers;
}

PlanTimes comparePlans(const PlanSpec& spec, const PlanRequest& request, const KernelList& kernels,
                       WeightCache& weights, const std::shared_ptr<const PlanChoices>& choices,
                       const CompareLimits& limits) {
  ZeroedMemory memory;
  const std::vector<void*> inputs = memory.take(request.tensor_inputs);
  PlanRequest as_default = request, as_chosen = request;
  as_default.choices = nullptr;
  as_chosen.choices = choices;
  TimedPlan chosen_plan(spec, as_chosen, kernels, weights);
  BorrowedWeights borrowed(weights);
  TimedPlan default_plan(spec, as_default, kernels, borrowed);
  TimedPlan* const contenders[] = {&default_plan, &chosen_plan};
  const std::vector<void*> outputs = memory.take(default_plan.outputs());
  const std::int64_t begin = limits.clock.spent_ns();
  for (int round = 0; round < limits.most_rounds && (round < 3 || limits.clock.spent_ns() - begin < limits.budget_ns);
       ++round) {
    for (int turn = 0; turn < 2; ++turn)
      contenders[(round + turn) % 2]->run(inputs.data(), outputs.data(), limits.clock.now_ns);
  }
  return {default_plan.total_ns(), chosen_plan.total_ns()};
}

}  // namespace ipex_studio
