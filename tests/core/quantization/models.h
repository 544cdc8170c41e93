// Small networks in the manner of well-known ones, with seeded weights, and helpers of the tests.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "core/quantization/calibrate.h"
#include "core/record/warning_reasons.h"
#include "passes/optimize.h"

namespace ipex_studio {

struct RemarkLog : Observer {
  std::vector<Remark> remarks;
  std::vector<PassRecord> passes;
  void onRemark(const Remark& remark) override {
    EXPECT_NE(remark.reason, kLeftOutReason) << remark.text;
    remarks.push_back(remark);
  }
  void onPass(const PassRecord& record) override { passes.push_back(record); }
  std::vector<std::string> reasonsOf(const std::string& pass) const {
    std::vector<std::string> found;
    for (const Remark& remark : remarks) {
      if (remark.pass == pass) found.push_back(remark.reason);
    }
    return found;
  }
};

torch::jit::Module residualNetwork();     // convolutions, residual sums, pools, linear; input 2x3x16x16
torch::jit::Module mobileNetwork();       // depthwise, hardswish, a gate per channel, concatenation; input 2x3x16x16
torch::jit::Module transformerNetwork();  // attention, layer norms, GELU; input 2x6x32

at::Tensor imageBatch(unsigned seed);
at::Tensor tokenBatch(unsigned seed);

struct Calibrated {
  Recipe recipe;
  std::shared_ptr<const CalibrationPlan> plan;
};
Calibrated calibrate(const torch::jit::Module& module, const std::vector<Inputs>& data,
                     const CalibrationOptions& options = {});

OptimizedModel quantized(const torch::jit::Module& module, const Inputs& example, const Recipe& recipe,
                         RemarkLog* log = nullptr, std::int32_t weight_bits = 8);

double cosineOf(const at::Tensor& a, const at::Tensor& b);
double sqnrOf(const at::Tensor& actual, const at::Tensor& reference);

}  // namespace ipex_studio
