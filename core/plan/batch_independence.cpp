// Walks two traces of a spec, one per number of samples, and follows which axis of each value holds the samples.
#include "core/plan/batch_independence.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "core/base/error.h"
#include "core/plan/plan_trace.h"

namespace ipex_studio {
namespace {

// The samples in a value: `rows` successive rows of `axis` for each sample; 0 rows if it holds none.
struct Samples {
  int axis = 0;
  std::int64_t rows = 0;
};
using Known = std::map<std::int32_t, Samples>;  // by value; values without samples are absent

// One operation at both batch sizes, and the rule that says whether its result keeps the samples apart.
class Step {
 public:
  Step(const TracedStep& exact, const TracedStep& padded, const Known& known, std::int64_t samples,
       std::int64_t more_samples)
      : op_(exact.op),
        op_padded_(padded.op),
        src_(exact.args.src),
        dst_(exact.args.dst.at(0)),
        dst_padded_(padded.args.dst.at(0)),
        samples_(samples),
        more_samples_(more_samples),
        same_op_(exact.op == padded.op) {
    for (const std::int32_t value : exact.src) {
      const auto found = known.find(value);
      held_.push_back(found == known.end() ? Samples{} : found->second);
      if (held_.back().rows == 0) continue;
      one_axis_ = one_axis_ && (!any_ || held_.back().axis == axis_);
      axis_ = held_.back().axis;
      any_ = true;
    }
  }

  // Stores where the result holds the samples; false if samples may meet.
  bool result(Samples* result) const {
    *result = {};
    if (!any_) return (same_op_ && dst_.dims == dst_padded_.dims) || isRepeated(result);
    const bool sizes_allowed = op_.kind == OpKind::kReshape || op_.kind == OpKind::kExpand;
    if ((!same_op_ && !sizes_allowed) || !one_axis_ || !keepsApart()) return false;
    return isCounted(isView(op_.kind) ? axisOfView() : axis_, result);
  }

 protected:
  // True if a single row that belongs to no sample is repeated for each of them.
  bool isRepeated(Samples* result) const {
    if (op_.kind != OpKind::kExpand || dst_.dims.rank == 0) return false;
    return (src_[0].dims.rank < dst_.dims.rank || src_[0].dims[0] == 1) && isCounted(0, result);
  }
  // True if the padded result has more rows in proportion to its samples, and differs in nothing else.
  bool isCounted(int axis, Samples* result) const {
    const int rank = dst_.dims.rank;
    if (axis < 0 || axis >= rank || rank != dst_padded_.dims.rank) return false;
    for (int other = 0; other < rank; ++other) {
      if (other != axis && dst_.dims[other] != dst_padded_.dims[other]) return false;
    }
    *result = {axis, dst_.dims[axis] / samples_};
    return result->rows > 0 && dst_.dims[axis] == result->rows * samples_ &&
           dst_padded_.dims[axis] == result->rows * more_samples_;
  }

  bool isFixed(std::size_t source) const { return source >= held_.size() || held_[source].rows == 0; }
  // True if axis 0 of this source holds the samples.
  bool isBatch(std::size_t source) const { return !isFixed(source) && held_[source].axis == 0; }
  // True if the source is broadcast to the result without one sample's rows meeting another's.
  bool isAligned(std::size_t source) const {
    const Dims& dims = src_[source].dims;
    if (src_[source].dtype == DType::kNone) return true;
    const int missing = dst_.dims.rank - dims.rank;
    if (held_[source].rows > 0) return missing == 0 && dims[axis_] == dst_.dims[axis_];
    return missing > axis_ || dims[axis_ - missing] == 1;
  }
  bool areAligned(std::size_t first) const {
    for (std::size_t source = first; source < src_.size(); ++source) {
      if (!isAligned(source)) return false;
    }
    return true;
  }
  bool areFixed(std::size_t first, std::size_t end) const {
    for (std::size_t source = first; source < end; ++source) {
      if (!isFixed(source)) return false;
    }
    return true;
  }
  bool areBatches() const {
    for (std::size_t source = 0; source < src_.size(); ++source) {
      if (!isBatch(source)) return false;
    }
    return true;
  }
  // True if source 0 holds the samples, the other base sources (weights) hold none, and the operands of the
  // post-operations are aligned.
  bool isWeighted() const {
    const auto fixed = static_cast<std::size_t>(std::max(1, baseSourceCount(op_.kind)));
    return isBatch(0) && areFixed(1, std::min(fixed, src_.size())) && areAligned(fixed);
  }
  // True if an attribute names an axis without samples.
  bool isElsewhere(const char* attribute) const {
    return op_.has(attribute) && wrappedAxis(op_.intOr(attribute, 0), src_[0].dims.rank) != axis_;
  }
  bool isAmong(const char* attribute, int axis) const {
    const std::vector<std::int64_t> all = op_.ints(attribute);
    return std::any_of(all.begin(), all.end(),
                       [&](std::int64_t each) { return wrappedAxis(each, src_[0].dims.rank) == axis; });
  }
  bool padsElsewhere(const char* attribute) const {
    const std::vector<std::int64_t> all = op_.ints(attribute);
    return static_cast<int>(all.size()) < src_[0].dims.rank || all[0] == 0;
  }

