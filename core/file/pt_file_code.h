// Lists the names that the code of a TorchScript file uses: classes, methods, operators, and calls that reach beyond
// tensors.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/file/pt_file.h"

namespace ipex_studio {

// Reads one `code/**.py` member as text, without judging its grammar, and adds to the report's classes, functions,
// operators and findings. `module` is the dotted name its path stands for ("__torch__.torch.nn.modules.conv").
// `where` begins complaints. Throws Error(kBadModel) for text that is not plain UTF-8 or nests its brackets or blocks
// so deep that libtorch's recursive parser would end the process.
void readCode(std::string_view text, const std::string& member, const std::string& module, const std::string& where,
              PtFileReport* report);

// The finding for a class of C++ ("quantized::LinearPackedParamsBase"), without its member; nullopt for ours.
std::optional<Finding> classFinding(const std::string& name);

}  // namespace ipex_studio
