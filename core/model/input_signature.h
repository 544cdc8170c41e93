// The arguments of forward before anything runs: their types, and what is known of their values.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/base/error.h"
#include "core/model/model.h"
#include "core/record/argument_record.h"

namespace ipex_studio {

// One entry per argument of forward, without self. Cheap: only types and first uses are looked at.
std::vector<ArgumentRecord> inputSignature(const torch::jit::Module& module);

// The flag that gives an argument its example: "--input x:1x3x224x224"; quoted where a shell would take parts of it for
// its own.
std::string exampleFlag(const ArgumentRecord& argument);

// The Error(kUsage) of an argument, counted without self, that was not given and cannot be guessed.
Error notGuessed(const torch::jit::Module& module, std::size_t argument);

// chooseInputs() finds the input of each argument as Model::completeInputs() does; nullopt where nothing was given and
// there is no guess. Throws Error(kUsage) on wrong names, numbers or types.
using InputChoices = std::vector<std::optional<InputSpec>>;
InputChoices chooseInputs(torch::jit::Module& module, const std::vector<InputSpec>& given);

}  // namespace ipex_studio
