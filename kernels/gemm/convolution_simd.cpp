// Convolution of channels-last images as a packed matrix product over gathered pixels (packed_gemm.h): any kernel,
// stride, dilation, padding and groups in one to three dimensions, with any chain of post-operations while the result's
// tile is in registers or the first-level cache. Row-major images of a few channels (first layers) are read as they
// are.
//
// Declines: dtype, rank, empty, one-row (convolution_gemv_simd sums in more parts), depthwise,
// weights-not-constant, bias-not-constant, blocked-weights, post-ops (operands that broadcast along some of the spatial
// axes only).
#include <algorithm>

#include "core/op/kernel.h"
#include "kernels/gemm/packed_gemm.h"

namespace ipex_studio {
namespace {

// Channels up to which a row-major image is gathered value by value.
constexpr std::int64_t kPlanarChannels = 4;

class ConvolutionSimd final : public Kernel {
 public:
  const char* name() const override { return "convolution_simd"; }
  bool onlyWhenMeasured() const override { return true; }

  Verdict supports(const PrepareArgs& args) const override {
    const Verdict verdict = takesPackedWeights(args);
    if (!verdict.ok) return verdict;
    const TensorDesc &x = args.src[kSrc], &w = args.src[kWeights];
    if (x.dims.rank < 3 || x.dims.rank > 5) return Verdict::no("rank");
    if (args.dst[0].dims.count() == args.dst[0].dims[1]) return Verdict::no("one-row");
    const std::int64_t groups = args.spec.intOr("groups", 1);
    if (groups > 1 && w.dims[0] == groups && w.dims[1] == 1) return Verdict::no("depthwise");
    return Verdict::yes();
  }

  std::unique_ptr<PreparedOp> prepare(const PrepareArgs& args, std::string* reason) const override {
    const TensorDesc dst = channelsLastDesc(DType::kF32, args.dst[0].dims);
    std::vector<TensorDesc> layouts = args.src;
    layouts[kSrc] = readableImage(args);
    GemmJob job;
    job.rows = rowsOfImage(args, layouts[kSrc]);
    job.row_count = job.rows.images * job.rows.pixels();
    job.columns = dst.dims[1];
    if (!describeOperands(args, dst, &layouts, &job.operands)) {
      *reason = "post-ops";
      return nullptr;
    }
    return makePackedGemm(args, std::move(job), std::move(layouts), dst);
  }

 private:
  // The image as it is if a pixel's channels lie side by side or if it has few of them; else channels-last.
  static TensorDesc readableImage(const PrepareArgs& args) {
    const TensorDesc& x = args.src[kSrc];
    const int last = x.dims.rank - 1;
    const bool planar = x.dims[1] <= kPlanarChannels && x.strides[last] == 1 && args.spec.intOr("groups", 1) == 1;
    const bool pixels = x.strides[1] == 1;
    return x.block == 0 && (planar || pixels) ? x : channelsLastDesc(DType::kF32, x.dims);
  }

  static GemmRows rowsOfImage(const PrepareArgs& args, const TensorDesc& x) {
    GemmRows rows = windowRows(args);
    rows.channels = args.src[kWeights].dims[1];
    rows.image_stride = x.strides[0];
    rows.channel_stride = x.strides[1];
    rows.channels_innermost = x.strides[1] == 1 || x.dims[1] == 1;
    for (int axis = 2; axis < x.dims.rank; ++axis) rows.x_stride[3 - x.dims.rank + axis] = x.strides[axis];
    return rows;
  }
};

}  // namespace

std::unique_ptr<Kernel> makeConvolutionSimd() { return std::make_unique<ConvolutionSimd>(); }

}  // namespace ipex_studio
