// One case of a tests/passes/*.ir file. The format:
//
//   # pass: fold-batch-norm             name, or several separated by commas, or all; until the next such line
//   # case: folds into a convolution    one sentence, unique in the file
//   # const %W 0.1*randn(8,3,3,3)       a tensor constant of the graph
//   # input %n 3                        a value for an input; tensors default to randn of their type
//   # rerun: %x randn(2,3,9,7)          the numbers once more with other inputs
//   # refused: %x randn(2,4)            inputs that both graphs answer with an error
//   graph(%x : Float(1,3,8,8)):         the graph before
//     ...
//   # expect:                           the graph after follows; or `unchanged`; or `numbers`: any graph that gives
//                                       them
//   # const %W1 Float(8,3,3,3) sum=1 abs=2 mix=3      a constant that the pass made, by fingerprint
//   graph(%x : Float(1,3,8,8)):
//     ...
//   # remark: missed training-mode      must have been said: `applied`, `missed` with reason; `none`: nothing was said
//   # numeric: rtol=1e-5                the default; `none` where running makes no sense
//   # precision: bf16                   asked of the passes; fp32 where nothing is said
//   # decided: kind:double=fp32       one of OptimizeOptions::precision_overrides
//   # recipe: input:0=-2..2 :aten::relu#0=0..6     precision int8, values by key (core/quantization/recipe.h) and
//                                       range; `KEY=fp32` keeps an operation; mode=dynamic, mode=weight-only: no
//                                       values are needed, the latter with bits=4 group=32 levels=nf4; equalization=1:
//                                       layers are levelled; tensors=1: PyTorch's quantized tensors
//
// Any other line that begins with '#' is prose. Tensor values: [scale*][offset+]f(sizes)[:dtype] with f one of randn,
// rand, ones, zeros; full(value; sizes), randint(low, high; sizes), values(1,2,3) or values(1,2,3,4; 2,2), scalar(2.5).
#pragma once

#include <map>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "core/record/options.h"
#include "core/torch/torch_compat.h"

namespace ipex_studio {

// A fingerprint that distinguishes constants without printing them.
struct Fingerprint {
  at::ScalarType dtype = at::kFloat;
  std::vector<std::int64_t> sizes;
  double sum = 0;
  double abs = 0;
  double mix = 0;  // weighted by position, so that a permutation shows

  std::string text() const;  // "Float(8,3) sum=1 abs=2 mix=3"
  bool matches(const Fingerprint& other) const;
};

Fingerprint fingerprintOf(const at::Tensor& tensor);
Fingerprint parseFingerprint(const std::string& text);

struct IrCase {
  std::string file;  // path
  std::string name;  // "fold_batch_norm_01"
  std::string title;
  std::vector<std::string> passes;
  std::map<std::string, std::string> constants;  // name without '%', value expression
  std::map<std::string, std::string> inputs;
  std::vector<std::map<std::string, std::string>> reruns;
  std::vector<std::map<std::string, std::string>> refused;  // inputs for which both graphs throw
  std::vector<std::string> decided;
  std::string before;
  bool unchanged = false;
  bool any_graph = false;
  std::map<std::string, std::string> expected_constants;  // fingerprints
  std::string expected;
  std::vector<std::string> remarks;
  double rtol = 1e-5;
  Precision precision = Precision::kFp32;
  std::string recipe;  // as written
  bool numeric = true;
  std::string error;  // set if the text itself is wrong
};

inline void PrintTo(const IrCase& test, std::ostream* out) { *out << test.title; }

// All cases of a file; a malformed one carries `error`.
std::vector<IrCase> readCases(const std::string& path);

// Replaces the case's expectation in its file.
void blessCase(const IrCase& test, const std::string& expectation);

// Returns the value of an expression; the same for the same name and expression.
torch::jit::IValue evaluate(const std::string& name, const std::string& expression);

}  // namespace ipex_studio
