// Arguments of forward that are no plain tensors: their text, and their conversion to the type that forward asks for.
#pragma once

#include <string>

#include "core/model/model.h"

namespace ipex_studio {

// Reads the VALUE of NAME=VALUE: None, true, 5, 1.5, "text" or a bare word, and any nesting of [lists], (tuples) and
// {key: value}. A tensor in it is written 2x3 or 5:int64[0,9] and made by `generator`, as makeInputs() does; `at` is
// the point in its size ranges. Lists and the values of dictionaries hold any types until asType() has seen them.
// Throws Error(kUsage).
torch::jit::IValue parseInputValue(const std::string& text, at::Generator& generator, double at);

// The text of a value; parseInputValue() reads it back but for the numbers in tensors, of which sizes and dtypes are
// written.
std::string inputValueText(const torch::jit::IValue& value);

// The value in the type of the argument `name`: an int where a float is asked for becomes one, a list of any types gets
// its element type. Throws Error(kUsage) if the value is of another type.
torch::jit::IValue asType(const torch::jit::IValue& value, const c10::TypePtr& type, const std::string& name);

// A tensor of a spec: seeded values of its sizes at the point `at`.
at::Tensor makeTensor(const InputSpec& spec, at::Generator& generator, double at);

// "float32" for at::kFloat: the names that specs take.
std::string dtypeText(at::ScalarType type);

}  // namespace ipex_studio
