// Strided tensors to row-major: whatever the strides are – broadcast, transposed, with gaps – and whatever the type, a
// kernel other than the reference does it, and right.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <random>

#include "core/runtime/machine_facts.h"
#include "kernels/kernel_list.h"

namespace ipex_studio {
namespace {

std::int64_t between(std::mt19937& random, std::int64_t low, std::int64_t high) {
  return std::uniform_int_distribution<std::int64_t>(low, high)(random);
}

// A tensor whose axes lie in memory in any order, with gaps or stride 0 here and there.
TensorDesc drawStrided(std::mt19937& random, DType dtype) {
  TensorDesc desc;
  desc.dtype = dtype;
  const auto rank = static_cast<int>(between(random, 1, 5));
  desc.dims.rank = desc.strides.rank = rank;
  std::vector<int> order(static_cast<std::size_t>(rank));
  std::iota(order.begin(), order.end(), 0);
  std::shuffle(order.begin(), order.end(), random);
  std::int64_t stride = 1;
  for (const int axis : order) {
    desc.dims[axis] = between(random, 1, rank <= 3 ? 25 : 9);
    desc.strides[axis] = stride;
    stride *= desc.dims[axis] + between(random, 0, 1);
    if (between(random, 0, 3) == 0) desc.strides[axis] = 0;
  }
  return desc;
}

std::vector<std::int64_t> offsetsOf(const TensorDesc& desc) {
  std::vector<std::int64_t> offsets;
  for (std::int64_t i = 0; i < desc.dims.count(); ++i) {
    std::int64_t rest = i, offset = 0;
    for (int axis = desc.dims.rank - 1; axis >= 0; --axis) {
      offset += rest % desc.dims[axis] * desc.strides[axis];
      rest /= desc.dims[axis];
    }
    offsets.push_back(offset);
  }
  return offsets;
}

TEST(Reorder, StridedSourcesNeedNoReference) {
  const std::unique_ptr<KernelList> list = makeKernelList();
  const auto& candidates = list->candidates(OpKind::kReorder, DeviceKind::kCpu);
  std::mt19937 random(5);
  for (int round = 0; round < 150; ++round) {
    constexpr DType kTypes[] = {DType::kF32, DType::kBf16, DType::kS64, DType::kBool, DType::kS32, DType::kU8};
    PrepareArgs args;
    args.spec.kind = OpKind::kReorder;
    args.src = {drawStrided(random, kTypes[round % 6])};
    args.dst = {contiguousDesc(args.src[0].dtype, args.src[0].dims)};
    args.constant = {nullptr};
    args.src_dies = {false};
    args.target.threads = 1 + round % 2;
    args.target.isa = machineFacts().isa;
    std::unique_ptr<PreparedOp> op;
    std::string reason;
    std::size_t taken = 0;
    for (; taken + 1 < candidates.size() && !op; ++taken) {
      if (candidates[taken]->supports(args).ok) op = candidates[taken]->prepare(args, &reason);
    }
    ASSERT_TRUE(op) << args.src[0].str() << " " << args.src[0].strides.str();
    const std::vector<std::int64_t> offsets = offsetsOf(args.src[0]);
    const std::size_t element = elementBytes(args.src[0].dtype);
    const auto last = static_cast<std::size_t>(*std::max_element(offsets.begin(), offsets.end()));
    std::vector<unsigned char> from((last + 1) * element), to(offsets.size() * element);
    // Booleans and floats of any bits are moved as they are.
    for (unsigned char& byte : from) byte = static_cast<unsigned char>(between(random, 0, 1));
    const void* const src[] = {from.data()};
    void* const dst[] = {to.data()};
    std::vector<unsigned char> scratch(op->scratch_bytes + 64);
    const auto state = op->newState();
    op->execute(state.get(), src, dst, scratch.data());
    for (std::size_t i = 0; i < offsets.size(); ++i) {
      ASSERT_EQ(
          std::memcmp(to.data() + i * element, from.data() + static_cast<std::size_t>(offsets[i]) * element, element),
          0)
          << candidates[taken - 1]->name() << " " << args.src[0].str() << " " << args.src[0].strides.str();
    }
  }
}

}  // namespace
}  // namespace ipex_studio
