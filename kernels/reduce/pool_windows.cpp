// Adaptive pooling, and the plain pools that oneDNN leaves to its reference (dilated ones, averages whose last window
// reaches past the padding). Even adaptive windows are a reduction (one window per image) or a plain pool; all other
// windows are visited one by one.
//
// adaptive_pool_even, _max and _bytes decline: uneven-windows, and what the reduction or the pool declines.
// adaptive_pool_windows and pool_windows decline: device, dtype, post-ops, empty.
#include <algorithm>
#include <limits>

#include "kernels/common/kernel_parts.h"
#include "kernels/common/loop_nest.h"
#include "kernels/common/parallel.h"
#include "kernels/common/pool_axis.h"

namespace ipex_studio {
namespace {

class AdaptivePoolEven final : public Kernel {
 public:
  AdaptivePoolEven(const char* name, const Kernel* reduce, const Kernel* pool)
      : name_(name), reduce_(reduce), pool_(pool) {}

  const char* name() const override { return name_; }

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
      changed.spec.attributes = {
          {"axes", axes}, {"keepdim", std::int64_t{1}}, {"mode", std::string(max ? "max" : "mean")}};
    } else {
      changed.spec.kind = OpKind::kPool;
      changed.spec.attributes = {{"kernel", window}, {"stride", window}, {"mode", std::string(max ? "max" : "avg")}};
    }
    return changed;
  }

  const char* name_;
  const Kernel* reduce_;
  const Kernel* pool_;
};

AxisWindows adaptiveWindows(std::int64_t in, std::int64_t out) {
  AxisWindows windows;
  for (std::int64_t o = 0; o < out; ++o) {
    windows.first.push_back(o * in / out);
    windows.last.push_back(((o + 1) * in + out - 1) / out);
    windows.counted.push_back(windows.last.back() - windows.first.back());
  }
  return windows;
}

// Images as [planes, D, H, W, inner]: inner is C for channels-last, the block for blocked, 1 for row-major.
class PoolWindowsOp final : public PreparedOp {
 public:
  std::int64_t planes = 0, inner = 1, in[3] = {1, 1, 1}, out[3] = {1, 1, 1};
  AxisWindows windows[3] = {AxisWindows::single(), AxisWindows::single(), AxisWindows::single()};
  bool max = false;
  std::int32_t threads = 1;

  void execute(ExecState*, const void* const* from, void* const* to, void*) const override {
    const std::int64_t pixels_out = out[0] * out[1] * out[2], pixels_in = in[0] * in[1] * in[2];
    const float* const x = static_cast<const float*>(from[0]);
    float* const y = static_cast<float*>(to[0]);
    const std::int64_t grain = grainFor(flops / std::max<std::int64_t>(1, planes * pixels_out));
    parallelFor(planes * pixels_out, grain, threads, [&](std::int64_t begin, std::int64_t end, int) {
      for (std::int64_t item = begin; item < end; ++item) {
        window(x + item / pixels_out * pixels_in * inner, item % pixels_out, y + item * inner);
      }
    });
  }

 private:
  void window(const float* x, std::int64_t pixel, float* y) const {
    const std::int64_t at[3] = {pixel / (out[1] * out[2]), pixel / out[2] % out[1], pixel % out[2]};
    std::int64_t first[3], last[3], counted = 1;
    for (int s = 0; s < 3; ++s) {
      first[s] = windows[s].first[at[s]];
      last[s] = windows[s].last[at[s]];
      counted *= windows[s].counted[at[s]];
    }
    std::fill(y, y + inner, max ? -std::numeric_limits<float>::infinity() : 0.0f);
    for (std::int64_t d = first[0]; d < last[0]; d += windows[0].step) {
      for (std::int64_t h = first[1]; h < last[1]; h += windows[1].step) {
        for (std::int64_t w = first[2]; w < last[2]; w += windows[2].step) {
          join(x + ((d * in[1] + h) * in[2] + w) * inner, y);
        }
      }
    }
    if (max) return;
    const float factor = 1.0f / static_cast<float>(counted);
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

// Serves pools and adaptive pools, which differ in their windows only.
class PoolWindows final : public Kernel {
 public:
  explicit PoolWindows(const char* name) : name_(name) {}

  const char* name() const override { return name_; }

  Verdict supports(const PrepareArgs& args) const override {
    if (args.src[0].dtype != DType::kF32) return Verdict::no("dtype");
    if (!args.spec.post_ops.empty()) return Verdict::no("post-ops");
    return args.src[0].dims.count() > 0 && args.dst[0].dims.count() > 0 ? Verdict::yes() : Verdict::no("empty");
  }

  std::unique_ptr<PreparedOp> prepare(const PrepareArgs& args, std::string*) const override {
    const TensorDesc& given = args.src[0];
    const TensorDesc x = isDenseLayout(given) ? given : contiguousDesc(DType::kF32, given.dims);
    const Dims& y = args.dst[0].dims;
    auto op = std::make_unique<PoolWindowsOp>();
    op->src = {x};
    op->dst = {laidOutLike(x, DType::kF32, y)};
    op->packed = {false};
    op->max = args.spec.stringOr("mode", args.spec.kind == OpKind::kPool ? "max" : "avg") == "max";
    op->threads = args.target.threads;
    op->flops = y.count();
    for (int axis = 2; axis < x.dims.rank; ++axis) {
      const int s = 3 - x.dims.rank + axis;
      op->in[s] = x.dims[axis];
      op->out[s] = y[axis];
      op->windows[s] = windowsOf(args.spec, axis - 2, x.dims.rank - 2, x.dims[axis], y[axis]);
      op->flops *= *std::max_element(op->windows[s].counted.begin(), op->windows[s].counted.end());
    }
    const bool channels_last = x.block == 0 && !x.isContiguous();
    op->inner = x.block > 0 ? x.block : channels_last ? x.dims[1] : 1;
    op->planes = x.dims[0] * ((x.dims[1] + op->inner - 1) / op->inner);
    return op;
  }

 private:
  static AxisWindows windowsOf(const OpSpec& spec, int s, int spatial, std::int64_t in, std::int64_t out) {
    if (spec.kind == OpKind::kAdaptivePool) return adaptiveWindows(in, out);
    return poolWindows(spec, s, spatial, in, out);
  }

  const char* name_;
};

}  // namespace

std::unique_ptr<Kernel> makeAdaptivePoolBytes(const KernelParts& parts) {
  return std::make_unique<AdaptivePoolEven>("adaptive_pool_bytes", parts.first, parts.second);
}
std::unique_ptr<Kernel> makeAdaptivePoolEven(const KernelParts& parts) {
  return std::make_unique<AdaptivePoolEven>("adaptive_pool_even", parts.first, parts.second);
}
std::unique_ptr<Kernel> makeAdaptivePoolMax(const KernelParts& parts) {
  return std::make_unique<AdaptivePoolEven>("adaptive_pool_max", parts.first, parts.second);
}
std::unique_ptr<Kernel> makeAdaptivePoolWindows() { return std::make_unique<PoolWindows>("adaptive_pool_windows"); }
std::unique_ptr<Kernel> makePoolWindows() { return std::make_unique<PoolWindows>("pool_windows"); }

}  // namespace ipex_studio
