// An operation on bytes, BF16 or FP16 by the one for FP32: sources are upconverted at each execution, and the result is
// rounded back. Sources and result are converted if their dtypes differ from those of `wide`.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "core/op/kernel.h"
#include "kernels/common/parallel.h"
#include "kernels/copy/value_conversion.h"

namespace ipex_studio {

class UpconvertedOp final : public PreparedOp {
 public:
  static constexpr std::size_t kMaxSources = 66;

  // args: the operation as requested; `fast`: the same in FP32, at most kMaxSources sources.
  UpconvertedOp(std::unique_ptr<PreparedOp> fast, const PrepareArgs& args)
      : wide(std::move(fast)), conversion_(valueConversion(args.target.isa)), threads_(args.target.threads) {
    src = wide->src;
    dst = wide->dst;
    for (std::size_t s = 0; s < src.size(); ++s) src[s].dtype = args.src[s].dtype;
    dst[0].dtype = args.dst[0].dtype;
    packed = wide->packed;
    flops = wide->flops;
    needs_finite = wide->needs_finite;
    constants.resize(src.size());
  }

  const std::unique_ptr<PreparedOp> wide;
  std::vector<WeightCache::Packed> constants;  // per source: upconverted when this was prepared, or null

  // Sets the scratch memory; called once it is known which sources are packed.
  void setScratch() {
    scratch_bytes = wide->scratch_bytes + (downconverts() ? lines(wide->dst[0]) : 0);
    for (std::size_t s = 0; s < src.size(); ++s) scratch_bytes += upconverts(s) ? lines(wide->src[s]) : 0;
  }

  std::unique_ptr<ExecState> newState() const override { return wide->newState(); }

  void execute(ExecState* state, const void* const* from, void* const* to, void* scratch) const override {
    constexpr std::int64_t kGrain = kParallelGrainOps * 2;
    const void* sources[kMaxSources];
    char* free = static_cast<char*>(scratch);
    for (std::size_t s = 0; s < src.size(); ++s) {
      sources[s] = constants[s] ? constants[s]->data() : from[s];
      if (!upconverts(s)) continue;
      auto* const floats = reinterpret_cast<float*>(free);
      free += lines(wide->src[s]);
      parallelFor(elements(src[s]), kGrain, threads_, [&](std::int64_t begin, std::int64_t end, int) {
        conversion_.upconvert(src[s].dtype, from[s], floats, begin, end);
      });
      sources[s] = floats;
    }
    auto* const floats = reinterpret_cast<float*>(free);
    void* const result = downconverts() ? floats : to[0];
    if (downconverts()) free += lines(wide->dst[0]);
    wide->execute(state, sources, &result, free);
    if (!downconverts()) return;
    parallelFor(elements(dst[0]), kGrain, threads_, [&](std::int64_t begin, std::int64_t end, int) {
      conversion_.downconvert(dst[0].dtype, floats, to[0], begin, end);
    });
  }

  static std::int64_t elements(const TensorDesc& desc) {
    return static_cast<std::int64_t>(desc.bytes() / elementBytes(desc.dtype));
  }

 private:
  // Size of the tensor in bytes, rounded up to whole cache lines.
  static std::size_t lines(const TensorDesc& desc) { return (desc.bytes() + 63) / 64 * 64; }
  bool upconverts(std::size_t s) const { return !packed[s] && src[s].dtype != wide->src[s].dtype; }
  bool downconverts() const { return dst[0].dtype != wide->dst[0].dtype; }

  ValueConversion conversion_;
  std::int32_t threads_;
};

}  // namespace ipex_studio
