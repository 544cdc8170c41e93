// Convolution of u8 or s8 images with s8 weights as a packed product of integers (int8_gemm.h): any strides, dilations,
// paddings, groups and chain of post-operations. Reads and writes channels-last; images of few channels are read as
// they come.
//
// Declines: dtype, rank, empty, blocked-weights, weights-not-constant, depth, depthwise, post-ops (operands that
// broadcast along some of the spatial axes only).
#include "core/op/kernel.h"
#include "kernels/common/layer_operands.h"
#include "kernels/int8/int8_gemm.h"

namespace ipex_studio {
namespace {

// Images of up to this many channels become quads from their planes.
constexpr std::int64_t kPlanarByteChannels = 4;

class ConvolutionInt8 final : public Kernel {
 public:
  const char* name() const override { return "convolution_simd_int8"; }

  Verdict supports(const PrepareArgs& args) const override {
    const Verdict verdict = takesPackedIntegers(args);
    if (!verdict.ok) return verdict;
    const TensorDesc &x = args.src[kSrc], &w = args.src[kWeights];
    if (x.dims.rank < 3 || x.dims.rank > 5) return Verdict::no("rank");
    const std::int64_t groups = args.spec.intOr("groups", 1);
    if (groups > 1 && w.dims[0] == groups && w.dims[1] == 1 && x.dims.rank < 5) return Verdict::no("depthwise");
    return Verdict::yes();
  }

  std::unique_ptr<PreparedOp> prepare(const PrepareArgs& args, std::string* reason) const override {
    const TensorDesc dst = channelsLastDesc(args.dst[0].dtype, args.dst[0].dims);
    std::vector<TensorDesc> layouts = args.src;
    TensorDesc& x = layouts[kSrc];
    x = readableImage(args);
    Int8GemmJob job;
    if (areWindowBytes(args)) {
      job.windows = windowBytesOf(args, x);
      job.gemm.rows = rowsOfWindows(args, job.windows);
    } else {
      if (!isVnni4(args, x)) job.padding = paddingOf(args, x);
      job.gemm.rows = rowsOfImage(args, x, job.padding);
    }
    job.gemm.row_count = job.gemm.rows.images * job.gemm.rows.pixels();
    job.gemm.columns = dst.dims[kChannelAxis];
    if (!describeOperands(args, dst, &layouts, &job.gemm.operands)) {
      *reason = "post-ops";
      return nullptr;
    }
    return makeInt8Gemm(args, std::move(job), std::move(layouts), dst, kChannelAxis);
  }

 private:
  static TensorDesc readableImage(const PrepareArgs& args) {
    const TensorDesc& x = args.src[kSrc];
    const bool pixels = x.strides[kChannelAxis] == 1 || x.dims[kChannelAxis] <= kPlanarByteChannels;
    return x.block == 0 && pixels ? x : channelsLastDesc(x.dtype, x.dims);
  }

  // True if the unsigned channels of each group fill whole quads that lie side by side.
  static bool isVnni4(const PrepareArgs& args, const TensorDesc& x) {
    if (x.dtype != DType::kU8 || x.strides[kChannelAxis] != 1 || args.src[kWeights].dims[1] % kVnni4Bytes != 0)
      return false;
    for (int axis = 0; axis < x.dims.rank; ++axis) {
      if (axis != kChannelAxis && x.dims[axis] > 1 && x.strides[axis] % kVnni4Bytes != 0) return false;
    }
    return true;
  }

  // True if the channels of each tap leave so many bytes of their quads empty that gathering costs less than their
  // products.
  static bool areWindowBytes(const PrepareArgs& args) {
    const TensorDesc &x = args.src[kSrc], &w = args.src[kWeights];
    const GemmRows rows = windowRows(args);
    if (rows.groups != 1 || x.dims.rank > 4 || w.dims[1] >= kVnni4Bytes || rows.dilation[2] != 1) return false;
    constexpr std::int64_t kLanes = 16, kProductsPerLine = 2;
    const std::int64_t vectors = (w.dims[0] + kLanes - 1) / kLanes,
                       quads = (rows.taps() * w.dims[1] + kVnni4Bytes - 1) / kVnni4Bytes;
    return (rows.taps() - quads) * vectors > kProductsPerLine * rows.kernel[1];
  }

  static WindowBytes windowBytesOf(const PrepareArgs& args, const TensorDesc& x) {
    const GemmRows rows = windowRows(args);
    WindowBytes windows;
    windows.needed = true;
    windows.images = rows.images;
    windows.channels = x.dims[kChannelAxis];
    windows.dilation = rows.dilation[1];
    windows.image_stride = x.strides[0];
    windows.channel_stride = x.strides[kChannelAxis];
    for (int i = 0; i < 2; ++i) {
      const auto axis = static_cast<std::size_t>(i + 1);
      windows.in[i] = rows.in[axis];
      windows.out[i] = rows.out[axis];
      windows.kernel[i] = rows.kernel[axis];
      windows.stride[i] = rows.stride[axis];
      windows.padding[i] = rows.padding[axis];
      const int from = x.dims.rank - 2 + i;
      windows.strides[i] = from > kChannelAxis ? x.strides[from] : 0;
    }
    return windows;
  }

  // Gathered rows: a matrix, one row for each pixel of the result.
  static GemmRows rowsOfWindows(const PrepareArgs& args, const WindowBytes& windows) {
    GemmRows rows = windowRows(args);
    rows.in = rows.out;
    rows.kernel = rows.stride = rows.dilation = {1, 1, 1};
    rows.padding = {};
    rows.channels = windows.quads();
    std::int64_t stride = windows.rowFloats();
    for (std::size_t axis = 3; axis-- > 0;) {
      rows.x_stride[axis] = stride;
      stride *= rows.out[axis];
    }
    rows.image_stride = stride;
    return rows;
  }

  static Vnni4Padding paddingOf(const PrepareArgs& args, const TensorDesc& x) {
    Vnni4Padding padding;
    padding.needed = true;
    padding.images = x.dims[0];
    padding.groups = args.spec.intOr("groups", 1);
    padding.channels = args.src[kWeights].dims[1];
    padding.image_stride = x.strides[0];
    padding.channel_stride = x.strides[kChannelAxis];
    for (int axis = 2; axis < x.dims.rank; ++axis) {
      padding.sizes[5 - x.dims.rank + axis - 2] = x.dims[axis];
      padding.strides[5 - x.dims.rank + axis - 2] = x.strides[axis];
    }
    return padding;
  }

  static GemmRows rowsOfImage(const PrepareArgs& args, const TensorDesc& x, const Vnni4Padding& padding) {
    GemmRows rows = windowRows(args);
    rows.channels = (args.src[kWeights].dims[1] + kVnni4Bytes - 1) / kVnni4Bytes;
    std::int64_t dense = rows.groups * rows.channels;
    for (int axis = x.dims.rank - 1; axis >= 2; --axis) {
      rows.x_stride[3 - x.dims.rank + axis] = padding.needed ? dense : x.strides[axis] / kVnni4Bytes;
      dense *= x.dims[axis];
    }
    rows.image_stride = padding.needed ? dense : x.strides[0] / kVnni4Bytes;
    return rows;
  }
};

}  // namespace

std::unique_ptr<Kernel> makeConvolutionInt8() { return std::make_unique<ConvolutionInt8>(); }

}  // namespace ipex_studio
