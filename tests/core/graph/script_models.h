// Makes small TorchScript models from source, and compares their optimized forms with them.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "core/model/verify.h"
#include "core/record/warning_reasons.h"
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

// Optimizes for inputs[0], then compares on all inputs, with regions and without.
inline OptimizedModel expectSame(const Module& module, const std::vector<Inputs>& inputs,
                                 const OptimizeOptions& options = {}) {
  Inputs example;
  for (const IValue& input : inputs[0]) example.push_back(copyValue(input));
  OptimizedModel result;
  try {
    result = optimized(module, example, options);
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      EXPECT_EQ(difference(module, result.module, inputs[i]), "")
          << "with regions, inputs " << i << "\n"
          << result.module.get_method("forward").graph()->toString(false);
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
