// An interpreter of plan specs without layouts or arenas.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/plan/plan.h"
#include "tests/core/plan/random_plan.h"

namespace ipex_studio::testing {

// Random changes to every result of every step, by up to `relative` of the result's largest value.
struct Noise {
  double relative = 0;
  std::uint64_t seed = 0;
};

// Runs node by node with the last kernel of each kind's list, on dense copies. Empty if a shape does not fit.
std::optional<std::vector<Tensor>> interpret(const PlanSpec& spec, const std::vector<Tensor>& inputs,
                                             const std::vector<std::int64_t>& ints,
                                             const std::vector<Tensor>& constants, const KernelList& kernels,
                                             const Noise& noise = {});

// Makes the request of a plan for these inputs; `channels_last`: the layout of inputs with four dimensions.
PlanRequest requestFor(const RandomPlan& plan, const std::vector<Tensor>& inputs, bool channels_last, int threads);

// Names the results that differ by more than 2e-4 of their largest value; empty if there are none.
std::string difference(const std::vector<std::vector<float>>& actual, const std::vector<Tensor>& expected);

// True if rounding explains the distance of `actual` from `expected`. A step whose sums of some hundred terms are added
// in another order is off by about 2^-20 of its largest value, and later steps may magnify that (a normalization of
// nearly equal values tenfold). Each result may therefore be off by eight times as much as noise of that size in every
// step moves it.
bool withinRounding(const RandomPlan& plan, const std::vector<Tensor>& inputs, const KernelList& kernels,
                    const std::vector<std::vector<float>>& actual, const std::vector<Tensor>& expected);

// The results of one run, in the order of the plan's outputs, in memory that was NaN.
std::vector<std::vector<float>> runOnce(Plan::Instance& instance, const Plan& plan, const std::vector<Tensor>& inputs);

}  // namespace ipex_studio::testing
