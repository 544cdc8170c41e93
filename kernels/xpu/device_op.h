// A prepared operation that puts one function of a program into the queue, once or several times.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/op/kernel.h"
#include "kernels/xpu/device_chain.h"
#include "kernels/xpu/opencl_kernel.h"

namespace ipex_studio {

inline OpenClDevice& openClDevice(const PrepareArgs& args) { return static_cast<OpenClDevice&>(*args.target.device); }

// One of an operation's launches in a run.
struct Launch {
  std::size_t index;  // in the order in which setItems() and addItems() were called
  const void* const* src;
  void* const* dst;
  void* scratch;
  OpenClQueue& queue;
};

class DeviceOp : public PreparedOp {
 public:
  std::unique_ptr<ExecState> newState() const final;
  void execute(ExecState* state, const void* const* src, void* const* dst, void* scratch) const final;
  // Sets how many work items there are at least, in one launch.
  void setItems(std::int64_t x, std::int64_t y = 1, std::int64_t z = 1);
  // Adds a launch of so many.
  void addItems(std::int64_t x, std::int64_t y = 1, std::int64_t z = 1);

 protected:
  // Throws as OpenClDevice::program(), which is asked now so that the first run compiles nothing.
  DeviceOp(OpenClDevice& device, const std::string& program, const char* function, const WorkSize& group_size);
  virtual void setArguments(OpenClKernel& kernel, const Launch& launch) const = 0;

 private:
  OpenClDevice& device_;
  const DeviceProgram& program_;
  const char* function_;
  WorkSize group_size_;
  std::vector<WorkSize> launches_;
};

// Adds the arguments CHAIN_ARGUMENTS.
void setChain(OpenClKernel& kernel, const ChainJob& job, const void* const* src, void* dst);

// One that ends in a chain: the arguments are those that setOwn() adds, the chain, the result, and the chain's other
// tensors.
class ChainOp : public DeviceOp {
 public:
  ChainJob job;

 protected:
  using DeviceOp::DeviceOp;
  virtual void setOwn(OpenClKernel& kernel, const void* const* src) const = 0;

 private:
  void setArguments(OpenClKernel& kernel, const Launch& launch) const final;
};

}  // namespace ipex_studio
