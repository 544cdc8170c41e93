// Convolution in groups that the library would compute by one product per group over copies of the pixels: the packed
// product of convolution_simd, which gathers them as it goes, takes its place without being measured. On Zen 5, windows
// of 128 over 16 channels a group run 5 times as fast.
//
// Declines: groups (a single one), library (it has code of its own for the operation), and what convolution_simd
// declines.
#include "kernels/common/kernel_parts.h"

namespace ipex_studio {
namespace {

class ConvolutionGroupsSimd final : public Kernel {
 public:
  ConvolutionGroupsSimd(const Kernel& library, const Kernel& packed) : library_(library), packed_(packed) {}

  const char* name() const override { return "convolution_groups_simd"; }

  Verdict supports(const PrepareArgs& args) const override {
    return args.spec.intOr("groups", 1) == 1 ? Verdict::no("groups") : packed_.supports(args);
  }

  std::unique_ptr<PreparedOp> prepare(const PrepareArgs& args, std::string* reason) const override {
    if (library_.supports(args).ok && library_.prepare(args, reason)) {
      *reason = "library";
      return nullptr;
    }
    return packed_.prepare(args, reason);
  }

 private:
  const Kernel &library_, &packed_;
};

}  // namespace

std::unique_ptr<Kernel> makeConvolutionGroupsSimd(const KernelParts& parts) {
  return std::make_unique<ConvolutionGroupsSimd>(*parts.first, *parts.second);
}

}  // namespace ipex_studio
