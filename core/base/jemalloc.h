// The one jemalloc function that is called; jemalloc's header need not be installed.
#pragma once

#include <cstddef>

// Reads and writes an allocator setting by its name in jemalloc's manual; returns 0 on success. Null in a process
// without jemalloc (see ipex_allocator in CMakeLists.txt).
extern "C" int mallctl(const char* name, void* old_value, std::size_t* old_size, void* new_value, std::size_t new_size)
    __attribute__((weak));
