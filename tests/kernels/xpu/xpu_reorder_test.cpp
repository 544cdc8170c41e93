// Copies between layouts on a device: axes in any order on both sides, of any type that chains read, by elements and by
// tiles.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>

#include "core/runtime/machine_facts.h"
#include "kernels/kernel_list.h"
#include "tests/kernels/xpu/on_device.h"
#include "tests/kernels/xpu/opencl_machine.h"

namespace ipex_studio {
namespace {

using Axes = std::vector<int>;

// Axes from the outermost to the innermost; `gap` elements follow each run along the innermost one.
TensorDesc laidOut(DType dtype, const Dims& dims, const Axes& axes, std::int64_t gap) {
  TensorDesc desc = contiguousDesc(dtype, dims);
  std::int64_t stride = 1;
  for (auto axis = axes.rbegin(); axis != axes.rend(); ++axis) {
    desc.strides[*axis] = stride;
    stride *= dims[*axis] + (axis == axes.rbegin() ? gap : 0);
  }
  return desc;
}

// The offsets of the elements, in the order of the axes.
std::vector<std::size_t> placesOf(const TensorDesc& desc) {
  std::vector<std::size_t> places;
  for (std::int64_t i = 0; i < desc.dims.count(); ++i) {
    std::int64_t rest = i, place = 0;
    for (int axis = desc.dims.rank - 1; axis >= 0; --axis) {
      place += rest % desc.dims[axis] * desc.strides[axis];
      rest /= desc.dims[axis];
    }
    places.push_back(static_cast<std::size_t>(place));
  }
  return places;
}

void expectMoved(const Kernel& kernel, const TensorDesc& from, const TensorDesc& to) {
  SCOPED_TRACE(from.str() + " " + from.strides.str() + " to " + to.strides.str());
  PrepareArgs args;
  args.spec.kind = OpKind::kReorder;
  args.src = {from};
  args.dst = {to};
  args.constant = {nullptr};
  args.src_dies = {false};
  args.target.isa = machineFacts().isa;
  ASSERT_TRUE(kernel.supports(args).ok);
  std::string reason;
  const auto op = kernel.prepare(args, &reason);
  ASSERT_TRUE(op) << reason;
  const std::size_t element = elementBytes(from.dtype);
  std::vector<unsigned char> source(from.bytes()), result(to.bytes(), 0);
  std::mt19937 random(3);
  for (unsigned char& byte : source) byte = static_cast<unsigned char>(random() % 2);
  const void* const src[] = {source.data()};
  void* const dst[] = {result.data()};
  const auto state = op->newState();
  op->execute(state.get(), src, dst, nullptr);
  const std::vector<std::size_t> before = placesOf(from), after = placesOf(to);
  for (std::size_t i = 0; i < before.size(); ++i) {
    ASSERT_EQ(std::memcmp(&result[after[i] * element], &source[before[i] * element], element), 0) << "element " << i;
  }
}

TEST(XpuReorder, LayoutsOfAllOrdersAndTypes) {
  const testing::TemporaryFolder programs;
  const auto device = testing::openTestDevice(programs.path());
  IPEX_NEEDS_OPENCL(device);
  const auto list = makeKernelList();
  const auto& candidates = list->candidates(OpKind::kReorder, DeviceKind::kXpu);
  const auto found = std::find_if(candidates.begin(), candidates.end(),
                                  [](const auto& each) { return std::string(each->name()) == "reorder_xpu"; });
  ASSERT_NE(found, candidates.end());
  const testing::OnDevice kernel(**found, *device);
  const Axes channels_first = {0, 1, 2, 3}, channels_last = {0, 2, 3, 1};
  for (const DType dtype : {DType::kF32, DType::kBf16, DType::kF16, DType::kU8, DType::kS8}) {
    // Tiles that are whole and cut off at either side; rows that have gaps between them, and several images.
    for (const Dims& dims :
         {Dims{1, 3, 37, 41}, Dims{2, 40, 8, 12}, Dims{3, 16, 4, 8}, Dims{2, 1, 5, 7}, Dims{1, 70, 1, 3}}) {
      for (const std::int64_t gap : {0, 2}) {
        expectMoved(kernel, laidOut(dtype, dims, channels_first, gap), laidOut(dtype, dims, channels_last, 0));
        expectMoved(kernel, laidOut(dtype, dims, channels_last, gap), laidOut(dtype, dims, channels_first, 0));
        expectMoved(kernel, laidOut(dtype, dims, channels_first, 0), laidOut(dtype, dims, channels_last, gap));
      }
    }
    std::mt19937 random(7);
    for (int round = 0; round < 20; ++round) {
      Axes from = channels_first, to = channels_first;
      std::shuffle(from.begin(), from.end(), random);
      std::shuffle(to.begin(), to.end(), random);
      const auto size = [&] { return static_cast<std::int64_t>(1 + random() % 20); };
      const Dims dims{size(), size(), size(), size()};
      expectMoved(kernel, laidOut(dtype, dims, from, 0), laidOut(dtype, dims, to, 0));
    }
  }
}

}  // namespace
}  // namespace ipex_studio
