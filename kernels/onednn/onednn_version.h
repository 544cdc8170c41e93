// Version, instruction sets and primitive cache of the loaded oneDNN.
#pragma once

#include <string>

namespace ipex_studio {

// "2.6.3", of the library that was loaded.
std::string onednnVersion();

// The instruction sets it may generate code for, as its number for them: "oneDNN instructions 0x3ff".
std::string onednnInstructions();

// oneDNN caches primitives for later equal requests, 1024 of them by default, each with its generated code. Lowers that
// number to `primitives`; a number from the environment (ONEDNN_PRIMITIVE_CACHE_CAPACITY) stays.
void limitPrimitiveCache(int primitives);

}  // namespace ipex_studio
