// Plans as the operators run them: warm runs, many signatures, many threads, other numbers of threads.
#include "kernels/torch/plans/plan_cache.h"

#include <gtest/gtest.h>
#include <malloc.h>
#include <omp.h>

#include <cstdio>
#include <random>
#include <string>
#include <thread>

#include "core/base/error.h"
#include "core/runtime/cpu_sets.h"
#include "core/torch/tensor_bridge.h"
#include "tests/kernels/torch/call_count.h"
#include "tests/kernels/torch/threads.h"
#include "tests/resident_memory.h"

namespace ipex_studio {
namespace {

using testing::Threads;

// softmax(relu(x + y)) over the last axis: own kernels only, any sizes.
const char kPointwise[] = R"~({"plan":1,"inputs":[["f32",2],["f32",2]],"constants":[],"nodes":[
  {"op":"pointwise{}|add(0)|relu","src":[0,1],"dst":[2],"name":"a","origins":[]},
  {"op":"softmax{axis=-1}","src":[2,-1],"dst":[3],"name":"s","origins":[]}],"outputs":[3]})~";

at::Tensor pointwiseEager(const at::Tensor& x, const at::Tensor& y) { return at::softmax(at::relu(x + y), -1); }

// linear(mean(relu(conv(relu(conv(x)))))): the library's kernels, packed weights, an arena.
const char kConvolutions[] = R"~({"plan":1,"inputs":[["f32",4]],
  "constants":[{"dtype":"f32","sizes":[16,8,3,3]},{"dtype":"f32","sizes":[32,16,3,3]},{"dtype":"f32","sizes":[10,32]}],"nodes":[
  {"op":"convolution{dilation=[1,1],groups=1,padding=[1,1],stride=[1,1]}|relu","src":[0,1,-1],"dst":[4],"name":"c","origins":[]},
  {"op":"convolution{dilation=[1,1],groups=1,padding=[1,1],stride=[1,1]}|relu","src":[4,2,-1],"dst":[5],"name":"d","origins":[]},
  {"op":"reduce{axes=[2,3],keepdim=0,mode=mean}","src":[5],"dst":[6],"name":"m","origins":[]},
  {"op":"linear{}","src":[6,3,-1],"dst":[7],"name":"l","origins":[]}],"outputs":[7]})~";

std::vector<at::Tensor> convolutionWeights() {
  at::manual_seed(1);
  return {at::randn({16, 8, 3, 3}) / 6, at::randn({32, 16, 3, 3}) / 9, at::randn({10, 32}) / 4};
}

at::Tensor convolutionsEager(const at::Tensor& x, const std::vector<at::Tensor>& w) {
  const at::Tensor y = at::relu(at::conv2d(x, w[0], {}, 1, 1));
  return at::linear(at::relu(at::conv2d(y, w[1], {}, 1, 1)).mean({2, 3}), w[2]);
}

at::Tensor run(PlanCache& plans, const at::Tensor& x) {
  at::Tensor result;
  plans.run({&x}, {}, &result);
  return result;
}

double worst(const at::Tensor& a, const at::Tensor& b) { return (a - b).abs().max().item<double>(); }

TEST(PlanCache, WarmRunsAllocateAndLockNothing) {
  if (!testing::callsAreCounted()) GTEST_SKIP();
  const Threads one(1);
  PlanCache plans(planSpecFromText(kPointwise), {});
  const at::Tensor x = at::randn({8, 32}), y = at::randn({8, 32});
  at::Tensor result;
  for (int i = 0; i < 3; ++i) plans.run({&x, &y}, {}, &result);
  const TensorDesc desc = contiguousDesc(DType::kF32, Dims{8, 32});
  testing::CallCount for_results, for_runs;
  {
    const testing::CallCounter counter;
    for (int i = 0; i < 100; ++i) result = emptyTensor(desc);
    for_results = counter.count();
  }
  {
    const testing::CallCounter counter;
    for (int i = 0; i < 100; ++i) plans.run({&x, &y}, {}, &result);
    for_runs = counter.count();
  }
  EXPECT_GT(for_results.allocations, 0) << "nothing is counted";
  EXPECT_EQ(for_runs.allocations, for_results.allocations);
  EXPECT_EQ(for_runs.locks, for_results.locks);
  EXPECT_EQ(for_runs.locks, 0);
  EXPECT_LT(worst(result, pointwiseEager(x, y)), 1e-6);
}

