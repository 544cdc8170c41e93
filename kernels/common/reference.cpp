// See reference.h.
#include "kernels/common/reference.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace ipex_studio {
namespace {

double clamped(double v, double low, double high) { return std::isnan(v) ? v : std::min(high, std::max(low, v)); }
double sigmoid(double v) { return 1 / (1 + std::exp(-v)); }

}  // namespace

std::vector<std::int64_t> refSpatial(const OpSpec& spec, const char* name, int spatial, std::int64_t otherwise) {
  std::vector<std::int64_t> list = spec.ints(name);
  if (list.empty()) list.assign(spatial, otherwise);
  return list;
}

Dims broadcastIndex(const Dims& at, const Dims& dims) {
  Dims index;
  index.rank = dims.rank;
  for (int axis = 0; axis < dims.rank; ++axis) {
    index[axis] = dims[axis] == 1 ? 0 : at[axis + at.rank - dims.rank];
  }
  return index;
}

RefLine refLine(const RefTensor& tensor, Dims at, int axis) {
  at[axis] = 0;
  RefLine line{&tensor(broadcastIndex(at, tensor.dims)), 0};
  const int own = axis - (at.rank - tensor.dims.rank);
  if (own < 0 || tensor.dims[own] == 1) return line;
  line.step = 1;
  for (int later = own + 1; later < tensor.dims.rank; ++later) line.step *= tensor.dims[later];
  return line;
}

double refPostOp(const PostOp& op, double v, double o) {
  constexpr double kSqrt2 = 1.4142135623730950488, kSqrt2OverPi = 0.79788456080286535588;
  switch (op.kind) {
    case PostOpKind::kRelu:
      return v < 0 ? 0 : v;
    case PostOpKind::kClip:
      return clamped(v, op.alpha, op.beta);
    case PostOpKind::kSigmoid:
      return sigmoid(v);
    case PostOpKind::kTanh:
      return std::tanh(v);
    case PostOpKind::kGeluErf:
      return 0.5 * v * (1 + std::erf(v / kSqrt2));
    case PostOpKind::kGeluTanh:
      return 0.5 * v * (1 + std::tanh(kSqrt2OverPi * (v + 0.044715 * v * v * v)));
    case PostOpKind::kSilu:
      return v * sigmoid(v);
    case PostOpKind::kHardSwish:
      return v * clamped(v + 3, 0, 6) / 6;
    case PostOpKind::kHardSigmoid:
      return clamped(v + 3, 0, 6) / 6;
    case PostOpKind::kLeakyRelu:
      return v > 0 ? v : op.alpha * v;
    case PostOpKind::kElu:
      return v > 0 ? v : op.alpha * std::expm1(v);
    case PostOpKind::kMish:
      return v * std::tanh(v > 30 ? v : std::log1p(std::exp(v)));
    case PostOpKind::kAbs:
      return std::fabs(v);
    case PostOpKind::kExp:
      return std::exp(v);
    case PostOpKind::kLog:
      return std::log(v);
    case PostOpKind::kSqrt:
      return std::sqrt(v);
    case PostOpKind::kRsqrt:
      return 1 / std::sqrt(v);
    case PostOpKind::kSquare:
      return v * v;
    case PostOpKind::kNeg:
      return -v;
    case PostOpKind::kReciprocal:
      return 1 / v;
    case PostOpKind::kErf:
      return std::erf(v);
    case PostOpKind::kSoftplus:
      return v * op.alpha > op.beta ? v : std::log1p(std::exp(v * op.alpha)) / op.alpha;
    case PostOpKind::kFloor:
      return std::floor(v);
    case PostOpKind::kRound:
      return std::nearbyint(v);
    case PostOpKind::kPow:
      return std::pow(v, op.alpha);
    case PostOpKind::kSin:
      return std::sin(v);
    case PostOpKind::kCos:
      return std::cos(v);
    case PostOpKind::kLinear:
      return op.alpha * v + op.beta;
    case PostOpKind::kAdd:
      return v + op.alpha * o;
    case PostOpKind::kSub:
      return v - op.alpha * o;
    case PostOpKind::kRsub:
      return op.alpha * o - v;
    case PostOpKind::kMul:
      return v * o;
    case PostOpKind::kDiv:
      return v / o;
    case PostOpKind::kRdiv:
      return o / v;
    case PostOpKind::kMax:
      return std::isnan(v) || std::isnan(o) ? v + o : std::max(v, o);
    case PostOpKind::kMin:
      return std::isnan(v) || std::isnan(o) ? v + o : std::min(v, o);
    case PostOpKind::kFill:
      return o != 0 ? op.alpha : v;
    case PostOpKind::kKeep:
      return o == 0 ? op.alpha : v;
    case PostOpKind::kEq:
      return v == o;
    case PostOpKind::kNe:
      return v != o;
    case PostOpKind::kLt:
      return v < o;
    case PostOpKind::kLe:
      return v <= o;
    case PostOpKind::kGt:
      return v > o;
    case PostOpKind::kGe:
      return v >= o;
  }
  return v;
}

}  // namespace ipex_studio
