// Products of BF16 or FP16 by the kernel for FP32: operands are upconverted, constants once, others at each execution,
// and the result is rounded where it is a low-precision float. For FP16 if CPU or library do not have it, and for BF16
// if they do not even emulate it: slower than FP32 throughout, and the same numbers as native code gives but for the
// order of sums.
//
// Declines: dtype (no low-precision float, or no product of floats), native (BF16 that the CPU multiplies), groups (of
// low-precision weights), too-many-operands, and what the kernel for FP32 declines.
#include <fmt/format.h>

#include "core/op/low_precision_floats.h"
#include "core/runtime/machine_facts.h"
#include "kernels/common/kernel_parts.h"
#include "kernels/common/layer_operands.h"
#include "kernels/copy/upconverted_op.h"

namespace ipex_studio {
namespace {

class UpconvertedFloats final : public Kernel {
 public:
  explicit UpconvertedFloats(const Kernel* wide)
      : wide_(wide), name_(std::string(wide->name()) + "_upconverted_floats") {}

  const char* name() const override { return name_.c_str(); }

  Verdict supports(const PrepareArgs& args) const override {
    const DType left = args.src[kSrc].dtype;
    if (!isLowPrecisionFloat(left) || args.src[kWeights].dtype != left || !isFloatDtype(args.dst[0].dtype))
      return Verdict::no("dtype");
    if (left == DType::kBf16 && hasBf16(args.target.isa)) return Verdict::no("native");
    if (args.src.size() > UpconvertedOp::kMaxSources) return Verdict::no("too-many-operands");
    return wide_->supports(inFloats(args));
  }

  std::unique_ptr<PreparedOp> prepare(const PrepareArgs& args, std::string* reason) const override {
    const ValueConversion conversion = valueConversion(args.target.isa);
    std::vector<WeightCache::Packed> constants(args.src.size());
    PrepareArgs floats = inFloats(args);
    for (std::size_t s = 0; s < args.src.size(); ++s) {
      if (args.constant[s] == nullptr || !isLowPrecisionFloat(args.src[s].dtype)) continue;
      constants[s] = upconverted(args, s, conversion);
      floats.constant[s] = constants[s]->data();
    }
    auto wide = wide_->prepare(floats, reason);
    if (!wide) return nullptr;
    auto op = std::make_unique<UpconvertedOp>(std::move(wide), args);
    op->implementation = op->wide->implementation;
    // A constant that the kernel for FP32 packed is not read again; one that has the layout it wants is read
    // upconverted.
    for (std::size_t s = 0; s < args.src.size(); ++s) {
      if (!constants[s] || op->packed[s] || !op->src[s].sameLayout(args.src[s])) continue;
      op->constants[s] = std::move(constants[s]);
      op->packed[s] = true;
    }
    op->setScratch();
    return op;
  }

 private:
  static WeightCache::Packed upconverted(const PrepareArgs& args, std::size_t s, const ValueConversion& conversion) {
    const TensorDesc& desc = args.src[s];
    const std::int64_t count = UpconvertedOp::elements(desc);
    const std::string form = fmt::format("f32 of {} {}", dtypeName(desc.dtype), count);
    return args.weights->getOrPack(
        args.constant[s], form, static_cast<std::size_t>(count) * sizeof(float),
        [&](void* wide) { conversion.upconvert(desc.dtype, args.constant[s], static_cast<float*>(wide), 0, count); });
  }

  static PrepareArgs inFloats(const PrepareArgs& args) {
    PrepareArgs changed = args;
    changed.spec.attributes.erase("result");
    for (std::size_t s = 0; s < changed.src.size(); ++s) {
      if (isLowPrecisionFloat(changed.src[s].dtype)) changed.src[s].dtype = DType::kF32;
    }
    changed.dst[0].dtype = DType::kF32;
    changed.src_dies.assign(changed.src.size(), false);  // upconverted copies do not die with their sources
    return changed;
  }

  const Kernel* wide_;
  std::string name_;
};

}  // namespace

std::unique_ptr<Kernel> makeUpconvertedFloats(const KernelParts& parts) {
  return std::make_unique<UpconvertedFloats>(parts.first);
}

}  // namespace ipex_studio
