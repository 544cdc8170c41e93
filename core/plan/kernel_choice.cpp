// Asks the kernels of a device in the order of the kernel list, or the one of a given name.
#include "core/plan/kernel_choice.h"

#include <algorithm>
#include <utility>

#include "core/base/error.h"
#include "core/op/prepare.h"
#include "core/plan/earlier_choices.h"
#include "core/plan/kept_constants.h"

namespace ipex_studio {

std::vector<Device*> KernelChooser::devices() const {
  if (target_.device->isHost()) return {target_.device};
  return {target_.device, &hostDevice()};
}

Device& KernelChooser::device(const DeviceId& id) const {
  for (Device* device : devices()) {
    if (device->id() == id) return *device;
  }
  IPEX_CHECK(false, "a tensor lies on a device that the plan does not use");
  return hostDevice();
}

bool KernelChooser::hasKernels(OpKind kind, const Device& device) const { return !candidates(kind, device).empty(); }

PrepareArgs KernelChooser::argsOn(Device& device, PrepareArgs args) const {
  args.target = target_;
  args.target.device = &device;
  args.weights = &weights_;
  for (std::vector<TensorDesc>* side : {&args.src, &args.dst}) {
    for (TensorDesc& desc : *side) desc.device = device.id();
  }
  return args;
}

// What other devices prepare holds memory of theirs.
EarlierChoices* KernelChooser::earlierFor(const PrepareArgs& args) const {
  if (earlier_ == nullptr || !args.target.device->isHost()) return nullptr;
  const auto is_own = [&](const void* constant) { return kept_.isComputed(constant); };
  return std::any_of(args.constant.begin(), args.constant.end(), is_own) ? nullptr : earlier_;
}

KernelChoice KernelChooser::choose(PrepareArgs asked, Device& device, bool ref_allowed) const {
  const PrepareArgs args = argsOn(device, std::move(asked));
  EarlierChoices* const earlier = earlierFor(args);
  const EarlierChoices::Question question{args, "", ref_allowed};
  if (earlier != nullptr) {
    if (const KernelChoice* known = earlier->find(question)) return *known;
  }
  KernelChoice choice = chooseFirst(args, ref_allowed);
  if (earlier != nullptr && choice) earlier->keep(question, choice);
  return choice;
}

KernelChoice KernelChooser::chooseFirst(const PrepareArgs& args, bool ref_allowed) const {
  Device& device = *args.target.device;
  KernelChoice choice;
  choice.device = &device;
  if (!hasKernels(args.spec.kind, device) && !device.isHost()) {
    DispatchRecord none;
    none.kernel = device.id().str();
    none.reason = "device";
    choice.candidates.push_back(std::move(none));
  }
  for (const Kernel* kernel : candidates(args.spec.kind, device)) {
    DispatchRecord dispatch;
    dispatch.kernel = kernel->name();
    if ((isReference(dispatch.kernel) && !ref_allowed) || kernel->onlyWhenMeasured()) continue;
    choice.op = prepareBy(*kernel, args, &dispatch.reason);
    if (choice.op) {
      dispatch.chosen = true;
      dispatch.reason = "chosen";
      dispatch.layout = choice.op->dst.empty() ? "" : choice.op->dst[0].layoutName();
      choice.kernel = kernel->name();
      choice.candidates.push_back(std::move(dispatch));
      return choice;
    }
    choice.candidates.push_back(std::move(dispatch));
  }
  return choice;
}

KernelChoice KernelChooser::chooseNamed(const PrepareArgs& asked, const std::string& name) const {
  for (Device* device : devices()) {
    const PrepareArgs args = argsOn(*device, asked);
    EarlierChoices* const earlier = earlierFor(args);
    const EarlierChoices::Question question{args, name, true};
    if (earlier != nullptr) {
      if (const KernelChoice* known = earlier->find(question)) return *known;
    }
    for (const Kernel* kernel : candidates(args.spec.kind, *device)) {
      if (name != kernel->name()) continue;
      std::string reason;
      KernelChoice choice;
      choice.op = prepareBy(*kernel, args, &reason);
      if (!choice.op) continue;
      choice.kernel = kernel->name();
      choice.device = device;
      if (earlier != nullptr) earlier->keep(question, choice);
      return choice;
    }
  }
  return {};
}

}  // namespace ipex_studio
