// y = x·wᵀ of FP32 rows and s8 weights that are numbers: the weights are widened once, while the operation is prepared,
// then the kernel for FP32 does it.
//
// Declines: dtype (not these), dynamic, groups, weights-not-constant, weights-not-packed, and what the kernel for FP32 declines.
#include <fmt/format.h>

#include "kernels/factories.h"

namespace ipex_studio {
namespace {

constexpr int kSrc = 0, kWeights = 1;

class LinearWideWeights final : public Kernel {
 public:
  explicit LinearWideWeights(const Kernel* wide) : wide_(wide), name_(std::string(wide->name()) + "_s8_weights") {}

  const char* name() const override { return name_.c_str(); }
  bool onlyWhenMeasured() const override { return wide_->onlyWhenMeasured(); }

  Verdict supports(const PrepareArgs& args) const override {
    if (args.target.device.kind != DeviceKind::kCpu) return Verdict::no("device");
    if (args.src[kSrc].dtype != DType::kF32 || args.src[kWeights].dtype != DType::kS8) return Verdict::no("dtype");
    if (args.spec.intOr("dynamic", 0) != 0) return Verdict::no("dynamic");
    if (args.spec.has("group")) return Verdict::no("groups");
    if (args.constant[kWeights] == nullptr) return Verdict::no("weights-not-constant");
    return wide_->supports(inFloats(args, args.constant[kWeights]));
  }

  std::unique_ptr<PreparedOp> prepare(const PrepareArgs& args, std::string* reason) const override {
    const TensorDesc& w = args.src[kWeights];
    const auto* const data = static_cast<const std::int8_t*>(args.constant[kWeights]);
    const auto count = static_cast<std::int64_t>(w.bytes());
    const WeightCache::Packed widened =
        args.weights->getOrPack(data, fmt::format("f32 of s8 {} strides {}", w.dims.str(), w.strides.str()), [&] {
          AlignedBuffer buffer(static_cast<std::size_t>(count) * sizeof(float));
          auto* const to = static_cast<float*>(buffer.data());
          for (std::int64_t i = 0; i < count; ++i) to[i] = static_cast<float>(data[i]);
          return buffer;
        });
    auto op = wide_->prepare(inFloats(args, widened->data()), reason);
    if (!op) return nullptr;
    if (!op->packed[kWeights]) {
      *reason = "weights-not-packed";
      return nullptr;
    }
    op->src[kWeights] = w;
    return op;
  }

 private:
  static PrepareArgs inFloats(const PrepareArgs& args, const void* weights) {
    PrepareArgs changed = args;
    changed.src[kWeights].dtype = DType::kF32;
    changed.constant[kWeights] = weights;
    return changed;
  }

  const Kernel* wide_;
  std::string name_;
};

}  // namespace

std::unique_ptr<Kernel> makeLinearWideWeights(const Kernel* wide) { return std::make_unique<LinearWideWeights>(wide); }

}  // namespace ipex_studio
