// Tensor descriptions: layouts, sizes in memory, names.
#include "core/op/tensor_view.h"

#include <gtest/gtest.h>

namespace ipex_studio {
namespace {

TEST(TensorDesc, NamesLayouts) {
  EXPECT_EQ(contiguousDesc(DType::kF32, Dims{1, 64, 56, 56}).str(), "f32 1x64x56x56 nchw");
  EXPECT_EQ(channelsLastDesc(DType::kF32, Dims{1, 64, 56, 56}).layoutName(), "nhwc");
  EXPECT_EQ(blockedDesc(DType::kF32, Dims{1, 64, 56, 56}, 16).layoutName(), "nChw16c");
  EXPECT_EQ(blockedDesc(DType::kF32, Dims{1, 64, 56}, 8).layoutName(), "nCw8c");
  EXPECT_EQ(contiguousDesc(DType::kS64, Dims{}).str(), "s64 scalar ");
  EXPECT_EQ(TensorDesc().layoutName(), "none");
  TensorDesc turned = contiguousDesc(DType::kF32, Dims{3, 4});
  std::swap(turned.strides[0], turned.strides[1]);
  EXPECT_EQ(turned.layoutName(), "strided");
}

TEST(TensorDesc, CountsBytesWithPadding) {
  EXPECT_EQ(contiguousDesc(DType::kF32, Dims{2, 3}).bytes(), 24u);
  EXPECT_EQ(contiguousDesc(DType::kF32, Dims{}).bytes(), 4u);
  EXPECT_EQ(contiguousDesc(DType::kBf16, Dims{2, 0, 5}).bytes(), 0u);
  EXPECT_EQ(blockedDesc(DType::kF32, Dims{1, 17, 2, 2}, 16).bytes(), 2 * 16 * 4 * 4u);
  TensorDesc broadcast = contiguousDesc(DType::kF32, Dims{5, 3});
  broadcast.strides[0] = 0;
  EXPECT_EQ(broadcast.bytes(), 12u);
}

TEST(TensorDesc, ComparesLayoutsByWhatCanBeSeen) {
  TensorDesc a = contiguousDesc(DType::kF32, Dims{1, 4});
  TensorDesc b = a;
  b.strides[0] = 99;  // one row: its distance does not matter
  EXPECT_TRUE(a == b);
  EXPECT_TRUE(b.isContiguous());
  b.strides[1] = 2;
  EXPECT_FALSE(a == b);
  EXPECT_FALSE(
      blockedDesc(DType::kF32, Dims{1, 16, 2, 2}, 16).sameLayout(contiguousDesc(DType::kF32, Dims{1, 16, 2, 2})));
}

TEST(TensorDesc, KnowsEveryType) {
  for (int i = 1; i <= static_cast<int>(DType::kBool); ++i) {
    const auto dtype = static_cast<DType>(i);
    EXPECT_EQ(dtypeFromName(dtypeName(dtype)), dtype);
    EXPECT_GT(elementBytes(dtype), 0u);
  }
  EXPECT_EQ(dtypeFromName("f31"), DType::kNone);
  EXPECT_EQ(elementBytes(DType::kNone), 0u);
}

}  // namespace
}  // namespace ipex_studio