  bool keepsApart() const {
    switch (opKindRow(op_.kind).batch) {
      case BatchRule::kMayMix:
        return false;
      case BatchRule::kView:
        return true;  // axisOfView() decides
      case BatchRule::kAligned:
        return areAligned(0);
      case BatchRule::kMatmul:
        if (axis_ == 0 && dst_.dims.rank > 2) return areAligned(0);
        return isBatch(0) && op_.intOr("transpose_a", 0) == 0 && isFixed(1) && areAligned(2);
      case BatchRule::kAttention:
        return axis_ == 0 && dst_.dims.rank > 2 && areAligned(0);
      case BatchRule::kSoftmax:
        return isElsewhere("axis") && areAligned(0);
      case BatchRule::kLayerNorm:
        return isBatch(0) && op_.intOr("axes", 0) < dst_.dims.rank &&
               areFixed(1, std::min<std::size_t>(3, src_.size())) && areAligned(3);
      case BatchRule::kConcat:
        return isElsewhere("axis") && areAligned(0) &&
               std::none_of(held_.begin(), held_.end(), [](Samples held) { return held.rows == 0; });
      case BatchRule::kReduce:
        return isWeighted() && !op_.ints("axes").empty() && !isAmong("axes", 0);
      case BatchRule::kPad:
        return isBatch(0) && padsElsewhere("begin") && padsElsewhere("end");
      case BatchRule::kGather:
        return isBatch(0) && isFixed(1) && isElsewhere("axis");
      case BatchRule::kAxisApart:
        return isBatch(0) && isElsewhere("axis");
      case BatchRule::kAllSamples:
        return areBatches();
      case BatchRule::kLinear:
        return src_[0].dims.rank > 1 && isWeighted();
      case BatchRule::kWeighted:
        return isWeighted();
    }
    return false;
  }
  // The axis of a view's result that holds the samples; -1: no single axis does.
  int axisOfView() const {
    const auto axis = [&](int rank) { return wrappedAxis(op_.intOr("axis", 0), rank); };
    // A reshape keeps the order of rows, so axis 0 holds whole samples one after another before and after.
    if (op_.kind == OpKind::kReshape) return axis_ == 0 ? 0 : -1;
    if (op_.kind == OpKind::kPermute) {
      const std::vector<std::int64_t> order = op_.ints("order");
      for (std::size_t to = 0; to < order.size(); ++to) {
        if (wrappedAxis(order[to], src_[0].dims.rank) == axis_) return static_cast<int>(to);
      }
    }
    if (op_.kind == OpKind::kSlice) return isElsewhere("axis") ? axis_ : -1;
    if (op_.kind == OpKind::kSelect)
      return isElsewhere("axis") ? axis_ - (axis(src_[0].dims.rank) < axis_ ? 1 : 0) : -1;
    if (op_.kind == OpKind::kUnsqueeze) return axis_ + (axis(dst_.dims.rank) <= axis_ ? 1 : 0);
    if (op_.kind == OpKind::kSqueeze) return squeezedAxis();
    if (op_.kind == OpKind::kExpand)
      return axis_ == 0 && src_[0].dims.rank == dst_.dims.rank && src_[0].dims[0] == dst_.dims[0] ? 0 : -1;
    return -1;
  }
  int squeezedAxis() const {
    if (isAmong("axes", axis_)) return -1;
    int axis = axis_;
    for (int before = 0; before < axis_; ++before) axis -= isAmong("axes", before) && src_[0].dims[before] == 1 ? 1 : 0;
    return axis;
  }

