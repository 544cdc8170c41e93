// See requantization.h.
#include "kernels/common/requantization.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <optional>

#include "kernels/common/loop_nest.h"

namespace ipex_studio {
namespace {

// A constant that holds one number, or one per channel, as doubles; none if it does not.
std::optional<std::vector<double>> channelValues(const PrepareArgs& args, int src, int channel_axis) {
  const TensorDesc& desc = args.src[src];
  const Dims& result = args.dst[0].dims;
  if (args.constant[src] == nullptr || desc.dtype != DType::kF32 || desc.block != 0 || desc.dims.rank > result.rank)
    return std::nullopt;
  const TensorDesc aligned = alignRank(desc, result.rank);
  for (int axis = 0; axis < result.rank; ++axis) {
    if (aligned.dims[axis] != 1 && axis != channel_axis) return std::nullopt;
  }
  const auto* data = static_cast<const float*>(args.constant[src]);
  const std::int64_t stride = aligned.dims[channel_axis] == 1 ? 0 : aligned.strides[channel_axis];
  std::vector<double> values(static_cast<std::size_t>(result[channel_axis]));
  for (std::size_t c = 0; c < values.size(); ++c) values[c] = data[static_cast<std::int64_t>(c) * stride];
  return values;
}

class Folder {
 public:
  Folder(const PrepareArgs& args, int first_operand, int channel_axis, bool takes_all)
      : args_(args),
        first_operand_(first_operand),
        channel_axis_(channel_axis),
        takes_all_(takes_all),
        scale_(static_cast<std::size_t>(args.dst[0].dims[channel_axis]), args.spec.floatOr("scale", 1)),
        offset_(scale_.size(), 0.0) {}

  Requantization fold() {
    constexpr int kBias = 2;
    const bool biased = first_operand_ > kBias && args_.src[kBias].dtype == DType::kF32;
    if (const auto bias = biased ? channelValues(args_, kBias, channel_axis_) : std::nullopt) offset_ = *bias;
    const std::vector<PostOp>& ops = args_.spec.post_ops;
    std::size_t next = 0;
    while (next < ops.size() && take(ops[next])) ++next;
    Requantization chain;
    chain.scale.assign(scale_.begin(), scale_.end());
    chain.offset.assign(offset_.begin(), offset_.end());
    chain.addend = addend_;
    chain.factor = static_cast<float>(factor_);
    chain.adds_last = adds_last_;
    chain.activation = activation_;
    chain.activated_scale = static_cast<float>(activated_scale_);
    chain.activated_offset = static_cast<float>(activated_offset_);
    chain.low = static_cast<float>(low_);
    chain.high = static_cast<float>(high_);
    chain.tail.assign(ops.begin() + static_cast<std::ptrdiff_t>(next), ops.end());
    return chain;
  }

 private:
  bool activated() const { return activation_ != IntegerActivation::kNone; }
  bool clamped() const { return !std::isinf(low_) || !std::isinf(high_); }

  void multiply(double factor) {
    if (activated()) {
      activated_scale_ *= factor;
      activated_offset_ *= factor;
      if (adds_last_) factor_ *= factor;
    } else {
      for (double& s : scale_) s *= factor;
      for (double& o : offset_) o *= factor;
      factor_ *= factor;
    }
    if (factor < 0) std::swap(low_, high_);
    low_ *= factor;
    high_ *= factor;
  }

  // Adds a clamp behind those of the chain: the earlier bounds go through the later ones.
  void clamp(double low, double high) {
    low_ = std::min(std::max(low_, low), high);
    high_ = std::min(std::max(high_, low), high);
  }

