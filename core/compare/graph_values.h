// Questions about single values of a graph that comparing two graphs asks again and again.
#pragma once

#include <torch/csrc/jit/ir/ir.h>

namespace ipex_studio {

// True for results of nodes that compute: no constants, no inputs.
bool isComputed(const torch::jit::Value* value);

// True if both are constants of the same kind, sizes, dtype and elements. Objects are not looked into.
bool equalConstants(const torch::jit::Value* a, const torch::jit::Value* b);

// The same of two values. Thread-safe.
bool equalValues(const torch::jit::IValue& a, const torch::jit::IValue& b);

}  // namespace ipex_studio
