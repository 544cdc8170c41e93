// y = x·wᵀ of u8 or s8 rows (or rows of f32 that are rounded first: dynamic=1) and s8 weights as a packed product of
// integers (int8_gemm.h) with any chain of post-operations; leading dimensions of x are flattened into rows.
//
// Declines: dtype, empty, blocked-weights, weights-not-constant, bias-not-constant, depth, post-ops (operands that
// broadcast along some of the leading dimensions only).
#include "core/op/kernel.h"
#include "kernels/common/matrix_rows.h"
#include "kernels/int8/int8_gemm.h"

namespace ipex_studio {
namespace {

class LinearInt8 final : public Kernel {
 public:
  const char* name() const override { return "linear_simd_int8"; }

  Verdict supports(const PrepareArgs& args) const override { return takesPackedIntegers(args); }

  std::unique_ptr<PreparedOp> prepare(const PrepareArgs& args, std::string* reason) const override {
    const TensorDesc dst = contiguousDesc(args.dst[0].dtype, args.dst[0].dims);
    std::vector<TensorDesc> layouts = args.src;
    const TensorDesc& x = args.src[kSrc];
    bool as_given = false;
    const TensorDesc matrix = asMatrix(x, &as_given);
    if (!as_given) layouts[kSrc] = contiguousDesc(x.dtype, x.dims);
    const int column_axis = dst.dims.rank - 1;
    const std::int64_t row_count = rowsOf(dst.dims), depth = matrix.dims[1];
    const bool rounded = x.dtype == DType::kF32;
    const bool fills_quads =
        x.dtype == DType::kU8 && depth % kVnni4Bytes == 0 && (matrix.strides[0] % kVnni4Bytes == 0 || row_count == 1);
    Int8GemmJob job;
    job.gemm.row_count = row_count;
    job.gemm.columns = dst.dims[column_axis];
    GemmRows& rows = job.gemm.rows;
    rows.in[2] = rows.out[2] = row_count;
    rows.channels = (depth + kVnni4Bytes - 1) / kVnni4Bytes;
    rows.x_stride[2] = fills_quads ? matrix.strides[0] / kVnni4Bytes : rows.channels;
    if (rounded) {
      job.rounding.needed = true;
      job.rounding.rows = row_count;
      job.rounding.depth = depth;
      job.rounding.stride = matrix.strides[0];
    } else if (!fills_quads) {
      job.padding.needed = true;
      job.padding.images = row_count;
      job.padding.channels = depth;
      job.padding.image_stride = matrix.strides[0];
      job.padding.channel_stride = 1;
    }
    if (!describeOperands(args, dst, &layouts, &job.gemm.operands)) {
      *reason = "post-ops";
      return nullptr;
    }
    return makeInt8Gemm(args, std::move(job), std::move(layouts), dst, column_axis);
  }
};

}  // namespace

std::unique_ptr<Kernel> makeLinearInt8() { return std::make_unique<LinearInt8>(); }

}  // namespace ipex_studio
