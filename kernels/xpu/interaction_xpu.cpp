// Products of pairs of features on an OpenCL device (interaction.cl): one launch for each source gathers the features
// of a sample, the last computes.
//
// Declines: dtype, empty, size, post-ops.
#include <algorithm>

#include "kernels/xpu/device_op.h"
#include "kernels/xpu/image_xpu.h"

namespace ipex_studio {
namespace {

struct InteractionSizes {
  std::int32_t samples = 0, features = 0, width = 0, result_width = 0;
  std::int32_t dense = 0, diagonal = 0, is_lower = 0;
  std::int32_t first = 0, count = 0;
};

std::int64_t featuresOf(const Dims& source) { return source.rank == 2 ? 1 : source[1]; }

class InteractionDeviceOp final : public DeviceOp {
 public:
  InteractionDeviceOp(OpenClDevice& device, const InteractionSizes& sizes, const std::vector<TensorDesc>& sources)
      : DeviceOp(device, "interaction", "interact", {64, 1, 1}), sizes_(sizes) {
    for (const TensorDesc& source : sources) {
      counts_.push_back(narrowed(featuresOf(source.dims)));
      addItems(std::int64_t{counts_.back()} * sizes.width, sizes.samples);
    }
    addItems(std::max(std::int64_t{sizes.features} * sizes.features, std::int64_t{sizes.width}), sizes.samples);
    scratch_bytes =
        sizeof(float) * static_cast<std::size_t>(std::int64_t{sizes.samples} * sizes.features * sizes.width);
  }

 protected:
  void setArguments(OpenClKernel& kernel, const Launch& launch) const override {
    InteractionSizes part = sizes_;
    const bool gathers = launch.index < counts_.size();
    for (std::size_t s = 0; gathers && s < launch.index; ++s) part.first += counts_[s];
    part.count = gathers ? counts_[launch.index] : 0;
    kernel.pointer(launch.src[gathers ? launch.index : 0]);
    kernel.pointer(launch.scratch);
    kernel.pointer(launch.dst[0]);
    kernel.value(part);
  }

 private:
  InteractionSizes sizes_;
  std::vector<std::int32_t> counts_;  // of features, by source
};

class InteractionXpu final : public Kernel {
 public:
  const char* name() const override { return "interaction_xpu"; }

  Verdict supports(const PrepareArgs& args) const override {
    for (const TensorDesc& source : args.src) {
      if (source.dtype != DType::kF32) return Verdict::no("dtype");
    }
    if (!args.spec.post_ops.empty()) return Verdict::no("post-ops");
    return args.dst[0].dims.count() == 0 ? Verdict::no("empty") : Verdict::yes();
  }

  std::unique_ptr<PreparedOp> prepare(const PrepareArgs& args, std::string* reason) const override {
    const Dims &first = args.src[0].dims, &result = args.dst[0].dims;
    std::int64_t features = 0;
    std::vector<TensorDesc> sources;
    for (const TensorDesc& source : args.src) {
      sources.push_back(contiguousDesc(source.dtype, source.dims));
      features += featuresOf(source.dims);
    }
    const TensorDesc dst = contiguousDesc(DType::kF32, result),
                     gathered = contiguousDesc(DType::kF32, Dims{first[0], features, first[first.rank - 1]});
    if (!fitsDevice(dst) || !fitsDevice(gathered)) {
      *reason = "size";
      return nullptr;
    }
    InteractionSizes sizes;
    sizes.samples = narrowed(first[0]);
    sizes.features = narrowed(features);
    sizes.width = narrowed(first[first.rank - 1]);
    sizes.result_width = narrowed(result[1]);
    sizes.dense = args.spec.intOr("dense", 0) != 0 ? 1 : 0;
    sizes.diagonal = args.spec.intOr("diagonal", 0) != 0 ? 1 : 0;
    sizes.is_lower = args.spec.stringOr("triangle", "lower") == "lower" ? 1 : 0;
    auto op = std::make_unique<InteractionDeviceOp>(openClDevice(args), sizes, sources);
    op->src = std::move(sources);
    op->dst = {dst};
    op->packed.assign(args.src.size(), false);
    const std::int64_t pairs = features * (features + (sizes.diagonal != 0 ? 1 : -1)) / 2;
    op->flops = 2 * first[0] * pairs * sizes.width;
    return op;
  }
};

}  // namespace

std::unique_ptr<Kernel> makeInteractionXpu() { return std::make_unique<InteractionXpu>(); }

}  // namespace ipex_studio
