// Attention on an OpenCL device (attention.cl): one pass over keys and values for each query.
//
// Products that may be computed in BF16 are computed in FP32.
//
// Declines: dtype, empty, post-ops, fill (of masked scores), rank (batch axes beyond those that the program
// walks), size (more than 128 numbers in a query or a value).
#include <algorithm>

#include "core/op/low_precision_floats.h"
#include "kernels/common/loop_nest.h"
#include "kernels/xpu/device_op.h"
#include "kernels/xpu/image_xpu.h"
#include "kernels/xpu/tiles.h"

namespace ipex_studio {
namespace {

constexpr std::int64_t kMaxNumbers = 128;

struct AttentionJob {
  static constexpr int kMaxBatchLoops = 4;
  std::int32_t queries = 0, keys = 0, depth = 0, width = 0, causal = 0, has_mask = 0, batch_loops = 0;
  std::int32_t q_type = 0, k_type = 0, v_type = 0, y_type = 0, mask_type = 0;
  float scale = 1;
  std::int32_t q_row = 0, k_row = 0, v_row = 0, y_row = 0, mask_row = 0, mask_column = 0;
  std::int32_t batch_size[kMaxBatchLoops] = {};
  std::int32_t batch[5][kMaxBatchLoops] = {};  // steps of q, k, v, the result, the mask
};

class AttentionDeviceOp final : public DeviceOp {
 public:
  AttentionDeviceOp(OpenClDevice& device, const AttentionJob& job)
      : DeviceOp(device, "attention", "attention", device.usesTiles() ? teamGroup(device) : WorkSize{1, 1, 1}),
        attention_(job) {
    std::int64_t batch = 1;
    for (int loop = 0; loop < job.batch_loops; ++loop) batch *= job.batch_size[loop];
    setItems(device.usesTiles() ? job.queries * teamItems(device) : wholeLanes(job.queries) / kLanes, batch);
    flops = 2 * batch * job.queries * job.keys * (std::int64_t{job.depth} + job.width);
  }

 protected:
  void setArguments(OpenClKernel& kernel, const Launch& launch) const override {
    for (int s = 0; s < 3; ++s) kernel.pointer(launch.src[s]);
    kernel.pointer(attention_.has_mask != 0 ? launch.src[3] : launch.dst[0]);
    kernel.pointer(launch.dst[0]);
    kernel.value(attention_);
  }

 private:
  AttentionJob attention_;
};

// Its rows lie as given where the numbers of each lie side by side.
TensorDesc rowsSideBySide(const TensorDesc& x) {
  const int last = x.dims.rank - 1;
  const bool as_given = x.block == 0 && (x.strides[last] == 1 || x.dims[last] == 1);
  return as_given ? x : contiguousDesc(x.dtype, x.dims);
}

std::int32_t stepOf(const TensorDesc& x, int axis) { return x.dims[axis] == 1 ? 0 : narrowed(x.strides[axis]); }

AttentionJob describeAttention(const OpSpec& spec, const std::vector<TensorDesc>& src, const TensorDesc& dst) {
  const int rank = dst.dims.rank, row = rank - 2, last = rank - 1;
  const TensorDesc q = alignRank(src[0], rank), k = alignRank(src[1], rank), v = alignRank(src[2], rank);
  AttentionJob job;
  job.queries = narrowed(dst.dims[row]);
  job.keys = narrowed(k.dims[row]);
  job.depth = narrowed(q.dims[last]);
  job.width = narrowed(dst.dims[last]);
  job.causal = spec.intOr("causal", 0) != 0 ? 1 : 0;
  job.scale = static_cast<float>(spec.floatOr("scale", 1));
  job.q_type = deviceType(q.dtype);
  job.k_type = deviceType(k.dtype);
  job.v_type = deviceType(v.dtype);
  job.y_type = deviceType(dst.dtype);
  job.q_row = narrowed(q.strides[row]);
  job.k_row = narrowed(k.strides[row]);
  job.v_row = narrowed(v.strides[row]);
  job.y_row = narrowed(dst.strides[row]);
  std::vector<TensorDesc> walked{q, k, v, dst};
  job.has_mask = src.size() > 3 && !src[3].absent() ? 1 : 0;
  if (job.has_mask != 0) {
    walked.push_back(alignRank(src[3], rank));
    job.mask_type = deviceType(src[3].dtype);
    job.mask_row = stepOf(walked.back(), row);
    job.mask_column = stepOf(walked.back(), last);
  }
  job.batch_loops = row;
  for (int axis = 0; axis < row; ++axis) {
    job.batch_size[axis] = narrowed(dst.dims[axis]);
    for (std::size_t t = 0; t < walked.size(); ++t) job.batch[t][axis] = stepOf(walked[t], axis);
  }
  return job;
}

class AttentionXpu final : public Kernel {
 public:
  const char* name() const override { return "attention_xpu"; }

  Verdict supports(const PrepareArgs& args) const override {
    const auto fits = [](const TensorDesc& desc) { return desc.absent() || isFloatDtype(desc.dtype); };
    const bool floats = std::all_of(args.src.begin(), args.src.end(), fits) && fits(args.dst[0]);
    if (!floats) return Verdict::no("dtype");
    if (!args.spec.post_ops.empty()) return Verdict::no("post-ops");
    if (args.spec.has("fill") || args.spec.has("keep")) return Verdict::no("fill");
    for (std::size_t s = 0; s < 3; ++s) {
      if (args.src[s].dims.count() == 0) return Verdict::no("empty");
    }
    const Dims &q = args.src[0].dims, &y = args.dst[0].dims;
    if (y.rank - 2 > AttentionJob::kMaxBatchLoops) return Verdict::no("rank");
    const bool small = q[q.rank - 1] <= kMaxNumbers && y[y.rank - 1] <= kMaxNumbers;
    return small ? Verdict::yes() : Verdict::no("size");
  }

  std::unique_ptr<PreparedOp> prepare(const PrepareArgs& args, std::string* reason) const override {
    std::vector<TensorDesc> src = args.src;
    for (std::size_t s = 0; s < 3; ++s) src[s] = rowsSideBySide(src[s]);
    if (src.size() > 3 && src[3].block > 0) src[3] = contiguousDesc(src[3].dtype, src[3].dims);
    const TensorDesc dst = contiguousDesc(args.dst[0].dtype, args.dst[0].dims);
    for (const TensorDesc& each : src) {
      if (!each.absent() && !fitsDevice(each)) {
        *reason = "size";
        return nullptr;
      }
    }
    auto op = std::make_unique<AttentionDeviceOp>(openClDevice(args), describeAttention(args.spec, src, dst));
    op->src = std::move(src);
    op->dst = {dst};
    op->packed.assign(args.src.size(), false);
    return op;
  }
};

}  // namespace

std::unique_ptr<Kernel> makeAttentionXpu() { return std::make_unique<AttentionXpu>(); }

}  // namespace ipex_studio
