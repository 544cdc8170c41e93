// Operations on u8 and s8 by the kernel for FP32: the integers are widened, computed with, and rounded back where the
// result is narrow. For operations that a network does few of (global pools, uneven windows, enlarged images, borders).
//
// Declines: device, dtype (not one source of u8 or s8), post-ops, and what the kernel for FP32 declines.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/widened_simd.cpp"
#include "kernels/highway_targets.h"

// highway_targets.h comes first.
#include <hwy/highway.h>

#include "kernels/byte_convert-inl.h"

HWY_BEFORE_NAMESPACE();
namespace ipex_studio {
namespace HWY_NAMESPACE {

// Elements [begin, end).
void widenRange(DType dtype, const void* from, float* to, std::int64_t begin, std::int64_t end) {
  const auto element = static_cast<std::int64_t>(elementBytes(dtype));
  widenValues(dtype, static_cast<const char*>(from) + begin * element, to + begin, static_cast<std::size_t>(end - begin));
}

void narrowRange(DType dtype, const float* from, void* to, std::int64_t begin, std::int64_t end) {
  const auto element = static_cast<std::int64_t>(elementBytes(dtype));
  narrowValues(dtype, from + begin, static_cast<char*>(to) + begin * element, static_cast<std::size_t>(end - begin));
}

}  // namespace HWY_NAMESPACE
}  // namespace ipex_studio
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

#include "kernels/factories.h"
#include "kernels/integer_chain.h"
#include "kernels/parallel.h"
#include "kernels/value_conversion.h"

namespace ipex_studio {
namespace {

HWY_EXPORT(widenRange);
HWY_EXPORT(narrowRange);

std::int64_t elementsOf(const TensorDesc& desc) { return static_cast<std::int64_t>(desc.bytes() / elementBytes(desc.dtype)); }

std::size_t padded(std::size_t bytes) { return (bytes + 63) / 64 * 64; }

class WidenedOp final : public PreparedOp {
 public:
  std::unique_ptr<PreparedOp> wide;
  ValueConversion conversion;
  std::int32_t threads = 1;

  std::unique_ptr<ExecState> newState() const override { return wide->newState(); }

  void execute(ExecState* state, const void* const* from, void* const* to, void* scratch) const override {
    auto* const floats = static_cast<float*>(scratch);
    char* rest = static_cast<char*>(scratch) + padded(wide->src[0].bytes());
    const bool narrows = dst[0].dtype != DType::kF32;
    void* result = to[0];
    if (narrows) {
      result = rest;
      rest += padded(wide->dst[0].bytes());
    }
    constexpr std::int64_t kGrain = kParallelGrainOps * 2;
    parallelFor(elementsOf(src[0]), kGrain, threads,
                [&](std::int64_t begin, std::int64_t end, int) { conversion.widen(src[0].dtype, from[0], floats, begin, end); });
    const void* const sources[] = {floats};
    wide->execute(state, sources, &result, rest);
    if (!narrows) return;
    parallelFor(elementsOf(dst[0]), kGrain, threads, [&](std::int64_t begin, std::int64_t end, int) {
      conversion.narrow(dst[0].dtype, static_cast<const float*>(result), to[0], begin, end);
    });
  }
};

class Widened final : public Kernel {
 public:
  explicit Widened(const Kernel* wide) : wide_(wide), name_(std::string(wide->name()) + "_int8") {}

  const char* name() const override { return name_.c_str(); }

  Verdict supports(const PrepareArgs& args) const override {
    if (args.target.device.kind != DeviceKind::kCpu) return Verdict::no("device");
    const bool narrow_source = args.src.size() == 1 && isByte(args.src[0].dtype);
    const DType result = args.dst[0].dtype;
    if (!narrow_source || (!isByte(result) && result != DType::kF32)) return Verdict::no("dtype");
    if (!args.spec.post_ops.empty()) return Verdict::no("post-ops");
    return wide_->supports(inFloats(args));
  }

  std::unique_ptr<PreparedOp> prepare(const PrepareArgs& args, std::string* reason) const override {
    auto op = std::make_unique<WidenedOp>();
    op->wide = wide_->prepare(inFloats(args), reason);
    if (!op->wide) return nullptr;
    op->src = op->wide->src;
    op->dst = op->wide->dst;
    op->src[0].dtype = args.src[0].dtype;
    op->dst[0].dtype = args.dst[0].dtype;
    op->packed = {false};
    op->flops = op->wide->flops;
    op->conversion = valueConversion(args.target.isa);
    op->threads = args.target.threads;
    op->scratch_bytes = padded(op->wide->src[0].bytes()) + padded(op->wide->dst[0].bytes()) + op->wide->scratch_bytes;
    return op;
  }

 private:
  static PrepareArgs inFloats(const PrepareArgs& args) {
    PrepareArgs changed = args;
    changed.spec.attributes.erase("result");
    changed.src[0].dtype = changed.dst[0].dtype = DType::kF32;
    changed.src_dies.assign(1, false);
    changed.constant.assign(1, nullptr);
    return changed;
  }

  const Kernel* wide_;
  std::string name_;
};

}  // namespace

ValueConversion valueConversion(const std::string& isa) { return {IPEX_SELECT_TARGET(widenRange, isa), IPEX_SELECT_TARGET(narrowRange, isa)}; }

std::unique_ptr<Kernel> makeWidened(const Kernel* wide) { return std::make_unique<Widened>(wide); }

}  // namespace ipex_studio

#endif  // HWY_ONCE
