// Steps prefetch the first reads of the next one: the announced memory is alive, and no result depends on it.
#include <gtest/gtest.h>

#include <cstring>

#include "core/runtime/machine_facts.h"
#include "kernels/common/parallel.h"
#include "kernels/kernel_list.h"
#include "tests/kernels/harness.h"

namespace ipex_studio::kernel_test {
namespace {

using S = Source;

// One operation prepared by one kernel, and the memory that it runs on.
class PreparedCase {
 public:
  PreparedCase(const std::string& kernel, const Case& test, std::int32_t threads) : problem_(makeProblem(test, false)) {
    static const std::unique_ptr<KernelList> kernels = makeKernelList();
    Conditions conditions{Layout::kChannelsLast, threads, machineFacts().isa, -1};
    const PrepareArgs args = makeArgs(test, problem_, conditions, &cache_, &constants_);
    std::string reason;
    for (const Kernel* candidate : kernels->candidates(problem_.spec.kind, DeviceKind::kCpu)) {
      if (candidate->name() == kernel && candidate->supports(args).ok) op_ = candidate->prepare(args, &reason);
    }
    EXPECT_TRUE(op_) << test.spec << ": " << reason;
  }

  const PreparedOp& op() const { return *op_; }

  bool holds(const MemoryRange& range) const {
    bool found = false;
    cache_.forEach([&](const Buffer& buffer) {
      const auto* const begin = static_cast<const char*>(buffer.data());
      const auto* const first = static_cast<const char*>(range.begin);
      found |= first >= begin && first + range.bytes <= begin + buffer.bytes();
    });
    return found;
  }

  std::vector<unsigned char> result(const PreparedOp* next, std::int32_t threads) const {
    std::vector<Buffer> memory;
    std::vector<const void*> src;
    for (std::size_t s = 0; s < op_->src.size(); ++s) {
      memory.emplace_back(op_->src[s].absent() ? 0 : op_->src[s].bytes());
      if (!op_->src[s].absent()) writeTensor(op_->src[s], problem_.values[s], memory.back().data());
      src.push_back(memory.back().data());
    }
    const Buffer scratch(op_->scratch_bytes);
    std::vector<unsigned char> bytes(op_->dst[0].bytes());
    void* dst = bytes.data();
    const auto state = op_->newState();
    state->next = next;
    const ThreadCountScope scope(threads);
    op_->execute(state.get(), src.data(), &dst, scratch.data());
    return bytes;
  }

 private:
  Problem problem_;
  WeightCache cache_;
  std::vector<std::unique_ptr<GuardedBytes>> constants_;
  std::unique_ptr<PreparedOp> op_;
};

Case layer(const std::string& spec, const Dims& x, const Dims& w) {
  const bool image = x.rank == 4;
  const Dims channels = image ? Dims{w[0], 1, 1} : Dims{w[0]};
  return {spec, {S::u8(x), S::s8Weight(w), S::none(), S::scales(channels)}};
}

TEST(NextReads, LieInPackedWeights) {
  for (const std::int32_t threads : {1, 2, 3}) {
    for (const std::int64_t rows : {1, 40}) {
      const PreparedCase product("linear_simd_int8",
                                 layer("linear{result=u8}|mul(0)|linear(20.0,3.0)", Dims{rows, 512}, Dims{1000, 512}),
                                 threads);
      for (std::int32_t thread = 0; thread < threads; ++thread) {
        const MemoryRange range = product.op().firstReads(thread);
        EXPECT_GT(range.bytes, 0u);
        EXPECT_TRUE(product.holds(range)) << threads << " threads, " << thread;
      }
    }
  }
}

TEST(NextReads, LieInTheWeightsOfAnExpansion) {
  const Case test{"pointwise_depthwise{padding=[1,1]}",
                  {S::of({2, 20, 9, 9}), S::weight({70, 20, 1, 1}), S::none(), S::weight({70, 1, 3, 3}), S::none()}};
  for (const std::int32_t threads : {1, 2, 7}) {
    const PreparedCase both("pointwise_depthwise_simd", test, threads);
    for (std::int32_t thread = 0; thread < threads; ++thread) {
      const MemoryRange range = both.op().firstReads(thread);
      EXPECT_EQ(range.bytes, 16 * 20 * sizeof(float));
      EXPECT_TRUE(both.holds(range)) << threads << " threads, " << thread;
    }
  }
}

TEST(NextReads, ChangeNoResult) {
  const Case cases[] = {
      layer("convolution{result=u8}|mul(0)|relu|linear(20.0,3.0)", Dims{1, 96, 7, 7}, Dims{256, 96, 1, 1}),
      layer("convolution{padding=[1,1],result=u8}|mul(0)|relu|linear(20.0,3.0)", Dims{1, 64, 7, 7}, Dims{64, 64, 3, 3}),
      layer("convolution{result=u8,stride=[2,2]}|mul(0)|linear(20.0,3.0)", Dims{2, 64, 30, 30}, Dims{80, 64, 1, 1}),
      layer("convolution{padding=[3,3],result=u8,stride=[2,2]}|mul(0)|relu|linear(20.0,3.0)", Dims{1, 3, 40, 40},
            Dims{64, 3, 7, 7}),
  };
  for (const std::int32_t threads : {1, 2}) {
    const PreparedCase next("linear_simd_int8",
                            layer("linear{result=u8}|mul(0)|linear(20.0,3.0)", Dims{1, 2048}, Dims{1000, 2048}),
                            threads);
    for (const Case& test : cases) {
      const PreparedCase one("convolution_simd_int8", test, threads);
      EXPECT_EQ(one.result(&next.op(), threads), one.result(nullptr, threads)) << test.spec;
    }
  }
}

}  // namespace
}  // namespace ipex_studio::kernel_test
