// KernelChooser: the kernel that computes one operation, by its place in the kernel list or by name. Private to core/plan.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/op/kernel.h"
#include "core/record/records.h"

namespace ipex_studio {

struct KernelChoice {
  std::shared_ptr<const PreparedOp> op;    // null: no kernel takes the operation
  const Kernel* kernel = nullptr;          // null with `op`
  std::vector<DispatchRecord> candidates;  // asked in this order, with their reasons; `step` is not filled

  explicit operator bool() const { return op != nullptr; }
};

// Immutable, hence thread-safe; kernels and weights must outlive it.
class KernelChooser {
 public:
  KernelChooser(const KernelList& kernels, const Target& target, WeightCache& weights)
      : kernels_(kernels), target_(target), weights_(weights) {}

  // The first candidate that takes the operation. Alternatives that only a measurement may choose are not asked, nor is
  // the reference unless it is allowed. `args`: target and weights are filled in here.
  KernelChoice choose(PrepareArgs args, bool ref_allowed) const;
  // The kernel of this name; null where there is none or it declines. `candidates` stays empty.
  KernelChoice chooseNamed(PrepareArgs args, const std::string& kernel) const;

  const KernelList& kernels() const { return kernels_; }
  const Target& target() const { return target_; }

 private:
  PrepareArgs completed(PrepareArgs args) const;

  const KernelList& kernels_;
  const Target& target_;
  WeightCache& weights_;
};

}  // namespace ipex_studio
