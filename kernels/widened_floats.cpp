// Products of BF16 or FP16 by the kernel for FP32: operands are widened, constants once, others at each execution, and the
// result is rounded where it is narrow. For FP16 where CPU or library have none of it, and for BF16 where they cannot even
// emulate it: slower than FP32 throughout, and the same numbers as native code gives but for the order of sums.
//
// Declines: device, dtype (no narrow float, or no product of floats), native (BF16 that the CPU multiplies), groups (of narrow
// weights), too-many-operands, and what the kernel for FP32 declines.
#include <fmt/format.h>

#include "core/plan/machine_facts.h"
#include "core/plan/narrow_floats.h"
#include "kernels/factories.h"
#include "kernels/layer_operands.h"
#include "kernels/parallel.h"
#include "kernels/value_conversion.h"

namespace ipex_studio {
namespace {

constexpr std::size_t kMostFloatSources = 66;

std::int64_t storedElements(const TensorDesc& desc) { return static_cast<std::int64_t>(desc.bytes() / elementBytes(desc.dtype)); }

std::size_t wideBytes(const TensorDesc& desc) { return (static_cast<std::size_t>(storedElements(desc)) * sizeof(float) + 63) / 64 * 64; }

class WidenedFloatsOp final : public PreparedOp {
 public:
  std::unique_ptr<PreparedOp> wide;
  ValueConversion conversion;
  std::vector<WeightCache::Packed> constants;  // per source: widened when this was prepared, or null
  std::int32_t threads = 1;

  std::unique_ptr<ExecState> newState() const override { return wide->newState(); }

  void execute(ExecState* state, const void* const* from, void* const* to, void* scratch) const override {
    constexpr std::int64_t kGrain = kParallelGrainOps * 2;
    const void* sources[kMostFloatSources];
    char* free = static_cast<char*>(scratch);
    for (std::size_t s = 0; s < src.size(); ++s) {
      sources[s] = constants[s] ? constants[s]->data() : from[s];
      if (packed[s] || !isNarrowFloat(src[s].dtype)) continue;
      auto* const floats = reinterpret_cast<float*>(free);
      free += wideBytes(src[s]);
      parallelFor(storedElements(src[s]), kGrain, threads,
                  [&](std::int64_t begin, std::int64_t end, int) { conversion.widen(src[s].dtype, from[s], floats, begin, end); });
      sources[s] = floats;
    }
    const bool narrows = isNarrowFloat(dst[0].dtype);
    auto* const floats = reinterpret_cast<float*>(free);
    void* const result = narrows ? floats : to[0];
    if (narrows) free += wideBytes(dst[0]);
    wide->execute(state, sources, &result, free);
    if (!narrows) return;
    parallelFor(storedElements(dst[0]), kGrain, threads,
                [&](std::int64_t begin, std::int64_t end, int) { conversion.narrow(dst[0].dtype, floats, to[0], begin, end); });
  }
};

class WidenedFloats final : public Kernel {
 public:
  explicit WidenedFloats(const Kernel* wide) : wide_(wide), name_(std::string(wide->name()) + "_widened_floats") {}

  const char* name() const override { return name_.c_str(); }

  Verdict supports(const PrepareArgs& args) const override {
    if (args.target.device.kind != DeviceKind::kCpu) return Verdict::no("device");
    const DType left = args.src[kSrc].dtype;
    if (!isNarrowFloat(left) || args.src[kWeights].dtype != left || !isFloatDtype(args.dst[0].dtype)) return Verdict::no("dtype");
    if (left == DType::kBf16 && hasBf16(args.target.isa)) return Verdict::no("native");
    if (args.src.size() > kMostFloatSources) return Verdict::no("too-many-operands");
    return wide_->supports(inFloats(args));
  }

  std::unique_ptr<PreparedOp> prepare(const PrepareArgs& args, std::string* reason) const override {
    auto op = std::make_unique<WidenedFloatsOp>();
    op->conversion = valueConversion(args.target.isa);
    op->constants.resize(args.src.size());
    PrepareArgs floats = inFloats(args);
    for (std::size_t s = 0; s < args.src.size(); ++s) {
      if (args.constant[s] == nullptr || !isNarrowFloat(args.src[s].dtype)) continue;
      op->constants[s] = widened(args, s, op->conversion);
      floats.constant[s] = op->constants[s]->data();
    }
    op->wide = wide_->prepare(floats, reason);
    if (!op->wide) return nullptr;
    op->src = op->wide->src;
    op->dst = op->wide->dst;
    op->dst[0].dtype = args.dst[0].dtype;
    op->packed = op->wide->packed;
    op->flops = op->wide->flops;
    op->implementation = op->wide->implementation;
    op->threads = args.target.threads;
    op->scratch_bytes = op->wide->scratch_bytes + (isNarrowFloat(op->dst[0].dtype) ? wideBytes(op->dst[0]) : 0);
    for (std::size_t s = 0; s < args.src.size(); ++s) settle(args, s, op.get());
    return op;
  }

 private:
  // How source `s` reaches the kernel for FP32.
  static void settle(const PrepareArgs& args, std::size_t s, WidenedFloatsOp* op) {
    op->src[s].dtype = args.src[s].dtype;
    if (!isNarrowFloat(args.src[s].dtype)) return;
    if (op->packed[s]) {
      op->constants[s].reset();
    } else if (op->constants[s] && op->src[s].sameLayout(args.src[s])) {
      op->packed[s] = true;
    } else {
      op->constants[s].reset();
      op->scratch_bytes += wideBytes(op->src[s]);
    }
  }

  static WeightCache::Packed widened(const PrepareArgs& args, std::size_t s, const ValueConversion& conversion) {
    const TensorDesc& desc = args.src[s];
    const std::int64_t count = storedElements(desc);
    const std::string form = fmt::format("f32 of {} {}", dtypeName(desc.dtype), count);
    return args.weights->getOrPack(args.constant[s], form, static_cast<std::size_t>(count) * sizeof(float),
                                   [&](void* wide) { conversion.widen(desc.dtype, args.constant[s], static_cast<float*>(wide), 0, count); });
  }

  static PrepareArgs inFloats(const PrepareArgs& args) {
    PrepareArgs changed = args;
    changed.spec.attributes.erase("result");
    for (std::size_t s = 0; s < changed.src.size(); ++s) {
      if (isNarrowFloat(changed.src[s].dtype)) changed.src[s].dtype = DType::kF32;
    }
    changed.dst[0].dtype = DType::kF32;
    changed.src_dies.assign(changed.src.size(), false);  // what is widened lies elsewhere
    return changed;
  }

  const Kernel* wide_;
  std::string name_;
};

}  // namespace

std::unique_ptr<Kernel> makeWidenedFloats(const Kernel* wide) { return std::make_unique<WidenedFloats>(wide); }

}  // namespace ipex_studio
