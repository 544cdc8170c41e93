// Version, instruction sets and primitive cache of the loaded oneDNN.
#pragma once

#include <string>

namespace ipex_studio {

// Version of the loaded library, such as "2.6.3".
std::string onednnVersion();

// The instruction sets that the library may generate code for, as its own number: "oneDNN instructions 0x3ff".
std::string onednnInstructions();

// Lowers the number of primitives that oneDNN caches for later equal requests, each with its generated code, from its
// default of 1024; a number from the environment (ONEDNN_PRIMITIVE_CACHE_CAPACITY) stays.
void limitPrimitiveCache(int primitives);

}  // namespace ipex_studio
