// Sizes that come for the first time: what computes them, when they get a plan, and what memory they leave behind.
#include "kernels/torch/plans/new_sizes.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <random>
#include <thread>

#include "core/torch/tensor_bridge.h"
#include "kernels/torch/plans/arena_pool.h"
#include "kernels/torch/plans/region.h"
#include "tests/kernels/torch/threads.h"
#include "tests/resident_memory.h"

namespace ipex_studio {
namespace {

using Answer = NewSizes::Answer;
using testing::Threads;

// softmax(relu(x + y)) over the last axis.
const char kPlan[] = R"~({"plan":1,"inputs":[["f32",2],["f32",2]],"constants":[],"nodes":[
  {"op":"pointwise{}|add(0)|relu","src":[0,1],"dst":[2],"name":"a","origins":[]},
  {"op":"softmax{axis=-1}","src":[2,-1],"dst":[3],"name":"s","origins":[]}],"outputs":[3]})~";
const char kCode[] = R"(graph(%0 : Tensor, %1 : Tensor):
  %2 : int = prim::Constant[value=1]()
  %3 : Tensor = aten::add(%0, %1, %2)
  %4 : Tensor = aten::relu(%3)
  %5 : int = prim::Constant[value=-1]()
  %6 : NoneType = prim::Constant()
  %7 : Tensor = aten::softmax(%4, %5, %6)
  return (%7)
)";

c10::intrusive_ptr<Region> makeRegion(const char* mode, const char* plan = kPlan, const char* code = kCode) {
  auto region = c10::make_intrusive<Region>(plan, std::vector<at::Tensor>());
  region->setOriginalCode(code, {});
  region->setNewSizes(mode, /*from_now_on=*/true);
  return region;
}

at::Tensor run(Region& region, const at::Tensor& x, const at::Tensor& y) {
  at::Tensor result;
  region.run({&x, &y}, {}, &result);
  return result;
}

bool isRight(const at::Tensor& result, const at::Tensor& x, const at::Tensor& y) {
  const at::Tensor expected = at::softmax(at::relu(x + y), -1);
  return result.sizes() == expected.sizes() && at::allclose(result, expected, 1e-5, 1e-6);
}

// --- the decision ----------------------------------------------------------------------------------------------------

const NewSizes::Target kTarget{1, 0};

