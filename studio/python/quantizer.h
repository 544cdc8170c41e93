// Calibration and INT8 of one module for Python: ranges of its values from data or from a configuration file, and the
// modules that they give.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <pybind11/pybind11.h>

#include "core/quantization/calibrate.h"

namespace ipex_studio {

// Not thread-safe.
class Quantizer {
 public:
  // `inputs`: a tuple for forward. `observer`: as observerFromName() reads it.
  Quantizer(const torch::jit::Module& module, const pybind11::tuple& inputs, const std::string& observer,
            double smooth_alpha);

  // Runs the module and observes its values. Throws Error(kUsage) for a sample with NaN or infinity.
  void observe(const pybind11::tuple& inputs);
  std::int64_t calls() const { return calibrator_->calls(); }
  // Names of convolutions, linear layers and products of activations that may be INT8.
  std::vector<std::string> products() const;

  // The recipe of what was observed, as text. Throws Error(kUsage) if nothing was.
  std::string recipe() const;
  // The recipe that a configuration of Intel Extension for PyTorch means for this module. `observed`: a recipe whose
  // values stay where the file has none; may be empty. Throws Error(kUsage), which names `name`.
  std::string read(const std::string& text, const std::string& observed, const std::string& name) const;
  // A recipe as such a configuration; `list`: in the form of its versions before 1.12.
  std::string configuration(const std::string& recipe, bool list) const;

  // The module in INT8 as a recipe says: with plans, or as the bytes of a file with PyTorch's quantized tensors.
  torch::jit::Module planned(const std::string& recipe) const;
  pybind11::bytes portable(const std::string& recipe) const;

 private:
  torch::jit::Module module_;
  Inputs example_;
  double smooth_alpha_;
  CalibrationPlan plan_;
  std::unique_ptr<Calibrator> calibrator_;
};

}  // namespace ipex_studio
