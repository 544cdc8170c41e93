// Inputs from files, read statically: nothing in a file is run, and libtorch's unpickler sees none of it.
#pragma once

#include <string>
#include <vector>

#include "core/model/model.h"

namespace ipex_studio {

struct NamedInputs {
  std::vector<std::string> names;  // per value; empty: by order
  Inputs values;
};

// Reads a `.pt` that torch.save or torch::save wrote (a tensor, or a list, tuple or dict of arguments: tensors,
// numbers, texts, None, and lists, tuples and dicts of them; a dict names its arguments, lists and dicts inside them
// hold any types until asType() of input_values.h has seen them), a recorded `*.io.pt` (its first case), `.npy`, or
// `.npz` (names as in the archive; "arr_0", "arr_1" … mean by order). The first bytes tell the kind of file. Throws
// Error(kUsage) or Error(kBadModel) with one sentence.
NamedInputs readNamedInputs(const std::string& path);

struct RecordedCase {
  std::string name;   // "case0", "step2"
  bool step = false;  // the cases are steps of one sequence, in order, from the model's first state
  Inputs inputs;
  std::vector<at::Tensor> expected;
};

// Reads all cases of a recorded `*.io.pt`: a saved module whose buffers are case0_in0, case0_out0 … or step0_in0 …
// Returns nothing for any other kind of input file. Throws Error as above.
std::vector<RecordedCase> readRecordedCases(const std::string& path);

}  // namespace ipex_studio
