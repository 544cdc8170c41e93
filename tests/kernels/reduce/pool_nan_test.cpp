// Maxima over windows keep NaN, as the definition says: all kernels, on sources of several ranks and layouts.
#include <gtest/gtest.h>

#include <cmath>

#include "core/op/shape_inference.h"
#include "kernels/kernel_list.h"
#include "tests/kernels/harness.h"

namespace ipex_studio::kernel_test {
namespace {

struct Pooled {
  const char* spec;
  Dims dims;
};

std::vector<char> packed(const TensorDesc& desc, const Values& values) {
  std::vector<char> bytes(static_cast<std::size_t>(desc.bytes()) + 64);
  writeTensor(desc, values, bytes.data());
  return bytes;
}

// Runs every kernel that takes the pool in each layout; numbers of the source are NaN one after the other.
void expectNanInMaxima(const Pooled& pool, DType dtype) {
  static const std::unique_ptr<KernelList> kernels = makeKernelList();
  const TensorDesc layouts[] = {contiguousDesc(dtype, pool.dims), channelsLastDesc(dtype, pool.dims),
                                blockedDesc(dtype, pool.dims, 8), blockedDesc(dtype, pool.dims, 16)};
  for (const TensorDesc& layout : layouts) {
    PrepareArgs args;
    args.spec = parseOpSpec(pool.spec);
    args.src = {layout};
    args.constant = {nullptr};
    args.src_dies = {false};
    args.target.threads = 1;
    ASSERT_TRUE(inferShapes(args.spec, args.src, &args.dst).ok) << pool.spec;
    std::vector<const Kernel*> candidates = kernels->candidates(args.spec.kind, DeviceKind::kCpu);
    const Kernel* const reference = candidates.back();
    for (const Kernel* kernel : candidates) {
      if (!kernel->supports(args).ok) continue;
      std::string reason;
      const auto op = kernel->prepare(args, &reason);
      if (!op) continue;
      const auto definition = reference->prepare(args, &reason);
      const auto count = static_cast<std::size_t>(pool.dims.count());
      for (std::size_t nan = 0; nan < count; nan += 7) {
        Values values(count);
        for (std::size_t i = 0; i < count; ++i) values[i] = static_cast<double>(i * 37 % 64) - 32;
        values[nan] = values[(nan * 5 + 3) % count] = std::nan("");
        const auto run = [&](const PreparedOp& prepared) {
          const std::vector<char> from = packed(prepared.src[0], values);
          std::vector<std::vector<char>> results;
          std::vector<void*> to;
          for (const TensorDesc& desc : prepared.dst) results.emplace_back(static_cast<std::size_t>(desc.bytes()) + 64);
          for (auto& result : results) to.push_back(result.data());
          const void* const sources[] = {from.data()};
          const Buffer scratch(prepared.scratch_bytes + 64);
          const auto state = prepared.newState();
          prepared.execute(state.get(), sources, to.data(), scratch.data());
          return readTensor(prepared.dst[0], to[0]);
        };
        const Values result = run(*op), expected = run(*definition);
        ASSERT_EQ(result.size(), expected.size());
        for (std::size_t i = 0; i < result.size(); ++i) {
          ASSERT_TRUE(std::isnan(expected[i]) ? std::isnan(result[i]) : result[i] == expected[i])
              << kernel->name() << " " << pool.spec << " NaN at " << nan << ": " << result[i] << " is not "
              << expected[i] << " at " << i;
        }
      }
    }
  }
}

const Pooled kPools[] = {
    {"pool{kernel=[3,3],mode=max,padding=[1,1],stride=[2,2]}", {1, 16, 9, 21}},
    {"pool{ceil_mode=1,dilation=[2,1],kernel=[2,3],mode=max,padding=[1,1],stride=[1,3]}", {1, 5, 7, 18}},
    {"pool{kernel=[3],mode=max,padding=[1],stride=[1]}", {2, 3, 37}},
    {"pool{kernel=[2,2,2],mode=max,padding=[1,0,1],stride=[2,1,2]}", {1, 3, 4, 5, 18}},
    {"adaptive_pool{mode=max,output=[1,1]}", {1, 16, 5, 7}},
    {"adaptive_pool{mode=max,output=[2,3]}", {1, 16, 6, 9}},
    {"adaptive_pool{mode=max,output=[4,4]}", {1, 5, 6, 9}},
    {"reduce{axes=[2,3],keepdim=1,mode=max}", {1, 16, 5, 7}},
    {"reduce{axes=[2,3],keepdim=1,mode=min}", {1, 16, 5, 7}},
};

TEST(PoolNan, MaximaOfFloatsKeepNan) {
  for (const Pooled& pool : kPools) expectNanInMaxima(pool, DType::kF32);
}

TEST(PoolNan, MaximaOfBf16KeepNan) {
  for (const Pooled& pool : kPools) expectNanInMaxima(pool, DType::kBf16);
}

TEST(PoolNan, PlacesAreThoseOfNan) {
  expectNanInMaxima({"pool_places{kernel=[3,3],padding=[1,1],stride=[2,2]}", {1, 2, 9, 41}}, DType::kF32);
}

}  // namespace
}  // namespace ipex_studio::kernel_test
