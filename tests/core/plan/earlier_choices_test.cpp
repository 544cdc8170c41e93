// Plans of one spec take over what was prepared for earlier ones, and only that.
#include "core/plan/earlier_choices.h"

#include <gtest/gtest.h>

#include <cmath>

#include "core/plan/plan.h"
#include "tests/core/plan/all_kernels.h"

namespace ipex_studio {
namespace {

using testing::kernels;

// A decoder's step: what is new goes through a layer and behind the rows that are cached.
class GrowingCache : public ::testing::Test {
 protected:
  GrowingCache() : matrix_(16 * 16) {
    for (std::size_t i = 0; i < matrix_.size(); ++i) matrix_[i] = std::sin(static_cast<float>(i * i % 97));
    spec_ = planSpecFromText(
        R"({"plan":1,"inputs":[["f32",2],["f32",2]],"constants":[{"dtype":"f32","sizes":[16,16]}],"nodes":[
           {"op":"linear{}|relu","src":[0,2,-1],"dst":[3],"name":"new","origins":[]},
           {"op":"concat{axis=0}","src":[1,3],"dst":[4],"name":"cache","origins":[]},
           {"op":"linear{}|tanh","src":[3,2,-1],"dst":[5],"name":"next","origins":[]}],"outputs":[4,5]})");
  }

  // Computes the step with `rows` cached ones.
  std::vector<std::vector<float>> step(std::int64_t rows, EarlierChoices* earlier, int threads = 1) {
    PlanRequest request;
    request.tensor_inputs = {contiguousDesc(DType::kF32, Dims{1, 16}), contiguousDesc(DType::kF32, Dims{rows, 16})};
    request.int_inputs = {0, 0};
    request.constants = {matrix_.data()};
    request.target.threads = threads;
    request.earlier = earlier;
    const auto plan = Plan::compile(spec_, request, kernels(), weights_);
    std::vector<float> now(16), cached(static_cast<std::size_t>(rows * 16));
    for (std::size_t i = 0; i < now.size(); ++i) now[i] = std::cos(static_cast<float>(i));
    for (std::size_t i = 0; i < cached.size(); ++i) cached[i] = static_cast<float>(i);
    std::vector<std::vector<float>> results{std::vector<float>(cached.size() + 16), std::vector<float>(16)};
    const void* const from[] = {now.data(), cached.data()};
    void* const to[] = {results[0].data(), results[1].data()};
    Plan::Instance(*plan).run(from, to);
    return results;
  }

  std::vector<float> matrix_;
  PlanSpec spec_;
  WeightCache weights_;
};

TEST_F(GrowingCache, PreparesWhatChangesOnly) {
  EarlierChoices earlier;
  step(5, &earlier);
  const std::size_t prepared = earlier.size();
  ASSERT_GE(prepared, 3u);
  EXPECT_EQ(earlier.found(), 0u);
  for (std::int64_t rows = 6; rows < 9; ++rows) {
    const std::size_t found = earlier.found(), known = earlier.size();
    EXPECT_EQ(step(rows, &earlier), step(rows, nullptr));
    EXPECT_GE(earlier.found() - found, 2u) << "the two layers";
    EXPECT_LE(earlier.size() - known, prepared - 2) << "the cache";
  }
}

TEST_F(GrowingCache, KeepsNothingThatPlansNoLongerAskFor) {
  EarlierChoices earlier;
  step(5, &earlier);
  const std::size_t prepared = earlier.size();
  for (std::int64_t rows = 6; rows < 100; ++rows) step(rows, &earlier);
  EXPECT_LE(earlier.size(), prepared * 2 * EarlierChoices::kPlans);
  earlier.clear();
  EXPECT_EQ(earlier.size(), 0u);
}

TEST_F(GrowingCache, OtherThreadsAndWeightsAreAskedForAnew) {
  EarlierChoices earlier;
  step(5, &earlier);
  const auto results = step(5, &earlier, 2);
  EXPECT_EQ(earlier.found(), 0u);
  EXPECT_EQ(results, step(5, nullptr, 2));
  std::vector<float> others = matrix_;
  for (float& value : others) value *= 2;
  others.swap(matrix_);  // at another address
  EXPECT_EQ(step(5, &earlier), step(5, nullptr));
}

}  // namespace
}  // namespace ipex_studio