  bool take(const PostOp& op) {
    switch (op.kind) {
      case PostOpKind::kLinear:
        if (op.alpha == 0) return false;  // 0 times an infinite bound is NaN
        multiply(op.alpha);
        if (activated()) {
          activated_offset_ += op.beta;
        } else {
          for (double& o : offset_) o += op.beta;
        }
        low_ += op.beta;
        high_ += op.beta;
        return true;
      case PostOpKind::kRelu:
        clamp(0, kInfinity);
        return true;
      case PostOpKind::kClip:
        if (!(op.alpha <= op.beta)) return false;
        clamp(op.alpha, op.beta);
        return true;
      case PostOpKind::kHardSwish:
        return activate(IntegerActivation::kHardSwish);
      case PostOpKind::kSilu:
        return takes_all_ && activate(IntegerActivation::kSilu);
      case PostOpKind::kGeluErf:
        return takes_all_ && activate(IntegerActivation::kGeluErf);
      case PostOpKind::kGeluTanh:
        return takes_all_ && activate(IntegerActivation::kGeluTanh);
      case PostOpKind::kAdd:
      case PostOpKind::kSub:
        if (activated()) return takes_all_ && !clamped() && addLast(op);
        return !clamped() && takeOperand(op);
      case PostOpKind::kMul:
        return !clamped() && !activated() && takeOperand(op);
      default:
        return false;
    }
  }

  bool activate(IntegerActivation activation) {
    if (clamped() || activated()) return false;
    activation_ = activation;
    return true;
  }

  bool takeOperand(const PostOp& op) {
    const int src = first_operand_ + op.operand;
    const auto values = channelValues(args_, src, channel_axis_);
    const double sign = op.kind == PostOpKind::kSub ? -1 : 1;
    if (op.kind == PostOpKind::kMul) {
      if (!values || addend_ >= 0) return false;
      for (std::size_t c = 0; c < scale_.size(); ++c) {
        scale_[c] *= (*values)[c];
        offset_[c] *= (*values)[c];
      }
      return true;
    }
    if (values) {
      for (std::size_t c = 0; c < scale_.size(); ++c) offset_[c] += sign * op.alpha * (*values)[c];
      return true;
    }
    return takeAddend(op);
  }

  bool takeAddend(const PostOp& op) {
    if (addend_ >= 0 || args_.src[first_operand_ + op.operand].dims != args_.dst[0].dims) return false;
    addend_ = op.operand;
    factor_ = op.kind == PostOpKind::kSub ? -op.alpha : op.alpha;
    return true;
  }

  bool addLast(const PostOp& op) {
    const DType type = args_.src[first_operand_ + op.operand].dtype;
    adds_last_ = (isByte(type) || type == DType::kF32) && takeAddend(op);
    return adds_last_;
  }

  static constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const PrepareArgs& args_;
  int first_operand_, channel_axis_;
  bool takes_all_;
  std::vector<double> scale_, offset_;
  int addend_ = -1;
  bool adds_last_ = false;
  IntegerActivation activation_ = IntegerActivation::kNone;
  double activated_scale_ = 1, activated_offset_ = 0;
  double factor_ = 0, low_ = -kInfinity, high_ = kInfinity;
};

}  // namespace

Requantization foldChain(const PrepareArgs& args, int first_operand, int channel_axis, bool takes_all) {
  Requantization chain = Folder(args, first_operand, channel_axis, takes_all).fold();
  const bool gelu = chain.activation == IntegerActivation::kGeluErf || chain.activation == IntegerActivation::kGeluTanh;
  // Most steps of the result per 1 for which gelu may be geluNearV: its error is then at most a tenth of a step.
  constexpr float kFinestSteps = 500;
  const bool coarse =
      isByte(args.dst[0].dtype) && chain.tail.empty() && std::fabs(chain.activated_scale) <= kFinestSteps;
  return gelu && !coarse ? Folder(args, first_operand, channel_axis, false).fold() : chain;
}

void saturate(DType dtype, Requantization* chain) {
  if (!isByte(dtype) || !chain->tail.empty()) return;
  const float low = dtype == DType::kU8 ? 0.0f : -128.0f, high = dtype == DType::kU8 ? 255.0f : 127.0f;
  chain->low = std::min(std::max(chain->low, low), high);
  chain->high = std::min(std::max(chain->high, low), high);
}

int largestWeight(const TensorDesc& desc, const void* data) {
  const auto* w = static_cast<const std::int8_t*>(data);
  int largest = 0;
  for (std::size_t i = 0; i < desc.bytes(); ++i) largest = std::max(largest, std::abs(static_cast<int>(w[i])));
  return largest;
}

bool isByte(DType dtype) { return dtype == DType::kU8 || dtype == DType::kS8; }

}  // namespace ipex_studio