 protected:
  const OpSpec& op_;
  const OpSpec& op_padded_;
  const std::vector<TensorDesc>& src_;
  const TensorDesc& dst_;
  const TensorDesc& dst_padded_;
  const std::int64_t samples_, more_samples_;
  const bool same_op_;
  std::vector<Samples> held_;  // per source
  int axis_ = 0;               // axis of the samples in all sources, if one_axis_
  bool any_ = false, one_axis_ = true;
};

// The same for positions of sequences, of which one may depend on those before it.
class PositionStep : public Step {
 public:
  PositionStep(const TracedStep& exact, const TracedStep& padded, const Known& known, std::int64_t length,
               std::int64_t more)
      : Step(exact, padded, known, length, more) {
    if (isView(op_.kind) || op_.kind == OpKind::kEmbedding || op_.kind == OpKind::kReduce) return;
    // Sources of lower ranks broadcast to the last axes.
    one_axis_ = true;
    bool first = true;
    for (std::size_t source = 0; source < held_.size(); ++source) {
      if (isFixed(source)) continue;
      const int axis = held_[source].axis + dst_.dims.rank - src_[source].dims.rank;
      one_axis_ = one_axis_ && (first || axis == axis_);
      axis_ = axis;
      first = false;
    }
  }

  bool result(Samples* result) const {
    *result = {};
    if (!any_) return isMadeOfConstants(result);
    const bool sizes_allowed = op_.kind == OpKind::kReshape || op_.kind == OpKind::kExpand;
    return one_axis_ && (same_op_ || sizes_allowed) && isCounted(axisOfResult(), result) && result->rows == 1;
  }

 private:
  // True if the result does not depend on the length, or if its beginning does not: a slice from a fixed place on, and
  // one row that is repeated.
  bool isMadeOfConstants(Samples* result) const {
    if (dst_.dims == dst_padded_.dims) return same_op_;
    const int axis = growingAxis();
    if (axis < 0 || !isCounted(axis, result) || result->rows != 1) return false;
    if (op_.kind == OpKind::kSlice)
      return wrappedAxis(op_.intOr("axis", 0), dst_.dims.rank) == axis && isSame("axis") && isSame("begin") &&
             isSame("step") && op_.intOr("begin", 0) >= 0 && !op_.has("parts");
    const int missing = dst_.dims.rank - (src_.empty() ? 0 : src_[0].dims.rank);
    return op_.kind == OpKind::kExpand && (axis < missing || src_[0].dims[axis - missing] == 1);
  }
  bool isSame(const char* attribute) const { return op_.intOr(attribute, 0) == op_padded_.intOr(attribute, 0); }
  // The only axis that differs; -1: there are several.
  int growingAxis() const {
    int found = -1;
    for (int axis = 0; axis < dst_.dims.rank && dst_.dims.rank == dst_padded_.dims.rank; ++axis) {
      if (dst_.dims[axis] == dst_padded_.dims[axis]) continue;
      if (found >= 0) return -1;
      found = axis;
    }
    return found;
  }

  // True if the source does not repeat or lack positions that the result has.
  bool fitsPositions(std::size_t source) const {
    const Dims& dims = src_[source].dims;
    if (src_[source].dtype == DType::kNone) return true;
    const int axis = axis_ - (dst_.dims.rank - dims.rank);
    if (!isFixed(source)) return axis >= 0 && dims[axis] == dst_.dims[axis_];
    return axis < 0 || dims[axis] == 1;
  }
  bool fitPositions(std::size_t first) const {
    for (std::size_t source = first; source < src_.size(); ++source) {
      if (!fitsPositions(source)) return false;
    }
    return true;
  }
  bool areHeld(std::size_t end) const {
    for (std::size_t source = 0; source < end; ++source) {
      if (isFixed(source)) return false;
    }
    return true;
  }

