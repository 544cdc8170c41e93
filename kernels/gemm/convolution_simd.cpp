// Convolution of channels-last images as a packed matrix product over gathered pixels (packed_gemm.h): any kernel,
// stride, dilation, padding and groups in one to three dimensions, with any chain of post-operations while the result's
// tile is in registers or the first-level cache. Row-major images of a few channels (first layers) are read as they
// are. In FP32, or of BF16 with sums and post-operations in FP32: of pairs of channels, or, in images of a few
// channels, of pairs of neighbouring pixels.
//
// Declines: dtype, rank, empty, one-row (convolution_gemv_simd sums in more parts), depthwise,
// weights-not-constant, bias-not-constant, blocked-weights, post-ops (operands that broadcast along some of the spatial
// axes only); of BF16 besides: odd-channels.
#include <algorithm>

#include "core/op/kernel.h"
#include "kernels/common/convolution_geometry.h"
#include "kernels/gemm/packed_gemm.h"

namespace ipex_studio {
namespace {

// Channels up to which a row-major image is gathered value by value.
constexpr std::int64_t kPlanarChannels = 4;

class ConvolutionSimd final : public Kernel {
 public:
  explicit ConvolutionSimd(DType dtype) : dtype_(dtype) {}

  const char* name() const override { return pairs() ? "convolution_simd_bf16" : "convolution_simd"; }
  bool onlyWhenMeasured() const override { return true; }

  Verdict supports(const PrepareArgs& args) const override {
    const TensorDesc &x = args.src[kSrc], &w = args.src[kWeights];
    const bool known_rank = x.dims.rank >= 3 && x.dims.rank <= 5;
    const Verdict verdict = !pairs()                            ? takesPackedWeights(args)
                            : known_rank && pairsOfPixels(args) ? takesPackedBf16(args)
                                                                : takesPackedPairs(args);
    if (!verdict.ok) return verdict;
    if (!known_rank) return Verdict::no("rank");
    if (args.dst[0].dims.count() == args.dst[0].dims[1]) return Verdict::no("one-row");
    const std::int64_t groups = args.spec.intOr("groups", 1);
    if (groups > 1 && w.dims[0] == groups && w.dims[1] == 1) return Verdict::no("depthwise");
    return Verdict::yes();
  }

  std::unique_ptr<PreparedOp> prepare(const PrepareArgs& args, std::string* reason) const override {
    const TensorDesc dst = channelsLastDesc(args.dst[0].dtype, args.dst[0].dims);
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
    auto op = makePackedGemm(args, std::move(job), std::move(layouts), dst);
    // The last pair of an odd window holds a pixel beside it, whose weight is 0.
    if (op && pairsOfPixels(args))
      op->needs_finite = args.src[kWeights].dims[args.src[kWeights].dims.rank - 1] % 2 != 0;
    return op;
  }

 private:
  bool pairs() const { return dtype_ == DType::kBf16; }

  // The image as it is if a pixel's channels lie side by side or if it has few of them; else channels-last.
  TensorDesc readableImage(const PrepareArgs& args) const {
    const TensorDesc& x = args.src[kSrc];
    const int last = x.dims.rank - 1;
    if (pairsOfPixels(args)) return x.block == 0 && x.strides[last] == 1 ? x : contiguousDesc(dtype_, x.dims);
    if (pairs()) return x.block == 0 && pairsUp(x) ? x : channelsLastDesc(dtype_, x.dims);
    const bool planar = x.dims[1] <= kPlanarChannels && x.strides[last] == 1 && args.spec.intOr("groups", 1) == 1;
    const bool pixels = x.strides[1] == 1;
    return x.block == 0 && (planar || pixels) ? x : channelsLastDesc(dtype_, x.dims);
  }

  // True if numbers are multiplied in pairs of pixels: of a few channels, pairs would be padded.
  bool pairsOfPixels(const PrepareArgs& args) const {
    const std::int64_t channels = args.src[kSrc].dims[1];
    const ConvolutionGeometry geometry = convolutionGeometry(args.spec, args.src[kSrc].dims.rank - 2);
    return pairs() && channels <= kPlanarChannels && args.spec.intOr("groups", 1) == 1 && geometry.dilation.back() == 0;
  }

  // True if the channels of each pixel lie side by side and begin with a whole pair.
  static bool pairsUp(const TensorDesc& x) {
    if (x.strides[1] != 1) return false;
    for (int axis = 0; axis < x.dims.rank; ++axis) {
      if (axis != 1 && x.dims[axis] > 1 && x.strides[axis] % kVnni2Numbers != 0) return false;
    }
    return true;
  }

  GemmRows rowsOfImage(const PrepareArgs& args, const TensorDesc& x) const {
    if (pairsOfPixels(args)) return rowsOfPixelPairs(args, x);
    const std::int64_t numbers = pairs() ? kVnni2Numbers : 1;
    GemmRows rows = windowRows(args);
    rows.channels = args.src[kWeights].dims[1] / numbers;
    rows.image_stride = x.strides[0] / numbers;
    rows.channel_stride = x.strides[1];
    rows.channels_innermost = x.strides[1] == 1 || x.dims[1] == 1;
    for (int axis = 2; axis < x.dims.rank; ++axis) rows.x_stride[3 - x.dims.rank + axis] = x.strides[axis] / numbers;
    return rows;
  }

  // Rows of pairs: side by side, with taps that follow each other, if windows begin at every second pixel; else a pair
  // for each pixel, of which every second one is a tap.
  static GemmRows rowsOfPixelPairs(const PrepareArgs& args, const TensorDesc& x) {
    GemmRows rows = windowRows(args);
    const bool even = rows.stride[2] % kVnni2Numbers == 0;
    rows.pair_step = even ? kVnni2Numbers : 1;
    rows.kernel[2] = ceilDiv(rows.kernel[2], kVnni2Numbers);
    rows.stride[2] /= rows.pair_step;
    rows.dilation[2] = kVnni2Numbers / rows.pair_step;
    rows.channels = x.dims[1];
    rows.channels_innermost = false;
    rows.image_stride = x.strides[0];
    rows.channel_stride = x.strides[1];
    for (int axis = 2; axis < x.dims.rank; ++axis) rows.x_stride[3 - x.dims.rank + axis] = x.strides[axis];
    return rows;
  }

  DType dtype_;
};

}  // namespace

std::unique_ptr<Kernel> makeConvolutionSimd() { return std::make_unique<ConvolutionSimd>(DType::kF32); }

std::unique_ptr<Kernel> makeConvolutionSimdBf16() { return std::make_unique<ConvolutionSimd>(DType::kBf16); }

}  // namespace ipex_studio
