// Embeddings, bags of them, and gather (index_select) on an OpenCL device (pick.cl). An index out of range fails the
// run; its row is NaN until then.
//
// Declines: dtype, empty, size, post-ops.
#include "kernels/xpu/device_op.h"
#include "kernels/xpu/image_xpu.h"

namespace ipex_studio {
namespace {

struct PickJob {
  std::int32_t picked = 0, rows = 0, run = 0, outer_stride = 0;
  std::int32_t items = 0, wraps = 0, has_long = 0, unused = 0;
};

class PickOp final : public DeviceOp {
 public:
  PickOp(OpenClDevice& device, const PickJob& job, int table, int index)
      : DeviceOp(device, "pick", "pick", {8, 8, 1}), job_(job), table_(table), index_(index) {
    setItems(wholeLanes(job.run) / kLanes, job.items);
  }

 protected:
  void setArguments(OpenClKernel& kernel, const Launch& launch) const override {
    kernel.pointer(launch.src[table_]);
    kernel.pointer(launch.src[index_]);
    kernel.pointer(launch.dst[0]);
    kernel.pointer(launch.queue.mark());
    kernel.value(job_);
  }

 private:
  PickJob job_;
  int table_, index_;
};

class BagsOp final : public DeviceOp {
 public:
  BagsOp(OpenClDevice& device, const PickJob& job) : DeviceOp(device, "pick", "bags", {4, 16, 1}), job_(job) {
    setItems(wholeLanes(job.run) / kLanes, job.items);
  }
  cl_int offset_count = 0, offset_has_long = 0, is_mean = 0;

 protected:
  void setArguments(OpenClKernel& kernel, const Launch& launch) const override {
    kernel.pointer(launch.src[2]);
    kernel.pointer(launch.src[0]);
    kernel.pointer(launch.src[1]);
    kernel.pointer(launch.dst[0]);
    kernel.pointer(launch.queue.mark());
    kernel.value(job_);
    kernel.value(offset_count);
    kernel.value(offset_has_long);
    kernel.value(is_mean);
  }

 private:
  PickJob job_;
};

bool isIndex(const TensorDesc& x) { return x.dtype == DType::kS64 || x.dtype == DType::kS32; }
std::int32_t hasLong(const TensorDesc& x) { return x.dtype == DType::kS64 ? 1 : 0; }

// Says whether floats are picked, by indices in the sources `indices`, as all of these operations do.
Verdict picksFloats(const PrepareArgs& args, int table, std::initializer_list<int> indices) {
  for (const int index : indices) {
    if (!isIndex(args.src[static_cast<std::size_t>(index)])) return Verdict::no("dtype");
  }
  const TensorDesc& x = args.src[static_cast<std::size_t>(table)];
  if (x.dtype != DType::kF32 || args.dst[0].dtype != DType::kF32) return Verdict::no("dtype");
  if (!args.spec.post_ops.empty()) return Verdict::no("post-ops");
  if (x.dims.count() == 0 || args.dst[0].dims.count() == 0) return Verdict::no("empty");
  const TensorDesc whole = contiguousDesc(DType::kF32, x.dims);
  return fitsDevice(whole) && fitsDevice(args.dst[0]) ? Verdict::yes() : Verdict::no("size");
}

// Sets the operands, which are row-major.
void setOperands(const PrepareArgs& args, DeviceOp* op) {
  for (const TensorDesc& src : args.src) op->src.push_back(contiguousDesc(src.dtype, src.dims));
  op->dst = {contiguousDesc(DType::kF32, args.dst[0].dims)};
  op->packed.assign(args.src.size(), false);
}

class EmbeddingXpu final : public Kernel {
 public:
  const char* name() const override { return "embedding_xpu"; }
  Verdict supports(const PrepareArgs& args) const override { return picksFloats(args, 1, {0}); }

  std::unique_ptr<PreparedOp> prepare(const PrepareArgs& args, std::string*) const override {
    const Dims& table = args.src[1].dims;
    PickJob job;
    job.items = job.picked = narrowed(args.src[0].dims.count());
    job.rows = narrowed(table[0]);
    job.run = narrowed(table[1]);
    job.has_long = hasLong(args.src[0]);
    auto op = std::make_unique<PickOp>(openClDevice(args), job, 1, 0);
    setOperands(args, op.get());
    return op;
  }
};

class GatherXpu final : public Kernel {
 public:
  const char* name() const override { return "gather_xpu"; }
  Verdict supports(const PrepareArgs& args) const override { return picksFloats(args, 0, {1}); }

  std::unique_ptr<PreparedOp> prepare(const PrepareArgs& args, std::string*) const override {
    const Dims& x = args.src[0].dims;
    const int axis = wrappedAxis(args.spec.intOr("axis", 0), x.rank);
    std::int64_t run = 1, outer = 1;
    for (int a = axis + 1; a < x.rank; ++a) run *= x[a];
    for (int a = 0; a < axis; ++a) outer *= x[a];
    PickJob job;
    job.picked = narrowed(args.src[1].dims.count());
    job.items = narrowed(outer * args.src[1].dims.count());
    job.rows = narrowed(x[axis]);
    job.run = narrowed(run);
    job.outer_stride = narrowed(run * x[axis]);
    job.wraps = args.spec.intOr("wrap", 0) != 0 ? 1 : 0;
    job.has_long = hasLong(args.src[1]);
    auto op = std::make_unique<PickOp>(openClDevice(args), job, 0, 1);
    setOperands(args, op.get());
    return op;
  }
};

class EmbeddingBagXpu final : public Kernel {
 public:
  const char* name() const override { return "embedding_bag_xpu"; }
  Verdict supports(const PrepareArgs& args) const override { return picksFloats(args, 2, {0, 1}); }

  std::unique_ptr<PreparedOp> prepare(const PrepareArgs& args, std::string*) const override {
    PickJob job;
    job.picked = narrowed(args.src[0].dims.count());
    job.items = narrowed(args.dst[0].dims[0]);
    job.rows = narrowed(args.src[2].dims[0]);
    job.run = narrowed(args.src[2].dims[1]);
    job.has_long = hasLong(args.src[0]);
    auto op = std::make_unique<BagsOp>(openClDevice(args), job);
    op->offset_count = narrowed(args.src[1].dims[0]);
    op->offset_has_long = hasLong(args.src[1]);
    op->is_mean = args.spec.stringOr("mode", "sum") == "mean" ? 1 : 0;
    setOperands(args, op.get());
    return op;
  }
};

}  // namespace

std::unique_ptr<Kernel> makeEmbeddingXpu() { return std::make_unique<EmbeddingXpu>(); }
std::unique_ptr<Kernel> makeGatherXpu() { return std::make_unique<GatherXpu>(); }
std::unique_ptr<Kernel> makeEmbeddingBagXpu() { return std::make_unique<EmbeddingBagXpu>(); }

}  // namespace ipex_studio
