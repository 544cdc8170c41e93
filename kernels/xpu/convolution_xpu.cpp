// Convolutions of images on an OpenCL device (convolution.cl): products of implicit rows, or one channel a group, with
// any chain of post-operations. Constant weights lie on the device in the order in which they are read.
//
// Declines: dtype, empty, rank (other than images of two axes), quantized, weights-not-constant, layout, size,
// post-ops.
#include <algorithm>

#include "kernels/xpu/device_op.h"
#include "kernels/xpu/image_xpu.h"
#include "kernels/xpu/tiles.h"

namespace ipex_studio {
namespace {

struct ConvolutionJob : WindowJob {
  bool isDepthwise() const { return groups > 1 && inputs == 1 && outputs == 1; }
};

class ConvolutionOp final : public ChainOp {
 public:
  ConvolutionOp(OpenClDevice& device, const char* function, const WorkSize& group_size, const ConvolutionJob& job)
      : ChainOp(device, "convolution", function, group_size), convolution_(job) {}

  // Behind the weights come zeros.
  void setWeights(WeightCache::Packed weights, std::int64_t zeros) {
    weights_ = std::move(weights);
    zeros_ = static_cast<const float*>(weights_->data()) + zeros;
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
  const float* zeros_ = nullptr;
};

std::unique_ptr<ConvolutionOp> makeOp(OpenClDevice& device, const ConvolutionJob& job) {
  if (job.isDepthwise()) {
    auto op = std::make_unique<ConvolutionOp>(device, "depthwise", WorkSize{4, 16, 1}, job);
    op->setItems(job.padded / kLanes, job.pixels);
    return op;
  }
  if (!device.usesTiles()) {
    constexpr std::int64_t kRows = 6;
    auto op = std::make_unique<ConvolutionOp>(device, "convolution", WorkSize{4, 4, 1}, job);
    op->setItems(job.groups * (job.padded / kLanes), (job.pixels + kRows - 1) / kRows);
    return op;
  }
  const TileShape& tile = tileFor(device, job.pixels, job.outputs, job.groups);
  auto op = std::make_unique<ConvolutionOp>(device, tile.convolution, tile.groupSize(), job);
  tile.setItems(op.get(), job.pixels, job.outputs, job.groups);
  return op;
}

ConvolutionJob describeJob(const PrepareArgs& args) {
  const Dims& w = args.src[kWeights].dims;
  ConvolutionJob job;
  describeWindowLayer(args, &job);
  job.inputs = narrowed(w[1]);
  job.outputs = narrowed(w[0] / job.groups);
  job.padded = narrowed(wholeLanes(job.isDepthwise() ? job.groups : job.outputs));
  return job;
}

// w[O,C/g,y,x] as [g][y][x][C/g][O/g up to whole vectors], or [y][x][g up to whole vectors] of one channel a group.
void packConvolution(const ConvolutionJob& job, const float* from, float* to) {
  const bool depthwise = job.isDepthwise();
  const std::int64_t places = job.places(), inputs = job.inputs;
  for (std::int64_t g = 0; g < job.groups; ++g) {
    for (std::int64_t o = 0; o < job.outputs; ++o) {
      for (std::int64_t c = 0; c < inputs; ++c) {
        for (std::int64_t place = 0; place < places; ++place) {
          const std::int64_t at =
              depthwise ? place * job.padded + g : ((g * places + place) * inputs + c) * job.padded + o;
          to[at] = from[((g * job.outputs + o) * inputs + c) * places + place];
        }
      }
    }
  }
}

class ConvolutionXpu final : public Kernel {
 public:
  const char* name() const override { return "convolution_xpu"; }

  Verdict supports(const PrepareArgs& args) const override { return supportsLayer(args); }

  std::unique_ptr<PreparedOp> prepare(const PrepareArgs& given, std::string* reason) const override {
    auto operands = operandsOfLayer(given, reason);
    if (!operands) return nullptr;
    const PrepareArgs& args = operands->args;
    const ConvolutionJob job = describeJob(args);
    const std::int64_t floats = (job.isDepthwise() ? 1 : job.groups) * job.places() * job.inputs * job.padded;
    if (!fitsLayer(args, floats)) {
      *reason = "size";
      return nullptr;
    }
    auto op = makeOp(openClDevice(args), job);
    op->setWeights(weightsOnDevice(args, job, floats), floats);
    op->flops = 2 * args.dst[0].dims.count() * job.inputs * job.places();
    std::move(*operands).moveTo(op.get());
    op->packed[kWeights] = true;
    return op;
  }

 private:
  // Behind the weights come zeros, as many as a row of inputs has.
  static WeightCache::Packed weightsOnDevice(const PrepareArgs& args, const ConvolutionJob& job, std::int64_t floats) {
    const std::size_t bytes = static_cast<std::size_t>(floats + job.inputs) * sizeof(float);
    const auto* from = static_cast<const float*>(args.constant[kWeights]);
    const std::string form = "convolution_xpu groups " + std::to_string(job.groups);
    const WeightCache::Packed host = args.weights->getOrPack(from, form, bytes, [&](void* packed) {
      auto* to = static_cast<float*>(packed);
      std::fill(to, to + floats + job.inputs, 0.0f);
      packConvolution(job, from, to);
    });
    return args.weights->copyTo(*args.target.device, host->data(), bytes);
  }
};

}  // namespace

std::unique_ptr<Kernel> makeConvolutionXpu() { return std::make_unique<ConvolutionXpu>(); }

}  // namespace ipex_studio
