#include "studio/python/quantizer.h"

#include <sstream>

#include "core/quantization/ipex_configuration.h"
#include "passes/optimize.h"
#include "studio/python/arguments.h"

namespace ipex_studio {

namespace py = pybind11;

namespace {

OptimizeOptions optionsFor(const std::string& recipe) {
  OptimizeOptions options;
  options.precision = Precision::kInt8;
  options.quantization_recipe = recipe;
  return options;
}

}  // namespace

Quantizer::Quantizer(const torch::jit::Module& module, const py::tuple& inputs, const std::string& observer,
                     double smooth_alpha)
    : module_(module), example_(argumentsOf(module, inputs)), smooth_alpha_(smooth_alpha) {
  OptimizeOptions options;
  options.calibrate = true;
  CalibrationOptions how;
  how.observer.kind = observerFromName(observer);
  how.bias_correction = false;  // configuration files hold ranges alone, and give the same module
  how.smooth_alpha = smooth_alpha;
  Observer silent;
  const py::gil_scoped_release others_may_run;
  OptimizedModel model = optimizeModel(module_, example_, options, silent);
  plan_ = *model.calibration;
  calibrator_ = std::make_unique<Calibrator>(model.module, plan_, how);
}

void Quantizer::observe(const py::tuple& inputs) {
  const Inputs arguments = argumentsOf(module_, inputs);
  const py::gil_scoped_release others_may_run;
  calibrator_->observe(arguments);
}

std::string Quantizer::recipe() const { return recipeToText(calibrator_->finish()); }

std::string Quantizer::read(const std::string& text, const std::string& observed, const std::string& name) const {
  const Recipe known = observed.empty() ? Recipe() : recipeFromText(observed, name);
  Recipe recipe = recipeFromIpexConfiguration(text, plan_, known, name);
  recipe.bias_correction = false;
  recipe.smooth_alpha = smooth_alpha_;
  return recipeToText(recipe);
}

std::vector<std::string> Quantizer::products() const {
  std::vector<std::string> names;
  for (const RecipeNode& node : plan_.candidates) {
    if (node.precision == "int8") names.push_back(node.module_path);
  }
  return names;
}

std::string Quantizer::configuration(const std::string& recipe, bool list) const {
  return ipexConfigurationText(recipeFromText(recipe), plan_, list ? IpexForm::kList : IpexForm::kDictionary);
}

torch::jit::Module Quantizer::planned(const std::string& recipe) const {
  const py::gil_scoped_release others_may_run;
  return optimize(module_, example_, optionsFor(recipe));
}

py::bytes Quantizer::portable(const std::string& recipe) const {
  std::ostringstream file;
  {
    const py::gil_scoped_release others_may_run;
    Recipe own = recipeFromText(recipe);
    own.quantized_tensors = true;
    OptimizeOptions options = optionsFor(recipeToText(own));
    options.plan_regions = false;
    Observer silent;
    exportModule(optimizeModel(module_, example_, options, silent), file, ExportForm::kPortable);
  }
  return py::bytes(file.str());
}

}  // namespace ipex_studio
