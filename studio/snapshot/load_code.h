// The lines that load and run an exported file in another program.
#pragma once

#include <string>
#include <vector>

#include "studio/snapshot/snapshot_work.h"

namespace ipex_studio {

// `inputs`: of the model, for an example call; values that are no tensors of a plain kind stay names.
std::string pythonCode(const ExportResult& file, const std::vector<InputRecord>& inputs);
std::string cppCode(const ExportResult& file, const std::vector<InputRecord>& inputs);

}  // namespace ipex_studio
