// Regions that meet inputs no plan can take: they run what they replaced, say so, and raise what it raises.
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <atomic>
#include <functional>
#include <thread>

#include "core/base/error.h"
#include "core/record/original_code_step.h"
#include "kernels/torch/plans/region.h"
#include "tests/kernels/torch/threads.h"

namespace ipex_studio {
namespace {

// A plan that takes the first inputs and refuses the second ones, and the code that takes both.
struct Refusal {
  const char* name;
  const char* plan;
  const char* code;
  std::vector<at::Tensor> constants;
  std::vector<at::Tensor> taken, refused;
  std::function<at::Tensor(const std::vector<at::Tensor>&)> eager;
};

const char kSumPlan[] = R"~({"plan":1,"inputs":[["f32",2],["f32",2]],"constants":[],"nodes":[
  {"op":"reshape{shape=[3,4]}","src":[0],"dst":[2],"name":"view","origins":[4,2]},
  {"op":"pointwise{}|add(0)|relu","src":[2,1],"dst":[3],"name":"sum","origins":[7]}],"outputs":[3]})~";

const char kSumCode[] = R"(graph(%0 : Tensor, %1 : Tensor):
  %2 : int = prim::Constant[value=1]()
  %3 : Tensor = aten::add(%0, %1, %2)
  %4 : Tensor = aten::relu(%3)
  return (%4)
)";

at::Tensor sumEager(const std::vector<at::Tensor>& x) { return at::relu(x[0] + x[1]); }

std::vector<Refusal> refusals() {
  at::manual_seed(2);
  const at::Tensor weight = at::randn({4, 3, 3, 3}), matrix = at::randn({5, 6});
  return {
      // The plan takes three rows; the sum takes one as well.
      {"sum",
       kSumPlan,
       kSumCode,
       {},
       {at::randn({3, 4}), at::randn({3, 4})},
       {at::randn({1, 4}), at::randn({3, 4})},
       sumEager},
      {"view",
       R"~({"plan":1,"inputs":[["f32",2]],"constants":[],"nodes":[
         {"op":"reshape{shape=[2,6]}","src":[0],"dst":[1],"name":"v","origins":[]},
         {"op":"pointwise{}|abs","src":[1],"dst":[2],"name":"a","origins":[]}],"outputs":[2]})~",
       R"(graph(%0 : Tensor):
  %1 : int = prim::Constant[value=2]()
  %2 : int = prim::Constant[value=-1]()
  %3 : int[] = prim::ListConstruct(%1, %2)
  %4 : Tensor = aten::reshape(%0, %3)
  %5 : Tensor = aten::abs(%4)
  return (%5)
)",
       {},
       {at::randn({4, 3})},
       {at::randn({4, 5})},
       [](const std::vector<at::Tensor>& x) {
         return x[0].reshape({2, -1}).abs();
       }},
      // A pixel less than the kernel is wide.
      {"convolution",
       R"~({"plan":1,"inputs":[["f32",4]],"constants":[{"dtype":"f32","sizes":[4,3,3,3]}],"nodes":[
         {"op":"convolution{dilation=[1,1],groups=1,padding=[0,0],stride=[1,1]}","src":[0,1,-1],"dst":[2],"name":"c",
          "origins":[]}],"outputs":[2]})~",
       R"(graph(%0 : Tensor, %1 : Tensor):
  %2 : int = prim::Constant[value=1]()
  %3 : int[] = prim::ListConstruct(%2, %2)
  %4 : int[] = prim::ListConstruct(%2, %2)
  %5 : NoneType = prim::Constant()
  %6 : Tensor = aten::conv2d(%0, %1, %5, %3, %4, %3, %2)
  return (%6)
)",
       {weight},
       {},
       {at::randn({1, 3, 2, 2})},
       [weight](const std::vector<at::Tensor>& x) { return at::conv2d(x[0], weight, {}, 1, 1); }},
      {"product",
       R"~({"plan":1,"inputs":[["f32",3],["f32",2]],"constants":[],"nodes":[
         {"op":"concat{axis=0}","src":[1,1],"dst":[2],"name":"j","origins":[]},
         {"op":"matmul{}","src":[0,2],"dst":[3],"name":"m","origins":[]}],"outputs":[3]})~",
       R"(graph(%0 : Tensor, %1 : Tensor):
  %2 : Tensor = aten::matmul(%0, %1)
  return (%2)
)",
       {},
       {},
       {at::randn({2, 3, 5}), matrix},
       [](const std::vector<at::Tensor>& x) { return at::matmul(x[0], x[1]); }},
  };
}

