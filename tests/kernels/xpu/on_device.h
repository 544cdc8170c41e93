// A kernel of a device as one of the host, so that the harness of all kernels tries it.
#pragma once

#include "core/op/kernel.h"

namespace ipex_studio::testing {

class OnDevice final : public Kernel {
 public:
  // Both outlive it.
  OnDevice(const Kernel& kernel, Device& device) : kernel_(kernel), device_(device) {}
  const char* name() const override { return kernel_.name(); }
  Verdict supports(const PrepareArgs& args) const override;
  // The operation copies its sources to the device, between canaries, and the results back.
  std::unique_ptr<PreparedOp> prepare(const PrepareArgs& args, std::string* reason) const override;

 private:
  PrepareArgs onDevice(PrepareArgs args) const;

  const Kernel& kernel_;
  Device& device_;
};

}  // namespace ipex_studio::testing
