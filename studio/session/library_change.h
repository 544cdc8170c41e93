// Changes to the library of models and jobs: names, pins, and what is forgotten.
#pragma once

#include <string>

#include "profiler/database.h"
#include "studio/snapshot/commands.h"

namespace ipex_studio {

// Does what the command says; returns a sentence about it. Throws Error.
std::string changeLibrary(const LibraryCommand& command, Database& database);

}  // namespace ipex_studio
