// Promises that plans rely on beyond numbers: accumulation in place, packed constants shared through the cache, strided
// sources read where they lie, reasons for declining, and execution without allocations of ours.
#include <gtest/gtest.h>

#include <algorithm>

#include "core/runtime/machine_facts.h"
#include "kernels/common/parallel.h"
#include "kernels/kernel_list.h"
#include "tests/kernels/allocation_count.h"
#include "tests/kernels/harness.h"

namespace ipex_studio::kernel_test {
namespace {

struct Prepared {
  WeightCache cache;
  std::vector<std::unique_ptr<GuardedBytes>> constants;
  Problem problem;
  PrepareArgs args;
  std::unique_ptr<PreparedOp> op;
  std::string reason;
};

const KernelList& kernels() {
  static const std::unique_ptr<KernelList> list = makeKernelList();
  return *list;
}

// Prepares by the first kernel that accepts the case, except the reference; otherwise keeps the reason of the last
// kernel for its dtypes and groups.
void prepareFirst(const Case& test, Prepared* p) {
  p->problem = makeProblem(test);
  p->args = makeArgs(test, p->problem, Conditions(), &p->cache, &p->constants);
  const auto& candidates = kernels().candidates(p->problem.spec.kind, DeviceKind::kCpu);
  for (std::size_t k = 0; k + 1 < candidates.size() && !p->op; ++k) {
    if (candidates[k]->onlyWhenMeasured()) continue;
    const Verdict verdict = candidates[k]->supports(p->args);
    if (verdict.reason != "dtype" && verdict.reason != "groups") p->reason = verdict.reason;
    if (verdict.ok) p->op = candidates[k]->prepare(p->args, &p->reason);
  }
}

using S = Source;

TEST(Contract, DyingSummandIsAccumulatedInPlace) {
  std::vector<const char*> specs{"convolution{}|add(0)|relu"};
  // Below AVX-512 the library accumulates before an activation only.
  if (machineFacts().isa.rfind("avx512", 0) == 0) specs.push_back("convolution{}|relu|add(0)");
  for (const char* spec : specs) {
    Prepared p;
    prepareFirst({spec, {S::of({1, 32, 8, 8}), S::weight({64, 32, 1, 1}), S::none(), S::dying({1, 64, 8, 8})}}, &p);
    ASSERT_TRUE(p.op) << p.reason;
    EXPECT_EQ(p.op->in_place_src, 3) << spec;
    EXPECT_TRUE(p.op->src[3].sameLayout(p.op->dst[0]));
  }
  Prepared p;
  prepareFirst({"linear{}|add(0)", {S::of({7, 32}), S::weight({64, 32}), S::none(), S::dying({7, 64})}}, &p);
  ASSERT_TRUE(p.op) << p.reason;
  EXPECT_EQ(p.op->in_place_src, 3);
}

TEST(Contract, LivingSummandIsLeftAlone) {
  Prepared p;
  prepareFirst(
      {"convolution{}|add(0)", {S::of({1, 32, 8, 8}), S::weight({64, 32, 1, 1}), S::none(), S::of({1, 64, 8, 8})}}, &p);
  ASSERT_TRUE(p.op) << p.reason;
  EXPECT_EQ(p.op->in_place_src, -1);
}

TEST(Contract, BroadcastSummandIsNeverInPlace) {
  Prepared p;
  prepareFirst(
      {"convolution{}|add(0)", {S::of({1, 32, 8, 8}), S::weight({64, 32, 1, 1}), S::none(), S::dying({1, 64, 1, 1})}},
      &p);
  ASSERT_TRUE(p.op) << p.reason;
  EXPECT_EQ(p.op->in_place_src, -1);
}

TEST(Contract, ConstantsArePackedOnce) {
  const Case test{"convolution{padding=[1,1]}", {S::of({1, 32, 8, 8}), S::weight({64, 32, 3, 3}), S::weight({64})}};
  Prepared p;
  prepareFirst(test, &p);
  ASSERT_TRUE(p.op) << p.reason;
  EXPECT_TRUE(p.op->packed[1]);
  EXPECT_FALSE(p.op->packed[0]);
  const std::size_t bytes = p.cache.bytes();
  EXPECT_GE(bytes, 64u * 32 * 9 * 4);
  Prepared again;
  again.args = p.args;
  for (const Kernel* kernel : kernels().candidates(OpKind::kConvolution, DeviceKind::kCpu)) {
    if (!again.op && kernel->supports(p.args).ok) again.op = kernel->prepare(p.args, &again.reason);
  }
  ASSERT_TRUE(again.op);
  EXPECT_EQ(p.cache.bytes(), bytes);
}

TEST(Contract, PostOpsThatNoImplementationTakesAreDeclinedByName) {
  Prepared p;
  prepareFirst({"convolution{}|erf", {S::of({1, 32, 8, 8}), S::weight({64, 32, 1, 1}), S::none()}}, &p);
  EXPECT_FALSE(p.op);
  EXPECT_EQ(p.reason, "post-ops");
  Prepared q;
  prepareFirst({"linear{}|add(0)", {S::of({2, 3, 8}), S::weight({8, 8}), S::none(), S::of({2, 1, 8})}}, &q);
  EXPECT_FALSE(q.op);
  EXPECT_EQ(q.reason, "post-ops");
}

TEST(Contract, EveryKindEndsInItsReference) {
  for (int kind = 0; kind <= static_cast<int>(OpKind::kCast); ++kind) {
    const auto& candidates = kernels().candidates(static_cast<OpKind>(kind), DeviceKind::kCpu);
    ASSERT_FALSE(candidates.empty());
    EXPECT_EQ(candidates.back()->name(), std::string(opKindName(static_cast<OpKind>(kind))) + "_ref");
  }
}

// The list selects by device, so that no kernel has to.
TEST(Contract, NoKernelIsListedForTwoDevices) {
  for (int kind = 0; kind < kOpKindCount; ++kind) {
    const auto& host = kernels().candidates(static_cast<OpKind>(kind), DeviceKind::kCpu);
    for (const Kernel* other : kernels().candidates(static_cast<OpKind>(kind), DeviceKind::kXpu))
      EXPECT_EQ(std::find(host.begin(), host.end(), other), host.end()) << other->name();
  }
}

// Describes [batch, sequence, heads, depth] seen as [batch, heads, sequence, depth].
TensorDesc headsView(std::int64_t batch, std::int64_t heads, std::int64_t sequence, std::int64_t depth) {
  TensorDesc desc = contiguousDesc(DType::kF32, Dims{batch, heads, sequence, depth});
  desc.strides = Dims{sequence * heads * depth, depth, heads * depth, 1};
  return desc;
}

// Runs the first kernel on sources in these layouts, which it must accept without a copy.
void expectReadsWhereItLies(const Case& test, const std::vector<TensorDesc>& layouts) {
  const Problem problem = makeProblem(test);
  PrepareArgs args;
  args.spec = problem.spec;
  args.src = layouts;
  args.dst = problem.dst;
  args.constant.assign(layouts.size(), nullptr);
  args.src_dies.assign(layouts.size(), false);
  std::string reason;
  const auto op = kernels().candidates(problem.spec.kind, DeviceKind::kCpu).front()->prepare(args, &reason);
  ASSERT_TRUE(op) << reason;
  std::vector<GuardedBytes> memory;
  std::vector<const void*> src;
  for (std::size_t s = 0; s < layouts.size(); ++s) {
    memory.emplace_back(layouts[s].absent() ? 0 : layouts[s].bytes());
    src.push_back(memory.back().data());
    if (layouts[s].absent()) continue;
    EXPECT_TRUE(op->src[s].sameLayout(layouts[s]));
    writeTensor(layouts[s], problem.values[s], memory.back().data());
  }
  GuardedBytes y(op->dst[0].bytes());
  const Buffer scratch(op->scratch_bytes);
  void* dst[] = {y.data()};
  const auto state = op->newState();
  const ThreadCountScope one(1);
  op->execute(state.get(), src.data(), dst, scratch.data());
  const Values result = readTensor(op->dst[0], y.data());
  for (std::size_t i = 0; i < result.size(); ++i) ASSERT_NEAR(result[i], problem.expected[0][i], 1e-4);
}

TEST(Contract, AttentionHeadsAreReadWhereTheyLie) {
  expectReadsWhereItLies({"matmul{scale=0.125,transpose_b=1}", {S::of({2, 12, 32, 64}), S::of({2, 12, 32, 64})}},
                         {headsView(2, 12, 32, 64), headsView(2, 12, 32, 64)});
}

TEST(Contract, RowsAreNormalizedWhereTheyLie) {
  for (const char* spec :
       {"layer_norm{axes=1,eps=0.001}", "layer_norm{axes=1,eps=0.001,rms=1}", "layer_norm{axes=1,eps=0.001,l2=1}"}) {
    expectReadsWhereItLies({spec, {S::of({3, 4, 7, 40}), S::none(), S::none(), S::none()}},
                           {headsView(3, 4, 7, 40), TensorDesc(), TensorDesc(), TensorDesc()});
  }
}

TEST(Contract, LinearReadsRowsWithGaps) {
  const Case test{"linear{}", {S::of({3, 32}), S::weight({8, 32}), S::none()}};
  Prepared p;
  prepareFirst(test, &p);
  p.args.src[0].strides = Dims{96, 1};
  const auto& candidates = kernels().candidates(OpKind::kLinear, DeviceKind::kCpu);
  for (std::size_t k = 0; k + 1 < candidates.size(); ++k) {
    if (candidates[k]->onlyWhenMeasured()) continue;
    const auto op = candidates[k]->prepare(p.args, &p.reason);
    ASSERT_TRUE(op) << p.reason;
    EXPECT_EQ(op->src[0].strides[0], 96);
  }
}

TEST(Contract, FewRowsTakeTheirWeightsAsTheyAre) {
  Prepared p;
  prepareFirst({"linear{}|relu", {S::of({3, 32}), S::weight({8, 32}), S::weight({8})}}, &p);
  ASSERT_TRUE(p.op) << p.reason;
  EXPECT_FALSE(p.op->packed[1]);
  EXPECT_EQ(p.cache.bytes(), 0u);
  EXPECT_TRUE(p.op->may_alias);
  Prepared plain;
  prepareFirst({"linear{}", {S::of({3, 32}), S::weight({32, 32}), S::none()}}, &plain);
  ASSERT_TRUE(plain.op) << plain.reason;
  EXPECT_FALSE(plain.op->may_alias) << "the product would overwrite the rows that it still reads";
}

TEST(Contract, OnePixelIsReadInAnyLayoutWithDenseChannels) {
  Prepared p;
  prepareFirst({"convolution{}", {S::of({3, 20, 1, 1}), S::weight({8, 20, 1, 1}), S::none()}}, &p);
  ASSERT_TRUE(p.op) << p.reason;
  const Kernel& gemv = *kernels().candidates(OpKind::kConvolution, DeviceKind::kCpu).front();
  for (const TensorDesc& x :
       {blockedDesc(DType::kF32, Dims{3, 20, 1, 1}, 16), channelsLastDesc(DType::kF32, Dims{3, 20, 1, 1})}) {
    p.args.src[0] = x;
    const auto op = gemv.prepare(p.args, &p.reason);
    ASSERT_TRUE(op) << p.reason;
    EXPECT_TRUE(op->src[0].sameLayout(x)) << x.str();
  }
  p.args.src[0] = contiguousDesc(DType::kF32, Dims{3, 20, 1, 1});
  p.args.src[0].strides = Dims{80, 4, 1, 1};
  const auto op = gemv.prepare(p.args, &p.reason);
  ASSERT_TRUE(op) << p.reason;
  EXPECT_TRUE(op->src[0].isContiguous()) << "channels with gaps are copied";
}

TEST(Contract, SmallProductsDeclineByName) {
  const auto reasonOf = [](const Case& test) {
    const Problem problem = makeProblem(test);
    WeightCache cache;
    std::vector<std::unique_ptr<GuardedBytes>> constants;
    return kernels()
        .candidates(problem.spec.kind, DeviceKind::kCpu)
        .front()
        ->supports(makeArgs(test, problem, Conditions(), &cache, &constants))
        .reason;
  };
  EXPECT_EQ(reasonOf({"linear{}", {S::of({4, 8}), S::weight({8, 8}), S::none()}}), "rows");
  EXPECT_EQ(reasonOf({"convolution{}", {S::of({5, 8, 1, 1}), S::weight({8, 8, 1, 1}), S::none()}}), "rows");
  EXPECT_EQ(reasonOf({"convolution{}", {S::of({1, 8, 1, 2}), S::weight({8, 8, 1, 1}), S::none()}}), "not-one-pixel");
  EXPECT_EQ(
      reasonOf({"convolution{padding=[1,1],stride=[3,3]}", {S::of({1, 8, 1, 1}), S::weight({8, 8, 1, 1}), S::none()}}),
      "not-one-pixel");
  EXPECT_EQ(reasonOf({"convolution{groups=2}", {S::of({1, 8, 1, 1}), S::weight({8, 4, 1, 1}), S::none()}}),
            "not-one-pixel");
  EXPECT_EQ(reasonOf({"linear{}", {S::of({0, 8}), S::weight({8, 8}), S::none()}}), "empty");
}

// Number of allocations in one warm execution.
long allocationsOf(const Case& test) {
  Prepared p;
  prepareFirst(test, &p);
  EXPECT_TRUE(p.op) << test.spec << ": " << p.reason;
  if (!p.op) return 0;
  std::vector<Buffer> memory;
  std::vector<const void*> src;
  for (std::size_t s = 0; s < p.args.src.size(); ++s) {
    memory.emplace_back(p.args.src[s].absent() ? 0 : p.op->src[s].bytes());
    if (!p.args.src[s].absent()) writeTensor(p.op->src[s], p.problem.values[s], memory.back().data());
    src.push_back(memory.back().data());
  }
  const Buffer result(p.op->dst[0].bytes()), scratch(p.op->scratch_bytes);
  void* dst[] = {p.op->in_place_src >= 0 ? const_cast<void*>(src[p.op->in_place_src]) : result.data()};
  const auto state = p.op->newState();
  const ThreadCountScope one(1);
  p.op->execute(state.get(), src.data(), dst, scratch.data());
  const long before = allocationCount();
  p.op->execute(state.get(), src.data(), dst, scratch.data());
  return allocationCount() - before;
}

TEST(Contract, OwnKernelsAllocateNothing) {
  const Case own[] = {
      {"pointwise{}|add(0)|relu", {S::of({1, 17, 9, 9}), S::of({17, 1, 1})}},
      {"reduce{axes=[2,3],keepdim=1,mode=mean}", {S::of({1, 17, 9, 9})}},
      {"softmax{axis=-1}", {S::of({3, 40}), S::none()}},
      {"layer_norm{axes=1}", {S::of({3, 40}), S::none(), S::none(), S::none()}},
      {"group_norm{groups=2}", {S::of({3, 8, 5}), S::none(), S::none()}},
      {"concat{axis=1}", {S::of({3, 8}), S::of({3, 5})}},
      {"embedding{}", {S::ids({5}, 9), S::of({9, 4})}},
      {"embedding_bag{mode=sum}", {S::ids({5}, 9), S::offsets(2, 5), S::of({9, 4})}},
      {"embedding{scaled_rows=1}", {S::ids({5}, 9), S::scaledRows({9, 24})}},
      {"embedding_bag{mode=sum,scaled_rows=1}", {S::ids({5}, 9), S::offsets(2, 5), S::scaledRows({9, 24})}},
      {"linear{bits=4,depth=33,group=32}|add(0)",
       {S::of({2, 33}), S::nibbleWeight({9, 32}), S::scales({9, 2}), S::of({9})}},
      {"gather{axis=0}", {S::of({9, 4}), S::ids({5}, 9)}},
      {"upsample{mode=bilinear,output=[6,6]}", {S::of({1, 3, 4, 4})}},
      {"reorder{}", {S::of({3, 8})}},
      {"cast{dtype=f32}", {S::ids({5}, 9)}},
      {"linear{}|add(0)", {S::of({2, 33}), S::weight({9, 33}), S::weight({9}), S::of({9})}},
      {"convolution{}|relu", {S::of({1, 33, 1, 1}), S::weight({9, 33, 1, 1}), S::none()}},
  };
  for (const Case& test : own) EXPECT_EQ(allocationsOf(test), 0) << test.spec;
}

TEST(Contract, OnednnKernelsAllocateOnlyInsideTheLibrary) {
  const Case cases[] = {
      {"convolution{}|add(0)|relu",
       {S::of({1, 32, 8, 8}), S::weight({64, 32, 1, 1}), S::weight({64}), S::dying({1, 64, 8, 8})}},
      {"linear{}|relu", {S::of({7, 32}), S::weight({64, 32}), S::weight({64})}},
      {"matmul{}", {S::of({2, 7, 32}), S::of({2, 32, 5})}},
      {"pool{kernel=[2,2],mode=max,stride=[2,2]}", {S::of({1, 16, 8, 8})}},
  };
  constexpr long kLibrary = 12;
  for (const Case& test : cases) EXPECT_LE(allocationsOf(test), kLibrary) << test.spec;
}

}  // namespace
}  // namespace ipex_studio::kernel_test
