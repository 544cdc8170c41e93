// The prepared operation of all kernels of attention: parts of its work on all threads. dst[1], where it is asked for:
// the logarithms.
#pragma once

#include <memory>
#include <string>

#include "kernels/attention/attention_job.h"
#include "kernels/common/parallel.h"

namespace ipex_studio {

class AttentionOp final : public PreparedOp {
 public:
  AttentionJob job;
  AttentionRun run = nullptr;
  std::int64_t items = 0, grain = 1, thread_floats = 0;
  std::int32_t threads = 1;

  void execute(ExecState*, const void* const* from, void* const* to, void* scratch) const override {
    const AttentionOperands operands{from[0], from[1],
                                     from[2], static_cast<const float*>(from[3]),
                                     to[0],   job.has_logarithms ? static_cast<float*>(to[1]) : nullptr};
    parallelFor(items, grain, threads, [&](std::int64_t begin, std::int64_t end, int thread) {
      run(job, operands, begin, end, static_cast<float*>(scratch) + thread * thread_floats);
    });
  }
};

// The dense layout in which axes a and b are exchanged.
TensorDesc laidOutExchanged(const TensorDesc& desc, int a, int b);
// The dense layout in which the axis of queries, the last but one, stands in front of `heads` axes before it.
TensorDesc laidOutBehindQueries(const TensorDesc& desc, int heads);

// The operation without run, items and thread_floats: the caller sets these, then calls divideAttention(). Null, with a
// reason, if the heads of the operands cannot be walked together.
std::unique_ptr<AttentionOp> describedAttention(const PrepareArgs& args, std::string* reason);

// Divides the items among the threads and sets the scratch memory. `lanes`: multiplications per instruction.
void divideAttention(AttentionOp* op, std::int64_t lanes);

}  // namespace ipex_studio
