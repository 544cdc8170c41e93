// Makes small TorchScript models from source, and compares their optimized forms with them.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "core/lower/region_object.h"
#include "core/op/plan_spec.h"
#include "core/record/warning_reasons.h"
#include "core/verify/verify.h"
#include "passes/optimize.h"

namespace ipex_studio::testing {

using torch::jit::IValue;
using torch::jit::Module;

using Weights = std::vector<std::pair<std::string, at::Tensor>>;

// Makes a module in eval mode with `weights` as parameters, `state` as tensor attributes, and the methods of `source`.
inline Module scriptModule(const std::string& source, const Weights& weights = {}, const Weights& state = {}) {
  Module module("M");
  module.register_attribute("training", c10::BoolType::get(), false);
  for (const auto& [name, tensor] : weights) module.register_parameter(name, tensor, false);
  for (const auto& [name, tensor] : state) module.register_attribute(name, c10::TensorType::get(), tensor);
  module.define(source);
  return module;
}

inline at::Tensor weight(at::IntArrayRef sizes) { return at::randn(sizes) / 3; }

inline IValue call(Module& module, const Inputs& inputs) {
  const torch::NoGradGuard no_grad;
  return module.forward(inputs);
}

// Fails the test where a pass was left out, since results are right then, too.
struct WholePipeline : Observer {
  void onRemark(const Remark& remark) override { EXPECT_NE(remark.reason, kLeftOutReason) << remark.text; }
};

inline OptimizedModel optimized(const Module& module, const Inputs& example, const OptimizeOptions& options = {}) {
  WholePipeline observer;
  return optimizeModel(module, example, options, observer);
}

// Returns the sentence about the difference; empty if there is none.
inline std::string difference(const IValue& actual, const IValue& expected) {
  for (const AccuracyRecord& record : compareOutputs(actual, expected, nullptr)) {
    if (!record.pass) return record.text;
  }
  return {};
}

// Runs both on their own copies of `inputs`.
inline std::string difference(const Module& original, Module& candidate, const Inputs& inputs) {
  Module eager = original.deepcopy();
  Inputs for_eager, for_candidate;
  for (const IValue& input : inputs) for_eager.push_back(copyValue(input));
  for (const IValue& input : inputs) for_candidate.push_back(copyValue(input));
  const IValue expected = call(eager, for_eager);
  const std::string results = difference(call(candidate, for_candidate), expected);
  if (!results.empty()) return results;
  for (std::size_t i = 0; i < inputs.size(); ++i) {  // results written into inputs count, too
    const std::string input = difference(for_candidate[i], for_eager[i]);
    if (!input.empty()) return "input " + std::to_string(i) + ": " + input;
  }
  return {};
}

// A copy of the module in which no plan can be made for any inputs, so that each region runs its original code.
inline Module withRefusedPlans(const Module& module) {
  Module copy = module.clone();
  for (std::size_t r = 0; copy.hasattr("region_" + std::to_string(r)); ++r) {
    const std::string name = "region_" + std::to_string(r);
    const IValue saved = callRegion(module.attr(name), "__getstate__");
    std::vector<IValue> state;
    for (const IValue& part : saved.toTupleRef().elements()) state.push_back(part);
    PlanSpec plan = planSpecFromText(state.at(0).toStringRef());
    PlanNode refused;
    refused.op = parseOpSpec("reshape{shape=[1000003]}");
    refused.src = {0};
    refused.name = "refused";
    while (refused.src[0] < static_cast<std::int32_t>(plan.inputs.size()) &&
           plan.inputs[static_cast<std::size_t>(refused.src[0])].is_int)
      ++refused.src[0];
    plan.nodes.clear();
    plan.outputs.assign(plan.outputs.size(), 0);
    for (std::int32_t& output : plan.outputs) {
      output = static_cast<std::int32_t>(plan.inputs.size() + plan.constants.size() + plan.nodes.size());
      refused.dst = {output};
      plan.nodes.push_back(refused);
    }
    const IValue region = makeRegionObject(planSpecToText(plan), state.at(1).toTensorVector());
    EXPECT_NE(state.at(5).toStringRef(), "") << name << " has no original code";
    setOriginalCode(region, state.at(5).toStringRef(), state.at(6).toTensorVector());
    copy.setattr(name, region);
  }
  return copy;
}

// Optimizes for inputs[0], then compares on all inputs: with regions, without regions, and with regions whose plans are
// refused.
inline OptimizedModel expectSame(const Module& module, const std::vector<Inputs>& inputs,
                                 const OptimizeOptions& options = {}) {
  Inputs example;
  for (const IValue& input : inputs[0]) example.push_back(copyValue(input));
  OptimizedModel result;
  try {
    result = optimized(module, example, options);
    Module refused = withRefusedPlans(result.module);
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      EXPECT_EQ(difference(module, result.module, inputs[i]), "")
          << "with regions, inputs " << i << "\n"
          << result.module.get_method("forward").graph()->toString(false);
      EXPECT_EQ(difference(module, refused, inputs[i]), "")
          << "with refused plans, inputs " << i << "\n"
          << result.rewritten.get_method("forward").graph()->toString(false);
      EXPECT_EQ(difference(module, result.rewritten, inputs[i]), "")
          << "without regions, inputs " << i << "\n"
          << result.rewritten.get_method("forward").graph()->toString(false);
    }
  } catch (const std::exception& problem) {
    ADD_FAILURE() << problem.what();
  }
  return result;
}

inline int regionsIn(const Module& module) {
  int regions = 0;
  for (const auto& attribute : module.named_attributes(false)) regions += attribute.name.rfind("region_", 0) == 0;
  return regions;
}

}  // namespace ipex_studio::testing
