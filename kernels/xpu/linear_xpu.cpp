// y = x·wᵀ + b on an OpenCL device (product.cl), with any chain of post-operations. Constant weights lie on the device
// in panels of columns that fill whole vectors.
//
// Declines: dtype, empty, quantized (levels that are packed or found while running), weights-not-constant, layout,
// post-ops (a long chain, many operands).
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "kernels/common/layer_operands.h"
#include "kernels/common/matrix_rows.h"
#include "kernels/xpu/product_job.h"

namespace ipex_studio {
namespace {

// w[N,K] as [panel][K][columns of a panel], with zeros behind the last column.
template <class Element>
void packMatrix(const ProductJob& job, const void* weights, void* packed) {
  const auto* from = static_cast<const Element*>(weights);
  auto* to = static_cast<Element*>(packed);
  const std::int64_t depth = job.depth, panel = job.b_depth;
  std::fill(to, to + depth * job.padded, Element{});
  for (std::int64_t n = 0; n < job.columns; ++n) {
    Element* const column = to + n / panel * depth * panel + n % panel;
    for (std::int64_t k = 0; k < depth; ++k) column[k * panel] = from[n * depth + k];
  }
}

WeightCache::Packed packWeights(const PrepareArgs& args, const ProductJob& job) {
  const void* const from = args.constant[kWeights];
  const std::size_t element = elementBytes(args.src[kWeights].dtype);
  const std::size_t bytes = static_cast<std::size_t>(std::int64_t{job.depth} * job.padded) * element;
  const WeightCache::Packed host =
      args.weights->getOrPack(from, fmt::format("linear_xpu {}", job.b_depth), bytes, [&](void* packed) {
        if (element == 4) packMatrix<float>(job, from, packed);
        if (element == 2) packMatrix<std::uint16_t>(job, from, packed);
        if (element == 1) packMatrix<std::uint8_t>(job, from, packed);
      });
  return args.weights->copyTo(*args.target.device, host->data(), bytes);
}

class LinearXpu final : public Kernel {
 public:
  const char* name() const override { return "linear_xpu"; }

  Verdict supports(const PrepareArgs& args) const override {
    if (!allInChains(args) || !areMultiplied(args.src[kSrc].dtype, args.src[kWeights].dtype))
      return Verdict::no("dtype");
    for (const char* attribute : {"group", "dynamic", "bits", "scaled_rows"}) {
      if (args.spec.has(attribute)) return Verdict::no("quantized");
    }
    if (args.src[kSrc].dims.count() == 0) return Verdict::no("empty");
    if (args.constant[kWeights] == nullptr) return Verdict::no("weights-not-constant");
    return args.src[kWeights].isContiguous() ? Verdict::yes() : Verdict::no("layout");
  }

  std::unique_ptr<PreparedOp> prepare(const PrepareArgs& given, std::string* reason) const override {
    PrepareArgs args = given;
    bool as_given = false;
    const TensorDesc matrix = asMatrix(args.src[kSrc], &as_given);
    if (!as_given) args.src[kSrc] = contiguousDesc(args.src[kSrc].dtype, args.src[kSrc].dims);
    for (std::size_t s = kBias; s < args.src.size(); ++s) {
      if (args.src[s].block > 0) args.src[s] = contiguousDesc(args.src[s].dtype, args.src[s].dims);
    }
    const TensorDesc dst = contiguousDesc(args.dst[0].dtype, args.dst[0].dims);
    ChainBuilder chain(dst);
    if (!args.src[kBias].absent()) chain.apply(binaryPostOp(PostOpKind::kAdd, 0), chain.walk(kBias, args.src[kBias]));
    chain.applyPostOps(args, kFirstPostOperand);
    ChainJob finish;
    if (!chain.finish(&finish, reason)) return nullptr;
    if (!fitsDevice(args.src[kSrc]) || !fitsDevice(args.src[kWeights])) {
      *reason = "size";
      return nullptr;
    }
    const ProductJob job = describe(args, matrix);
    auto op = makeProduct(openClDevice(args), job, args.src[kSrc].dtype);
    op->job = std::move(finish);
    op->src = args.src;
    op->dst = {dst};
    op->packed.assign(args.src.size(), false);
    op->packed[kWeights] = true;
    op->weights = packWeights(args, job);
    return op;
  }

 private:
  static ProductJob describe(const PrepareArgs& args, const TensorDesc& matrix) {
    const Dims& weights = args.src[kWeights].dims;
    const std::int64_t columns = weights[0];
    const OpenClDevice& device = openClDevice(args);
    const std::int64_t step = device.itemColumns(), padded = (columns + step - 1) / step * step;
    ProductJob job;
    job.rows = static_cast<std::int32_t>(matrix.dims[0]);
    job.columns = static_cast<std::int32_t>(columns);
    job.depth = static_cast<std::int32_t>(weights[1]);
    job.padded = static_cast<std::int32_t>(padded);
    job.a_row = static_cast<std::int32_t>(matrix.strides[0]);
    // Work items walk a panel from its beginning to its end, work groups all columns at once.
    job.b_depth = static_cast<std::int32_t>(device.usesTiles() ? padded : step);
    job.b_item = device.usesTiles() ? 0 : job.b_depth * job.depth;
    job.a_bytes = elementBytesOf(matrix.dtype, args.spec.intOr("src_zero", 0));
    job.b_bytes = elementBytesOf(args.src[kWeights].dtype, args.spec.intOr("weight_zero", 0));
    return job;
  }
};

}  // namespace

std::unique_ptr<Kernel> makeLinearXpu() { return std::make_unique<LinearXpu>(); }

}  // namespace ipex_studio
