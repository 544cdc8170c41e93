// Changes to a freshly loaded module before it runs here: evaluation mode, the CPU, a dtype that the CPU computes in,
// operators of PyTorch.
#pragma once

#include <string>
#include <vector>

#include "core/torch/torch_compat.h"

namespace ipex_studio {

struct PtFileReport;

// Reasons to look through all code of a module, which is compiled by that: code that is never called may name operators
// that this libtorch lacks.
struct FormHints {
  bool names_gpu = false;
  bool holds_fp16 = false;
  bool holds_bf16 = false;
  bool of_extension = false;       // written by Intel Extension for PyTorch
  bool has_own_operators = false;  // calls operators of other libraries that are computed here
};

// What the inspection of the file tells.
FormHints formHints(const PtFileReport& report);

// The note that does not hold for a training.
extern const char* const kTrainingModeNote;

struct LoadedForm {
  std::vector<std::string> notes;  // a sentence about each change
  bool fp16_as_fp32 = false;       // FP16 tensors became FP32, so inputs have to
};

// Changes the module in place; its methods keep their names and arguments. Not thread-safe.
LoadedForm bringIntoForm(torch::jit::Module& module, const FormHints& hints);

// Replaces the dtype `from` by `to` where an operator of the graph takes a dtype.
void changeDtypes(torch::jit::Graph& graph, at::ScalarType from, at::ScalarType to);

}  // namespace ipex_studio
