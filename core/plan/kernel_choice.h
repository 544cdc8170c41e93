// KernelChooser: finds the kernel that computes one operation, by its place in the kernel list or by name, and the
// device it runs on. Private to core/plan, but for KernelChoice.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/op/kernel.h"
#include "core/record/records.h"

namespace ipex_studio {

struct KernelChoice {
  std::shared_ptr<const PreparedOp> op;    // null: no kernel takes the operation
  std::string kernel;                      // its name; empty without one
  Device* device = &hostDevice();          // where it runs
  std::vector<DispatchRecord> candidates;  // asked in this order, with their reasons; `step` is not filled

  explicit operator bool() const { return op != nullptr; }
};

class EarlierChoices;
class KeptConstants;

// The kernels, the target, the weights and the constants must outlive it.
class KernelChooser {
 public:
  // `earlier`: takes over what was chosen before, but where an operand is a constant of this plan alone; may be null.
  KernelChooser(const KernelList& kernels, const Target& target, WeightCache& weights, EarlierChoices* earlier,
                const KeptConstants& kept)
      : kernels_(kernels), target_(target), weights_(weights), earlier_(earlier), kept_(kept) {}

  // The devices that steps may run on, the target first. The host is always among them and has a kernel for everything.
  std::vector<Device*> devices() const;
  Device& device(const DeviceId& id) const;
  // True if kernels of this kind are listed for the device.
  bool hasKernels(OpKind kind, const Device& device) const;

  // True if a kernel of the device says that it can do the operation.
  bool mayTake(const PrepareArgs& args, Device& device) const;

  // The first candidate on this device that takes the operation. Skips alternatives that only a measurement may choose,
  // and the reference unless it is allowed. Fills in target, devices and weights of `args`.
  KernelChoice choose(PrepareArgs args, Device& device, bool ref_allowed) const;
  // The kernel of this name, on the first device where it takes the operation; null where none does. `candidates` stays
  // empty.
  KernelChoice chooseNamed(const PrepareArgs& args, const std::string& kernel) const;

  const KernelList& kernels() const { return kernels_; }

 private:
  const std::vector<const Kernel*>& candidates(OpKind kind, const Device& device) const {
    return kernels_.candidates(kind, device.id().kind);
  }
  PrepareArgs argsOn(Device& device, PrepareArgs args) const;
  bool mayTakeOver(const PrepareArgs& args) const;
  // The earlier choice for these operands; if there is none, that of `choose`, which is kept for later plans.
  template <class Choose>
  KernelChoice earlierOr(const PrepareArgs& args, const std::string& kernel, bool ref_allowed,
                         const Choose& choose) const;
  KernelChoice chooseFirst(const PrepareArgs& args, bool ref_allowed) const;
  KernelChoice prepareNamed(const PrepareArgs& args, const std::string& name) const;

  const KernelList& kernels_;
  const Target& target_;
  WeightCache& weights_;
  EarlierChoices* earlier_;
  const KeptConstants& kept_;
};

}  // namespace ipex_studio
