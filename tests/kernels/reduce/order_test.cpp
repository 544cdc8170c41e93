// The order of values that comparison of numbers does not define: NaN, both zeros, infinities, equal values. Indices
// out of range, and divisions by zero.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/op/shape_inference.h"
#include "kernels/kernel_list.h"
#include "tests/kernels/harness.h"

namespace ipex_studio::kernel_test {
namespace {

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN(), kInfinite = std::numeric_limits<float>::infinity();

struct Ordered {
  std::vector<float> values;
  std::vector<std::int64_t> places;
};

// Sorts a line; all kernels that accept it must agree on every bit of the result.
Ordered runLine(const std::string& text, const std::vector<float>& line) {
  static const std::unique_ptr<KernelList> kernels = makeKernelList();
  PrepareArgs args;
  args.spec = parseOpSpec(text);
  args.src = {contiguousDesc(DType::kF32, Dims{static_cast<std::int64_t>(line.size())})};
  args.constant = {nullptr};
  args.src_dies = {false};
  EXPECT_TRUE(inferShapes(args.spec, args.src, &args.dst).ok) << text;
  const auto count = static_cast<std::size_t>(args.dst[0].dims.count());
  Ordered first;
  for (const Kernel* kernel : kernels->candidates(args.spec.kind, DeviceKind::kCpu)) {
    if (!kernel->supports(args).ok) continue;
    std::string reason;
    const auto op = kernel->prepare(args, &reason);
    const Buffer scratch(op->scratch_bytes);
    Ordered result{std::vector<float>(count), std::vector<std::int64_t>(count)};
    const void* const from[] = {line.data()};
    void* const to[] = {result.values.data(), result.places.data()};
    const auto state = op->newState();
    op->execute(state.get(), from, to, scratch.data());
    for (std::size_t i = 0; i < count; ++i) {
      const float expected = line[static_cast<std::size_t>(result.places[i])];
      EXPECT_TRUE(std::isnan(expected) ? std::isnan(result.values[i]) : result.values[i] == expected)
          << kernel->name() << " " << i;
    }
    if (!first.places.empty()) {
      EXPECT_EQ(result.places, first.places) << kernel->name();
    }
    first = result;
  }
  return first;
}

using Places = std::vector<std::int64_t>;

TEST(Order, NanIsGreaterThanAllNumbersAndEqualsKeepTheirOrder) {
  const std::vector<float> line{1, kNaN, -0.0f, kInfinite, 0, -kNaN, -kInfinite, 1};
  EXPECT_EQ(runLine("sort{axis=0}", line).places, (Places{6, 2, 4, 0, 7, 3, 1, 5}));
  EXPECT_EQ(runLine("sort{axis=0,descending=1}", line).places, (Places{1, 5, 3, 0, 7, 2, 4, 6}));
  EXPECT_EQ(runLine("sort{axis=0,descending=1,k=3}", line).places, (Places{1, 5, 3}));
}

TEST(Order, TheFirstExtremeOrTheFirstNanWins) {
  EXPECT_EQ(runLine("max_min{axis=0,mode=max}", {1, 3, kNaN, 5, kNaN}).places, (Places{2}));
  EXPECT_EQ(runLine("max_min{axis=0,mode=min}", {1, -3, kNaN, -5, kNaN}).places, (Places{2}));
  EXPECT_EQ(runLine("max_min{axis=0,mode=max}", {-0.0f, 0, -1}).places, (Places{0}));
  EXPECT_EQ(runLine("max_min{axis=0,mode=min}", {kInfinite, kInfinite}).places, (Places{0}));
}

TEST(Order, LongLines) {
  for (const std::int64_t at : {0, 1, 17, 500, 998}) {
    std::vector<float> line(999, 0.5f);
    line[static_cast<std::size_t>(at)] = kNaN;
    for (const char* mode : {"max", "min"})
      EXPECT_EQ(runLine(std::string("max_min{axis=0,mode=") + mode + "}", line).places, (Places{at}));
    Places first{at};
    for (std::int64_t i = 0; first.size() < 20; ++i) {
      if (i != at) first.push_back(i);
    }
    EXPECT_EQ(runLine("sort{axis=0,descending=1,k=20}", line).places, first);
    EXPECT_EQ(runLine("sort{axis=0}", line).places.back(), at);
  }
  // Each value is better than all before it, so every vector has candidates.
  std::vector<float> rising(2000);
  for (std::size_t i = 0; i < rising.size(); ++i) rising[i] = static_cast<float>(i);
  EXPECT_EQ(runLine("sort{axis=0,descending=1,k=2}", rising).places, (Places{1999, 1998}));
  EXPECT_EQ(runLine("sort{axis=0,k=2}", rising).places, (Places{0, 1}));
}

// Returns the failure that an execution reports about its data.
const char* failureOf(const char* text, const std::vector<TensorDesc>& src, const std::vector<const void*>& from) {
  static const std::unique_ptr<KernelList> kernels = makeKernelList();
  PrepareArgs args;
  args.spec = parseOpSpec(text);
  args.src = src;
  args.constant.assign(src.size(), nullptr);
  args.src_dies.assign(src.size(), false);
  EXPECT_TRUE(inferShapes(args.spec, args.src, &args.dst).ok) << text;
  std::string reason;
  const auto candidates = kernels->candidates(args.spec.kind, DeviceKind::kCpu);
  const auto taking = std::find_if(candidates.begin(), candidates.end(),
                                   [&](const Kernel* kernel) { return kernel->supports(args).ok; });
  const auto op = (*taking)->prepare(args, &reason);
  const Buffer result(op->dst[0].bytes());
  void* const to[] = {result.data()};
  const auto state = op->newState();
  op->execute(state.get(), from.data(), to, nullptr);
  return state->takeFailure();
}

TEST(Order, WhatDataCannotBeFailsTheRun) {
  const TensorDesc x = contiguousDesc(DType::kF32, Dims{3}), ids = contiguousDesc(DType::kS64, Dims{2});
  const float values[3] = {1, 2, 3};
  const std::int64_t inside[2] = {2, 0}, behind[2] = {0, 3}, before[2] = {-1, 0};
  EXPECT_EQ(failureOf("gather_elements{axis=0}", {x, ids}, {values, inside}), nullptr);
  EXPECT_NE(failureOf("gather_elements{axis=0}", {x, ids}, {values, behind}), nullptr);
  EXPECT_NE(failureOf("gather_elements{axis=0}", {x, ids}, {values, before}), nullptr);
  const TensorDesc updates = contiguousDesc(DType::kF32, Dims{2});
  EXPECT_NE(failureOf("scatter_elements{axis=0}", {x, ids, updates}, {values, behind, values}), nullptr);
  for (const char* reduced : {"scatter_elements{axis=0,reduction=add}", "scatter_elements{axis=0,reduction=max}",
                              "scatter_elements{axis=0,exclude_self=1,reduction=mul}"})
    EXPECT_NE(failureOf(reduced, {x, ids, updates}, {values, behind, values}), nullptr);
  EXPECT_EQ(failureOf("gather{axis=0,wrap=1}", {x, ids}, {values, before}), nullptr);
  EXPECT_NE(failureOf("gather{axis=0}", {x, ids}, {values, before}), nullptr);
  EXPECT_NE(failureOf("integer_math{op=mod}", {ids, ids}, {inside, inside}), nullptr);
  EXPECT_EQ(failureOf("integer_math{op=mul}", {ids, ids}, {inside, inside}), nullptr);
}

TEST(Order, NanAndInfinitiesReachOnlyTheSumsBehindThem) {
  static const std::unique_ptr<KernelList> kernels = makeKernelList();
  std::vector<float> line(40, 1.0f);
  line[13] = kInfinite;
  line[29] = -kInfinite;
  PrepareArgs args;
  args.spec = parseOpSpec("cumulative_sum{axis=0}");
  args.src = {contiguousDesc(DType::kF32, Dims{40})};
  args.constant = {nullptr};
  args.src_dies = {false};
  ASSERT_TRUE(inferShapes(args.spec, args.src, &args.dst).ok);
  for (const Kernel* kernel : kernels->candidates(args.spec.kind, DeviceKind::kCpu)) {
    ASSERT_TRUE(kernel->supports(args).ok) << kernel->name();
    std::string reason;
    const auto op = kernel->prepare(args, &reason);
    const Buffer scratch(op->scratch_bytes);
    std::vector<float> sums(line.size());
    const void* const from[] = {line.data()};
    void* const to[] = {sums.data()};
    const auto state = op->newState();
    op->execute(state.get(), from, to, scratch.data());
    EXPECT_EQ(sums[12], 13.0f) << kernel->name();
    EXPECT_EQ(sums[13], kInfinite) << kernel->name();
    EXPECT_EQ(sums[28], kInfinite) << kernel->name();
    EXPECT_TRUE(std::isnan(sums[29]) && std::isnan(sums[39])) << kernel->name();
  }
}

TEST(Order, IntegersWrapAround) {
  const TensorDesc one = contiguousDesc(DType::kS64, Dims{1});
  static const std::unique_ptr<KernelList> kernels = makeKernelList();
  const auto compute = [&](const char* text, std::int64_t a, std::int64_t b) {
    PrepareArgs args;
    args.spec = parseOpSpec(text);
    args.src = {one, one};
    EXPECT_TRUE(inferShapes(args.spec, args.src, &args.dst).ok) << text;
    std::string reason;
    const auto op = kernels->candidates(args.spec.kind, DeviceKind::kCpu).front()->prepare(args, &reason);
    std::int64_t result = 0;
    const void* const from[] = {&a, &b};
    void* const to[] = {&result};
    const auto state = op->newState();
    op->execute(state.get(), from, to, nullptr);
    return result;
  };
  constexpr std::int64_t kLowest = std::numeric_limits<std::int64_t>::min(),
                         kHighest = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ(compute("integer_math{op=add}", kHighest, 1), kLowest);
  EXPECT_EQ(compute("integer_math{op=floordiv}", kLowest, -1), kLowest);
  EXPECT_EQ(compute("integer_math{op=rem}", kLowest, -1), 0);
  EXPECT_EQ(compute("integer_math{op=floordiv}", -7, 2), -4);
  EXPECT_EQ(compute("integer_math{op=truncdiv}", -7, 2), -3);
  EXPECT_EQ(compute("integer_math{op=mod}", -7, 2), 1);
  EXPECT_EQ(compute("integer_math{op=rem}", -7, 2), -1);
  EXPECT_EQ(compute("integer_math{op=mul}", (std::int64_t{1} << 53) + 1, 1), (std::int64_t{1} << 53) + 1);
}

}  // namespace
}  // namespace ipex_studio::kernel_test