TEST(PlanCache, ResultsHeldAcrossCallsStay) {
  PlanCache plans(planSpecFromText(kConvolutions), convolutionWeights());
  std::vector<at::Tensor> inputs, held;
  for (int i = 0; i < 10; ++i) {
    inputs.push_back(at::randn({1, 8, 9, 9}));
    held.push_back(run(plans, inputs.back()));
  }
  for (int i = 0; i < 10; ++i) EXPECT_LT(worst(held[i], convolutionsEager(inputs[i], plans.constants())), 1e-5) << i;
}

TEST(PlanCache, OtherNumbersOfThreadsAreOtherPlans) {
  const Threads restored(1);
  PlanCache plans(planSpecFromText(kConvolutions), convolutionWeights());
  const at::Tensor x = at::randn({2, 8, 24, 24});
  const at::Tensor expected = convolutionsEager(x, plans.constants());
  for (const int threads : {1, 2, 1, 4, 3, 2, 1}) {
    Threads::set(threads);
    for (int i = 0; i < 3; ++i) ASSERT_LT(worst(run(plans, x), expected), 1e-5) << threads;
    omp_set_num_threads(threads + 1);  // without libtorch's knowledge, as a library might
    ASSERT_LT(worst(run(plans, x), expected), 1e-5) << threads;
  }
  EXPECT_EQ(plans.sizes().plans, 5u);
}

TEST(PlanCache, RefusesAnotherNumberOfInputs) {
  PlanCache plans(planSpecFromText(kPointwise), {});
  const at::Tensor x = at::randn({2, 2});
  at::Tensor result;
  EXPECT_THROW(plans.run({&x}, {}, &result), Error);
  const std::int64_t size = 2;
  EXPECT_THROW(plans.run({&x, &x}, at::IntArrayRef(&size, 1), &result), Error);
}

