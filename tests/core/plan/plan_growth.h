// Values, constants and operations of a random plan under construction. Private to random_plan.cpp.
#pragma once

#include <algorithm>
#include <functional>
#include <optional>

#include "core/op/shape_inference.h"
#include "tests/core/plan/random_plan.h"

namespace ipex_studio::testing {

using Ints = std::vector<std::int64_t>;

inline Tensor filled(DType dtype, const Dims& dims, Random& random) {
  Tensor tensor{contiguousDesc(dtype, dims), {}, {}};
  const auto count = static_cast<std::size_t>(dims.count());
  dtype == DType::kS64 ? tensor.ids.resize(count) : tensor.values.resize(count);
  for (std::int64_t& id : tensor.ids) id = random.between(0, 4);
  for (float& value : tensor.values) value = static_cast<float>(random.real() / 4);
  return tensor;
}

// Provisional numbers of values during construction: inputs from 0, constants from kConstants, results from kResults.
constexpr std::int32_t kConstants = 10000, kResults = 20000;

class PlanGrowth {
 protected:
  explicit PlanGrowth(std::uint64_t seed) : random_(seed) {}

  struct Known {
    std::int32_t number;
    Dims dims;
    std::int64_t axis = -1;  // of integers: indices along this axis of tensors of these dims
  };

  std::int64_t pick(const Ints& from) { return from[random_.index(from.size())]; }

  void addInput(const Dims& dims) {
    known_.push_back({static_cast<std::int32_t>(plan_.inputs.size()), dims});
    plan_.inputs.push_back(filled(DType::kF32, dims, random_));
    plan_.ints.push_back(0);
    plan_.spec.inputs.push_back({false, DType::kF32, dims.rank});
  }

  std::int32_t constant(DType dtype, const Dims& dims) {
    plan_.constants.push_back(filled(dtype, dims, random_));
    plan_.spec.constants.push_back(plan_.constants.back().desc);
    return kConstants + static_cast<std::int32_t>(plan_.constants.size() - 1);
  }
  std::int32_t maybeConstant(const Dims& dims) { return random_.chance(70) ? constant(DType::kF32, dims) : -1; }

  TensorDesc descOf(std::int32_t number) const {
    if (number < 0) return {};
    if (number >= kConstants && number < kResults)
      return plan_.constants[static_cast<std::size_t>(number - kConstants)].desc;
    for (const Known& value : known_) {
      if (value.number == number) return contiguousDesc(DType::kF32, value.dims);
    }
    for (const Known& place : places_) {
      if (place.number == number) return contiguousDesc(DType::kS64, place.dims);
    }
    return {};
  }

  // Picks a value that `fits`, preferably a recent one.
  std::optional<Known> value(const std::function<bool(const Dims&)>& fits) {
    std::vector<Known> fitting;
    for (const Known& known : known_) {
      if (fits(known.dims) && known.dims.count() > 0) fitting.push_back(known);
    }
    if (fitting.empty()) return std::nullopt;
    const std::size_t back = std::min<std::size_t>(fitting.size(), random_.chance(60) ? 3 : fitting.size());
    return fitting[fitting.size() - 1 - random_.index(back)];
  }
  std::optional<Known> ofRank(int low, int high) {
    return value([=](const Dims& dims) { return dims.rank >= low && dims.rank <= high; });
  }

  // Picks an operand of a binary post-op for a result of size `dims`: the same size (a value or a constant) or a
  // broadcast.
  std::int32_t operandFor(const Dims& dims) {
    if (random_.chance(60)) {
      const auto same = value([&](const Dims& other) { return other == dims; });
      if (same) return same->number;
    }
    if (random_.chance(30)) return constant(DType::kF32, dims);
    Dims small = dims;
    for (int axis = 0; axis < small.rank; ++axis) small[axis] = random_.chance(50) ? 1 : small[axis];
    if (random_.chance(30) && small.rank > 1) {
      for (int axis = 0; axis + 1 < small.rank; ++axis) small[axis] = small[axis + 1];
      --small.rank;
    }
    return constant(DType::kF32, small);
  }

  // A constant mask for fill and keep, with exact zeros: their results jump where it is zero, so rounding must not
  // reach it.
  std::int32_t maskFor(Dims dims) {
    for (int axis = 0; axis < dims.rank; ++axis) dims[axis] = random_.chance(30) ? 1 : dims[axis];
    const std::int32_t number = constant(DType::kF32, dims);
    for (float& value : plan_.constants.back().values) value = random_.chance(50) ? 0 : value;
    return number;
  }

