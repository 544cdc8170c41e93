// Layout conversions of PlanCompiler.
#include <fmt/format.h>

#include "core/base/error.h"
#include "core/op/layout_text.h"
#include "core/op/prepare.h"
#include "core/plan/plan_compiler.h"

namespace ipex_studio {
// True if the weight cache may own the converted constant; false if expansion made it over 16 times larger.
bool PlanCompiler::staysWithWeights(std::int32_t index, const TensorDesc& wanted) const {
  const Value& value = values_[index];
  return value.constant != nullptr && !value.computed && wanted.bytes() <= 16 * value.desc.bytes() + (1 << 20);
}

bool PlanCompiler::isConvertedOnce(std::int32_t index, const TensorDesc& wanted) const {
  return staysWithWeights(index, wanted) || (isConstant(values_[index]) && mayKeep(wanted.bytes()));
}

std::int32_t PlanCompiler::newValue(const TensorDesc& desc, std::int32_t group) {
  const auto index = static_cast<std::int32_t>(values_.size());
  Value value;
  value.desc = desc;
  value.group = group < 0 ? index : group;
  values_.push_back(std::move(value));
  if (group < 0) last_use_.resize(values_.size(), -1);  // a temporary dies with the node that makes it
  return index;
}

std::int32_t PlanCompiler::newBuffer(std::size_t bytes) {
  buffers_.push_back({Plan::Home::kArena, 0, bytes});
  return static_cast<std::int32_t>(buffers_.size() - 1);
}

// The same memory read in another layout, where both put every element in the same place; else -1.
std::int32_t PlanCompiler::sameMemoryView(std::int32_t index, const TensorDesc& wanted) {
  if (!plainest(values_[index].desc).sameLayout(plainest(wanted)) || values_[index].desc.bytes() != wanted.bytes())
    return -1;
  const std::int32_t view = newValue(wanted, values_[index].group);
  values_[view].buffer = values_[index].buffer;
  values_[view].offset = values_[index].offset;
  values_[view].constant = values_[index].constant;
  values_[view].computed = values_[index].computed;
  return view;
}

std::int32_t PlanCompiler::inLayout(std::int32_t index, const TensorDesc& wanted, const Label& label) {
  if (values_[index].desc.sameLayout(wanted)) return index;
  for (std::int32_t copy : values_[index].copies) {
    if (values_[copy].desc.sameLayout(wanted)) return copy;
  }
  std::int32_t made = sameMemoryView(index, wanted);
  if (made < 0) {
    made = isConvertedOnce(index, wanted) ? reorderConstant(index, wanted, label) : reorderStep(index, wanted, label);
  }
  values_[index].copies.push_back(made);
  return made;
}

std::int32_t PlanCompiler::reorderStep(std::int32_t index, const TensorDesc& wanted, const Label& label) {
  OpSpec op;
  op.kind = OpKind::kReorder;
  PrepareArgs args = prepareArgs(op, {index}, {wanted});
  args.constant = {nullptr};  // read at every run
  const std::vector<DispatchRecord> outer = std::move(declined_);
  const Choice choice = choose(args, true);
  if (!choice.op) fail(label, fmt::format("no kernel converts {} to {}", values_[index].desc.str(), wanted.str()));
  const std::int32_t made = newValue(wanted, values_[index].group);
  place(choice, op, {index}, {made}, {false},
        {fmt::format("{} → {}: {}", values_[index].desc.layoutName(), wanted.layoutName(), label.name), label.origins});
  declined_ = outer;
  return made;
}

std::int32_t PlanCompiler::reorderConstant(std::int32_t index, const TensorDesc& wanted, const Label& label) {
  OpSpec op;
  op.kind = OpKind::kReorder;
  PrepareArgs args = prepareArgs(op, {index}, {wanted});
  const void* source = values_[index].constant;
  args.constant = {nullptr};
  const std::vector<DispatchRecord> outer = std::move(declined_);
  const Choice choice = choose(args, true);
  declined_ = outer;
  if (!choice.op) fail(label, fmt::format("no kernel converts {} to {}", values_[index].desc.str(), wanted.str()));
  const auto convert = [&](void* dst) {
    IPEX_CHECK(executeOnce(*choice.op, &source, &dst), "any data can be converted");
  };
  const std::int32_t made = newValue(wanted, values_[index].group);
  if (!staysWithWeights(index, wanted)) {
    AlignedBuffer own(wanted.bytes());
    convert(own.data());
    values_[made].constant = keep(std::move(own));
    values_[made].computed = true;
    return made;
  }
  const std::string form =
      fmt::format("{} {} -> {} {}", args.src[0].str(), fmt::join(args.src[0].strides.toVector(), ","), wanted.str(),
                  fmt::join(wanted.strides.toVector(), ","));
  plan_->kept_.push_back(weights_.getOrPack(source, form, wanted.bytes(), convert));
  values_[made].constant = plan_->kept_.back()->data();
  return made;
}

}  // namespace ipex_studio
