// Checks on prepared operations before a plan takes them.
#include "core/op/prepare.h"

#include <gtest/gtest.h>

#include "core/op/shape_inference.h"
#include "kernels/kernel_list.h"

namespace ipex_studio {
namespace {

// A plan file may contain any window; none may cause a request for more memory than a machine has.
TEST(Prepare, RefusesScratchFarBeyondTheOperands) {
  const std::unique_ptr<KernelList> kernels = makeKernelList();
  const std::vector<float> weights(8 * 9);
  PrepareArgs args;
  args.spec = parseOpSpec("convolution{dilation=[1048576,1048576],groups=8,padding=[1048576,1048576],stride=[1,1]}");
  args.src = {contiguousDesc(DType::kF32, Dims{1, 8, 4, 4}), contiguousDesc(DType::kF32, Dims{8, 1, 3, 3}),
              TensorDesc()};
  args.constant = {nullptr, weights.data(), nullptr};
  args.src_dies = {false, false, false};
  WeightCache cache;
  args.weights = &cache;
  ASSERT_TRUE(inferShapes(args.spec, args.src, &args.dst).ok);
  for (const Kernel* kernel : kernels->candidates(OpKind::kConvolution, DeviceKind::kCpu)) {
    std::string reason;
    const auto op = prepareBy(*kernel, args, &reason);
    if (op) {
      EXPECT_LT(op->scratch_bytes, std::size_t{1} << 30) << kernel->name();
    } else {
      EXPECT_FALSE(reason.empty()) << kernel->name();
    }
  }
}

TEST(Prepare, TellsTheReferenceByItsName) {
  EXPECT_TRUE(isReference("pool_ref"));
  EXPECT_FALSE(isReference("_ref"));
  EXPECT_FALSE(isReference("pool_onednn"));
}

}  // namespace
}  // namespace ipex_studio
