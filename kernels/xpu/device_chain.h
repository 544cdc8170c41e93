// The walk over a result and the operands of its post-operations, as kernels/xpu/programs/chain.cl takes it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/op/kernel.h"

namespace ipex_studio {

// Numbers of the types that programs know, under the names TYPE_F32, ….
constexpr DType kDeviceTypes[] = {DType::kF32, DType::kBf16, DType::kF16, DType::kU8,
                                  DType::kS8,  DType::kS64,  DType::kS32, DType::kBool};
// The number of a type; -1: programs do not know it.
std::int32_t deviceType(DType dtype);

struct DeviceChain {
  static constexpr int kMaxLoops = 6, kMaxTensors = 8, kMaxOps = 12;
  struct Op {
    std::int32_t kind = 0, tensor = 0;
    float alpha = 0, beta = 0;
  };
  std::int32_t loops = 0, ops = 0, elements = 0, unused = 0;
  std::int32_t size[kMaxLoops] = {};
  std::int32_t stride[kMaxTensors][kMaxLoops] = {};
  std::int32_t type[kMaxTensors] = {};  // deviceType()
  Op op[kMaxOps] = {};
};

// A chain with where its tensors come from: sources of the operation, for tensors 1 and above.
struct ChainJob {
  DeviceChain chain;
  std::vector<std::int32_t> sources;
};

// Builds the chain of an operation. Calls of walk() come first, then of apply().
class ChainBuilder {
 public:
  explicit ChainBuilder(const TensorDesc& dst) : tensors_{dst} {}

  // Adds a source to the walk; returns its tensor.
  std::int32_t walk(std::int32_t source, const TensorDesc& desc);
  void apply(const PostOp& op, std::int32_t tensor = 0);
  // Adds the operation's post-operations, whose operands begin at source `first_operand`.
  void applyPostOps(const PrepareArgs& args, std::int32_t first_operand);
  // False, with a reason, where the chain is too long or its tensors too large for the device's programs.
  bool finish(ChainJob* job, std::string* reason) const;

 private:
  std::vector<TensorDesc> tensors_;
  std::vector<std::int32_t> sources_;
  std::vector<DeviceChain::Op> ops_;
};

// True if all operands and results that are there are FP32.
bool allF32(const PrepareArgs& args);
// True if chains read and write it: floats of four and two bytes, computed in FP32, and bytes as plain numbers.
bool isInChains(DType dtype);
// True if all operands and results that are there can stand in chains.
bool allInChains(const PrepareArgs& args);
// True if the tensor is strided and its elements are counted by 32 bits, as the programs count.
bool fitsDevice(const TensorDesc& desc);

}  // namespace ipex_studio