// Threads run signatures that evict each other: each result is right although its plan may be gone by then.
TEST(PlanCache, DroppedPlansLiveUntilTheirRunsEnd) {
  setPlanBudget(256 << 10);
  PlanCache plans(planSpecFromText(kPointwise), {});
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      omp_set_num_threads(1);
      std::mt19937 random(static_cast<unsigned>(t));
      for (int i = 0; i < 300; ++i) {
        const at::Tensor x = at::full({1 + static_cast<int>(random() % 30), 8}, double(t)), y = at::ones_like(x);
        at::Tensor result;
        plans.run({&x, &y}, {}, &result);
        wrong += worst(result, at::full_like(x, 0.125)) < 1e-6 ? 0 : 1;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_LE(plans.sizes().bytes, 256u << 10);
  EXPECT_LT(plans.sizes().plans, 30u);
  setPlanBudget(kDefaultPlanBudgetBytes);
}

// Memory stays flat over many sizes: 5,000 in a campaign.
TEST(PlanCache, ManySizesLeaveMemoryFlat) {
  const Threads one(1);
  const bool campaign = std::getenv("IPEX_CAMPAIGN") != nullptr;
  const int shapes = campaign ? 5000 : 1000, settled = shapes * 3 / 5;
  setPlanBudget(16 << 20);
  PlanCache plans(planSpecFromText(kConvolutions), convolutionWeights());
  std::mt19937 random(7);
  std::size_t low = 0, high = 0;
  for (int i = 0; i < shapes; ++i) {
    const at::Tensor x = at::randn({1 + static_cast<int>(random() % 3), 8, 5 + static_cast<int>(random() % 60),
                                    5 + static_cast<int>(random() % 60)});
    const at::Tensor result = run(plans, x);
    if (i % 50 == 0) {
      ASSERT_LT(worst(result, convolutionsEager(x, plans.constants())), 1e-5) << i;
    }
    if (i < settled || i % 10 != 0) continue;
    const std::size_t now = residentBytes();
    low = low == 0 ? now : std::min(low, now);
    high = std::max(high, now);
  }
  const PlanCache::Sizes sizes = plans.sizes();
  std::printf(
      "%d sizes: resident %.1f to %.1f MB over the last %d; %zu plans of %.1f MB kept, %.2f MB of packed weights\n",
      shapes, low / 1e6, high / 1e6, shapes - settled, sizes.plans, sizes.bytes / 1e6, plans.packedBytes() / 1e6);
  EXPECT_LE(sizes.bytes, std::size_t{16} << 20);
  EXPECT_GT(sizes.plans, 10u);
  EXPECT_LT(static_cast<double>(high - low), 0.04 * static_cast<double>(low));  // ±2 %
  setPlanBudget(kDefaultPlanBudgetBytes);
}

// N instances at the same time: one set of packed weights, N arenas.
TEST(PlanCache, InstancesAddArenasNotWeights) {
  const Threads one(1);
  PlanCache plans(planSpecFromText(kConvolutions), convolutionWeights());
  const at::Tensor x = at::randn({4, 8, 64, 64});
  const at::Tensor expected = run(plans, x);
  const std::size_t weights = plans.packedBytes();
  ASSERT_GT(weights, 0u);
  const PlanCache::Sizes first = plans.sizes();
  std::size_t arena = 0;
  for (std::size_t instances = 2; instances <= 8; ++instances) {
    std::atomic<bool> enough{false};
    std::vector<std::thread> threads;
    for (std::size_t t = 0; t < instances; ++t) {
      threads.emplace_back([&] {
        omp_set_num_threads(1);
        while (!enough) EXPECT_TRUE(at::equal(run(plans, x), expected));
      });
    }
    while (plans.sizes().instances < instances) std::this_thread::yield();
    enough = true;
    for (std::thread& thread : threads) thread.join();
    const PlanCache::Sizes sizes = plans.sizes();
    ASSERT_EQ(sizes.plans, 1u);
    ASSERT_EQ(sizes.instances, instances);
    if (arena == 0) arena = sizes.bytes - first.bytes;
    EXPECT_EQ(sizes.bytes, first.bytes + (instances - 1) * arena);
    EXPECT_EQ(plans.packedBytes(), weights);
    std::printf("%zu instances: %zu bytes of packed weights, %zu bytes of arenas and tables\n", instances,
                plans.packedBytes(), sizes.bytes);
  }
}

// Weights are packed once per memory node, by a thread that works there; results and choices are the same.
TEST(PlanCache, EachMemoryNodeHasItsWeights) {
  const Threads one(1);
  PlanCache plans(planSpecFromText(kConvolutions), convolutionWeights());
  const at::Tensor x = at::randn({4, 8, 64, 64});
  const auto runOn = [&](int node) {
    at::Tensor result;
    std::thread([&] {
      omp_set_num_threads(1);
      setMemoryNode(node);
      result = run(plans, x);
    }).join();
    return result;
  };
  const at::Tensor expected = runOn(0);
  const std::size_t weights = plans.packedBytes();
  ASSERT_GT(weights, 0u);
  for (const int node : {0, 1, 1, kManyNodes, 0}) EXPECT_TRUE(at::equal(runOn(node), expected));
  EXPECT_EQ(plans.sizes().plans, 3u);
  EXPECT_EQ(plans.packedBytes(), 3 * weights);
}

// Returns the measured choices of a cache that runs `batch` images.
nlohmann::json measuredFor(std::int64_t batch, const std::vector<at::Tensor>& weights) {
  PlanCache plans(planSpecFromText(kConvolutions), weights);
  const auto tuning = c10::make_intrusive<Tuning>("quick", true, "");
  tuning->setBudget(0.5);
  plans.setTuning(tuning);
  run(plans, at::randn({batch, 8, 12, 12}));
  return nlohmann::json::parse(plans.tuningRecord());
}

// Eight images one at a time, as a record says, with the choices for one.
TEST(PlanCache, SlicesComeFromTheRecord) {
  const Threads one(1);
  const std::vector<at::Tensor> weights = convolutionWeights();
  nlohmann::json record = measuredFor(1, weights), batch = measuredFor(8, weights);
  int slices = 0;
  for (nlohmann::json& entry : batch["tuning"]) {
    if (entry["spec"].get<std::string>().rfind("slices of ", 0) != 0) continue;
    entry["candidates"][0]["node"] = 1;
    entry["candidates"][0]["reason"] = "";  // on a busy machine measuring may come to no decision
    record["tuning"].push_back(entry);
    ++slices;
  }
  ASSERT_EQ(slices, 1);
  PlanCache plans(planSpecFromText(kConvolutions), weights);
  plans.readTuning(record.dump());
  for (const std::int64_t images : {8, 5}) {
    const auto profile = std::make_shared<PlanProfile>();
    plans.setProfile(profile);
    const at::Tensor x = at::randn({images, 8, 12, 12});
    EXPECT_LT(worst(run(plans, x), convolutionsEager(x, weights)), 1e-4);
    plans.setProfile(nullptr);
    EXPECT_LT(worst(run(plans, x), convolutionsEager(x, weights)), 1e-4);
    for (const StepRecord& step : profile->steps)
      EXPECT_EQ(step.micro_batches, images == 8 ? 8 : 1) << step.name;  // the record says nothing about 5
  }
}

// Steps of several plans are not mistaken for each other, and samples are counted for the plan that ran.
TEST(PlanCache, ProfilesTellPlansApart) {
  const Threads one(1);
  const std::vector<at::Tensor> weights = convolutionWeights();
  PlanCache plans(planSpecFromText(kConvolutions), weights);
  const auto profile = std::make_shared<PlanProfile>();
  plans.setProfile(profile);
  for (const std::int64_t images : {2, 3, 2, 2}) run(plans, at::randn({images, 8, 12, 12}));
  ASSERT_EQ(profile->plan_begins.size(), 2u);
  const std::size_t second = profile->plan_begins[1];
  ASSERT_EQ(profile->elapsed_ns.size(), profile->steps.size());
  for (std::size_t step = 0; step < profile->steps.size(); ++step) {
    EXPECT_EQ(profile->steps[step].index, static_cast<std::int32_t>(step));
    EXPECT_EQ(profile->elapsed_ns[step].size(), step < second ? 3u : 1u);
    EXPECT_EQ(profile->steps[step].dst_shape.front(), step < second ? '2' : '3');
  }
  for (std::int64_t images = 4; images < 30; ++images) run(plans, at::randn({images, 8, 12, 12}));
  EXPECT_EQ(profile->plan_begins.size(), 8u);
  plans.setProfile(nullptr);
}

// Batches of 1 to 20 share the plans of the buckets, results keep their own sizes, larger batches have their own plans.
TEST(PlanCache, BatchesRunInBuckets) {
  const Threads one(1);
  const std::vector<at::Tensor> weights = convolutionWeights();
  PlanCache plans(planSpecFromText(kConvolutions), weights);
  plans.setBatchBuckets({4, 16});
  for (const std::int64_t batch : {3, 1, 4, 2, 15, 16, 5, 3, 20}) {
    const at::Tensor x = at::randn({batch, 8, 12, 12});
    const at::Tensor result = run(plans, x);
    ASSERT_EQ(result.sizes(), (std::vector<std::int64_t>{batch, 10}));
    EXPECT_LT(worst(result, convolutionsEager(x, weights)), 1e-4) << batch;
  }
  EXPECT_EQ(plans.sizes().plans, 3u);  // 4, 16, 20
  EXPECT_THROW(plans.setBatchBuckets({4, 2}), Error);
  EXPECT_THROW(plans.setBatchBuckets({0}), Error);
}

// Sequences of 1 to 20 positions share the plans of the buckets; running sums see what comes before alone.
TEST(PlanCache, LengthsRunInBuckets) {
  const Threads one(1);
  const at::Tensor weight = at::randn({6, 5});
  PlanCache plans(
      planSpecFromText(R"({"plan":1,"inputs":[["f32",3]],"constants":[{"dtype":"f32","sizes":[6,5]}],"nodes":[
      {"op":"linear{}|relu","src":[0,1,-1],"dst":[2],"name":"l","origins":[]},
      {"op":"cumulative_sum{axis=1}","src":[2],"dst":[3],"name":"c","origins":[]}],"outputs":[3]})"),
      {weight});
  plans.setLengthBuckets({4, 16});
  EXPECT_EQ(plans.lengthBuckets(), (std::vector<std::int64_t>{4, 16}));
  EXPECT_TRUE(plans.batchBuckets().empty());
  for (const std::int64_t length : {3, 1, 4, 2, 15, 16, 5, 3, 20}) {
    const at::Tensor x = at::randn({3, length, 5});
    const at::Tensor result = run(plans, x);
    ASSERT_EQ(result.sizes(), (std::vector<std::int64_t>{3, length, 6}));
    EXPECT_LT(worst(result, at::relu(at::linear(x, weight)).cumsum(1)), 1e-5) << length;
  }
  EXPECT_EQ(plans.sizes().plans, 3u);  // 4, 16, 20
}

