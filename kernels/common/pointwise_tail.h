// The post-operations of a product as one pointwise pass over its row-major FP32 result, which lies in scratch memory
// until then. Without post-operations the product writes its result itself.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/op/kernel.h"

namespace ipex_studio {

class PointwiseTail {
 public:
  // Prepares the chain; its operands begin at source `first_operand`. Sets their layouts, the result's, scratch memory
  // and may_alias of `op`, whose other sources are read before the result is written. False, with a reason, if the
  // pointwise kernel declines.
  bool prepare(const Kernel& pointwise, const PrepareArgs& args, std::size_t first_operand, PreparedOp* op,
               std::string* reason);

  bool empty() const { return op_ == nullptr; }
  std::unique_ptr<ExecState> newState() const;
  // The memory that the product is written to.
  float* product(void* dst, void* scratch) const { return static_cast<float*>(empty() ? dst : scratch); }
  // Runs the chain. `state` comes from newState(); `src`, `dst` and `scratch` are those of the whole operation.
  void execute(ExecState* state, const void* const* src, void* const* dst, void* scratch) const;

 private:
  std::unique_ptr<PreparedOp> op_;
  std::size_t first_operand_ = 0;
  std::int64_t scratch_offset_ = 0;  // bytes; the product lies before
};

}  // namespace ipex_studio
