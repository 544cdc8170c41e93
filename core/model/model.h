// Model: a loaded TorchScript file, and the specs and values of its inputs.
//
// Errors are those of core/base/error.h unless something else is said. Several threads may use different models at
// once, but not one Model, nor modules that share its parameters and state.
#pragma once

#include <functional>
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
  // Sizes and dtype of a tensor. A size range lo..hi means: verified at lo, hi and between; measured at lo.
  std::vector<std::pair<std::int64_t, std::int64_t>> sizes;  // {lo, hi}; equal where fixed
  std::string dtype = "float32";                             // "float32", "int64", "bool", "bfloat16", …
  std::int64_t low = 0, high = 0;                            // integer tensors: values in [low, high]; both 0: [0, 1]
  // What is no plain tensor, as core/model/input_values.h reads it: "5", "1.5", "true", "None", "[2x3, 4x3]". Empty for
  // a tensor.
  std::string value;
  // The value itself, of a default or from a file; sizes, dtype and `value` then only describe it.
  std::optional<torch::jit::IValue> fixed;
  c10::TypePtr type;  // that forward asks for; null: not known
  bool guessed = false;

  bool ranged() const;  // True if it has a size range, also inside a value

  std::string str() const;  // as the command line takes it: "x:1x3x224x224", "ids:1x128:int64[0,1000]"
};

// Reads NAME:1x3x224x224[:dtype][lo,hi], x:1..32x3x224x224, NAME=VALUE; a VALUE is read when values are made. Throws
// Error(kUsage). Thread-safe.
InputSpec parseInputSpec(const std::string& text);

using Inputs = std::vector<torch::jit::IValue>;  // arguments of forward, without self

// Copies a value with its lists, tuples and dictionaries and what `change` makes of all else in it, in order.
torch::jit::IValue mapLeaves(const torch::jit::IValue& value,
                             const std::function<torch::jit::IValue(const torch::jit::IValue&)>& change);
// Replaces each tensor in any nesting of tuples, lists and dictionaries; objects stay as they are.
torch::jit::IValue mapTensors(const torch::jit::IValue& value,
                              const std::function<at::Tensor(const at::Tensor&)>& change);

// Copies a value with own memory for every tensor. Unlike IValue::deepcopy it separates two views of one tensor (that
// gives the first view twice), so writes through one of them no longer show in the other.
torch::jit::IValue copyValue(const torch::jit::IValue& value);

// A loaded module. Not thread-safe.
class Model {
 public:
  // Checks the file statically (core/file/pt_file.h), loads it through the same descriptor and brings it into the form
  // that runs here (core/model/loaded_form.h): eval mode, the CPU, FP32 for FP16. `method`: an exported
  // method that takes the place of forward (core/model/exported_methods.h); empty: none. Throws Error(kBadModel), and
  // Error(kUsage) if the model has no such method, or no forward and none was named.
  static Model load(const std::string& path, const std::string& method = "");
  static Model fromModule(torch::jit::Module module);  // shares the module; without a path

  // Brings operators that were recorded in training mode into evaluation mode (core/model/evaluation_mode.h).
  void evaluate();

  torch::jit::Module& module() { return module_; }
  const std::string& path() const { return path_; }
  // Sentences about what is not as in the file.
  const std::vector<std::string>& notes() const { return notes_; }
  // True if FP16 tensors of the file became FP32, as those of inputs then have to.
  bool readsFp16AsFp32() const { return reads_fp16_as_fp32_; }

  // Guesses forward's arguments: sizes from the first convolution, linear or embedding that each tensor reaches,
  // defaults of the schema for the rest. Throws Error(kUsage) naming the flag to add if there is no guess.
  std::vector<InputSpec> guessInputs();
  // Takes the `given` specs in order or by name and guesses the rest. Throws Error(kUsage) on wrong names, numbers or
  // types.
  std::vector<InputSpec> completeInputs(const std::vector<InputSpec>& given);

 private:
  torch::jit::Module module_;
  std::string path_;
  std::vector<std::string> notes_;
  bool reads_fp16_as_fp32_ = false;
};

// Makes seeded values for the specs. `at` is the point in the size ranges: 0 low, 1 high, values between them in
// proportion. Throws Error(kUsage) on a value that is not of the type that forward asks for.
Inputs makeInputs(const std::vector<InputSpec>& specs, std::uint64_t seed, double at = 0);

// Reads the tensors of a .pt list/dict/tuple, of a recorded *.io.pt module (case 0), or of .npy or .npz, in order of
// forward. Throws Error(kUsage) or Error(kBadModel).
Inputs readInputs(const std::string& path);

// Freezing leaves `module` as it is and shares its weights; `preserved` names methods and attributes that stay beside
// the exported methods, which always do.
// Makes the frozen form that our passes start from: default freeze without its numeric folding, inlined, tuples
// lowered.
torch::jit::Module freezeForPasses(const torch::jit::Module& module, const std::vector<std::string>& preserved);
// Makes the baseline: the model frozen by the default torch::jit::freeze.
torch::jit::Module freezeBaseline(const torch::jit::Module& module, const std::vector<std::string>& preserved);

// Runs the graph of a copy of `module` once on copies of `inputs` and writes the sizes and dtypes that it sees into the
// values' types. Throws Error(kUsage) if the number of inputs is wrong; passes on exceptions of libtorch if forward
// fails.
void recordShapes(torch::jit::Module& module, const Inputs& inputs);

}  // namespace ipex_studio
