// The kernel of squeeze-and-excitation blocks (squeeze_excite_simd.cpp): requirements, packed weights, units of work.
//
// Declines: dtype, empty, weights-not-constant, post-ops (operands of another size than the result).
#include <fmt/format.h>

#include "core/op/kernel.h"
#include "kernels/common/loop_nest.h"
#include "kernels/common/parallel.h"
#include "kernels/squeeze_excite/squeeze_excite_job.h"

namespace ipex_studio {
namespace {

constexpr std::int64_t kSecondLevelBytes = 512 * 1024;

class SqueezeExciteOp final : public PreparedOp {
 public:
  SqueezeExciteJob job;
  SqueezeExciteRuns runs;
  std::int32_t threads = 1;
  std::int64_t grain = 1;  // units
  WeightCache::Packed reduce, reduce_bias, expand, expand_bias;

  void execute(ExecState*, const void* const* from, void* const* to, void* scratch) const override {
    SqueezeExciteCall call;
    call.x = from[kExciteSrc];
    call.y = to[0];
    call.reduce = static_cast<const float*>(reduce->data());
    call.reduce_bias = static_cast<const float*>(reduce_bias->data());
    call.expand = static_cast<const float*>(expand->data());
    call.expand_bias = static_cast<const float*>(expand_bias->data());
    call.src = from;
    call.scratch = static_cast<float*>(scratch);
    const auto runAll = [&](const auto& unit) {
      parallelFor(job.groups * job.shares, grain, threads, [&](std::int64_t begin, std::int64_t end, int thread) {
        float* const tile = call.scratch + job.tileOffset() + thread * 2 * kExciteTile;
        for (std::int64_t u = begin; u < end; ++u) unit(u, tile);
      });
    };
    const bool alone = job.shares == 1, together = !job.scales_pixels;
    runAll([&](std::int64_t unit, float* tile) {
      runs.squeeze(job, call, unit, tile);
      if (!alone) return;
      runs.excite(job, call, unit, tile);
      runs.scale(job, call, unit, tile);
    });
    if (alone) return;
    runAll([&](std::int64_t unit, float* tile) {
      runs.excite(job, call, unit, tile);
      if (together) runs.scale(job, call, unit, tile);
    });
    if (!together) runAll([&](std::int64_t unit, float* tile) { runs.scale(job, call, unit, tile); });
  }
};

// Packs w[columns, depth] into panels.
void packPanels(const TensorDesc& w, const float* data, float* packed) {
  const std::int64_t columns = w.dims[0], depth = w.dims[1];
  for (std::int64_t first = 0; first < columns; first += kExciteWidth) {
    for (std::int64_t k = 0; k < depth; ++k) {
      for (std::int64_t j = first; j < first + kExciteWidth; ++j) {
        *packed++ = j < columns ? data[j * w.strides[0] + k * w.strides[1]] : 0.0f;
      }
    }
  }
}

WeightCache::Packed packedWeights(const PrepareArgs& args, int src) {
  const TensorDesc& w = args.src[src];
  const auto* const data = static_cast<const float*>(args.constant[src]);
  const auto bytes = static_cast<std::size_t>(SqueezeExciteJob::whole(w.dims[0]) * w.dims[1]) * sizeof(float);
  return args.weights->getOrPack(
      data, fmt::format("panels of {} dims {} strides {}", kExciteWidth, w.dims.str(), w.strides.str()), bytes,
      [&](void* packed) { packPanels(w, data, static_cast<float*>(packed)); });
}

// The bias; if absent, zeros that the cache keeps under the key of the weights.
WeightCache::Packed packedBias(const PrepareArgs& args, int src, int weights) {
  const std::int64_t columns = args.src[weights].dims[0], whole = SqueezeExciteJob::whole(columns);
  const bool absent = args.src[src].absent();
  const auto* const data = static_cast<const float*>(args.constant[absent ? weights : src]);
  const std::string form = fmt::format("{} of {} in panels of {}", absent ? "no bias" : "bias", columns, kExciteWidth);
  return args.weights->getOrPack(data, form, static_cast<std::size_t>(whole) * sizeof(float), [&](void* packed) {
    auto* const to = static_cast<float*>(packed);
    for (std::int64_t c = 0; c < whole; ++c) to[c] = !absent && c < columns ? data[c] : 0.0f;
  });
}

class SqueezeExciteSimd final : public Kernel {
 public:
  const char* name() const override { return "squeeze_excite_simd"; }

  Verdict supports(const PrepareArgs& args) const override {
    const DType type = args.src[kExciteSrc].dtype;
    if (type != DType::kF32 && type != DType::kBf16) return Verdict::no("dtype");
    for (std::size_t s = 0; s < args.src.size(); ++s) {
      const bool of_image = s == kExciteSrc || s >= kExcitePost;
      if (!args.src[s].absent() && args.src[s].dtype != (of_image ? type : DType::kF32)) return Verdict::no("dtype");
    }
    if (args.dst[0].dtype != type) return Verdict::no("dtype");
    if (args.src[kExciteSrc].dims.count() == 0) return Verdict::no("empty");
    for (int s = kExciteReduce; s < kExcitePost; ++s) {
      const TensorDesc& src = args.src[s];
      if (!src.absent() && (args.constant[s] == nullptr || src.block != 0)) return Verdict::no("weights-not-constant");
    }
    for (std::size_t s = kExcitePost; s < args.src.size(); ++s) {
      if (args.src[s].dims != args.dst[0].dims) return Verdict::no("post-ops");
    }
    return Verdict::yes();
  }

