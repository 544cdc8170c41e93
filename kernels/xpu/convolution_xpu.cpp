// Convolutions of sequences, images and volumes on an OpenCL device (convolution.cl): products of implicit rows, or one
// channel a group, with any chain of post-operations. Constant weights lie on the device in the order in which they are
// read.
//
// Declines: dtype, empty, rank (of volumes where work groups share tiles, and beyond), weights-not-constant, layout,
// size, post-ops.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "kernels/xpu/device_op.h"
#include "kernels/xpu/element_bytes.h"
#include "kernels/xpu/image_xpu.h"
#include "kernels/xpu/tiles.h"

namespace ipex_studio {
namespace {

struct ConvolutionJob : WindowJob {
  ElementBytes x_bytes, w_bytes;
  // Channels of a panel, which lie together.
  std::int64_t panel(const OpenClDevice& device) const {
    return isDepthwise() || device.usesTiles() ? padded : device.itemColumns();
  }
  bool isDepthwise() const { return groups > 1 && inputs == 1 && outputs == 1; }
};

class ConvolutionOp final : public ChainOp {
 public:
  ConvolutionOp(OpenClDevice& device, DType dtype, const char* function, const WorkSize& group_size,
                const ConvolutionJob& job)
      : ChainOp(device, programFor("convolution", dtype), function, group_size), convolution_(job) {}

  // Behind the weights, at byte `zeros`, come zeros.
  void setWeights(WeightCache::Packed weights, std::size_t zeros) {
    weights_ = std::move(weights);
    zeros_ = static_cast<const char*>(weights_->data()) + zeros;
  }

 protected:
  void setOwn(OpenClKernel& kernel, const void* const* src) const override {
    kernel.pointer(src[kSrc]);
    kernel.pointer(weights_->data());
    kernel.pointer(zeros_);
    kernel.value(convolution_);
  }

 private:
  ConvolutionJob convolution_;
  WeightCache::Packed weights_;
  const void* zeros_ = nullptr;
};

std::unique_ptr<ConvolutionOp> makeOp(OpenClDevice& device, DType dtype, const ConvolutionJob& job) {
  if (job.isDepthwise()) {
    auto op = std::make_unique<ConvolutionOp>(device, dtype, "depthwise", WorkSize{4, 16, 1}, job);
    const std::int64_t strip = device.usesTiles() ? 1 : 7;  // pixels of a work item
    op->setItems(job.padded / kLanes, job.pixels / job.width * ((job.width + strip - 1) / strip));
    return op;
  }
  if (!device.usesTiles()) {
    constexpr std::int64_t kRows = 6;
    auto op = std::make_unique<ConvolutionOp>(device, dtype, "convolution", WorkSize{1, 8, 1}, job);
    op->setItems(job.groups * (job.padded / device.itemColumns()), (job.pixels + kRows - 1) / kRows);
    return op;
  }
  const TileShape& tile = tileFor(device, job.pixels, job.outputs, job.groups);
  auto op = std::make_unique<ConvolutionOp>(device, dtype, tile.convolution, tile.groupSize(), job);
  tile.setItems(op.get(), job.pixels, job.outputs, job.groups);
  return op;
}

ConvolutionJob describeJob(const PrepareArgs& args) {
  const Dims& w = args.src[kWeights].dims;
  ConvolutionJob job;
  describeWindowLayer(args, &job);
  job.inputs = narrowed(w[1]);
  job.outputs = narrowed(w[0] / job.groups);
  const std::int64_t step = job.isDepthwise() ? kLanes : openClDevice(args).itemColumns();
  job.padded = narrowed(((job.isDepthwise() ? job.groups : job.outputs) + step - 1) / step * step);
  job.x_bytes = elementBytesOf(args.src[kSrc].dtype, args.spec.intOr("src_zero", 0));
  job.w_bytes = elementBytesOf(args.src[kWeights].dtype, args.spec.intOr("weight_zero", 0));
  return job;
}

// w[O,C/g,y,x] as [g][panel][y][x][C/g][channels of the panel], or as [y][x][g up to whole vectors] of one channel a
// group.
template <class Element>
void packConvolution(const ConvolutionJob& job, std::int64_t panel, const void* weights, void* packed) {
  const auto* from = static_cast<const Element*>(weights);
  auto* to = static_cast<Element*>(packed);
  const bool depthwise = job.isDepthwise();
  const std::int64_t places = job.places(), inputs = job.inputs;
  for (std::int64_t g = 0; g < job.groups; ++g) {
    for (std::int64_t o = 0; o < job.outputs; ++o) {
      const std::int64_t first = (g * job.padded + o / panel * panel) * places * inputs + o % panel;
      for (std::int64_t c = 0; c < inputs; ++c) {
        for (std::int64_t place = 0; place < places; ++place) {
          const std::int64_t at = depthwise ? place * job.padded + g : first + (place * inputs + c) * panel;
          to[at] = from[((g * job.outputs + o) * inputs + c) * places + place];
        }
      }
    }
  }
}

class ConvolutionXpu final : public Kernel {
 public:
  const char* name() const override { return "convolution_xpu"; }

