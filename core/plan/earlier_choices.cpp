// Finds choices by a hash of sizes and compares everything else.
#include "core/plan/earlier_choices.h"

#include "core/base/fnv.h"

namespace ipex_studio {
namespace {

std::uint64_t withTensor(std::uint64_t hash, const TensorDesc& desc) {
  hash = fnvWith(hash, static_cast<std::uint64_t>(desc.dtype));
  for (int axis = 0; axis < desc.dims.rank; ++axis) hash = fnvWith(hash, static_cast<std::uint64_t>(desc.dims[axis]));
  return hash;
}

std::uint64_t hashOf(const PrepareArgs& args) {
  std::uint64_t hash = fnvWith(kFnvBasis, static_cast<std::uint64_t>(args.spec.kind));
  for (const TensorDesc& desc : args.src) hash = withTensor(hash, desc);
  for (const TensorDesc& desc : args.dst) hash = withTensor(hash, desc);
  for (const void* constant : args.constant) hash = fnvWith(hash, reinterpret_cast<std::uintptr_t>(constant));
  return hash;
}

bool sameTarget(const Target& a, const Target& b) {
  return a.device == b.device && a.threads == b.threads && a.isa == b.isa;
}

bool sameArgs(const PrepareArgs& a, const PrepareArgs& b) {
  return a.src == b.src && a.dst == b.dst && a.constant == b.constant && a.src_dies == b.src_dies &&
         a.weights == b.weights && sameTarget(a.target, b.target) && a.spec == b.spec;
}

}  // namespace

const KernelChoice* EarlierChoices::find(const Question& question) {
  const auto [begin, end] = items_.equal_range(hashOf(question.args));
  for (auto at = begin; at != end; ++at) {
    Item& item = at->second;
    if (item.kernel != question.kernel || item.ref_allowed != question.ref_allowed ||
        !sameArgs(item.args, question.args))
      continue;
    item.last_plan = plan_;
    ++found_;
    return &item.choice;
  }
  return nullptr;
}

void EarlierChoices::keep(const Question& question, const KernelChoice& choice) {
  items_.emplace(hashOf(question.args), Item{question.args, question.kernel, question.ref_allowed, choice, plan_});
}

void EarlierChoices::beginPlan() {
  if (++plan_ % kPlans != 0) return;
  for (auto at = items_.begin(); at != items_.end();)
    at = at->second.last_plan + kPlans < plan_ ? items_.erase(at) : std::next(at);
}

}  // namespace ipex_studio
