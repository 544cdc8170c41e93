// y = x·wᵀ of FP32 rows and WOQ weights of plain numbers (8 bits, or groups of 8 or 4 bits with a scale each) by the
// kernel for FP32: the weights are upconverted once, while the operation is prepared. For many rows, where multiplying
// costs more than reading weights: the plan keeps them in FP32, the model's file does not.
//
// Declines: dtype (not these), dynamic, weights-not-constant, few-rows (groups: linear_woq_simd.cpp reads less),
// weights-not-packed, and what the kernel for FP32 declines.
#include <fmt/format.h>

#include "core/op/woq_weights.h"
#include "kernels/common/kernel_parts.h"
#include "kernels/common/layer_operands.h"
#include "kernels/common/matrix_rows.h"

namespace ipex_studio {
namespace {

constexpr int kThird = 2;
// Below this many rows the time is that of reading the weights.
constexpr std::int64_t kFewRows = 4;

// Conversion of constant weights to rows of `depth` FP32 numbers.
struct WeightUpconversion {
  TensorDesc w;
  std::int64_t depth = 0, group = 0;  // group 0: no scales
  bool four_bits = false;
  const NibbleLevels* levels;

  explicit WeightUpconversion(const PrepareArgs& args)
      : w(args.src[kWeights]),
        depth(w.dims[1]),
        group(args.spec.intOr("group", 0)),
        four_bits(args.spec.intOr("bits", 8) == 4),
        levels(nibbleLevels(args.spec)) {
    if (four_bits) depth = args.spec.intOr("depth", 0);
  }

  std::string form() const {
    return fmt::format("f32 of {} {} strides {} groups of {}",
                       !four_bits              ? "s8"
                       : levels == &kNf4Levels ? "nf4 nibbles"
                                               : "nibbles",
                       w.dims.str(), w.strides.str(), group);
  }

  float level(const void* from, std::int64_t row, std::int64_t k) const {
    if (!four_bits) return static_cast<const std::int8_t*>(from)[row * w.strides[0] + k * w.strides[1]];
    const std::uint32_t byte =
        static_cast<const std::uint8_t*>(from)[row * w.strides[0] + nibbleByte(k) * w.strides[1]];
    return (*levels)[nibbleIsHigh(k) ? byte >> 4u : byte & 15u];
  }

  std::size_t bytes() const { return static_cast<std::size_t>(w.dims[0] * depth) * sizeof(float); }

  void run(const void* from, const float* scales, void* wide) const {
    auto* to = static_cast<float*>(wide);
    const std::int64_t groups = group == 0 ? 0 : groupCount(depth, group);
    for (std::int64_t row = 0; row < w.dims[0]; ++row) {
      for (std::int64_t k = 0; k < depth; ++k)
        *to++ = level(from, row, k) * (group == 0 ? 1.0f : scales[row * groups + k / group]);
    }
  }
};

class LinearUpconvertedWeights final : public Kernel {
 public:
  explicit LinearUpconvertedWeights(const Kernel* wide)
      : wide_(wide), name_(std::string(wide->name()) + "_upconverted_weights") {}

  const char* name() const override { return name_.c_str(); }
  bool onlyWhenMeasured() const override { return wide_->onlyWhenMeasured(); }

  Verdict supports(const PrepareArgs& args) const override {
    const bool four_bits = args.spec.intOr("bits", 8) == 4;
    if (args.src[kSrc].dtype != DType::kF32 || args.src[kWeights].dtype != (four_bits ? DType::kU8 : DType::kS8))
      return Verdict::no("dtype");
    if (args.spec.intOr("dynamic", 0) != 0) return Verdict::no("dynamic");
    const bool grouped = args.spec.has("group");
    if (args.src[kWeights].block != 0 || args.constant[kWeights] == nullptr) return Verdict::no("weights-not-constant");
    if (grouped && (args.constant[kThird] == nullptr || !args.src[kThird].isContiguous()))
      return Verdict::no("weights-not-constant");
    if (grouped && rowsOf(args.src[kSrc].dims) < kFewRows) return Verdict::no("few-rows");
    return wide_->supports(inFloats(args, args.constant[kWeights]));
  }

  std::unique_ptr<PreparedOp> prepare(const PrepareArgs& args, std::string* reason) const override {
    const WeightUpconversion upconversion(args);
    const auto* const scales = static_cast<const float*>(upconversion.group == 0 ? nullptr : args.constant[kThird]);
    const WeightCache::Packed upconverted =
        args.weights->getOrPack(args.constant[kWeights], upconversion.form(), upconversion.bytes(),
                                [&](void* wide) { upconversion.run(args.constant[kWeights], scales, wide); });
    auto op = wide_->prepare(inFloats(args, upconverted->data()), reason);
    if (!op) return nullptr;
    if (!op->packed[kWeights]) {
      *reason = "weights-not-packed";
      return nullptr;
    }
    op->src[kWeights] = args.src[kWeights];
    if (upconversion.group != 0) {
      op->src[kThird] = args.src[kThird];
      op->packed[kThird] = true;
    }
    return op;
  }

 private:
  static PrepareArgs inFloats(const PrepareArgs& args, const void* weights) {
    const WeightUpconversion upconversion(args);
    PrepareArgs changed = args;
    changed.src[kWeights] = contiguousDesc(DType::kF32, Dims{upconversion.w.dims[0], upconversion.depth});
    changed.constant[kWeights] = weights;
    if (upconversion.group == 0) return changed;
    for (const char* name : {"group", "bits", "depth", "levels"}) changed.spec.attributes.erase(name);
    changed.src[kThird] = TensorDesc();
    changed.constant[kThird] = nullptr;
    return changed;
  }

  const Kernel* wide_;
  std::string name_;
};

}  // namespace

std::unique_ptr<Kernel> makeLinearUpconvertedWeights(const KernelParts& parts) {
  return std::make_unique<LinearUpconvertedWeights>(parts.first);
}

}  // namespace ipex_studio
