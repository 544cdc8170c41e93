#include "core/plan/batch_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "core/plan/error.h"
#include "core/plan/plan_compiler.h"

namespace ipex_studio {
namespace {

constexpr std::int64_t kMixed = -1;

std::int64_t fromFront(std::int64_t axis, int rank) { return axis < 0 ? axis + rank : axis; }

// One operation at both sizes.
class Step {
 public:
  Step(const TracedStep& exact, const TracedStep& padded, const std::map<std::int32_t, std::int64_t>& rows, std::int64_t samples,
       std::int64_t more_samples)
      : op_(exact.op), src_(exact.args.src), dst_(exact.args.dst.at(0)), dst_padded_(padded.args.dst.at(0)), samples_(samples),
        more_samples_(more_samples) {
    for (const std::int32_t value : exact.src) {
      const auto known = rows.find(value);
      rows_.push_back(known == rows.end() ? 0 : known->second);
    }
    for (const std::int64_t rows_of_source : rows_) most_ = std::max(most_, rows_of_source);
    same_ = dst_.dims == dst_padded_.dims && exact.op == padded.op;
    op_differs_ = !(exact.op == padded.op);
  }

  // Rows per sample of the result, kMixed where samples meet or where it is not known.
  std::int64_t result() const {
    if (most_ == 0) return same_ ? 0 : repeated();
    const bool sizes_allowed = op_.kind == OpKind::kReshape || op_.kind == OpKind::kExpand;
    if ((op_differs_ && !sizes_allowed) || !keepsApart()) return kMixed;
    const int rank = dst_.dims.rank;
    if (rank == 0 || rank != dst_padded_.dims.rank || dst_.dims[0] % samples_ != 0) return kMixed;
    const std::int64_t rows = dst_.dims[0] / samples_;
    if (rows == 0 || dst_padded_.dims[0] != rows * more_samples_) return kMixed;
    for (int axis = 1; axis < rank; ++axis) {
      if (dst_.dims[axis] != dst_padded_.dims[axis]) return kMixed;
    }
    return rows;
  }

 private:
  // A single row of no sample, given to each.
  std::int64_t repeated() const {
    if (op_.kind != OpKind::kExpand || dst_.dims.rank == 0 || dst_.dims[0] % samples_ != 0) return kMixed;
    const bool one = src_[0].dims.rank < dst_.dims.rank || src_[0].dims[0] == 1;
    const std::int64_t rows = dst_.dims[0] / samples_;
    return one && rows > 0 && dst_padded_.dims[0] == rows * more_samples_ ? rows : kMixed;
  }