// What has measured times of these, for work of 100: in runs of the original code, in runs of a plan, of preparing one.
std::unique_ptr<NewSizes> measured(double original_ns, double plan_ns, double preparing_ns,
                                   NewSizesMode mode = NewSizesMode::kReturning) {
  auto sizes = std::make_unique<NewSizes>(mode);
  EXPECT_EQ(sizes->ask(kTarget, 1, 100), Answer::kPrepare) << "the first of all";
  sizes->prepared(kTarget, 1'000'000'000);  // with all weights
  sizes->ranPlan(kTarget, 100, static_cast<std::int64_t>(plan_ns));
  EXPECT_EQ(sizes->ask(kTarget, 2, 100), Answer::kOriginalCode) << "to see how long it takes";
  sizes->ranOriginalCode(kTarget, 100, static_cast<std::int64_t>(original_ns));
  for (const std::uint64_t size : {3, 4}) {
    EXPECT_NE(sizes->ask(kTarget, size, 100), Answer::kOriginalCode) << "to see what preparing costs";
    sizes->prepared(kTarget, static_cast<std::int64_t>(preparing_ns));
    sizes->preparedBeside(size);
  }
  return sizes;
}

TEST(NewSizes, APlanIsPreparedOnceItIsWorthIt) {
  const auto sizes = measured(10'000, 7'000, 10'000);
  for (int run = 1; run <= 3; ++run) EXPECT_EQ(sizes->ask(kTarget, 5, 100), Answer::kOriginalCode) << run;
  EXPECT_TRUE(sizes->cameBack(5));
  EXPECT_EQ(sizes->ask(kTarget, 5, 100), Answer::kPrepare);
  EXPECT_FALSE(sizes->cameBack(4));
}

TEST(NewSizes, MoreWorkGainsMore) {
  const auto sizes = measured(10'000, 7'000, 10'000);
  EXPECT_EQ(sizes->ask(kTarget, 5, 500), Answer::kPrepare);
  EXPECT_EQ(sizes->ask(kTarget, 6, 200), Answer::kOriginalCode);
  EXPECT_EQ(sizes->ask(kTarget, 6, 200), Answer::kPrepare);
}

// Times may have been measured while the machine was busy.
TEST(NewSizes, NoVerdictIsForEver) {
  const auto losing = measured(10'000, 12'000, 10'000);
  int runs = 1;
  while (losing->ask(kTarget, 5, 100) == Answer::kOriginalCode && runs < 100) ++runs;
  EXPECT_EQ(runs, 16);
  const auto winning = measured(10'000, 1'000, 2'000);
  int looks = 0;
  for (std::uint64_t size = 10; size < 110; ++size)
    looks += winning->ask(kTarget, size, 100) == Answer::kOriginalCode ? 1 : 0;
  EXPECT_EQ(looks, 3);
}

TEST(NewSizes, OtherThreadsHaveTimesOfTheirOwn) {
  const auto sizes = measured(10'000, 7'000, 10'000);
  EXPECT_EQ(sizes->ask({2, 0}, 5, 100), Answer::kPrepare);
}

TEST(NewSizes, OneAtATimeIsPreparedBesideTheRuns) {
  const auto sizes = measured(10'000, 1'000, 2'000, NewSizesMode::kBackground);
  EXPECT_EQ(sizes->ask(kTarget, 5, 100), Answer::kPrepareBeside);
  EXPECT_EQ(sizes->ask(kTarget, 5, 100), Answer::kOriginalCode);
  EXPECT_EQ(sizes->preparingBeside(), 1u);
  sizes->preparedBeside(5);
  EXPECT_EQ(sizes->preparingBeside(), 0u);
}

// --- regions ---------------------------------------------------------------------------------------------------------

TEST(NewSizes, FirstAndLaterRunsAgree) {
  const Threads one(1);
  for (const char* mode : {"at-once", "returning", "background"}) {
    const auto region = makeRegion(mode);
    std::mt19937 random(3);
    for (int size = 0; size < 60; ++size) {
      const std::int64_t rows = 1 + static_cast<std::int64_t>(random() % 50);
      const at::Tensor x = at::randn({rows, 33}), y = at::randn({rows, 33});
      const at::Tensor first = run(*region, x, y);
      ASSERT_TRUE(isRight(first, x, y)) << mode << " " << rows;
      for (int again = 0; again < 3; ++again)
        ASSERT_TRUE(at::allclose(run(*region, x, y), first, 1e-5, 1e-6)) << mode << " " << rows;
    }
    EXPECT_GT(region->plans().sizes().plans, 0u) << mode;
    EXPECT_EQ(region->plans().sizes().refused, 0u) << mode;
  }
}

// The second size is the first that has no plan: it runs the original code, and no plan is left behind.
TEST(NewSizes, ASizeThatNeverComesBackLeavesNoPlan) {
  const Threads one(1);
  const auto region = makeRegion("returning");
  const at::Tensor x = at::randn({8, 16}), other = at::randn({9, 16});
  run(*region, x, x);
  EXPECT_EQ(region->plans().sizes().plans, 1u);
  EXPECT_TRUE(isRight(run(*region, other, other), other, other));
  EXPECT_EQ(region->plans().sizes().plans, 1u);
  const auto at_once = makeRegion("at-once");
  run(*at_once, x, x);
  run(*at_once, other, other);
  EXPECT_EQ(at_once->plans().sizes().plans, 2u);
}

TEST(NewSizes, ProfilesShowPlans) {
  const Threads one(1);
  const auto region = makeRegion("returning");
  const at::Tensor x = at::randn({8, 16}), other = at::randn({9, 16});
  run(*region, x, x);
  region->startProfile();
  run(*region, other, other);
  EXPECT_EQ(region->stopProfile().find("interpreter"), std::string::npos);
}

// Plans whose size came once hold a small part of the budget; those of sizes that came back stay.
TEST(NewSizes, PlansOfOneRunMakeRoom) {
  const Threads one(1);
  setPlanBudget(4 << 20);
  const auto region = makeRegion("returning");
  const at::Tensor kept = at::randn({3, 16});
  for (int i = 0; i < 3; ++i) run(*region, kept, kept);
  for (std::int64_t rows = 10; rows < 400; ++rows) {
    const at::Tensor x = at::randn({rows, 64});
    ASSERT_TRUE(isRight(run(*region, x, x), x, x)) << rows;
  }
  EXPECT_LE(region->plans().sizes().bytes, std::size_t{1} << 20);
  region->startProfile();
  EXPECT_TRUE(isRight(run(*region, kept, kept), kept, kept));
  region->stopProfile();
  setPlanBudget(kDefaultPlanBudgetBytes);
}

TEST(NewSizes, ManyThreadsMeetThem) {
  const Threads one(1);
  for (const char* mode : {"returning", "background"}) {
    setPlanBudget(2 << 20);
    const auto region = makeRegion(mode);
    std::atomic<int> wrong{0};
    std::vector<std::thread> threads;
    for (unsigned t = 0; t < 4; ++t) {
      threads.emplace_back([&, t] {
        Threads::set(1);
        std::mt19937 random(t);
        for (int i = 0; i < 300; ++i) {
          const std::int64_t rows = 1 + static_cast<std::int64_t>(random() % 40 * (random() % 40));
          const at::Tensor x = at::full({rows, 24}, 0.25 * t), y = at::rand({rows, 24});
          wrong += isRight(run(*region, x, y), x, y) ? 0 : 1;
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(wrong, 0) << mode;
    setPlanBudget(kDefaultPlanBudgetBytes);
  }
}

TEST(NewSizes, PlansComeInTheBackground) {
  const Threads one(1);
  const auto region = makeRegion("background");
  const at::Tensor first = at::randn({4, 1024}), x = at::randn({300, 1024});
  run(*region, first, first);
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (region->plans().sizes().plans < 2 && std::chrono::steady_clock::now() < deadline) {
    ASSERT_TRUE(isRight(run(*region, x, x), x, x));
  }
  EXPECT_EQ(region->plans().sizes().plans, 2u);
  EXPECT_TRUE(isRight(run(*region, x, x), x, x));
}

// Regions go while their plans are still to be prepared.
TEST(NewSizes, RegionsGoBeforeTheirPlansCome) {
  const Threads one(1);
  for (int region_number = 0; region_number < 20; ++region_number) {
    const auto region = makeRegion("background");
    for (std::int64_t rows = 1; rows < 12; ++rows) {
      const at::Tensor x = at::randn({rows, 512});
      run(*region, x, x);
    }
  }
}

// Results of the original code that are views, or inputs themselves, become tensors of their own, as plans give them.
TEST(NewSizes, ResultsShareNoMemory) {
  const Threads one(1);
  const auto region = makeRegion("returning", R"~({"plan":1,"inputs":[["f32",2],["f32",2]],"constants":[],"nodes":[
      {"op":"permute{order=[1,0]}","src":[0],"dst":[2],"name":"t","origins":[]}],"outputs":[2]})~",
                                 R"(graph(%0 : Tensor, %1 : Tensor):
  %2 : Tensor = aten::t(%0)
  return (%2)
)");
  const at::Tensor x = at::randn({3, 4}), other = at::randn({5, 4});
  for (const at::Tensor& input : {x, other}) {
    const at::Tensor result = run(*region, input, input), before = input.clone();
    EXPECT_TRUE(at::equal(result, before.t()));
    EXPECT_TRUE(result.is_contiguous());
    result.zero_();
    EXPECT_TRUE(at::equal(input, before));
  }
}

// The original code of what computes below FP32 rounds differently.
TEST(NewSizes, BelowFp32PlansComeAtOnce) {
  const Threads one(1);
  const auto region = makeRegion("returning", R"~({"plan":1,"inputs":[["f32",2],["f32",2]],"constants":[],"nodes":[
      {"op":"cast{dtype=bf16}","src":[0],"dst":[2],"name":"c","origins":[]}],"outputs":[2]})~",
                                 R"(graph(%0 : Tensor, %1 : Tensor):
  return (%0)
)");
  for (const std::int64_t rows : {2, 3, 4}) {
    const at::Tensor x = at::randn({rows, 4});
    EXPECT_EQ(run(*region, x, x).scalar_type(), at::kBFloat16);
  }
  EXPECT_EQ(region->plans().sizes().plans, 3u);
}

TEST(NewSizes, TheWayToMeetThemIsSaved) {
  const auto region = makeRegion("background");
  EXPECT_EQ(std::get<7>(Region::stateFrom(c10::IValue(region->state()))), "background");
  const c10::IValue saved = region->state();
  std::vector<c10::IValue> parts;
  for (const c10::IValue& part : saved.toTupleRef().elements()) parts.push_back(part);
  parts.resize(7);  // a file of before
  const auto older = makeRegion(std::get<7>(Region::stateFrom(c10::ivalue::Tuple::create(parts))).c_str());
  EXPECT_EQ(std::get<7>(older->state()), "returning");
}

// --- memory ----------------------------------------------------------------------------------------------------------

// Plans of 30 sizes compute in the memory of the largest.
TEST(NewSizes, SizesShareAnArena) {
  const Threads one(1);
  arenaPool().trim();
  PlanCache plans(planSpecFromText(R"~({"plan":1,"inputs":[["f32",2],["f32",2]],"constants":[],"nodes":[
      {"op":"matmul{}","src":[0,1],"dst":[2],"name":"m","origins":[]},
      {"op":"reduce{axes=[1],keepdim=0,mode=sum}","src":[2],"dst":[3],"name":"s","origins":[]}],"outputs":[3]})~"),
                  {});
  const at::Tensor y = at::randn({1, 1024});
  std::size_t before = 0;
  for (std::int64_t rows = 4096; rows > 4066; --rows) {
    const at::Tensor x = at::randn({rows, 1});
    at::Tensor result;
    plans.run({&x, &y}, {}, &result);
    ASSERT_TRUE(at::allclose(result, at::matmul(x, y).sum(1), 1e-3, 1e-2));
    if (rows == 4090) before = residentBytes();
  }
  EXPECT_EQ(plans.sizes().plans, 30u);
  EXPECT_LT(residentBytes(), before + (std::size_t{20} << 20)) << "an arena has 16 MB";
  EXPECT_LT(plans.sizes().bytes, std::size_t{8} << 20);
}

TEST(ArenaPool, GrowsAndGivesBack) {
  ArenaPool pool;
  ArenaPool::Arena* const small = pool.take(1 << 16, 0);
  ArenaPool::Arena* const other_node = pool.take(1 << 16, 1);
  EXPECT_NE(small, other_node);
  pool.giveBack(small);
  pool.giveBack(other_node);
  EXPECT_EQ(pool.take(1 << 15, 1), other_node);
  EXPECT_EQ(pool.take(1 << 15, 0), small);
  pool.giveBack(small);
  ArenaPool::Arena* const large = pool.take(1 << 20, 0);
  EXPECT_GE(large->memory.bytes(), std::size_t{1} << 20);
  pool.giveBack(large);
  pool.giveBack(other_node);
  pool.trim();
}

}  // namespace
}  // namespace ipex_studio
