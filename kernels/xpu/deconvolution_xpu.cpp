// Transposed convolutions of images on an OpenCL device (deconvolution.cl), with any chain of post-operations. Constant
// weights lie on the device in the order in which they are read.
//
// Declines: dtype, empty, rank (other than images of two axes), weights-not-constant, layout, size,
// post-ops.
#include <algorithm>

#include "kernels/xpu/device_op.h"
#include "kernels/xpu/image_xpu.h"

namespace ipex_studio {
namespace {

struct DeconvolutionJob : WindowJob {
  std::int64_t weights() const { return groups * places() * inputs * padded; }
};

class DeconvolutionOp final : public ChainOp {
 public:
  DeconvolutionOp(OpenClDevice& device, const DeconvolutionJob& job, WeightCache::Packed weights)
      : ChainOp(device, "deconvolution", "deconvolution", {4, 16, 1}),
        deconvolution_(job),
        weights_(std::move(weights)) {
    setItems(job.groups * (job.padded / kLanes), job.pixels);
  }

 protected:
  void setOwn(OpenClKernel& kernel, const void* const* src) const override {
    kernel.pointer(src[kSrc]);
    kernel.pointer(weights_->data());
    kernel.value(deconvolution_);
  }

 private:
  DeconvolutionJob deconvolution_;
  WeightCache::Packed weights_;
};

DeconvolutionJob describeDeconvolution(const PrepareArgs& args) {
  const Dims& w = args.src[kWeights].dims;
  DeconvolutionJob job;
  describeWindowLayer(args, &job);
  job.inputs = narrowed(w[0] / job.groups);
  job.outputs = narrowed(w[1]);
  job.padded = narrowed(wholeLanes(job.outputs));
  return job;
}

// w[C,O/g,y,x] as [g][y][x][C/g][O/g up to whole vectors].
WeightCache::Packed packDeconvolution(const PrepareArgs& args, const DeconvolutionJob& job) {
  const std::size_t bytes = static_cast<std::size_t>(job.weights()) * sizeof(float);
  const auto* from = static_cast<const float*>(args.constant[kWeights]);
  const std::string form = "deconvolution_xpu groups " + std::to_string(job.groups);
  const WeightCache::Packed host = args.weights->getOrPack(from, form, bytes, [&](void* packed) {
    auto* const to = static_cast<float*>(packed);
    std::fill(to, to + job.weights(), 0.0f);
    const std::int64_t places = job.places(), inputs = std::int64_t{job.groups} * job.inputs;
    for (std::int64_t c = 0; c < inputs; ++c) {
      const std::int64_t group = c / job.inputs, input = c % job.inputs;
      for (std::int64_t o = 0; o < job.outputs; ++o) {
        for (std::int64_t place = 0; place < places; ++place)
          to[((group * places + place) * job.inputs + input) * job.padded + o] =
              from[(c * job.outputs + o) * places + place];
      }
    }
  });
  return args.weights->copyTo(*args.target.device, host->data(), bytes);
}

class DeconvolutionXpu final : public Kernel {
 public:
  const char* name() const override { return "deconvolution_xpu"; }

  Verdict supports(const PrepareArgs& args) const override {
    if (!allF32(args)) return Verdict::no("dtype");
    return args.dst[0].dims.count() == 0 ? Verdict::no("empty") : supportsWindow(args, 4, 4);
  }

  std::unique_ptr<PreparedOp> prepare(const PrepareArgs& given, std::string* reason) const override {
    auto operands = operandsOfLayer(given, reason);
    if (!operands) return nullptr;
    const PrepareArgs& args = operands->args;
    const DeconvolutionJob job = describeDeconvolution(args);
    if (!fitsLayer(args, job.weights())) {
      *reason = "size";
      return nullptr;
    }
    auto op = std::make_unique<DeconvolutionOp>(openClDevice(args), job, packDeconvolution(args, job));
    op->flops = 2 * args.src[kSrc].dims.count() * job.outputs * job.places();
    std::move(*operands).moveTo(op.get());
    op->packed[kWeights] = true;
    return op;
  }
};

}  // namespace

std::unique_ptr<Kernel> makeDeconvolutionXpu() { return std::make_unique<DeconvolutionXpu>(); }

}  // namespace ipex_studio