  bool isFixed(std::size_t source) const { return source >= rows_.size() || rows_[source] == 0; }
  bool isBatch(std::size_t source) const { return source < rows_.size() && rows_[source] > 0 && src_[source].dims[0] == rows_[source] * samples_; }
  // Broadcast to the result without one sample's rows meeting another's.
  bool isAligned(std::size_t source) const {
    const Dims& dims = src_[source].dims;
    if (src_[source].dtype == DType::kNone) return true;
    if (rows_[source] == 0) return dims.rank < dst_.dims.rank || (dims.rank > 0 && dims[0] == 1);
    return dims.rank == dst_.dims.rank && isBatch(source) && dims[0] == dst_.dims[0];
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
  // Samples come with source 0, weights with the other fixed operands, sums and the like with what follows.
  bool isWeighted() const {
    const auto fixed = static_cast<std::size_t>(std::max(1, baseSourceCount(op_.kind)));
    return isBatch(0) && areFixed(1, std::min(fixed, src_.size())) && areAligned(fixed);
  }
  bool isBeyondFirst(const char* axis) const {
    return op_.has(axis) && fromFront(op_.intOr(axis, 0), src_[0].dims.rank) != 0;
  }

  bool keepsApart() const {
    switch (op_.kind) {
      case OpKind::kPointwise: return areAligned(0);
      case OpKind::kMatmul:
        if (dst_.dims.rank > 2) return areAligned(0);
        return isBatch(0) && op_.intOr("transpose_a", 0) == 0 && isFixed(1) && areAligned(2);
      case OpKind::kAttention: return dst_.dims.rank > 2 && areAligned(0);
      case OpKind::kSoftmax: return isBeyondFirst("axis") && areAligned(0);
      case OpKind::kLayerNorm:
        return isBatch(0) && op_.intOr("axes", 0) < dst_.dims.rank && areFixed(1, std::min<std::size_t>(3, src_.size())) && areAligned(3);
      case OpKind::kConcat: return isBeyondFirst("axis") && areAligned(0) && std::find(rows_.begin(), rows_.end(), 0) == rows_.end();
      case OpKind::kReduce: return isWeighted() && !reducesFirst();
      case OpKind::kPad: return isBatch(0) && firstIsZero("begin") && firstIsZero("end");
      case OpKind::kGather: return isBatch(0) && isFixed(1) && isBeyondFirst("axis");
      case OpKind::kLinear: return src_[0].dims.rank > 1 && isWeighted();
      case OpKind::kConvolution:
      case OpKind::kDeconvolution:
      case OpKind::kPool:
      case OpKind::kAdaptivePool:
      case OpKind::kUpsample:
      case OpKind::kGroupNorm:
      case OpKind::kEmbedding:
      case OpKind::kCast:
      case OpKind::kReorder: return isWeighted();
      default: return isView(op_.kind) && isBatch(0) && viewKeepsApart();
    }
  }
  bool viewKeepsApart() const {
    switch (op_.kind) {
      case OpKind::kReshape: return true;  // whole samples follow each other before and after; result() counts their rows
      case OpKind::kPermute: return !op_.ints("order").empty() && fromFront(op_.ints("order")[0], src_[0].dims.rank) == 0;
      case OpKind::kSlice:
      case OpKind::kSelect: return isBeyondFirst("axis");
      case OpKind::kUnsqueeze: return fromFront(op_.intOr("axis", 0), dst_.dims.rank) != 0;
      case OpKind::kSqueeze: return !namesFirst("axes", src_[0].dims.rank);
      case OpKind::kExpand: return src_[0].dims.rank == dst_.dims.rank && src_[0].dims[0] == dst_.dims[0];
      default: return false;
    }
  }
  bool namesFirst(const char* axes, int rank) const {
    const std::vector<std::int64_t> all = op_.ints(axes);
    return std::any_of(all.begin(), all.end(), [&](std::int64_t axis) { return fromFront(axis, rank) == 0; });
  }
  bool reducesFirst() const { return op_.ints("axes").empty() || namesFirst("axes", src_[0].dims.rank); }
  bool firstIsZero(const char* name) const {
    const std::vector<std::int64_t> all = op_.ints(name);
    return static_cast<int>(all.size()) < src_[0].dims.rank || all[0] == 0;
  }

  const OpSpec& op_;
  const std::vector<TensorDesc>& src_;
  const TensorDesc& dst_;
  const TensorDesc& dst_padded_;
  const std::int64_t samples_, more_samples_;
  std::vector<std::int64_t> rows_;  // per source
  std::int64_t most_ = 0;
  bool same_ = false, op_differs_ = false;
};

bool isWholeTrace(const PlanSpec& spec, const std::vector<TracedStep>& steps) {
  std::set<std::int32_t> traced;
  for (const TracedStep& step : steps) traced.insert(step.node);
  for (std::size_t n = 0; n < spec.nodes.size(); ++n) {
    if (!spec.nodes[n].is_int && traced.count(static_cast<std::int32_t>(n)) == 0) return false;
  }
  return true;
}

BatchRows refused(std::string why) {
  BatchRows rows;
  rows.why_not = std::move(why);
  return rows;
}

}  // namespace

PlanRequest withSamples(PlanRequest request, const std::vector<bool>& is_batch, std::int64_t padded) {
  for (std::size_t i = 0; i < request.tensor_inputs.size(); ++i) {
    if (!is_batch[i]) continue;
    Dims dims = request.tensor_inputs[i].dims;
    dims[0] = padded;
    request.tensor_inputs[i] = contiguousDesc(request.tensor_inputs[i].dtype, dims);
  }
  return request;
}

BatchRows proveBatchRows(const PlanSpec& spec, const PlanRequest& request, const std::vector<bool>& is_batch, std::int64_t samples,
                         std::int64_t padded) try {
  IPEX_CHECK(samples > 0 && padded > samples && is_batch.size() == spec.inputs.size(), "more samples than there are");
  const std::vector<TracedStep> exact = tracePlan(spec, request, false);
  const std::vector<TracedStep> more = tracePlan(spec, withSamples(request, is_batch, padded), false);
  if (exact.size() != more.size() || !isWholeTrace(spec, exact)) return refused("other sizes make other steps");
  std::map<std::int32_t, std::int64_t> rows;  // of what has something to do with the samples
  for (std::size_t i = 0; i < is_batch.size(); ++i) {
    if (is_batch[i]) rows[static_cast<std::int32_t>(i)] = 1;
  }
  for (std::size_t s = 0; s < exact.size(); ++s) {
    const TracedStep& step = exact[s];
    const bool same = step.src == more[s].src && step.dst == more[s].dst && step.op.kind == more[s].op.kind;
    const std::int64_t of_result = same ? Step(step, more[s], rows, samples, padded).result() : kMixed;
    if (of_result == kMixed) return refused(fmt::format("{} may mix samples", opKindName(step.op.kind)));
    for (const std::int32_t dst : step.dst) {
      if (of_result > 0) rows[dst] = of_result;
    }
  }
  BatchRows proven;
  for (const std::int32_t output : spec.outputs) {
    const auto known = rows.find(output);
    proven.outputs.push_back(known == rows.end() ? 0 : known->second);
  }
  return proven;
} catch (const Error& problem) {
  return refused(problem.what());
}

}  // namespace ipex_studio