// Where a position depends on later ones each length has its own plan, and results are right.
TEST(PlanCache, LengthsThatMixRunAlone) {
  const Threads one(1);
  PlanCache plans(planSpecFromText(R"({"plan":1,"inputs":[["f32",3]],"constants":[],"nodes":[
      {"op":"softmax{axis=1}","src":[0,-1],"dst":[1],"name":"s","origins":[]}],"outputs":[1]})"),
                  {});
  plans.setLengthBuckets({8});
  for (const std::int64_t length : {3, 5, 8}) {
    const at::Tensor x = at::randn({2, length, 4});
    EXPECT_LT(worst(run(plans, x), at::softmax(x, 1)), 1e-5) << length;
  }
  EXPECT_EQ(plans.sizes().plans, 3u);
}

// Threads that meet new sizes at the same time, while plans are dropped.
TEST(PlanCache, BucketsServeManyThreads) {
  const Threads one(1);
  setPlanBudget(64 << 10);
  PlanCache plans(planSpecFromText(kPointwise), {});
  plans.setBatchBuckets({4, 8});
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < 4; ++t) {
    threads.emplace_back([&plans, t] {
      omp_set_num_threads(1);
      std::mt19937 random(t);
      for (int turn = 0; turn < 200; ++turn) {
        const std::int64_t batch = 1 + static_cast<std::int64_t>(random() % 10),
                           width = 1 + static_cast<std::int64_t>(random() % 6);
        const at::Tensor x = at::full({batch, width}, 0.5),
                         y = at::arange(batch * width, at::kFloat).view({batch, width});
        at::Tensor result;
        plans.run({&x, &y}, {}, &result);
        ASSERT_EQ(result.sizes(), x.sizes());
        ASSERT_LT(worst(result, pointwiseEager(x, y)), 1e-6);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  setPlanBudget(kDefaultPlanBudgetBytes);
}

// Values that a call leaves in a plan's padding are gone in the next call.
TEST(PlanCache, PaddingForgetsTheCallBefore) {
  const char kLookup[] = R"~({"plan":1,"inputs":[["s64",2]],"constants":[{"dtype":"f32","sizes":[5,4]}],"nodes":[
    {"op":"embedding{}","src":[0,1],"dst":[2],"name":"e","origins":[]}],"outputs":[2]})~";
  const at::Tensor table = at::randn({5, 4});
  PlanCache plans(planSpecFromText(kLookup), {table});
  plans.setBatchBuckets({8});
  const at::Tensor wrong = at::full({7, 2}, 9, at::kLong), right = at::full({3, 2}, 4, at::kLong);
  EXPECT_THROW(run(plans, wrong), Error);
  EXPECT_TRUE(at::equal(run(plans, right), at::embedding(table, right)));
  EXPECT_EQ(plans.sizes().plans, 1u);
}

// A batch whose samples meet is never padded.
TEST(PlanCache, SamplesThatMeetHavePlansOfTheirOwn) {
  const char kMean[] = R"~({"plan":1,"inputs":[["f32",2]],"constants":[],"nodes":[
    {"op":"reduce{axes=[0],keepdim=1,mode=mean}","src":[0],"dst":[1],"name":"m","origins":[]}],"outputs":[1]})~";
  PlanCache plans(planSpecFromText(kMean), {});
  plans.setBatchBuckets({8});
  for (const std::int64_t batch : {3, 5, 3, 8}) {
    const at::Tensor x = at::randn({batch, 6});
    EXPECT_LT(worst(run(plans, x), x.mean(0, true)), 1e-6);
  }
  EXPECT_EQ(plans.sizes().plans, 3u);
}

}  // namespace
}  // namespace ipex_studio
