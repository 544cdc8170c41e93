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

bool KernelChooser::mayTake(const PrepareArgs& asked, Device& device) const {
  const PrepareArgs args = argsOn(device, asked);
  const auto& kernels = candidates(args.spec.kind, device);
  return std::any_of(kernels.begin(), kernels.end(), [&](const Kernel* kernel) { return kernel->supports(args).ok; });
}

PrepareArgs KernelChooser::argsOn(Device& device, PrepareArgs args) const {
  args.target = target_;
  args.target.device = &device;
  args.weights = &weights_;
  for (std::vector<TensorDesc>* side : {&args.src, &args.dst}) {
    for (TensorDesc& desc : *side) desc.device = device.id();
  }
  return args;
}

// Steps that other devices prepare hold memory of theirs.
bool KernelChooser::mayTakeOver(const PrepareArgs& args) const {
  if (earlier_ == nullptr || !args.target.device->isHost()) return false;
  const auto is_own = [&](const void* constant) { return kept_.isComputed(constant); };
  return std::none_of(args.constant.begin(), args.constant.end(), is_own);
}

template <class Choose>
KernelChoice KernelChooser::earlierOr(const PrepareArgs& args, const std::string& kernel, bool ref_allowed,
                                      const Choose& choose) const {
  if (!mayTakeOver(args)) return choose();
  const EarlierChoices::Question question{args, kernel, ref_allowed};
  if (const KernelChoice* known = earlier_->find(question)) return *known;
  KernelChoice choice = choose();
  if (choice) earlier_->keep(question, choice);
  return choice;
}

KernelChoice KernelChooser::choose(PrepareArgs asked, Device& device, bool ref_allowed) const {
  const PrepareArgs args = argsOn(device, std::move(asked));
  return earlierOr(args, "", ref_allowed, [&] { return chooseFirst(args, ref_allowed); });
}

KernelChoice KernelChooser::chooseFirst(const PrepareArgs& args, bool ref_allowed) const {
  Device& device = *args.target.device;
  KernelChoice choice;
  choice.device = &device;
  if (!hasKernels(args.spec.kind, device) && !device.isHost()) {
    DispatchRecord none;
    none.kernel = device.label();
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
    KernelChoice choice = earlierOr(args, name, true, [&] { return prepareNamed(args, name); });
    if (choice) return choice;
  }
  return {};
}

KernelChoice KernelChooser::prepareNamed(const PrepareArgs& args, const std::string& name) const {
  KernelChoice choice;
  choice.device = args.target.device;
  for (const Kernel* kernel : candidates(args.spec.kind, *choice.device)) {
    if (name != kernel->name()) continue;
    std::string reason;
    choice.op = prepareBy(*kernel, args, &reason);
    if (!choice.op) continue;
    choice.kernel = kernel->name();
    break;
  }
  return choice;
}

}  // namespace ipex_studio
