// y = x·wᵀ + b as a packed matrix product (packed_gemm.h) with any chain of post-operations; leading dimensions of x
// are flattened into rows.
//
// Declines: dtype, empty, one-row (linear_gemv_simd sums in more parts), weights-not-constant,
// bias-not-constant, blocked-weights, post-ops (operands that broadcast along some of the leading dimensions only).
#include "core/op/kernel.h"
#include "kernels/common/matrix_rows.h"
#include "kernels/gemm/packed_gemm.h"

namespace ipex_studio {
namespace {

class LinearSimd final : public Kernel {
 public:
  const char* name() const override { return "linear_simd"; }
  bool onlyWhenMeasured() const override { return true; }

  Verdict supports(const PrepareArgs& args) const override {
    const Verdict verdict = takesPackedWeights(args);
    if (!verdict.ok) return verdict;
    if (rowsOf(args.dst[0].dims) == 1) return Verdict::no("one-row");
    return Verdict::yes();
  }

  std::unique_ptr<PreparedOp> prepare(const PrepareArgs& args, std::string* reason) const override {
    const TensorDesc dst = contiguousDesc(DType::kF32, args.dst[0].dims);
    std::vector<TensorDesc> layouts = args.src;
    bool as_given = false;
    const TensorDesc matrix = asMatrix(args.src[kSrc], &as_given);
    if (!as_given) layouts[kSrc] = contiguousDesc(DType::kF32, args.src[kSrc].dims);
    const int column_axis = dst.dims.rank - 1;
    GemmJob job;
    job.row_count = rowsOf(dst.dims);
    job.columns = dst.dims[column_axis];
    job.rows.in[2] = job.rows.out[2] = job.row_count;
    job.rows.x_stride[2] = matrix.strides[0];
    job.rows.channels = matrix.dims[1];
    if (!describeOperands(args, dst, &layouts, &job.operands)) {
      *reason = "post-ops";
      return nullptr;
    }
    return makePackedGemm(args, std::move(job), std::move(layouts), dst);
  }
};

}  // namespace

std::unique_ptr<Kernel> makeLinearSimd() { return std::make_unique<LinearSimd>(); }

}  // namespace ipex_studio
