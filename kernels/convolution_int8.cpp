// Convolution of u8 or s8 images with s8 weights as a packed product of integers (int8_gemm.h): any strides, dilations,
// paddings, groups and chain of post-operations. Reads and writes channels-last; images of few channels are read as they
// come.
//
// Declines: device, dtype, rank, empty, blocked-weights, weights-not-constant, depth, depthwise, post-ops (operands that
// broadcast along some of the spatial axes only).
#include "kernels/factories.h"
#include "kernels/int8_gemm.h"
#include "kernels/layer_operands.h"

namespace ipex_studio {
namespace {

// Images of up to this many channels become words from their planes.
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
    if (!isWords(args, x)) job.padding = paddingOf(args, x);
    job.gemm.rows = rowsOfImage(args, x, job.padding);
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

  // Do the channels of each group fill words that lie side by side, unsigned?
  static bool isWords(const PrepareArgs& args, const TensorDesc& x) {
    if (x.dtype != DType::kU8 || x.strides[kChannelAxis] != 1 || args.src[kWeights].dims[1] % kWordBytes != 0) return false;
    for (int axis = 0; axis < x.dims.rank; ++axis) {
      if (axis != kChannelAxis && x.dims[axis] > 1 && x.strides[axis] % kWordBytes != 0) return false;
    }
    return true;
  }

  static WordPadding paddingOf(const PrepareArgs& args, const TensorDesc& x) {
    WordPadding padding;
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

  static GemmRows rowsOfImage(const PrepareArgs& args, const TensorDesc& x, const WordPadding& padding) {
    GemmRows rows = windowRows(args);
    rows.channels = (args.src[kWeights].dims[1] + kWordBytes - 1) / kWordBytes;
    std::int64_t dense = rows.groups * rows.channels;
    for (int axis = x.dims.rank - 1; axis >= 2; --axis) {
      rows.x_stride[3 - x.dims.rank + axis] = padding.needed ? dense : x.strides[axis] / kWordBytes;
      dense *= x.dims[axis];
    }
    rows.image_stride = padding.needed ? dense : x.strides[0] / kWordBytes;
    return rows;
  }
};

}  // namespace

std::unique_ptr<Kernel> makeConvolutionInt8() { return std::make_unique<ConvolutionInt8>(); }

}  // namespace ipex_studio
