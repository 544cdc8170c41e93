// Shared by the kernels of attention: requirements, sizes and strides.
#include <algorithm>

#include "kernels/attention/attention_op.h"
#include "kernels/common/requantization.h"

namespace ipex_studio {
namespace {

MatrixStrides stridesOf(const TensorDesc& desc) {
  const int r = desc.dims.rank;
  return {desc.dims[r - 2] == 1 ? 0 : desc.strides[r - 2], desc.dims[r - 1] == 1 ? 0 : desc.strides[r - 1]};
}

TensorDesc headsOf(const TensorDesc& desc) {
  TensorDesc heads = desc;
  for (int axis : {desc.dims.rank - 2, desc.dims.rank - 1}) heads.dims[axis] = 1;
  return heads;
}

// Sets sizes, strides, types, mask and factors of `job`, and the layout of y. False if the heads of the operands cannot
// be walked together.
bool describeAttention(const PrepareArgs& args, AttentionJob* job, TensorDesc* y) {
  const OpSpec& spec = args.spec;
  const int rank = args.dst[0].dims.rank;
  const auto behind = static_cast<int>(std::clamp<std::int64_t>(spec.intOr("heads_last", 0), 0, kMaxRank));
  *y = behind > 0 && rank > behind + 1 ? laidOutBehindQueries(args.dst[0], behind) : args.dst[0];
  std::vector<TensorDesc> tensors{headsOf(*y)};
  for (const TensorDesc& src : args.src) {
    if (!src.absent()) tensors.push_back(headsOf(alignRank(src, rank)));
  }
  job->has_logarithms = args.dst.size() > 1;
  if (job->has_logarithms) tensors.push_back(headsOf(args.dst[1]));
  if (!makeLoopNest(tensors, &job->heads)) return false;
  const Dims &q = args.src[0].dims, &k = args.src[1].dims;
  job->queries = q[q.rank - 2];
  job->depth = q[q.rank - 1];
  job->keys = k[k.rank - 2];
  job->width = y->dims[rank - 1];
  job->y = stridesOf(*y);
  job->q = stridesOf(args.src[0]);
  job->k = stridesOf(args.src[1]);
  job->v = stridesOf(args.src[2]);
  job->q_type = args.src[0].dtype;
  job->k_type = args.src[1].dtype;
  job->v_type = args.src[2].dtype;
  job->y_type = y->dtype;
  if (!spec.post_ops.empty()) {
    job->y_factor = static_cast<float>(spec.post_ops[0].alpha);
    job->y_offset = static_cast<float>(spec.post_ops[0].beta);
  }
  job->has_mask = !args.src[3].absent();
  if (job->has_mask) job->mask = stridesOf(alignRank(args.src[3], std::max(2, rank)));
  job->mask_use = spec.has("fill")   ? AttentionJob::MaskUse::kFill
                  : spec.has("keep") ? AttentionJob::MaskUse::kKeep
                                     : AttentionJob::MaskUse::kAdd;
  job->mask_value = static_cast<float>(spec.floatOr(spec.has("fill") ? "fill" : "keep", 0));
  job->causal = spec.intOr("causal", 0) != 0;
  job->scale = static_cast<float>(spec.floatOr("scale", 1));
  return true;
}

}  // namespace

TensorDesc laidOutExchanged(const TensorDesc& desc, int a, int b) {
  Dims turned = desc.dims;
  std::swap(turned[a], turned[b]);
  TensorDesc laid = contiguousDesc(desc.dtype, turned);
  std::swap(laid.strides[a], laid.strides[b]);
  laid.dims = desc.dims;
  return laid;
}

TensorDesc laidOutBehindQueries(const TensorDesc& desc, int heads) {
  const int queries = desc.dims.rank - 2, first = queries - heads;
  TensorDesc laid = contiguousDesc(desc.dtype, desc.dims);
  std::int64_t stride = desc.dims[queries + 1];
  for (int axis = queries - 1; axis >= first; --axis) {
    laid.strides[axis] = stride;
    stride *= desc.dims[axis];
  }
  laid.strides[queries] = stride;
  return laid;
}

AttentionOperands operandsOfHead(const AttentionJob& job, const AttentionOperands& all, std::int64_t head) {
  const int loops = job.heads.loops();
  const auto bytes = [&](int tensor, DType dtype) {
    return job.heads.offset(tensor, head, loops) * static_cast<std::int64_t>(elementBytes(dtype));
  };
  const auto from = [&](const void* data, int tensor, DType dtype) {
    return static_cast<const char*>(data) + bytes(tensor, dtype);
  };
  return {from(all.q, 1, job.q_type),
          from(all.k, 2, job.k_type),
          from(all.v, 3, job.v_type),
          job.has_mask ? all.mask + job.heads.offset(4, head, loops) : nullptr,
          static_cast<char*>(all.y) + bytes(0, job.y_type),
          job.has_logarithms ? all.logarithms + job.heads.offset(job.has_mask ? 5 : 4, head, loops) : nullptr};
}

bool attendsRowByRow(const AttentionJob& job) {
  constexpr std::int64_t kFewQueries = 4;
  return job.queries <= kFewQueries && job.k.column == 1 && job.v.column == 1;
}

std::int64_t loneQueries(const AttentionJob& job, std::int64_t lanes) {
  // Lone queries occur: the class token of a vision transformer stands beside its patches.
  constexpr std::int64_t kMaxLone = 2, kMinLanes = 16;
  const std::int64_t last = job.queries % lanes;
  return lanes >= kMinLanes && last <= kMaxLone && job.k.column == 1 && job.v.column == 1 ? last : 0;
}

std::int64_t attentionRowFloats(const AttentionJob& job) {
  return AttentionRoom::whole(job.keys) + AttentionRoom::whole(job.depth) + AttentionRoom::whole(job.width);
}

void AttentionRoom::plan(AttentionJob* job) {
  // Sizes with which the scores of a block stay in the second-level cache. Keys that fit one block need no rescaling.
  constexpr std::int64_t kBlockRows = 48, kKeyBlock = 512;
  job->blocks = (job->queries + kBlockRows - 1) / kBlockRows;
  job->block_rows = (job->queries + job->blocks - 1) / job->blocks;
  const std::int64_t parts = (job->keys + kKeyBlock - 1) / kKeyBlock;
  job->key_block = whole((job->keys + parts - 1) / parts);
}

Verdict takesAttention(const PrepareArgs& args, bool (*takes)(DType dtype)) {
  for (std::size_t s = 0; s < args.src.size(); ++s) {
    const TensorDesc& src = args.src[s];
    if (src.absent()) continue;
    if (s < 3 ? !takes(src.dtype) : src.dtype != DType::kF32) return Verdict::no("dtype");
    if (src.dims.count() == 0) return Verdict::no("empty");
    if (src.block != 0) return Verdict::no("layout");
  }
  const DType y = args.dst[0].dtype;
  if (y != DType::kF32 && y != DType::kBf16 && !isByte(y)) return Verdict::no("dtype");
  const auto& chain = args.spec.post_ops;
  const bool makes_bytes = chain.size() == 1 && chain[0].kind == PostOpKind::kLinear && isByte(y);
  if (!chain.empty() && !makes_bytes) return Verdict::no("post-ops");
  return args.dst[0].dims.count() > 0 ? Verdict::yes() : Verdict::no("empty");
}

std::unique_ptr<AttentionOp> describedAttention(const PrepareArgs& args, std::string* reason) {
  auto op = std::make_unique<AttentionOp>();
  TensorDesc y;
  if (!describeAttention(args, &op->job, &y)) {
    *reason = "layout";
    return nullptr;
  }
  op->src = args.src;
  op->dst = args.dst;
  op->dst[0] = y;
  op->packed.assign(args.src.size(), false);
  op->threads = args.target.threads;
  const AttentionJob& job = op->job;
  op->flops = 2 * job.heads.count() * job.queries * job.keys * (job.depth + job.width);
  return op;
}

void divideAttention(AttentionOp* op, std::int64_t lanes) {
  op->grain = grainFor(op->flops / 2 / op->items / lanes);
  op->scratch_bytes = static_cast<std::size_t>(op->thread_floats * op->threads) * sizeof(float);
}

}  // namespace ipex_studio
