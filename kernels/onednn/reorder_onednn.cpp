// Layout conversions by oneDNN's generated code, and casts between floats. The destination is exactly
// PrepareArgs::dst. Types that oneDNN does not know are moved as integers of their size.
//
// Declines: dtype (also strided 16-bit floats below AVX-512: the library moves them through FP32 and loses subnormal
// ones), post-ops, empty, layout (stride 0, gaps in a blocked tensor), no-fast-implementation.
#include "core/op/low_precision_floats.h"
#include "kernels/common/kernel_parts.h"
#include "kernels/common/parallel.h"
#include "kernels/onednn/onednn_op.h"

namespace ipex_studio {
namespace {

using onednn::Md;
using onednn::Pd;

// A dtype of equal size that the library can move instead; kNone if there is none.
DType movedAs(DType dtype) {
  switch (elementBytes(dtype)) {
    case 4:
      return dtype == DType::kF32 ? DType::kF32 : DType::kS32;
    case 2:
      return DType::kBf16;
    case 1:
      return DType::kU8;
    default:
      return DType::kNone;
  }
}

// True if the library would not move the bits as they are.
bool losesSubnormals(const PrepareArgs& args) {
  const TensorDesc &src = args.src[0], &dst = args.dst[0];
  const bool strided = src.block == 0 && dst.block == 0;
  return src.dtype == dst.dtype && elementBytes(src.dtype) == 2 && strided && args.target.isa.rfind("avx512", 0) != 0;
}

bool describeBoth(const PrepareArgs& args, Md* from, Md* to) {
  TensorDesc src = args.src[0], dst = args.dst[0];
  if (src.dtype == dst.dtype) src.dtype = dst.dtype = movedAs(src.dtype);
  return src.dtype != DType::kNone && onednn::toMd(src, from) && onednn::toMd(dst, to);
}

class ReorderOnednn final : public Kernel {
 public:
  explicit ReorderOnednn(const dnnl::engine& engine) : engine_(engine) {}

  const char* name() const override { return "reorder_onednn"; }

  Verdict supports(const PrepareArgs& args) const override {
    const DType from = args.src[0].dtype, to = args.dst[0].dtype;
    if (!args.spec.post_ops.empty()) return Verdict::no("post-ops");
    if (from != to && !(isFloatDtype(from) && isFloatDtype(to))) return Verdict::no("dtype");
    if (losesSubnormals(args)) return Verdict::no("dtype");
    if (args.dst[0].dims.count() == 0) return Verdict::no("empty");
    Md src, dst;
    return describeBoth(args, &src, &dst) ? Verdict::yes() : Verdict::no("layout");
  }

  std::unique_ptr<PreparedOp> prepare(const PrepareArgs& args, std::string* reason) const override {
    const ThreadCountScope threads(args.target.threads);
    Md from, to;
    describeBoth(args, &from, &to);
    const Pd pd = onednn::reorderPd(engine_, from, to, onednn::attributes({}));
    if (onednn::isEmpty(pd) || onednn::isReference(pd)) {
      *reason = "no-fast-implementation";
      return nullptr;
    }
    auto op = std::make_unique<onednn::OnednnOp>(engine_, pd);
    op->src = args.src;
    op->dst = args.dst;
    op->packed.assign(args.src.size(), false);
    op->bindSrc(DNNL_ARG_FROM, 0, from);
    op->bindDst(DNNL_ARG_TO, 0, to);
    op->finish();
    return op;
  }

 private:
  dnnl::engine engine_;
};

}  // namespace

std::unique_ptr<Kernel> makeReorderOnednn(const KernelParts& parts) {
  return std::make_unique<ReorderOnednn>(parts.engine);
}

}  // namespace ipex_studio
