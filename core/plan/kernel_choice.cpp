// Asks the kernels of a device in the order of the kernel list, or the one of a given name.
#include "core/plan/kernel_choice.h"

#include <utility>

#include "core/base/error.h"
#include "core/op/prepare.h"

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

KernelChoice KernelChooser::choose(PrepareArgs asked, Device& device, bool ref_allowed) const {
  const PrepareArgs args = argsOn(device, std::move(asked));
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
  KernelChoice choice;
  for (Device* device : devices()) {
    for (const Kernel* kernel : candidates(asked.spec.kind, *device)) {
      if (name != kernel->name()) continue;
      std::string reason;
      choice.op = prepareBy(*kernel, argsOn(*device, asked), &reason);
      if (!choice.op) continue;
      choice.kernel = kernel->name();
      choice.device = device;
      return choice;
    }
  }
  return choice;
}

}  // namespace ipex_studio
