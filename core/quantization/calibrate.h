// Calibrator: runs a model over data and makes a recipe of the value ranges it sees.
//
//   OptimizeOptions options;
//   options.calibrate = true;                             // FP32, fused and planned; precision stays kFp32
//   OptimizedModel model = optimizeModel(module, example, options, observer);
//   Calibrator calibrator(model.module, *model.calibration, {});
//   for (...) calibrator.observe(inputs);                 // one call per batch
//   write(path, calibrator.state());                      // now and then: restore() goes on from there
//   OptimizeOptions quantized;
//   quantized.precision = Precision::kInt8;
//   quantized.quantization_recipe = recipeToText(calibrator.finish());
//
// Values are observed inside the running plans, in the layouts they have there, before they are overwritten: memory
// does not grow with the data. Not thread-safe; the module must not run elsewhere meanwhile.
#pragma once

#include <memory>
#include <string>

#include "core/model/model.h"
#include "core/quantization/calibration_plan.h"

namespace ipex_studio {

struct CalibrationOptions {
  ObserverOptions observer;
  bool bias_correction = true;  // recorded in the recipe, applied by insert-quantize
  double smooth_alpha = 0.5;    // 0: no SmoothQuant
  bool equalization = false;    // the module was optimized with OptimizeOptions::equalize; recorded in the recipe
  int channel_calls = 16;       // number of first calls that statistics per channel come from
};

class Calibrator {
 public:
  // `module` was optimized with OptimizeOptions::calibrate, which also made `plan`.
  Calibrator(torch::jit::Module module, CalibrationPlan plan, CalibrationOptions options);
  ~Calibrator();
  Calibrator(const Calibrator&) = delete;
  Calibrator& operator=(const Calibrator&) = delete;

  // Runs forward and returns its result. Throws Error(kUsage) before running if a float input holds NaN or infinity
  // (the state stays as before: leave the sample out), Error(kFailure) if the model fails.
  torch::jit::IValue observe(const Inputs& inputs);
  std::int64_t calls() const;

  // Writes all observations so far as JSON text, and reads them back. restore() throws Error(kUsage) if the text is
  // damaged or comes from another model or other options; the state then stays as before.
  std::string state() const;
  void restore(const std::string& text);

  // Makes the recipe. Throws Error(kUsage) if nothing was observed. Values that held NaN or infinity, or were never
  // seen, are left out with all nodes that need them; those nodes give the reason.
  Recipe finish() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace ipex_studio