  void addPostOps(OpSpec& op, std::vector<std::int32_t>& src, const Dims& result, std::int64_t most) {
    static const PostOpKind kUnary[] = {PostOpKind::kRelu,    PostOpKind::kSigmoid,   PostOpKind::kTanh,
                                        PostOpKind::kGeluErf, PostOpKind::kHardSwish, PostOpKind::kSilu,
                                        PostOpKind::kNeg,     PostOpKind::kAbs,       PostOpKind::kSin};
    static const PostOpKind kBinary[] = {PostOpKind::kAdd, PostOpKind::kAdd,  PostOpKind::kAdd,
                                         PostOpKind::kSub, PostOpKind::kRsub, PostOpKind::kMul,
                                         PostOpKind::kMax, PostOpKind::kFill, PostOpKind::kKeep};
    std::int32_t operands = 0;
    for (std::int64_t p = random_.between(0, most); p > 0; --p) {
      if (random_.chance(50)) {
        op.post_ops.push_back(unaryPostOp(kUnary[random_.index(9)]));
      } else {
        const PostOpKind kind = kBinary[random_.index(9)];
        op.post_ops.push_back(binaryPostOp(kind, operands++, 1));
        src.push_back(kind == PostOpKind::kFill || kind == PostOpKind::kKeep ? maskFor(result) : operandFor(result));
      }
    }
  }

  // Appends the operation if its shapes are valid.
  void add(OpSpec op, std::vector<std::int32_t> src, std::int64_t post_ops = 0, std::vector<AttrRef> refs = {}) {
    std::vector<TensorDesc> descs, dst;
    for (std::int32_t number : src) descs.push_back(descOf(number));
    if (!inferShapes(op, descs, &dst).ok || dst[0].dims.count() > 20000 || dst[0].dims.count() == 0) return;
    addPostOps(op, src, dst[0].dims, post_ops);
    descs.clear();
    for (std::int32_t number : src) descs.push_back(descOf(number));
    if (!inferShapes(op, descs, &dst).ok) return;
    PlanNode node;
    node.op = std::move(op);
    node.src = std::move(src);
    node.refs = std::move(refs);
    node.name = "node" + std::to_string(plan_.spec.nodes.size());
    for (const TensorDesc& desc : dst) {
      node.dst.push_back(kResults + next_result_);
      if (desc.dtype == DType::kF32) known_.push_back({kResults + next_result_, desc.dims});
      if (desc.dtype == DType::kS64 && isExact(node.src[0]))
        places_.push_back({kResults + next_result_, desc.dims, placesAlong(node.op)});
      ++next_result_;
    }
    plan_.spec.nodes.push_back(std::move(node));
  }

  // True for integers and for values that no operation computed: comparisons of them give the same for every kernel.
  bool isExact(std::int32_t number) const {
    return number < kResults ||
           std::any_of(places_.begin(), places_.end(), [&](const Known& place) { return place.number == number; });
  }

  // The axis whose indices a whole sort returns; not the first, whose size may change.
  static std::int64_t placesAlong(const OpSpec& op) {
    return op.kind == OpKind::kSort && !op.has("k") && op.intOr("axis", 0) > 0 ? op.intOr("axis", 0) : -1;
  }

  std::int32_t addInt(IntOp op, std::int64_t literal, std::vector<std::int32_t> src) {
    PlanNode node;
    node.is_int = true;
    node.int_op = op;
    node.literal = literal;
    node.src = std::move(src);
    node.dst = {kResults + next_result_};
    plan_.spec.nodes.push_back(std::move(node));
    return kResults + next_result_++;
  }

  void outputs() {
    for (std::int64_t o = random_.between(1, 4); o > 0; --o)
      plan_.spec.outputs.push_back(
          known_[known_.size() - 1 - random_.index(std::min<std::size_t>(known_.size(), 8))].number);
    if (random_.chance(20)) plan_.spec.outputs.push_back(known_[random_.index(3)].number);  // an input
    if (random_.chance(20)) plan_.spec.outputs.push_back(plan_.spec.outputs[0]);            // the same output twice
    if (random_.chance(15)) {
      for (std::size_t c = 0; c < plan_.constants.size(); ++c) {
        if (plan_.constants[c].desc.dtype != DType::kF32) continue;
        plan_.spec.outputs.push_back(kConstants + static_cast<std::int32_t>(c));
        break;
      }
    }
  }

  void renumber() {
    const auto inputs = static_cast<std::int32_t>(plan_.inputs.size());
    const auto constants = static_cast<std::int32_t>(plan_.constants.size());
    const auto final = [&](std::int32_t& number) {
      if (number >= kResults) {
        number += inputs + constants - kResults;
      } else if (number >= kConstants) {
        number += inputs - kConstants;
      }
    };
    for (PlanNode& node : plan_.spec.nodes) {
      for (std::int32_t& number : node.src) final(number);
      for (std::int32_t& number : node.dst) final(number);
      for (AttrRef& ref : node.refs) final(ref.value);
    }
    for (std::int32_t& number : plan_.spec.outputs) final(number);
  }

  Random random_;
  RandomPlan plan_;
  std::vector<Known> known_;
  std::vector<Known> places_;  // s64 results
  std::int32_t next_result_ = 0;
};

}  // namespace ipex_studio::testing
