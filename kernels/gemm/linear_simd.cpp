// y = x·wᵀ + b as a packed matrix product (packed_gemm.h) with any chain of post-operations; leading dimensions of x
// are flattened into rows. In FP32, or of BF16 with sums and post-operations in FP32, where the depth is even.
//
// Declines: dtype, empty, one-row (linear_gemv_simd sums in more parts), weights-not-constant,
// bias-not-constant, blocked-weights, post-ops (operands that broadcast along some of the leading dimensions only); of
// BF16 besides: odd-channels.
#include "core/op/kernel.h"
#include "kernels/common/matrix_rows.h"
#include "kernels/gemm/packed_gemm.h"

namespace ipex_studio {
namespace {

class LinearSimd final : public Kernel {
 public:
  explicit LinearSimd(DType dtype) : dtype_(dtype) {}

  const char* name() const override { return pairs() ? "linear_simd_bf16" : "linear_simd"; }
  bool onlyWhenMeasured() const override { return true; }

  Verdict supports(const PrepareArgs& args) const override {
    const Verdict verdict = pairs() ? takesPackedPairs(args) : takesPackedWeights(args);
    if (!verdict.ok) return verdict;
    if (rowsOf(args.dst[0].dims) == 1) return Verdict::no("one-row");
    return Verdict::yes();
  }

  std::unique_ptr<PreparedOp> prepare(const PrepareArgs& args, std::string* reason) const override {
    const TensorDesc dst = contiguousDesc(args.dst[0].dtype, args.dst[0].dims);
    std::vector<TensorDesc> layouts = args.src;
    bool as_given = false;
    const std::int64_t numbers = pairs() ? kVnni2Numbers : 1;
    TensorDesc matrix = asMatrix(args.src[kSrc], &as_given);
    if (!as_given || matrix.strides[0] % numbers != 0) {
      layouts[kSrc] = contiguousDesc(dtype_, args.src[kSrc].dims);
      matrix = asMatrix(layouts[kSrc], &as_given);
    }
    const int column_axis = dst.dims.rank - 1;
    GemmJob job;
    job.row_count = rowsOf(dst.dims);
    job.columns = dst.dims[column_axis];
    job.rows.in[2] = job.rows.out[2] = job.row_count;
    job.rows.x_stride[2] = matrix.strides[0] / numbers;
    job.rows.channels = matrix.dims[1] / numbers;
    if (!describeOperands(args, dst, &layouts, &job.operands)) {
      *reason = "post-ops";
      return nullptr;
    }
    return makePackedGemm(args, std::move(job), std::move(layouts), dst);
  }

 private:
  bool pairs() const { return dtype_ == DType::kBf16; }

  DType dtype_;
};

}  // namespace

std::unique_ptr<Kernel> makeLinearSimd() { return std::make_unique<LinearSimd>(DType::kF32); }

std::unique_ptr<Kernel> makeLinearSimdBf16() { return std::make_unique<LinearSimd>(DType::kBf16); }

}  // namespace ipex_studio
