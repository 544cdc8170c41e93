// Model: a loaded TorchScript file, and the specs and values of its inputs.
//
// Errors are core/base/error.h's unless something else is said. Different models may be used from
// several threads at once; calls on one Model, or on modules that share its parameters and state, may not.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/graph/origins.h"
#include "core/record/options.h"
#include "core/record/records.h"
#include "core/torch/torch_compat.h"

namespace ipex_studio {

// One argument of forward as the user wrote it or as it was guessed.
struct InputSpec {
  std::string name;  // argument name of forward; may be empty: by order
  // Tensor: sizes and dtype. A size range lo..hi means: verified at lo, hi and between; measured at lo.
  std::vector<std::pair<std::int64_t, std::int64_t>> sizes;  // {lo, hi}; equal where fixed
  std::string dtype = "float32";                             // "float32", "int64", "bool", "bfloat16", …
  std::int64_t low = 0, high = 0;                            // integer tensors: values in [low, high]; both 0: [0, 1]
  // Scalar: "5", "1.5", "true", "None". Tensor when empty.
  std::string value;
  bool guessed = false;

  std::string str() const;  // as the command line takes it: "x:1x3x224x224", "ids:1x128:int64[0,1000]"
};

// Reads NAME:1x3x224x224[:dtype][lo,hi], x:1..32x3x224x224, NAME=VALUE. Throws Error(kUsage).
InputSpec parseInputSpec(const std::string& text);

using Inputs = std::vector<torch::jit::IValue>;  // arguments of forward, without self

// Own memory for every tensor. Unlike IValue::deepcopy it keeps two views of one tensor apart (that gives the first view
// twice); writes through one of them no longer show in the other.
torch::jit::IValue copyValue(const torch::jit::IValue& value);

class Model {
 public:
  // Checks the file statically (core/file/pt_file.h), loads it through the same descriptor, sets eval mode.
  // Throws Error(kBadModel).
  static Model load(const std::string& path);
  static Model fromModule(torch::jit::Module module);

  torch::jit::Module& module() { return module_; }
  const std::string& path() const { return path_; }

  // Guess of forward's arguments: sizes from the first convolution, linear or embedding each tensor reaches, defaults
  // of the schema for the rest. Throws Error(kUsage) naming the flag to add when there is no guess.
  std::vector<InputSpec> guessInputs();
  // `given` in order or by name, the rest guessed. Throws Error(kUsage) on wrong names, numbers or types.
  std::vector<InputSpec> completeInputs(const std::vector<InputSpec>& given);

 private:
  torch::jit::Module module_;
  std::string path_;
};

// Seeded values for the specs; `at`: which point of the ranges (0: low, 1: high, between).
Inputs makeInputs(const std::vector<InputSpec>& specs, std::uint64_t seed, double at = 0);

// Tensors of a .pt list/dict/tuple, a recorded *.io.pt module (case 0), .npy or .npz, in order of forward.
Inputs readInputs(const std::string& path);

// Both leave `module` as it is and share its weights; `preserved` names methods and attributes that stay.
// The frozen form our passes start from: default freeze without its numeric folding, inlined, tuples lowered.
torch::jit::Module freezeForPasses(const torch::jit::Module& module, const std::vector<std::string>& preserved);
// The baseline: the model frozen by the default torch::jit::freeze.
torch::jit::Module freezeBaseline(const torch::jit::Module& module, const std::vector<std::string>& preserved);

// Runs the graph of a copy of `module` once on copies of `inputs` and writes the sizes and dtypes that were seen into the
// values' types. Throws Error(kUsage) when the number of inputs is wrong, and what libtorch throws when forward fails.
void recordShapes(torch::jit::Module& module, const Inputs& inputs);

}  // namespace ipex_studio
