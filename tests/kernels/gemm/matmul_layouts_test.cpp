// Matrix products of sources with their axes in any order in memory, also with batches of one. The place of an axis of
// size one shows only in its stride, and libraries recognise layouts by strides.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "core/op/kernel.h"
#include "kernels/kernel_list.h"

namespace ipex_studio {
namespace {

constexpr int kRank = 4;
using Order = std::array<int, kRank>;

std::vector<Order> allOrders() {
  std::vector<Order> orders;
  Order order{0, 1, 2, 3};
  do orders.push_back(order);
  while (std::next_permutation(order.begin(), order.end()));
  return orders;
}

// Describes a dense tensor with the first of `order` outermost.
TensorDesc laidOut(const Dims& dims, const Order& order) {
  TensorDesc desc = contiguousDesc(DType::kF32, dims);
  std::int64_t stride = 1;
  for (int i = kRank - 1; i >= 0; --i) {
    desc.strides[order[static_cast<std::size_t>(i)]] = stride;
    stride *= dims[order[static_cast<std::size_t>(i)]];
  }
  return desc;
}

std::vector<float> numbers(std::int64_t count, int step) {
  std::vector<float> values;
  for (std::int64_t i = 0; i < count; ++i) values.push_back(static_cast<float>((i * step) % 19 - 9));
  return values;
}

// Computes the product; empty if the kernel wants the sources laid out otherwise.
std::vector<float> product(const Kernel& kernel, const PrepareArgs& args, const std::vector<const void*>& sources) {
  std::string reason;
  if (!kernel.supports(args).ok) return {};
  const auto op = kernel.prepare(args, &reason);
  if (!op || !op->src[0].sameLayout(args.src[0]) || !op->src[1].sameLayout(args.src[1])) return {};
  std::vector<float> result(static_cast<std::size_t>(args.dst[0].dims.count()), std::nanf(""));
  void* to = result.data();
  Buffer scratch(op->scratch_bytes);
  const auto state = op->newState();
  op->execute(state.get(), sources.data(), &to, scratch.data());
  return result;
}

TEST(MatmulLayouts, AnyOrderOfAxesAndBatchesOfOne) {
  const auto list = makeKernelList();
  const auto& kernels = list->candidates(OpKind::kMatmul, DeviceKind::kCpu);
  const std::int64_t rows = 6, inner = 8, columns = 7;
  int compared = 0;
  for (const auto& [outer, heads] : {std::pair{1, 1}, std::pair{1, 2}, std::pair{2, 1}, std::pair{2, 3}}) {
    const Dims a{outer, heads, rows, inner}, b{outer, heads, inner, columns};
    const std::vector<float> left = numbers(a.count(), 7), right = numbers(b.count(), 11);
    for (const Order& order_a : allOrders()) {
      for (const Order& order_b : allOrders()) {
        PrepareArgs args;
        args.spec = parseOpSpec("matmul{}");
        args.src = {laidOut(a, order_a), laidOut(b, order_b)};
        args.dst = {contiguousDesc(DType::kF32, Dims{outer, heads, rows, columns})};
        args.constant = {nullptr, nullptr};
        args.src_dies = {false, false};
        const std::vector<const void*> sources{left.data(), right.data()};
        const std::vector<float> expected = product(*kernels.back(), args, sources);
        ASSERT_FALSE(expected.empty());
        for (const Kernel* kernel : kernels) {
          const std::vector<float> actual = product(*kernel, args, sources);
          if (actual.empty()) continue;
          ++compared;
          // Sums of small integers are exact.
          ASSERT_EQ(actual, expected) << kernel->name() << ", batches of " << outer << " and " << heads << ", orders "
                                      << ::testing::PrintToString(order_a) << " and "
                                      << ::testing::PrintToString(order_b);
        }
      }
    }
  }
  EXPECT_GT(compared, 1000);
}

}  // namespace
}  // namespace ipex_studio
