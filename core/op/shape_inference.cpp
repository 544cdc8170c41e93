// Validates a specification against its sources and applies the shape rule of its kind; rules of products, norms and
// reductions.
#include "core/op/shape_inference.h"

#include <algorithm>

#include "core/op/low_precision_floats.h"
#include "core/op/shape_rules.h"
#include "core/op/shape_views.h"
#include "core/op/woq_weights.h"

namespace ipex_studio {
namespace {

using Descs = std::vector<TensorDesc>;
using Ints = std::vector<std::int64_t>;

bool smallEnough(const Dims& dims) {
  std::int64_t count = 1;
  for (int axis = 0; axis < dims.rank; ++axis) {
    if (dims[axis] < 0 || dims[axis] > kMaxElements) return false;
    // A size of 0 must not hide others that overflow when strides are computed.
    const std::int64_t size = std::max<std::int64_t>(dims[axis], 1);
    if (count > kMaxElements / size) return false;
    count *= size;
  }
  return true;
}

}  // namespace

bool inRange(const Ints& values, std::int64_t low, std::int64_t high) {
  return std::all_of(values.begin(), values.end(), [&](std::int64_t v) { return v >= low && v <= high; });
}

Verdict addResult(DType dtype, const Dims& dims, Descs* dst) {
  if (dtype == DType::kNone) return Verdict::no("a result's dtype is none that can be");
  if (!smallEnough(dims)) return Verdict::no("a result has a negative size or too many elements");
  dst->push_back(contiguousDesc(dtype, dims));
  return Verdict::yes();
}

bool isInteger8(DType dtype) { return dtype == DType::kU8 || dtype == DType::kS8; }

DType resultDtype(const OpSpec& spec, DType otherwise) {
  if (!spec.has("result")) return otherwise;
  const DType dtype = dtypeFromName(spec.stringOr("result", ""));
  return isFloatDtype(dtype) || isInteger8(dtype) ? dtype : DType::kNone;
}

DType computedDtype(const OpSpec& spec, DType source) {
  return resultDtype(spec, isInteger8(source) ? DType::kF32 : source);
}

Verdict checkProduct(const OpSpec& spec, const TensorDesc& x, const TensorDesc& w, const TensorDesc* bias) {
  const auto holds = [&](DType dtype, const char* name) {
    const std::int64_t zero = spec.intOr(name, 0);
    return dtype == DType::kU8   ? zero >= 0 && zero <= 255
           : dtype == DType::kS8 ? zero >= -128 && zero <= 127
                                 : zero == 0;
  };
  if (!holds(x.dtype, "src_zero") || !holds(w.dtype, "weight_zero")) return Verdict::no("a zero point is out of range");
  const bool activation = spec.kind == OpKind::kMatmul;
  if (!activation && spec.intOr("weight_zero", 0) != 0) return Verdict::no("weights have no zero point");
  if (!isInteger8(x.dtype)) return Verdict::yes();
  if (w.dtype != DType::kS8 && !(activation && w.dtype == DType::kU8))
    return Verdict::no("weights of integers are not s8");
  if (bias != nullptr && !bias->absent()) return Verdict::no("a product of integers has a bias");
  return Verdict::yes();
}

bool broadcastInto(const Dims& a, const Dims& b, Dims* out) {
  out->rank = std::max(a.rank, b.rank);
  for (int axis = 0; axis < out->rank; ++axis) {
    const int ia = axis - (out->rank - a.rank);
    const int ib = axis - (out->rank - b.rank);
    const std::int64_t da = ia < 0 ? 1 : a[ia];
    const std::int64_t db = ib < 0 ? 1 : b[ib];
    if (da != db && da != 1 && db != 1) return false;
    (*out)[axis] = da == 1 ? db : da;
  }
  return true;
}

bool isBias(const TensorDesc& bias, std::int64_t size) {
  return bias.absent() || (bias.dims.rank == 1 && bias.dims[0] == size);
}

namespace {

Verdict inferGroupedLinear(const OpSpec& spec, const Descs& src, Descs* dst) {
  const Dims &x = src[0].dims, &w = src[1].dims, &scales = src[2].dims;
  const std::int64_t group = spec.intOr("group", 0), bits = spec.intOr("bits", 8);
  const bool levels = bits == 4 ? nibbleLevels(spec) != nullptr : !spec.has("levels");
  const bool known =
      group > 0 && group <= kLargestGroup && group % kNibbleBlock == 0 && (bits == 8 || bits == 4) && levels;
  if (!known || x.rank < 1 || w.rank != 2) return Verdict::no("groups of weights are wrong");
  const std::int64_t depth = x[x.rank - 1];
  if (bits == 4 && spec.intOr("depth", -1) != depth) return Verdict::no("source and weight do not fit");
  if (w[1] != (bits == 4 ? nibbleRowBytes(depth) : depth)) return Verdict::no("source and weight do not fit");
  const bool types = (src[0].dtype == DType::kF32 || src[0].dtype == DType::kBf16) &&
                     src[1].dtype == (bits == 4 ? DType::kU8 : DType::kS8);
  if (!types || spec.intOr("dynamic", 0) != 0 || spec.intOr("src_zero", 0) != 0)
    return Verdict::no("groups of weights are for floats");
  const bool fit =
      src[2].dtype == DType::kF32 && scales.rank == 2 && scales[0] == w[0] && scales[1] == groupCount(depth, group);
  if (!fit) return Verdict::no("scales do not fit the weights");
  Dims y = x;
  y[x.rank - 1] = w[0];
  return addResult(computedDtype(spec, src[0].dtype), y, dst);
}

}  // namespace

Verdict inferLinear(const OpSpec& spec, const Descs& src, Descs* dst) {
  if (spec.has("group") || spec.has("bits") || spec.has("levels")) return inferGroupedLinear(spec, src, dst);
  const Dims& x = src[0].dims;
  const Dims& w = src[1].dims;
  if (x.rank < 1 || w.rank != 2 || x[x.rank - 1] != w[1]) return Verdict::no("source and weight do not fit");
  if (!isBias(src[2], w[0])) return Verdict::no("bias does not fit the output features");
  const Verdict product = checkProduct(spec, src[0], src[1], &src[2]);
  if (!product.ok) return product;
  const bool floats = src[0].dtype == DType::kF32 || src[0].dtype == DType::kBf16;
  if (spec.intOr("dynamic", 0) != 0 && !(floats && src[1].dtype == DType::kS8))
    return Verdict::no("a dynamic product needs s8 weights");
  Dims y = x;
  y[x.rank - 1] = w[0];
  return addResult(computedDtype(spec, src[0].dtype), y, dst);
}

Verdict inferMatmul(const OpSpec& spec, const Descs& src, Descs* dst) {
  const Dims& a = src[0].dims;
  const Dims& b = src[1].dims;
  if (a.rank < 2 || b.rank < 2) return Verdict::no("matmul needs two dimensions");
  const bool ta = spec.intOr("transpose_a", 0) != 0;
  const bool tb = spec.intOr("transpose_b", 0) != 0;
  const std::int64_t m = a[a.rank - (ta ? 1 : 2)];
  const std::int64_t ka = a[a.rank - (ta ? 2 : 1)];
  const std::int64_t kb = b[b.rank - (tb ? 1 : 2)];
  const std::int64_t n = b[b.rank - (tb ? 2 : 1)];
  if (ka != kb) return Verdict::no("inner sizes differ");
  Dims batch_a = a, batch_b = b, y;
  batch_a.rank -= 2;
  batch_b.rank -= 2;
  if (!broadcastInto(batch_a, batch_b, &y)) return Verdict::no("batch sizes do not broadcast");
  y.rank += 2;
  y[y.rank - 2] = m;
  y[y.rank - 1] = n;
  const Verdict product = checkProduct(spec, src[0], src[1], nullptr);
  return product.ok ? addResult(computedDtype(spec, src[0].dtype), y, dst) : product;
}

// Greatest number up to which FP32 holds every integer.
constexpr std::int64_t kExactIntegers = 1 << 24;

// "counts": the sum is one of zeros and ones, and has to be exact.
Verdict inferReduce(const OpSpec& spec, const Descs& src, Descs* dst) {
  const Dims& x = src[0].dims;
  std::vector<bool> reduced(kMaxRank, false);
  for (std::int64_t axis : spec.ints("axes")) {
    const std::int64_t wrapped = axis < 0 ? axis + x.rank : axis;
    if (wrapped < 0 || wrapped >= x.rank || reduced[wrapped]) return Verdict::no("axes are wrong");
    reduced[wrapped] = true;
  }
  Dims y;
  std::int64_t terms = 1;
  for (int axis = 0; axis < x.rank; ++axis) {
    terms *= reduced[axis] ? x[axis] : 1;
    if (!reduced[axis]) {
      y[y.rank++] = x[axis];
    } else if (spec.intOr("keepdim", 0) != 0) {
      y[y.rank++] = 1;
    }
  }
  if (spec.intOr("counts", 0) != 0 && terms > kExactIntegers) return Verdict::no("FP32 cannot count so many");
  return addResult(resultDtype(spec, src[0].dtype), y, dst);
}

Verdict inferLayerNorm(const OpSpec& spec, const Descs& src, Descs* dst) {
  const Dims& x = src[0].dims;
  const std::int64_t axes = spec.intOr("axes", 1);
  if (axes < 1 || axes > x.rank) return Verdict::no("axes are wrong");
  for (const TensorDesc* affine : {&src[1], &src[2]}) {
    if (affine->absent()) continue;
    if (affine->dims.rank != axes) return Verdict::no("gamma or beta does not fit");
    for (int axis = 0; axis < axes; ++axis) {
      if (affine->dims[axis] != x[x.rank - static_cast<int>(axes) + axis])
        return Verdict::no("gamma or beta does not fit");
    }
  }
  if (!src[3].absent() && src[3].dims != x) return Verdict::no("residual does not fit");
  const bool sum_output = spec.intOr("sum_output", 0) != 0;
  if (sum_output && src[3].absent()) return Verdict::no("sum_output needs a residual");
  const Verdict first = addResult(src[0].dtype, x, dst);
  return first.ok && sum_output ? addResult(src[0].dtype, x, dst) : first;
}

Verdict inferGroupNorm(const OpSpec& spec, const Descs& src, Descs* dst) {
  const Dims& x = src[0].dims;
  const std::int64_t groups = spec.intOr("groups", 0);
  if (x.rank < 2 || groups < 1 || x[1] % groups != 0) return Verdict::no("groups do not divide the channels");
  if (spec.has("channels") && spec.intOr("channels", 0) != x[1]) return Verdict::no("the channels are others");
  if (!isBias(src[1], x[1]) || !isBias(src[2], x[1])) return Verdict::no("gamma or beta does not fit");
  return addResult(src[0].dtype, x, dst);
}

Verdict inferSoftmax(const OpSpec& spec, const Descs& src, Descs* dst) {
  const Dims& x = src[0].dims;
  const std::int64_t axis = spec.intOr("axis", -1);
  if (x.rank < 1 || axis < -x.rank || axis >= x.rank) return Verdict::no("axis is out of range");
  Dims joint;
  if (!src[1].absent() && (!broadcastInto(x, src[1].dims, &joint) || joint != x)) {
    return Verdict::no("mask does not broadcast to the source");
  }
  return addResult(src[0].dtype, x, dst);
}

Verdict inferAttention(const OpSpec& spec, const Descs& src, Descs* dst) {
  const Dims &q = src[0].dims, &k = src[1].dims, &v = src[2].dims, &mask = src[3].dims;
  if (q.rank < 2 || k.rank < 2 || v.rank < 2) return Verdict::no("attention needs two dimensions");
  const std::int64_t queries = q[q.rank - 2], keys = k[k.rank - 2];
  if (q[q.rank - 1] != k[k.rank - 1] || v[v.rank - 2] != keys) return Verdict::no("inner sizes differ");
  Dims y;
  for (int s = 0; s < 4; ++s) {
    if (src[static_cast<std::size_t>(s)].absent()) continue;
    Dims heads = src[static_cast<std::size_t>(s)].dims, joint;
    heads.rank = std::max(0, heads.rank - 2);
    if (!broadcastInto(y, heads, &joint)) return Verdict::no("batch sizes do not broadcast");
    y = joint;
  }
  if (!src[3].absent() && mask.rank > 0) {
    const std::int64_t columns = mask[mask.rank - 1], rows = mask.rank > 1 ? mask[mask.rank - 2] : 1;
    if ((columns != 1 && columns != keys) || (rows != 1 && rows != queries))
      return Verdict::no("mask does not broadcast to the scores");
  }
  if ((spec.has("fill") || spec.has("keep")) && src[3].absent()) return Verdict::no("a mask is missing");
  if (y.rank + 2 > kMaxRank) return Verdict::no("too many dimensions");
  y.rank += 2;
  y[y.rank - 2] = queries;
  y[y.rank - 1] = v[v.rank - 1];
  return addResult(resultDtype(spec, src[0].dtype), y, dst);
}

Verdict inferSqueezeExcite(const OpSpec& spec, const Descs& src, Descs* dst) {
  const Dims &x = src[0].dims, &reduce = src[1].dims, &expand = src[3].dims;
  if (x.rank < 3 || spec.intOr("axes", 0) != x.rank - 2 || reduce.rank != 2 || expand.rank != 2)
    return Verdict::no("a squeeze-and-excitation block needs pixels and matrices");
  if (reduce[1] != x[1] || expand[0] != x[1] || expand[1] != reduce[0])
    return Verdict::no("source and weights do not fit");
  if (!isBias(src[2], reduce[0]) || !isBias(src[4], expand[0])) return Verdict::no("a bias does not fit");
  PostOp op;
  if (!namedPostOp(spec, "activation", &op) || !namedPostOp(spec, "gate", &op))
    return Verdict::no("activation or gate is unknown");
  return addResult(src[0].dtype, x, dst);
}

Verdict inferPad(const OpSpec& spec, const Descs& src, Descs* dst) {
  Dims y = src[0].dims;
  const Ints begin = spec.ints("begin"), end = spec.ints("end");
  const std::string mode = spec.stringOr("mode", "constant");
  if (mode != "constant" && mode != "reflect" && mode != "replicate") return Verdict::no("the mode is unknown");
  const auto rank = static_cast<std::size_t>(y.rank);
  const std::int64_t lowest = mode == "constant" ? -kMaxElements : 0;
  if (begin.size() != rank || end.size() != rank || !inRange(begin, lowest, kMaxElements) ||
      !inRange(end, lowest, kMaxElements)) {
    return Verdict::no("padding is wrong");
  }
  for (int axis = 0; axis < y.rank; ++axis) {
    const std::int64_t most = std::max(begin[axis], end[axis]);
    if (mode == "reflect" && most > 0 && most >= y[axis])
      return Verdict::no("reflected padding is as large as the tensor");
    if (mode == "replicate" && most > 0 && y[axis] < 1) return Verdict::no("nothing can be replicated");
    y[axis] += begin[axis] + end[axis];
  }
  return addResult(src[0].dtype, y, dst);
}

Verdict inferConcat(const OpSpec& spec, const Descs& src, Descs* dst) {
  if (src.empty() || src[0].absent()) return Verdict::no("concat needs a source");
  Dims y = src[0].dims;
  const int axis = axisIn(spec, y.rank);
  if (axis < 0) return Verdict::no("axis is out of range");
  for (std::size_t s = 1; s < src.size(); ++s) {
    const Dims& x = src[s].dims;
    if (src[s].dtype != src[0].dtype || x.rank != y.rank) return Verdict::no("sources differ in type or rank");
    for (int a = 0; a < y.rank; ++a) {
      if (a != axis && x[a] != y[a]) return Verdict::no("sources differ in size");
    }
    y[axis] += x[axis];
  }
  return addResult(src[0].dtype, y, dst);
}

Verdict inferPointwise(const OpSpec& spec, const Descs& src, Descs* dst) {
  return addResult(computedDtype(spec, src[0].dtype), src[0].dims, dst);
}

Verdict inferSame(const OpSpec&, const Descs& src, Descs* dst) { return addResult(src[0].dtype, src[0].dims, dst); }

Verdict inferCast(const OpSpec& spec, const Descs& src, Descs* dst) {
  const DType dtype = dtypeFromName(spec.stringOr("dtype", ""));
  if (dtype == DType::kNone) return Verdict::no("dtype is missing");
  return addResult(dtype, src[0].dims, dst);
}

Verdict inferView(const OpSpec& spec, const Descs& src, Descs* dst) {
  Dims y;
  const Verdict fits = viewDims(spec, src[0].dims, &y);
  return fits.ok ? addResult(src[0].dtype, y, dst) : fits;
}

namespace {

// Operands beyond the fixed ones must broadcast to the result; a pointwise chain may grow its first operand.
Verdict applyPostOperands(const OpSpec& spec, const Descs& src, std::size_t base, Descs* dst) {
  std::vector<bool> used(src.size() - base, false);
  for (const PostOp& op : spec.post_ops) {
    if (!isBinary(op.kind)) continue;
    const std::size_t index = static_cast<std::size_t>(op.operand);
    if (op.operand < 0 || index >= used.size()) return Verdict::no("a post-operation names a missing operand");
    used[index] = true;
    const TensorDesc& operand = src[base + index];
    Dims joint;
    if (!broadcastInto((*dst)[0].dims, operand.dims, &joint)) return Verdict::no("a post operand does not broadcast");
    if (joint != (*dst)[0].dims && spec.kind != OpKind::kPointwise) {
      return Verdict::no("a post operand is larger than the result");
    }
    if (joint != (*dst)[0].dims) {
      if (!smallEnough(joint)) return Verdict::no("a result has too many elements");
      (*dst)[0] = contiguousDesc((*dst)[0].dtype, joint);
    }
  }
  if (!std::all_of(used.begin(), used.end(), [](bool u) { return u; }))
    return Verdict::no("a post operand is not used");
  return Verdict::yes();
}

}  // namespace

Verdict inferShapes(const OpSpec& spec, const std::vector<TensorDesc>& src, std::vector<TensorDesc>* dst) {
  dst->clear();
  const int declared = baseSourceCount(spec.kind);
  const std::size_t base = declared < 0 ? src.size() : static_cast<std::size_t>(declared);
  if (src.size() < base) return Verdict::no("operands are missing");
  for (std::size_t s = 0; s < src.size(); ++s) {
    const bool optional = s < base && (opKindRow(spec.kind).absent_sources >> s & 1) != 0;
    if (src[s].absent() && !optional) return Verdict::no("an operand is missing");
    if (src[s].dims.rank < 0 || src[s].dims.rank > kMaxRank || !smallEnough(src[s].dims)) {
      return Verdict::no("a source's sizes are out of range");
    }
  }
  if (isView(spec.kind) && (!spec.post_ops.empty() || src.size() != base)) {
    return Verdict::no("a view takes one operand and no post-operations");
  }
  Verdict verdict = opKindRow(spec.kind).infer(spec, src, dst);
  if (verdict.ok) verdict = applyPostOperands(spec, src, base, dst);
  if (!verdict.ok) dst->clear();
  return verdict;
}

}  // namespace ipex_studio
