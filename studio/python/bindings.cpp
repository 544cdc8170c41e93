// The Python extension ipex_studio._engine: modules and values of Python in, planned modules out.
//
// Modules come and go as torch._C.ScriptModule, which torch's own pybind11 knows; the package wraps them for users.
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>
#include <torch/csrc/jit/python/pybind_utils.h>

#include "core/base/error.h"
#include "core/extension/declare_extension.h"
#include "core/extension/mixed_norms.h"
#include "core/extension/refused_bf16.h"
#include "core/extension/write_out_extension.h"
#include "core/model/model.h"
#include "core/quantization/grouped_weights.h"
#include "core/record/options.h"
#include "core/runtime/machine_facts.h"
#include "passes/optimize.h"
#include "studio/python/arguments.h"
#include "studio/python/quantizer.h"
#include "studio/python/signature.h"
#include "studio/python/tuned_plan.h"
#include "studio/python/watch.h"

namespace ipex_studio {
namespace {

namespace py = pybind11;

TuneMode tuneModeOf(const std::string& name) {
  if (name == "off") return TuneMode::kOff;
  if (name == "quick") return TuneMode::kQuick;
  if (name == "full") return TuneMode::kFull;
  throw Error(ExitCode::kUsage, "tune is 'off', 'quick' or 'full', not '" + name + "'.");
}

int writeOutForPython(const torch::jit::Module& module) {
  const int operators = writeOutExtension(module);
  if (operators > 0) {
    widenMixedNorms(module);
    widenRefusedBf16(module);
  }
  return operators;
}

torch::jit::Module optimizeForPython(const torch::jit::Module& module, const py::object& given, const std::string& tune,
                                     bool bf16) {
  OptimizeOptions options;
  options.tune = tuneModeOf(tune);
  options.precision = bf16 ? Precision::kBf16 : Precision::kFp32;
  const Inputs example = argumentsOf(module, given);
  const py::gil_scoped_release others_may_run;
  return optimize(module, example, options);
}

std::unique_ptr<TunedPlan> tunedPlanForPython(const torch::jit::Module& module, const py::tuple& given,
                                              const std::string& record, double budget_s) {
  const Inputs example = argumentsOf(module, given);
  const py::gil_scoped_release others_may_run;
  return std::make_unique<TunedPlan>(module, example, record, budget_s);
}

void throwInPython(std::exception_ptr problem) {
  try {
    std::rethrow_exception(problem);
  } catch (const Error& error) {
    const py::object type = py::module_::import("ipex_studio.errors").attr("Error");
    PyErr_SetObject(type.ptr(), type(error.what(), static_cast<int>(error.code())).ptr());
  }
}

PYBIND11_MODULE(_engine, m) {
  m.doc() = "Plans of ipex-studio for modules of TorchScript; ipex_studio is the interface.";
  py::register_local_exception_translator(throwInPython);
  m.def("optimize", &optimizeForPython, py::arg("module"), py::arg("inputs"), py::arg("tune"), py::arg("bf16"),
        "Returns a frozen copy of a torch._C.ScriptModule in eval mode whose static parts are plans. `inputs`: a tuple "
        "for forward, or None to guess them.");
  m.def(
      "has_bf16", [] { return machineCapabilities().bf16; }, "True if this CPU multiplies BF16.");
  m.def("declare_extension", &declareExtension,
        "Declares names of Intel Extension for PyTorch, so that files that hold them load.");
  m.def("write_out_extension", &writeOutForPython, py::arg("module"),
        "Replaces operators and packed layers of Intel Extension for PyTorch in a torch._C.ScriptModule; returns the "
        "number of operators.");
  m.def("signature_of", &signatureOf, py::arg("arguments"), py::arg("sizes"),
        "Dtypes, ranks and sizes of plain tensors as bytes; None for other arguments.");
  py::class_<Quantizer>(m, "Quantizer", "Calibration and INT8 of one torch._C.ScriptModule.")
      .def(py::init<const torch::jit::Module&, const py::tuple&, const std::string&, double>(), py::arg("module"),
           py::arg("inputs"), py::arg("observer"), py::arg("smooth_alpha"))
      .def("observe", &Quantizer::observe, py::arg("inputs"))
      .def_property_readonly("calls", &Quantizer::calls)
      .def_property_readonly("products", &Quantizer::products)
      .def("recipe", &Quantizer::recipe)
      .def("read", &Quantizer::read, py::arg("text"), py::arg("observed"), py::arg("name"))
      .def("configuration", &Quantizer::configuration, py::arg("recipe"), py::arg("list"))
      .def("planned", &Quantizer::planned, py::arg("recipe"))
      .def("portable", &Quantizer::portable, py::arg("recipe"));
  m.attr("NF4_LEVELS") = py::cast(std::vector<float>(kNf4Levels.begin(), kNf4Levels.end()));
  py::class_<TunedPlan>(m, "TunedPlan",
                        "A planned torch._C.ScriptModule that chooses kernels by measuring in its first run.")
      .def(py::init(&tunedPlanForPython), py::arg("module"), py::arg("inputs"), py::arg("record"), py::arg("budget_s"))
      .def_property_readonly("module", &TunedPlan::module)
      .def("measured", &TunedPlan::measured, "The times that `record` did not hold, as the text of one.")
      .def("measuring_seconds", &TunedPlan::measuringSeconds);
  py::class_<Watch>(m, "Watch", "Watches dictionaries of modules, given as (dictionary, key, value), and empty ones.")
      .def(py::init<const py::list&, const py::list&>(), py::arg("entries"), py::arg("empty"))
      .def("same", &Watch::same, "True if nothing was replaced or written to since.");
}

}  // namespace
}  // namespace ipex_studio