c10::intrusive_ptr<Region> regionOf(const Refusal& refusal) {
  auto region = c10::make_intrusive<Region>(refusal.plan, refusal.constants);
  region->setOriginalCode(refusal.code, {});
  return region;
}

at::Tensor runRegion(Region& region, const std::vector<at::Tensor>& inputs) {
  std::vector<const at::Tensor*> pointers;
  for (const at::Tensor& input : inputs) pointers.push_back(&input);
  at::Tensor result;
  region.run(pointers, {}, &result);
  return result;
}

bool close(const at::Tensor& a, const at::Tensor& b) {
  return a.sizes() == b.sizes() && at::allclose(a, b, 1e-5, 1e-6);
}

TEST(OriginalCode, RunsWhereNoPlanCan) {
  for (const Refusal& refusal : refusals()) {
    SCOPED_TRACE(refusal.name);
    const auto region = regionOf(refusal);
    std::vector<at::Tensor> before;
    for (const at::Tensor& input : refusal.refused) before.push_back(input.clone());
    for (int time = 0; time < 3; ++time) {
      if (!refusal.taken.empty()) {
        EXPECT_TRUE(close(runRegion(*region, refusal.taken), refusal.eager(refusal.taken)));
      }
      EXPECT_TRUE(close(runRegion(*region, refusal.refused), refusal.eager(refusal.refused)));
    }
    for (std::size_t i = 0; i < before.size(); ++i) EXPECT_TRUE(at::equal(before[i], refusal.refused[i]));
    EXPECT_EQ(region->plans().sizes().refused, 1u);
    EXPECT_EQ(region->plans().sizes().plans, refusal.taken.empty() ? 0u : 1u);
    Region without(refusal.plan, refusal.constants);
    EXPECT_THROW(runRegion(without, refusal.refused), Error);
  }
}

TEST(OriginalCode, SeveralThreadsAtOnce) {
  const testing::Threads one(1);
  for (const Refusal& refusal : refusals()) {
    const auto region = regionOf(refusal);
    const at::Tensor expected = refusal.eager(refusal.refused);
    std::atomic<int> wrong{0};
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&, t] {
        testing::Threads::set(1);
        for (int i = 0; i < 50; ++i) {
          wrong += !close(runRegion(*region, refusal.refused), expected);
          if (t % 2 == 0 && !refusal.taken.empty())
            wrong += !close(runRegion(*region, refusal.taken), refusal.eager(refusal.taken));
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(wrong, 0) << refusal.name;
  }
}

TEST(OriginalCode, ManySizesAreForgottenAgain) {
  Refusal refusal = refusals()[0];
  const auto region = regionOf(refusal);
  for (std::int64_t n = 2; n < 400; ++n) {
    const std::vector<at::Tensor> inputs{at::ones({1, 4}), at::ones({n, 4})};
    ASSERT_EQ(runRegion(*region, inputs).size(0), n);
  }
  EXPECT_LE(region->plans().sizes().refused, PlanCache::kMaxRefusals);
}

std::string errorOf(const std::function<void()>& work) {
  try {
    work();
  } catch (const c10::Error& error) {
    return error.what_without_backtrace();
  } catch (const std::exception& error) {
    return error.what();
  }
  return "";
}

TEST(OriginalCode, ErrorsAreThoseOfTheOriginal) {
  const auto region = regionOf(refusals()[0]);
  const std::vector<at::Tensor> wrong{at::ones({2, 4}), at::ones({3, 5})};
  for (int time = 0; time < 2; ++time)
    EXPECT_EQ(errorOf([&] { runRegion(*region, wrong); }), errorOf([&] { sumEager(wrong); }));
  // Values that a step refuses while it runs.
  const at::Tensor table = at::randn({3, 2}), good = at::tensor({0, 2}, at::kLong), bad = at::tensor({0, 7}, at::kLong);
  Region lookup(R"~({"plan":1,"inputs":[["s64",1]],"constants":[{"dtype":"f32","sizes":[3,2]}],"nodes":[
    {"op":"embedding{}","src":[0,1],"dst":[2],"name":"e","origins":[]}],"outputs":[2]})~",
                {table});
  lookup.setOriginalCode(R"(graph(%0 : Tensor, %1 : Tensor):
  %2 : int = prim::Constant[value=-1]()
  %3 : bool = prim::Constant[value=0]()
  %4 : Tensor = aten::embedding(%1, %0, %2, %3, %3)
  return (%4)
)",
                         {});
  for (int time = 0; time < 2; ++time) {
    EXPECT_TRUE(close(runRegion(lookup, {good}), at::embedding(table, good)));
    EXPECT_EQ(errorOf([&] { runRegion(lookup, {bad}); }), errorOf([&] { at::embedding(table, bad); }));
  }
  EXPECT_EQ(lookup.plans().sizes().refused, 0u) << "the sizes are fine";
}

