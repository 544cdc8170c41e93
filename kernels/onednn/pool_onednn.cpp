// Max and average pooling by oneDNN in the layout of the source where it is fast there.
//
// Declines: dtype, empty, nan (maxima of floats, among which the library drops NaN), ceil-average (the last window's
// divisor differs), post-ops, no-fast-implementation.
#include <limits>

#include "kernels/common/convolution_geometry.h"
#include "kernels/common/kernel_parts.h"
#include "kernels/common/layer_operands.h"
#include "kernels/common/parallel.h"
#include "kernels/onednn/onednn_op.h"

namespace ipex_studio {
namespace {

using onednn::Md;
using onednn::Pd;

constexpr int kFirstPoolPostOperand = 1;

struct PoolGeometry {
  Ints kernel;
  ConvolutionGeometry window;
  bool beyond_padding = false;  // ceil_mode added a window that reaches past the padding
};

PoolGeometry poolGeometry(const OpSpec& spec, const Dims& x, const Dims& y) {
  const int spatial = x.rank - 2;
  PoolGeometry g{spatialInts(spec, "kernel", spatial, 1), convolutionGeometry(spec, spatial), false};
  for (int axis = 0; axis < spatial; ++axis) {
    const std::int64_t span = (g.kernel[axis] - 1) * (g.window.dilation[axis] + 1) + 1;
    const std::int64_t needed =
        (y[axis + 2] - 1) * g.window.stride[axis] + span - x[axis + 2] - g.window.padding_begin[axis];
    if (needed <= g.window.padding_end[axis]) continue;
    g.window.padding_end[axis] = needed;
    g.beyond_padding = true;
  }
  return g;
}

class PoolOnednn final : public Kernel {
 public:
  explicit PoolOnednn(const dnnl::engine& engine) : engine_(engine) {}

  const char* name() const override { return "pool_onednn"; }

  Verdict supports(const PrepareArgs& args) const override {
    const DType dtype = args.src[kSrc].dtype;
    const bool known = dtype == DType::kF32 || dtype == DType::kBf16 || dtype == DType::kU8 || dtype == DType::kS8;
    if (!known || args.dst[0].dtype != dtype) return Verdict::no("dtype");
    if (args.src[kSrc].dims.count() == 0 || args.dst[0].dims.count() == 0) return Verdict::no("empty");
    const std::string mode = args.spec.stringOr("mode", "max");
    if (mode == "max" && elementBytes(dtype) > 1) return Verdict::no("nan");
    const PoolGeometry g = poolGeometry(args.spec, args.src[kSrc].dims, args.dst[0].dims);
    if (g.beyond_padding && mode == "avg") return Verdict::no("ceil-average");
    return Verdict::yes();
  }

  std::unique_ptr<PreparedOp> prepare(const PrepareArgs& args, std::string* reason) const override {
    const ThreadCountScope threads(args.target.threads);
    const TensorDesc& x = args.src[kSrc];
    const TensorDesc candidates[] = {x, contiguousDesc(x.dtype, x.dims), blockedDesc(x.dtype, x.dims, 16),
                                     blockedDesc(x.dtype, x.dims, 8), channelsLastDesc(x.dtype, x.dims)};
    for (const TensorDesc& layout : candidates) {
      auto op = build(args, layout);
      if (op) return op;
    }
    *reason = args.spec.post_ops.empty() ? "no-fast-implementation" : "post-ops";
    return nullptr;
  }

 private:
  std::unique_ptr<PreparedOp> build(const PrepareArgs& args, const TensorDesc& layout) const {
    const Dims& y = args.dst[0].dims;
    const std::string mode = args.spec.stringOr("mode", "max");
    const dnnl::algorithm algorithm = mode == "max"   ? dnnl::algorithm::pooling_max
                                      : mode == "avg" ? dnnl::algorithm::pooling_avg_include_padding
                                                      : dnnl::algorithm::pooling_avg_exclude_padding;
    const PoolGeometry g = poolGeometry(args.spec, layout.dims, y);
    const TensorDesc dst = layout.block > 0          ? blockedDesc(layout.dtype, y, layout.block)
                           : layout.isContiguous()   ? contiguousDesc(layout.dtype, y)
                           : layout.isChannelsLast() ? channelsLastDesc(layout.dtype, y)
                                                     : TensorDesc();
    Md src_md, dst_md;
    if (dst.absent() || !onednn::toMd(layout, &src_md) || !onednn::toMd(dst, &dst_md)) return nullptr;
    onednn::PostOpRequest request = onednn::requestFor(args, kFirstPoolPostOperand);
    request.dst_layout = &dst_md;
    onednn::PostOps post_ops;
    if (!onednn::translatePostOps(request, &post_ops).ok) return nullptr;
    const Pd pd =
        onednn::poolingPd(engine_, algorithm, src_md, dst_md, g.kernel, g.window, onednn::attributes(post_ops.list));
    if (onednn::isEmpty(pd) || onednn::isReference(pd)) return nullptr;

    auto op = std::make_unique<onednn::OnednnOp>(engine_, pd);
    op->src = args.src;
    op->src[kSrc] = layout;
    op->dst = {dst};
    op->packed.assign(args.src.size(), false);
    op->bindSrc(DNNL_ARG_SRC, kSrc, src_md);
    op->bindDst(DNNL_ARG_DST, 0, dst_md);
    if (!onednn::bindPostOperands(pd, post_ops, args, dst, op.get())) return nullptr;
    op->finish();
    std::int64_t window = 1;
    for (const auto k : g.kernel) window *= k;
    op->flops = y.count() * window;
    return op;
  }

  dnnl::engine engine_;
};

}  // namespace

std::unique_ptr<Kernel> makePoolOnednn(const KernelParts& parts) { return std::make_unique<PoolOnednn>(parts.engine); }

}  // namespace ipex_studio
