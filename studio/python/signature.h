// What a plan depends on in arguments that are all plain tensors, as a text to look plans up by.
#pragma once

#include <pybind11/pybind11.h>

namespace ipex_studio {

// Dtypes and ranks, with `sizes` also the sizes, as bytes. None if an argument is no dense tensor on the CPU, or one
// whose gradient is wanted.
pybind11::object signatureOf(const pybind11::tuple& arguments, bool sizes);

}  // namespace ipex_studio
