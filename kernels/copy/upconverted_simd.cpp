// Operations on u8 and s8 by the kernel for FP32: the integers are upconverted, computed with, and rounded back where
// the result has 8 bits. For operations that a network does few of (global pools, uneven windows, enlarged images,
// borders).
//
// Declines: dtype (not one source of u8 or s8), post-ops, and what the kernel for FP32 declines.
#define HWY_TARGET_INCLUDE "kernels/copy/upconverted_simd.cpp"
#include "kernels/common/simd-inl.h"

#include "kernels/common/byte_convert-inl.h"

HWY_BEFORE_NAMESPACE();
namespace ipex_studio::HWY_NAMESPACE {

// Converts elements [begin, end).
void upconvertRange(DType dtype, const void* from, float* to, std::int64_t begin, std::int64_t end) {
  const auto element = static_cast<std::int64_t>(elementBytes(dtype));
  upconvertValues(dtype, static_cast<const char*>(from) + begin * element, to + begin,
                  static_cast<std::size_t>(end - begin));
}

void downconvertRange(DType dtype, const float* from, void* to, std::int64_t begin, std::int64_t end) {
  const auto element = static_cast<std::int64_t>(elementBytes(dtype));
  downconvertValues(dtype, from + begin, static_cast<char*>(to) + begin * element,
                    static_cast<std::size_t>(end - begin));
}

}  // namespace ipex_studio::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

#include "kernels/common/kernel_parts.h"
#include "kernels/common/requantization.h"
#include "kernels/copy/upconverted_op.h"

namespace ipex_studio {
namespace {

HWY_EXPORT(upconvertRange);
HWY_EXPORT(downconvertRange);

class Upconverted final : public Kernel {
 public:
  explicit Upconverted(const Kernel* wide) : wide_(wide), name_(std::string(wide->name()) + "_int8") {}

  const char* name() const override { return name_.c_str(); }

  Verdict supports(const PrepareArgs& args) const override {
    const bool byte_source = args.src.size() == 1 && isByte(args.src[0].dtype);
    const DType result = args.dst[0].dtype;
    if (!byte_source || (!isByte(result) && result != DType::kF32)) return Verdict::no("dtype");
    if (!args.spec.post_ops.empty()) return Verdict::no("post-ops");
    return wide_->supports(inFloats(args));
  }

  std::unique_ptr<PreparedOp> prepare(const PrepareArgs& args, std::string* reason) const override {
    auto wide = wide_->prepare(inFloats(args), reason);
    if (!wide) return nullptr;
    auto op = std::make_unique<UpconvertedOp>(std::move(wide), args);
    op->setScratch();
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

ValueConversion valueConversion(const std::string& isa) {
  return {IPEX_SELECT_TARGET(upconvertRange, isa), IPEX_SELECT_TARGET(downconvertRange, isa)};
}

std::unique_ptr<Kernel> makeUpconverted(const KernelParts& parts) { return std::make_unique<Upconverted>(parts.first); }

}  // namespace ipex_studio

#endif  // HWY_ONCE
