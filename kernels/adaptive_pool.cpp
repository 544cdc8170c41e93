// Adaptive pooling. Even windows are a reduction (one window per image) or a plain pool; windows of unequal size are
// summed one by one.
//
// adaptive_pool_even declines: uneven-windows, and what the reduction or the pool declines.
// adaptive_pool_windows declines: device, dtype, post-ops, empty.
#include <algorithm>
#include <limits>

#include "kernels/factories.h"
#include "kernels/loop_nest.h"
#include "kernels/parallel.h"

namespace ipex_studio {
namespace {

class AdaptivePoolEven final : public Kernel {
 public:
  AdaptivePoolEven(const Kernel* reduce, const Kernel* pool) : reduce_(reduce), pool_(pool) {}

  const char* name() const override { return "adaptive_pool_even"; }

  Verdict supports(const PrepareArgs& args) const override {
    const Kernel* kernel = kernelFor(args);
    return kernel ? kernel->supports(translated(args)) : Verdict::no("uneven-windows");
  }

  std::unique_ptr<PreparedOp> prepare(const PrepareArgs& args, std::string* reason) const override {
    return kernelFor(args)->prepare(translated(args), reason);
  }

 private:
  const Kernel* kernelFor(const PrepareArgs& args) const {
    const Dims &x = args.src[0].dims, &y = args.dst[0].dims;
    bool one_window = true;
    for (int axis = 2; axis < x.rank; ++axis) {
      if (y[axis] == 0 || x[axis] % y[axis] != 0) return nullptr;
      one_window &= y[axis] == 1;
    }
    return one_window ? reduce_ : pool_;
  }

  PrepareArgs translated(const PrepareArgs& args) const {
    const Dims &x = args.src[0].dims, &y = args.dst[0].dims;
    const bool max = args.spec.stringOr("mode", "avg") == "max";
    std::vector<std::int64_t> axes, window;
    for (int axis = 2; axis < x.rank; ++axis) {
      axes.push_back(axis);
      window.push_back(x[axis] / y[axis]);
    }
    PrepareArgs changed = args;
    changed.spec.attributes.clear();
    if (kernelFor(args) == reduce_) {
      changed.spec.kind = OpKind::kReduce;
      changed.spec.attributes = {{"axes", axes}, {"keepdim", std::int64_t{1}}, {"mode", std::string(max ? "max" : "mean")}};
    } else {
      changed.spec.kind = OpKind::kPool;
      changed.spec.attributes = {{"kernel", window}, {"stride", window}, {"mode", std::string(max ? "max" : "avg")}};
    }
    return changed;
  }

  const Kernel* reduce_;
  const Kernel* pool_;
};

// Images as [planes, D, H, W, inner]: inner is C for channels-last, the block for blocked, 1 for row-major.
class AdaptivePoolWindowsOp final : public PreparedOp {
 public:
  std::int64_t planes = 0, inner = 1, in[3] = {1, 1, 1}, out[3] = {1, 1, 1};
  bool max = false;
  std::int32_t threads = 1;

  void execute(ExecState*, const void* const* from, void* const* to, void*) const override {
    const std::int64_t pixels_out = out[0] * out[1] * out[2], pixels_in = in[0] * in[1] * in[2];
    const float* const x = static_cast<const float*>(from[0]);
    float* const y = static_cast<float*>(to[0]);
    parallelFor(planes, grainFor(pixels_in * inner), threads, [&](std::int64_t begin, std::int64_t end, int) {
      for (std::int64_t item = begin * pixels_out; item < end * pixels_out; ++item) {
        window(x + item / pixels_out * pixels_in * inner, item % pixels_out, y + item * inner);
      }
    });
  }

 private:
  void window(const float* x, std::int64_t pixel, float* y) const {
    const std::int64_t at[3] = {pixel / (out[1] * out[2]), pixel / out[2] % out[1], pixel % out[2]};
    std::int64_t first[3], last[3];
    for (int s = 0; s < 3; ++s) {
      first[s] = at[s] * in[s] / out[s];
      last[s] = ((at[s] + 1) * in[s] + out[s] - 1) / out[s];
    }
    std::fill(y, y + inner, max ? -std::numeric_limits<float>::infinity() : 0.0f);
    for (std::int64_t d = first[0]; d < last[0]; ++d) {
      for (std::int64_t h = first[1]; h < last[1]; ++h) {
        for (std::int64_t w = first[2]; w < last[2]; ++w) join(x + ((d * in[1] + h) * in[2] + w) * inner, y);
      }
    }
    if (max) return;
    const float factor = 1.0f / static_cast<float>((last[0] - first[0]) * (last[1] - first[1]) * (last[2] - first[2]));
    for (std::int64_t i = 0; i < inner; ++i) y[i] *= factor;
  }

  void join(const float* x, float* y) const {
    if (max) {
      for (std::int64_t i = 0; i < inner; ++i) y[i] = y[i] != y[i] || y[i] > x[i] ? y[i] : x[i];
    } else {
      for (std::int64_t i = 0; i < inner; ++i) y[i] += x[i];
    }
  }
};

class AdaptivePoolWindows final : public Kernel {
 public:
  const char* name() const override { return "adaptive_pool_windows"; }

  Verdict supports(const PrepareArgs& args) const override {
    if (args.target.device.kind != DeviceKind::kCpu) return Verdict::no("device");
    if (args.src[0].dtype != DType::kF32) return Verdict::no("dtype");
    if (!args.spec.post_ops.empty()) return Verdict::no("post-ops");
    return args.src[0].dims.count() > 0 && args.dst[0].dims.count() > 0 ? Verdict::yes() : Verdict::no("empty");
  }

  std::unique_ptr<PreparedOp> prepare(const PrepareArgs& args, std::string*) const override {
    const TensorDesc& given = args.src[0];
    const TensorDesc x = isDenseLayout(given) ? given : contiguousDesc(DType::kF32, given.dims);
    auto op = std::make_unique<AdaptivePoolWindowsOp>();
    op->src = {x};
    op->dst = {laidOutLike(x, DType::kF32, args.dst[0].dims)};
    op->packed = {false};
    op->max = args.spec.stringOr("mode", "avg") == "max";
    op->threads = args.target.threads;
    for (int axis = 2; axis < x.dims.rank; ++axis) {
      op->in[3 - x.dims.rank + axis] = x.dims[axis];
      op->out[3 - x.dims.rank + axis] = args.dst[0].dims[axis];
    }
    const bool channels_last = x.block == 0 && !x.isContiguous();
    op->inner = x.block > 0 ? x.block : channels_last ? x.dims[1] : 1;
    op->planes = x.dims[0] * ((x.dims[1] + op->inner - 1) / op->inner);
    op->flops = x.dims.count();
    return op;
  }
};

}  // namespace

std::unique_ptr<Kernel> makeAdaptivePool(const Kernel* reduce, const Kernel* pool) {
  return std::make_unique<AdaptivePoolEven>(reduce, pool);
}
std::unique_ptr<Kernel> makeAdaptivePoolWindows() { return std::make_unique<AdaptivePoolWindows>(); }

}  // namespace ipex_studio
