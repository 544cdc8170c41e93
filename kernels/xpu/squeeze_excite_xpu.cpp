// Squeeze and excitation of images on an OpenCL device (squeeze_excite.cl), with any chain of post-operations.
//
// Declines: dtype, empty, rank (other than images of two axes), size, post-ops.
#include "kernels/xpu/device_op.h"
#include "kernels/xpu/image_xpu.h"
#include "kernels/xpu/tiles.h"

namespace ipex_studio {
namespace {

constexpr int kReduce = 1, kReduceBias = 2, kExpand = 3, kExpandBias = 4, kPostOperands = 5;

struct SqueezeExciteJob {
  std::int32_t phase = 0, images = 0, channels = 0, hidden = 0, pixels = 0, width = 0;
  std::int32_t x_image = 0, x_row = 0, x_pixel = 0;
  std::int32_t has_reduce_bias = 0, has_expand_bias = 0, x_type = 0;
  DeviceChain::Op activation, gate;

  std::int64_t floats() const { return std::int64_t{images} * (2 * std::int64_t{channels} + hidden); }
};

class SqueezeExciteOp final : public DeviceOp {
 public:
  SqueezeExciteOp(OpenClDevice& device, const SqueezeExciteJob& job)
      : DeviceOp(device, "squeeze_excite", "squeezeExcite", teamGroup(device)), squeeze_(job) {
    const std::int64_t images = job.images, tiles = wholeLanes(job.channels) / kLanes;
    for (const std::int64_t rows : {tiles, std::int64_t{job.hidden}, std::int64_t{job.channels}})
      addItems(images * rows * teamItems(device));
    const std::int64_t strip = device.usesTiles() ? 1 : 8;  // pixels of a work item
    addItems(images * ((job.pixels + strip - 1) / strip) * tiles);
    scratch_bytes = static_cast<std::size_t>(job.floats()) * sizeof(float);
  }
  ChainJob job;

 protected:
  void setArguments(OpenClKernel& kernel, const Launch& launch) const override {
    SqueezeExciteJob phase = squeeze_;
    phase.phase = static_cast<std::int32_t>(launch.index);
    auto* const means = static_cast<float*>(launch.scratch);
    float* const factors = means + std::int64_t{phase.images} * phase.channels;
    kernel.pointer(launch.src[0]);
    kernel.pointer(launch.src[kReduce]);
    kernel.pointer(launch.src[phase.has_reduce_bias != 0 ? kReduceBias : 0]);
    kernel.pointer(launch.src[kExpand]);
    kernel.pointer(launch.src[phase.has_expand_bias != 0 ? kExpandBias : 0]);
    kernel.pointer(means);
    kernel.pointer(factors + std::int64_t{phase.images} * phase.channels);
    kernel.pointer(factors);
    kernel.value(phase);
    setChain(kernel, job, launch.src, launch.dst[0]);
  }

 private:
  SqueezeExciteJob squeeze_;
};

DeviceChain::Op opOf(const OpSpec& spec, const char* name) {
  PostOp op;
  namedPostOp(spec, name, &op);
  return {static_cast<std::int32_t>(op.kind), 0, static_cast<float>(op.alpha), static_cast<float>(op.beta)};
}

SqueezeExciteJob describeSqueezeExcite(const PrepareArgs& args) {
  const TensorDesc& x = args.src[0];
  SqueezeExciteJob job;
  job.images = narrowed(x.dims[0]);
  job.channels = narrowed(x.dims[1]);
  job.hidden = narrowed(args.src[kReduce].dims[0]);
  job.pixels = narrowed(x.dims[2] * x.dims[3]);
  job.width = narrowed(x.dims[3]);
  job.x_image = narrowed(x.strides[0]);
  job.x_row = narrowed(x.strides[2]);
  job.x_pixel = narrowed(x.strides[3]);
  job.x_type = deviceType(x.dtype);
  job.has_reduce_bias = args.src[kReduceBias].absent() ? 0 : 1;
  job.has_expand_bias = args.src[kExpandBias].absent() ? 0 : 1;
  job.activation = opOf(args.spec, "activation");
  job.gate = opOf(args.spec, "gate");
  return job;
}

class SqueezeExciteXpu final : public Kernel {
 public:
  const char* name() const override { return "squeeze_excite_xpu"; }

  Verdict supports(const PrepareArgs& args) const override {
    if (!allInChains(args)) return Verdict::no("dtype");
    for (int s = kReduce; s < kPostOperands; ++s) {
      const TensorDesc& weights = args.src[static_cast<std::size_t>(s)];
      if (!weights.absent() && weights.dtype != DType::kF32) return Verdict::no("dtype");
    }
    if (args.src[0].dims.rank != 4) return Verdict::no("rank");
    return args.src[0].dims.count() == 0 ? Verdict::no("empty") : Verdict::yes();
  }

  std::unique_ptr<PreparedOp> prepare(const PrepareArgs& given, std::string* reason) const override {
    PrepareArgs args = given;
    for (int s = kReduce; s < kPostOperands; ++s) {
      TensorDesc& src = args.src[static_cast<std::size_t>(s)];
      if (!src.absent()) src = contiguousDesc(DType::kF32, src.dims);
    }
    auto operands = operandsOfImage(args, reason, kPostOperands);
    if (!operands) return nullptr;
    auto op = std::make_unique<SqueezeExciteOp>(openClDevice(args), describeSqueezeExcite(operands->args));
    std::move(*operands).moveTo(op.get());
    return op;
  }
};

}  // namespace

std::unique_ptr<Kernel> makeSqueezeExciteXpu() { return std::make_unique<SqueezeExciteXpu>(); }

}  // namespace ipex_studio