  // The axis of the result that holds the positions; -1: a position may depend on a later one.
  int axisOfResult() const {
    const int rank = dst_.dims.rank;
    switch (op_.kind) {
      case OpKind::kPointwise:
      case OpKind::kCast:
      case OpKind::kReorder:
      case OpKind::kComplexProduct:
      case OpKind::kIntegerMath:
        return fitPositions(0) ? axis_ : -1;
      case OpKind::kLinear:
        return areHeld(1) && axis_ < rank - 1 && areFixed(1, 3) && fitPositions(3) ? axis_ : -1;
      case OpKind::kMatmul:
        if (axis_ < rank - 2) return fitPositions(0) ? axis_ : -1;
        return areHeld(1) && axis_ == rank - 2 && op_.intOr("transpose_a", 0) == 0 && isFixed(1) && fitPositions(2)
                   ? axis_
                   : -1;
      case OpKind::kLayerNorm:
        return areHeld(1) && axis_ < rank - op_.intOr("axes", 0) && areFixed(1, 3) && fitPositions(3) ? axis_ : -1;
      case OpKind::kSoftmax:
        return isElsewhere("axis") && fitPositions(0) ? axis_ : -1;
      case OpKind::kAttention: {
        const bool causal = op_.intOr("causal", 0) != 0 && src_.size() > 3 && src_[3].dtype == DType::kNone;
        return causal && areHeld(3) && axis_ == rank - 2 && fitPositions(4) ? axis_ : -1;
      }
      case OpKind::kEmbedding:
        return areHeld(1) && areFixed(1, src_.size()) ? held_[0].axis : -1;
      case OpKind::kConcat:
        return areHeld(src_.size()) && isElsewhere("axis") && fitPositions(0) ? axis_ : -1;
      case OpKind::kReduce:
        return op_.post_ops.empty() ? axisOfReduction() : -1;
      case OpKind::kPad:
        return padsNothing("begin") && padsNothing("end") ? axis_ : -1;
      case OpKind::kCumulativeSum:
        return axis_;
      case OpKind::kReshape:
        return keepsAxesUpTo(axis_) ? axis_ : -1;
      case OpKind::kExpand: {
        const int axis = axis_ + rank - src_[0].dims.rank;
        return src_[0].dims[axis_] == dst_.dims[axis] ? axis : -1;
      }
      default:
        return isView(op_.kind) ? axisOfView() : -1;
    }
  }
  int axisOfReduction() const {
    const std::vector<std::int64_t> axes = op_.ints("axes");
    if (axes.empty() || isAmong("axes", axis_)) return -1;
    if (op_.intOr("keepdim", 0) != 0) return axis_;
    int axis = axis_;
    for (int before = 0; before < axis_; ++before) axis -= isAmong("axes", before) ? 1 : 0;
    return axis;
  }
  bool padsNothing(const char* attribute) const {
    const std::vector<std::int64_t> all = op_.ints(attribute);
    return static_cast<std::size_t>(axis_) < all.size() && all[static_cast<std::size_t>(axis_)] == 0;
  }
  bool keepsAxesUpTo(int axis) const {
    if (axis >= dst_.dims.rank) return false;
    for (int each = 0; each <= axis; ++each) {
      if (src_[0].dims[each] != dst_.dims[each]) return false;
    }
    return true;
  }
};

bool isWholeTrace(const PlanSpec& spec, const std::vector<TracedStep>& steps) {
  std::set<std::int32_t> traced;
  for (const TracedStep& step : steps) traced.insert(step.node);
  for (std::size_t n = 0; n < spec.nodes.size(); ++n) {
    if (!spec.nodes[n].is_int && traced.count(static_cast<std::int32_t>(n)) == 0) return false;
  }
  return true;
}

// True if each row of axis 0 begins after the end of the one before.
bool holdsRowsApart(const TensorDesc& desc) {
  TensorDesc row = desc;
  row.dims[0] = 1;
  return static_cast<std::int64_t>(row.bytes()) <= desc.rowBytes();
}

BatchIndependence refused(std::string why) {
  BatchIndependence rows;
  rows.why_not = std::move(why);
  return rows;
}

}  // namespace

PlanRequest withSamples(PlanRequest request, const std::vector<bool>& is_batch, std::int64_t samples, int axis) {
  for (std::size_t i = 0; i < request.tensor_inputs.size(); ++i) {
    if (!is_batch[i]) continue;
    TensorDesc& input = request.tensor_inputs[i];
    const bool row_major = input.isContiguous();
    input.dims[axis] = samples;
    if (row_major) input = contiguousDesc(input.dtype, input.dims);  // strides of an only sample may be anything
  }
  return request;
}

std::int64_t batchOf(const PlanRequest& request) {
  for (const TensorDesc& input : request.tensor_inputs) {
    if (!input.absent()) return input.dims.rank > 0 ? input.dims[0] : 0;
  }
  return 0;
}

std::shared_ptr<const MicroBatches> proveMicroBatches(const PlanSpec& spec, const PlanRequest& request,
                                                      std::int64_t samples) {
  MicroBatches micro_batches{batchOf(request), samples, {}, {}};
  if (samples < 1 || samples >= micro_batches.batch) return nullptr;
  for (const TensorDesc& input : request.tensor_inputs) {
    micro_batches.inputs.push_back(input.dims.rank > 0 && input.dims[0] == micro_batches.batch);
    if (micro_batches.inputs.back() && !holdsRowsApart(input)) return nullptr;
  }
  BatchIndependence rows = proveBatchIndependence(spec, withSamples(request, micro_batches.inputs, samples),
                                                  micro_batches.inputs, samples, micro_batches.batch);
  if (!rows.why_not.empty() || std::count(rows.outputs.begin(), rows.outputs.end(), 0) != 0) return nullptr;
  micro_batches.output_rows = std::move(rows.outputs);
  return std::make_shared<const MicroBatches>(std::move(micro_batches));
}

namespace {

// Walks both traces; S is Step or PositionStep, `mixes` half a sentence about an operation.
template <typename S>
BatchIndependence prove(const PlanSpec& spec, const PlanRequest& request, const std::vector<bool>& is_batch,
                        std::int64_t samples, std::int64_t padded, int axis, const char* mixes,
                        const char* elsewhere) try {
  IPEX_CHECK(samples > 0 && padded > samples && is_batch.size() == spec.inputs.size(), "more samples than there are");
  const std::vector<TracedStep> exact = tracePlan(spec, request, false);
  const std::vector<TracedStep> more = tracePlan(spec, withSamples(request, is_batch, padded, axis), false);
  if (exact.size() != more.size() || !isWholeTrace(spec, exact)) return refused("other sizes make other steps");
  Known known;
  for (std::size_t i = 0; i < is_batch.size(); ++i) {
    if (is_batch[i]) known[static_cast<std::int32_t>(i)] = {axis, 1};
  }
  for (std::size_t s = 0; s < exact.size(); ++s) {
    const TracedStep& step = exact[s];
    const bool same = step.src == more[s].src && step.dst == more[s].dst && step.op.kind == more[s].op.kind;
    Samples held;
    if (!same || !S(step, more[s], known, samples, padded).result(&held))
      return refused(fmt::format("{} {}", opKindName(step.op.kind), mixes));
    for (const std::int32_t dst : step.dst) {
      if (held.rows > 0) known[dst] = held;
    }
  }
  BatchIndependence proven;
  for (const std::int32_t output : spec.outputs) {
    const auto found = known.find(output);
    if (found != known.end() && found->second.axis != axis) return refused(elsewhere);
    proven.outputs.push_back(found == known.end() ? 0 : found->second.rows);
  }
  return proven;
} catch (const Error& problem) {
  return refused(problem.what());
}

}  // namespace

BatchIndependence proveBatchIndependence(const PlanSpec& spec, const PlanRequest& request,
                                         const std::vector<bool>& is_batch, std::int64_t samples, std::int64_t padded) {
  return prove<Step>(spec, request, is_batch, samples, padded, 0, "may mix samples",
                     "a result holds the samples on another axis than the first");
}

BatchIndependence provePositionIndependence(const PlanSpec& spec, const PlanRequest& request,
                                            const std::vector<bool>& is_sequence, std::int64_t length,
                                            std::int64_t padded) {
  return prove<PositionStep>(spec, request, is_sequence, length, padded, 1, "may mix positions",
                             "a result holds the positions on another axis than the second");
}

}  // namespace ipex_studio
