// The one function of jemalloc's that we call; its header need not be installed.
#pragma once

#include <cstddef>

// Reads and writes the allocator's settings by name, as its manual lists them; 0 when it did. Null in a process without
// jemalloc (see ipex_allocator in CMakeLists.txt).
extern "C" int mallctl(const char* name, void* old_value, std::size_t* old_size, void* new_value, std::size_t new_size)
    __attribute__((weak));