// What was rewritten around the region relies on its types and ranks.
TEST(OriginalCode, DoesNotRunForOtherTypesOrRanks) {
  const auto region = regionOf(refusals()[0]);
  EXPECT_THROW(runRegion(*region, {at::ones({2, 4}, at::kDouble), at::ones({2, 4})}), Error);
  EXPECT_THROW(runRegion(*region, {at::ones({1, 2, 4}), at::ones({2, 4})}), Error);
  EXPECT_EQ(region->plans().sizes().refused, 0u);
}

TEST(OriginalCode, IsSavedWithTheRegion) {
  const Refusal refusal = refusals()[0];
  const auto region = regionOf(refusal);
  region->setOriginalCode(R"(graph(%0 : Tensor, %1 : Tensor, %2 : Tensor):
  %3 : Tensor = aten::mul(%1, %2)
  return (%3)
)",
                          {at::full({1}, 3.0)});
  const Region::State state = Region::stateFrom(c10::IValue(region->state()));
  Region loaded(std::get<0>(state), std::get<1>(state));
  loaded.setOriginalCode(std::get<5>(state), std::get<6>(state));
  EXPECT_TRUE(close(runRegion(loaded, refusal.refused), refusal.refused[1] * 3));
  // Files of before have none.
  const c10::IValue saved = region->state();
  std::vector<c10::IValue> parts;
  for (const c10::IValue& part : saved.toTupleRef().elements()) parts.push_back(part);
  parts.resize(5);
  const c10::IValue older = c10::ivalue::Tuple::create(std::move(parts));
  EXPECT_EQ(std::get<5>(Region::stateFrom(older)), "");
}

TEST(OriginalCode, IsAStepOfTheProfileWithItsReason) {
  const Refusal refusal = refusals()[0];
  const auto region = regionOf(refusal);
  runRegion(*region, refusal.taken);
  region->startProfile();
  for (int time = 0; time < 3; ++time) runRegion(*region, refusal.refused);
  const auto profile = nlohmann::json::parse(region->stopProfile());
  ASSERT_EQ(profile["steps"].size(), 1u);
  EXPECT_EQ(profile["steps"][0]["kernel"], kOriginalCodeKernel);
  EXPECT_EQ(profile["steps"][0]["name"], "view … sum");
  EXPECT_EQ(profile["steps"][0]["origins"], nlohmann::json({2, 4, 7}));
  EXPECT_EQ(profile["elapsed_ns"][0].size(), 3u);
  ASSERT_EQ(profile["dispatches"].size(), 2u);
  EXPECT_FALSE(profile["dispatches"][0]["chosen"]);
  EXPECT_NE(profile["dispatches"][0]["reason"].get<std::string>().find("cannot take these inputs: 'view'"),
            std::string::npos);
  EXPECT_TRUE(profile["dispatches"][1]["chosen"]);
}

TEST(OriginalCode, RunsNothingThatReachesFurther) {
  const Refusal refusal = refusals()[0];
  for (const char* body : {
           "  %2 : str = prim::Constant[value=\"/etc/hostname\"]()\n  %3 : NoneType = prim::Constant()\n"
           "  %4 : int = prim::Constant[value=4]()\n"
           "  %5 : Tensor = aten::from_file(%2, %3, %4, %3, %3, %3, %3)\n  return (%5)\n",
           "  %2 : int = prim::Constant[value=1]()\n  %3 : Tensor = aten::add_(%0, %1, %2)\n  return (%3)\n",
           "  %2 : int = prim::Constant[value=1]()\n  %3 : int[] = prim::ListConstruct(%2)\n"
           "  %4 : Tensor = aten::as_strided(%0, %3, %3, %2)\n  return (%4)\n",
           "  %2 : Tensor = aten::no_such_operator(%0)\n  return (%2)\n",
           "  return (%0, %1)\n",
           "  nothing of the kind\n",
       }) {
    Region region(refusal.plan, refusal.constants);
    region.setOriginalCode(std::string("graph(%0 : Tensor, %1 : Tensor):\n") + body, {});
    std::vector<at::Tensor> inputs{at::ones({1, 4}), at::ones({3, 4})};
    for (int time = 0; time < 2; ++time) {
      try {
        runRegion(region, inputs);
        ADD_FAILURE() << body;
      } catch (const Error& error) {
        EXPECT_EQ(error.code(), ExitCode::kBadModel) << body << error.what();
      }
    }
    EXPECT_TRUE(at::equal(inputs[0], at::ones({1, 4})));
  }
}

}  // namespace
}  // namespace ipex_studio
