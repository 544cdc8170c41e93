// Converts values between layouts and devices: by steps, or once for constants.
#include "core/plan/plan_layouts.h"

#include <fmt/format.h>

#include <utility>

#include "core/base/error.h"
#include "core/op/device_copy.h"
#include "core/op/prepare.h"

namespace ipex_studio {
namespace {

OpSpec reorderOp() {
  OpSpec op;
  op.kind = OpKind::kReorder;
  return op;
}

TensorDesc movedTo(TensorDesc desc, const DeviceId& device) {
  desc.device = device;
  return desc;
}

}  // namespace

// True if the weight cache may own the converted constant; false if expansion made it over 16 times larger.
bool PlanLayouts::staysWithWeights(std::int32_t index, const TensorDesc& wanted) const {
  const PlanValues::Value& value = values_[index];
  return value.constant != nullptr && !value.computed && wanted.bytes() <= 16 * value.desc.bytes() + (1 << 20);
}

bool PlanLayouts::isConvertedOnce(std::int32_t index, const TensorDesc& wanted) const {
  const bool on_host = values_[index].desc.device.isHost() && wanted.device.isHost();
  return on_host && (staysWithWeights(index, wanted) || (values_[index].isConstant() && kept_.mayKeep(wanted.bytes())));
}

bool PlanLayouts::isReadInPlace(std::int32_t index, const DeviceId& device) const {
  const PlanValues::Value& value = values_[index];
  if (!value.desc.device.isHost() || value.isConstant() || value.buffer < 0) return false;
  const bool is_input = values_.buffer(values_.placeOf(index).buffer).home == SlotHome::kInput;
  return is_input && chooser_.device(device).properties().reaches_host_memory;
}

std::int32_t PlanLayouts::inLayout(std::int32_t index, const TensorDesc& wanted, const StepLabel& label) {
  const std::int32_t known = values_.knownInLayout(index, wanted);
  if (known >= 0) return known;
  const TensorDesc desc = values_[index].desc;
  std::int32_t made = values_.sameMemoryView(index, wanted, isReadInPlace(index, wanted.device));
  if (made < 0) {
    const bool leaves_host = desc.device.isHost() && !wanted.device.isHost();
    if (leaves_host && values_[index].isConstant()) {
      made = constantOnDevice(index, wanted, label);
    } else if (desc.device != wanted.device && desc.sameLayout(wanted)) {
      made = copyStep(index, wanted.device, label);
    } else {
      made = isConvertedOnce(index, wanted) ? reorderConstant(index, wanted, label) : reorderStep(index, wanted, label);
    }
  }
  values_[index].copies.push_back(made);
  return made;
}

std::int32_t PlanLayouts::onDevice(std::int32_t index, const DeviceId& device, const StepLabel& label) {
  return inLayout(index, movedTo(values_[index].desc, device), label);
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

// Converts a constant on the host where runs do not repeat that, and copies it to the device once, when the plan is
// compiled.
std::int32_t PlanLayouts::constantOnDevice(std::int32_t index, const TensorDesc& wanted, const StepLabel& label) {
  const TensorDesc on_host = movedTo(wanted, {});
  const bool converted_once = values_.knownInLayout(index, on_host) >= 0 || isConvertedOnce(index, on_host);
  const std::int32_t source = converted_once ? inLayout(index, on_host, label) : index;
  const TensorDesc copied = movedTo(values_[source].desc, wanted.device);
  const std::int32_t made = values_.newValue(copied, values_[source].group);
  Device& device = chooser_.device(wanted.device);
  if (values_[source].computed) {
    Buffer buffer(copied.bytes(), device);
    device.newQueue()->copy(buffer.data(), values_[source].constant, copied.bytes());
    values_[made].constant = kept_.keep(std::move(buffer));
    values_[made].computed = true;
  } else {
    values_[made].constant = kept_.share(weights_.copyTo(device, values_[source].constant, copied.bytes()));
  }
  return copied.sameLayout(wanted) ? made : reorderStep(made, wanted, label);
}

KernelChoice PlanLayouts::chooseReorder(Device& device, std::int32_t index, const TensorDesc& wanted) const {
  PrepareArgs args = values_.argsOf(reorderOp(), {index}, {wanted});
  args.constant = {nullptr};  // its data is read at execution, never packed
  return chooser_.choose(std::move(args), device, true);
}

// The device that converts the layout: of those that can, the one that makes the copy between the two smaller, of equal
// ones not the host; else the host, which always can.
Device& PlanLayouts::reorderSide(std::int32_t index, const TensorDesc& wanted) const {
  Device& source = chooser_.device(values_[index].desc.device);
  Device& target = chooser_.device(wanted.device);
  const bool at_target = chooser_.hasKernels(OpKind::kReorder, target) && chooseReorder(target, index, wanted);
  if (&source == &target) return at_target ? target : hostDevice();
  if (at_target && isReadInPlace(index, wanted.device)) return target;
  const bool at_source =
      chooser_.hasKernels(OpKind::kReorder, source) && fillsItsExtent(wanted) && chooseReorder(source, index, wanted);
  const std::size_t given_bytes = values_[index].desc.bytes();
  if (at_source && at_target && wanted.bytes() == given_bytes) return source.isHost() ? target : source;
  if (at_source && at_target) return wanted.bytes() < given_bytes ? source : target;
  return at_source ? source : at_target ? target : hostDevice();
}

bool PlanLayouts::canWrite(std::int32_t index, const TensorDesc& wanted) const {
  return wanted.device.isHost() || fillsItsExtent(wanted) || reorderSide(index, wanted).id() == wanted.device;
}

std::int32_t PlanLayouts::reorderStep(std::int32_t index, const TensorDesc& wanted, const StepLabel& label) {
  const TensorDesc desc = values_[index].desc;
  const bool stays_on_host = desc.device.isHost() && wanted.device.isHost();
  if (stays_on_host) return reorderOn(hostDevice(), index, wanted, label);
  if (desc.sameLayout(wanted) && fillsItsExtent(wanted)) return copyStep(index, wanted.device, label);
  return reorderOn(reorderSide(index, wanted), index, wanted, label);
}

std::int32_t PlanLayouts::copyStep(std::int32_t index, const DeviceId& device, const StepLabel& label) {
  const DeviceId& other = device.isHost() ? values_[index].desc.device : device;
  return steps_.appendCopy(index, device, chooser_.device(other), label);
}

// Converts on `device`, with copies before and after where the value lies, or is wanted, elsewhere.
std::int32_t PlanLayouts::reorderOn(Device& device, std::int32_t index, const TensorDesc& wanted,
                                    const StepLabel& label) {
  const std::int32_t source = onDevice(index, device.id(), label);
  const TensorDesc result = movedTo(wanted, device.id());
  const KernelChoice choice = chooseReorder(device, source, result);
  if (!choice)
    refuseInputs(label, fmt::format("no kernel converts {} to {}", values_[source].desc.str(), wanted.str()));
  const std::int32_t made = values_.newValue(result, values_[source].group);
  const SizedOp reorder{
      reorderOp(),
      {source},
      {made},
      {result},
      {fmt::format("{} → {}: {}", values_[source].desc.layoutName(), wanted.layoutName(), label.name), label.origins}};
  steps_.append(choice, reorder, sourcesFor(*choice.op, reorder.src, reorder.label), {false});
  if (device.id() == wanted.device) return made;
  IPEX_CHECK(fillsItsExtent(wanted), "a copy must not write between the elements of a part");
  return copyStep(made, wanted.device, label);
}

std::int32_t PlanLayouts::reorderConstant(std::int32_t index, const TensorDesc& wanted, const StepLabel& label) {
  const KernelChoice choice = chooseReorder(hostDevice(), index, wanted);
  if (!choice) refuseInputs(label, fmt::format("no kernel converts {} to {}", values_[index].desc.str(), wanted.str()));
  const void* source = values_[index].constant;
  const auto convert = [&](void* dst) {
    IPEX_CHECK(executeOnce(*choice.op, &source, &dst), "any data can be converted");
  };
  const std::int32_t made = values_.newValue(wanted, values_[index].group);
  if (!staysWithWeights(index, wanted)) {
    Buffer own(wanted.bytes());
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
