#include "core/plan/kernel_choice.h"

#include <utility>

#include "core/op/prepare.h"

namespace ipex_studio {

PrepareArgs KernelChooser::completed(PrepareArgs args) const {
  args.target = target_;
  args.weights = &weights_;
  return args;
}

KernelChoice KernelChooser::choose(PrepareArgs asked, bool ref_allowed) const {
  const PrepareArgs args = completed(std::move(asked));
  KernelChoice choice;
  for (const Kernel* kernel : kernels_.candidates(args.spec.kind, target_.device.kind)) {
    DispatchRecord dispatch;
    dispatch.kernel = kernel->name();
    if ((isReference(dispatch.kernel) && !ref_allowed) || kernel->onlyWhenMeasured()) continue;
    choice.op = prepareBy(*kernel, args, &dispatch.reason);
    if (choice.op) {
      dispatch.chosen = true;
      dispatch.reason = "chosen";
      dispatch.layout = choice.op->dst.empty() ? "" : choice.op->dst[0].layoutName();
      choice.kernel = kernel;
      choice.candidates.push_back(std::move(dispatch));
      return choice;
    }
    choice.candidates.push_back(std::move(dispatch));
  }
  return choice;
}

KernelChoice KernelChooser::chooseNamed(PrepareArgs asked, const std::string& name) const {
  const PrepareArgs args = completed(std::move(asked));
  KernelChoice choice;
  for (const Kernel* kernel : kernels_.candidates(args.spec.kind, target_.device.kind)) {
    if (name != kernel->name()) continue;
    std::string reason;
    choice.op = prepareBy(*kernel, args, &reason);
    if (!choice.op) continue;
    choice.kernel = kernel;
    break;
  }
  return choice;
}

}  // namespace ipex_studio
