#include "core/plan/plan_layouts.h"

#include <fmt/format.h>

#include <utility>

#include "core/base/error.h"
#include "core/op/prepare.h"

namespace ipex_studio {
namespace {

OpSpec reorderOp() {
  OpSpec op;
  op.kind = OpKind::kReorder;
  return op;
}

}  // namespace

// True if the weight cache may own the converted constant; false if expansion made it over 16 times larger.
bool PlanLayouts::staysWithWeights(std::int32_t index, const TensorDesc& wanted) const {
  const PlanValues::Value& value = values_[index];
  return value.constant != nullptr && !value.computed && wanted.bytes() <= 16 * value.desc.bytes() + (1 << 20);
}

bool PlanLayouts::isConvertedOnce(std::int32_t index, const TensorDesc& wanted) const {
  return staysWithWeights(index, wanted) || (values_[index].isConstant() && kept_.mayKeep(wanted.bytes()));
}

std::int32_t PlanLayouts::inLayout(std::int32_t index, const TensorDesc& wanted, const StepLabel& label) {
  const std::int32_t known = values_.knownInLayout(index, wanted);
  if (known >= 0) return known;
  std::int32_t made = values_.sameMemoryView(index, wanted);
  if (made < 0) {
    made = isConvertedOnce(index, wanted) ? reorderConstant(index, wanted, label) : reorderStep(index, wanted, label);
  }
  values_[index].copies.push_back(made);
  return made;
}

std::vector<std::int32_t> PlanLayouts::sourcesFor(const PreparedOp& prepared, const std::vector<std::int32_t>& src,
                                                  const StepLabel& label) {
  std::vector<std::int32_t> ready;
  for (std::size_t s = 0; s < src.size(); ++s) {
    const bool unread = src[s] < 0 || (s < prepared.packed.size() && prepared.packed[s]);
    ready.push_back(unread ? -1 : inLayout(src[s], prepared.src[s], label));
    // A copy that an earlier step made may lie where it must not be overwritten.
    const bool overwritten = static_cast<std::int32_t>(s) == prepared.in_place_src;
    if (overwritten && values_.buffer(values_.placeOf(ready[s]).buffer).needed_until > values_.node()) {
      ready[s] = reorderStep(src[s], prepared.src[s], label);
    }
  }
  return ready;
}

KernelChoice PlanLayouts::chooseReorder(std::int32_t index, const TensorDesc& wanted, const StepLabel& label) const {
  PrepareArgs args = values_.argsOf(reorderOp(), {index}, {wanted});
  args.constant = {nullptr};  // its data is read at execution, never packed
  KernelChoice choice = chooser_.choose(std::move(args), true);
  if (!choice) refuseInputs(label, fmt::format("no kernel converts {} to {}", values_[index].desc.str(), wanted.str()));
  return choice;
}

std::int32_t PlanLayouts::reorderStep(std::int32_t index, const TensorDesc& wanted, const StepLabel& label) {
  const KernelChoice choice = chooseReorder(index, wanted, label);
  const std::int32_t made = values_.newValue(wanted, values_[index].group);
  const SizedOp reorder{
      reorderOp(),
      {index},
      {made},
      {wanted},
      {fmt::format("{} → {}: {}", values_[index].desc.layoutName(), wanted.layoutName(), label.name), label.origins}};
  steps_.append(choice, reorder, sourcesFor(*choice.op, reorder.src, reorder.label), {false});
  return made;
}

std::int32_t PlanLayouts::reorderConstant(std::int32_t index, const TensorDesc& wanted, const StepLabel& label) {
  const KernelChoice choice = chooseReorder(index, wanted, label);
  const void* source = values_[index].constant;
  const auto convert = [&](void* dst) {
    IPEX_CHECK(executeOnce(*choice.op, &source, &dst), "any data can be converted");
  };
  const std::int32_t made = values_.newValue(wanted, values_[index].group);
  if (!staysWithWeights(index, wanted)) {
    AlignedBuffer own(wanted.bytes());
    convert(own.data());
    values_[made].constant = kept_.keep(std::move(own));
    values_[made].computed = true;
    return made;
  }
  const TensorDesc& desc = values_[index].desc;
  const std::string form = fmt::format("{} {} -> {} {}", desc.str(), fmt::join(desc.strides.toVector(), ","),
                                       wanted.str(), fmt::join(wanted.strides.toVector(), ","));
  values_[made].constant = kept_.share(weights_.getOrPack(source, form, wanted.bytes(), convert));
  return made;
}

}  // namespace ipex_studio