  Verdict supports(const PrepareArgs& args) const override {
    if (!allInChains(args) || !areMultiplied(args.src[kSrc].dtype, args.src[kWeights].dtype))
      return Verdict::no("dtype");
    return supportsWindow(args, 3, openClDevice(args).usesTiles() ? 4 : 5);
  }

  std::unique_ptr<PreparedOp> prepare(const PrepareArgs& given, std::string* reason) const override {
    auto operands = operandsOfLayer(given, reason);
    if (!operands) return nullptr;
    const PrepareArgs& args = operands->args;
    const ConvolutionJob job = describeJob(args);
    const std::int64_t elements = (job.isDepthwise() ? 1 : job.groups) * job.places() * job.inputs * job.padded;
    if (!fitsLayer(args, elements)) {
      *reason = "size";
      return nullptr;
    }
    auto op = makeOp(openClDevice(args), args.src[kSrc].dtype, job);
    op->setWeights(weightsOnDevice(args, job, elements),
                   static_cast<std::size_t>(elements) * elementBytes(args.src[kWeights].dtype));
    op->flops = 2 * args.dst[0].dims.count() * job.inputs * job.places();
    std::move(*operands).moveTo(op.get());
    op->packed[kWeights] = true;
    return op;
  }

 private:
  // Behind the weights come zeros, as many as a row of a window has, and no fewer than lanes; of bytes, the one that
  // stands for zero.
  static WeightCache::Packed weightsOnDevice(const PrepareArgs& args, const ConvolutionJob& job,
                                             std::int64_t elements) {
    const std::size_t element = elementBytes(args.src[kWeights].dtype);
    const std::size_t weights = static_cast<std::size_t>(elements) * element;
    const std::int64_t zeros = std::max(std::int64_t{job.kernel[1]} * job.inputs, kLanes);
    const std::size_t bytes = weights + static_cast<std::size_t>(zeros) * element;
    const void* const from = args.constant[kWeights];
    const std::int64_t panel = job.panel(openClDevice(args));
    const int zero = static_cast<int>(args.spec.intOr("src_zero", 0));
    const std::string form = fmt::format("convolution_xpu groups {} panel {} zero {}", job.groups, panel, zero);
    const WeightCache::Packed host = args.weights->getOrPack(from, form, bytes, [&](void* packed) {
      std::memset(packed, 0, weights);
      std::memset(static_cast<char*>(packed) + weights, element == 1 ? zero : 0, bytes - weights);
      if (element == 4) packConvolution<float>(job, panel, from, packed);
      if (element == 2) packConvolution<std::uint16_t>(job, panel, from, packed);
      if (element == 1) packConvolution<std::uint8_t>(job, panel, from, packed);
    });
    return args.weights->copyTo(*args.target.device, host->data(), bytes);
  }
};

}  // namespace

std::unique_ptr<Kernel> makeConvolutionXpu() { return std::make_unique<ConvolutionXpu>(); }

}  // namespace ipex_studio