  std::unique_ptr<PreparedOp> prepare(const PrepareArgs& args, std::string*) const override {
    auto op = std::make_unique<SqueezeExciteOp>();
    const TensorDesc& given = args.src[kExciteSrc];
    const TensorDesc x = isDenseLayout(given) && isPixelwise(given) ? given : contiguousDesc(given.dtype, given.dims);
    op->src = args.src;
    op->src[kExciteSrc] = x;
    for (std::size_t s = kExcitePost; s < args.src.size(); ++s) op->src[s] = x;
    op->dst = {x};
    op->packed.assign(args.src.size(), false);
    for (int s = kExciteReduce; s < kExcitePost; ++s) op->packed[s] = !args.src[s].absent();
    describe(args, x, &op->job);
    planUnits(args.target.threads, op.get());
    op->reduce = packedWeights(args, kExciteReduce);
    op->expand = packedWeights(args, kExciteExpand);
    op->reduce_bias = packedBias(args, kExciteReduceBias, kExciteReduce);
    op->expand_bias = packedBias(args, kExciteExpandBias, kExciteExpand);
    op->runs = squeezeExciteFor(args.target.isa, x.dtype);
    op->may_alias = true;
    op->flops = 2 * op->job.images * op->job.channels * (op->job.pixels + 2 * op->job.hidden);
    return op;
  }

 private:
  // True if pixels have one distance from each other: in row-major, channels-last and blocked layouts.
  static bool isPixelwise(const TensorDesc& x) {
    return x.block != 0 || x.dims[1] == 1 || x.isContiguous() || x.sameLayout(channelsLastDesc(x.dtype, x.dims));
  }

  static void describe(const PrepareArgs& args, const TensorDesc& x, SqueezeExciteJob* job) {
    job->type = x.dtype;
    job->images = x.dims[0];
    job->channels = x.dims[1];
    job->hidden = args.src[kExciteReduce].dims[0];
    job->pixels = x.dims.count() / (job->images * job->channels);
    const bool rows = x.block == 0 && (x.isContiguous() ? job->pixels == 1 : true);
    job->side = x.block != 0 ? x.block : rows ? job->channels : 1;
    job->pixel_stride = job->side;
    job->side_stride = rows ? 0 : job->pixels * job->side;
    job->image_stride = (job->channels + job->side - 1) / job->side * job->side * job->pixels;
    namedPostOp(args.spec, "activation", &job->activation);
    namedPostOp(args.spec, "gate", &job->gate);
    job->post_ops = args.spec.post_ops;
    job->pointwise = pointwiseApply(args.target.isa);
  }

  static void planUnits(std::int32_t threads, SqueezeExciteOp* op) {
    SqueezeExciteJob& job = op->job;
    constexpr std::int64_t kValuesPerOp = 4;  // vectors do better than the scalar operations that grains count
    const std::int64_t image_ops = 2 * job.channels * (job.pixels + job.hidden) / kValuesPerOp;
    const auto image_bytes = static_cast<std::int64_t>(sizeof(float)) * job.channels * job.pixels;
    const bool by_images = job.images >= threads;
    const std::int64_t fitting = std::min(kExciteImages, kSecondLevelBytes / image_bytes);
    const std::int64_t share = by_images ? (job.images + threads - 1) / threads : job.images;
    job.group = std::clamp<std::int64_t>(std::min(share, fitting), 1, kExciteImages);
    job.groups = (job.images + job.group - 1) / job.group;
    const std::int64_t worth = 2 * job.group * image_ops / kParallelGrainOps, panels = job.channelRow() / kExciteWidth;
    // Threads that write neighbouring cache lines slow each other down, so pixels are divided among them where channels
    // are contiguous. Each thread then computes all gates, unless that costs more than one more wait for all threads.
    const bool rows = job.side == job.channels, few_pixels = job.hidden > 2 * job.pixels;
    job.by_pixels = rows && !few_pixels;
    const std::int64_t parts = job.by_pixels ? job.pixels : panels;
    job.shares =
        by_images ? 1 : std::max<std::int64_t>(1, std::min({static_cast<std::int64_t>(threads), worth, parts}));
    job.scales_pixels = rows && few_pixels && job.shares > 1;
    op->threads = threads;
    op->grain = job.shares > 1 ? 1 : grainFor(job.group * image_ops);
    op->scratch_bytes = static_cast<std::size_t>(job.scratchFloats(threads)) * sizeof(float);
  }
};

}  // namespace

std::unique_ptr<Kernel> makeSqueezeExciteSimd() { return std::make_unique<SqueezeExciteSimd>(); }

}  // namespace ipex_studio
