// Tells whether a module is as it was when its plans were made: the same objects in its dictionaries, and tensors that
// nobody wrote to since.
#pragma once

#include <pybind11/pybind11.h>

#include <cstdint>
#include <vector>

#include "core/torch/torch_compat.h"

namespace ipex_studio {

// Not thread-safe: the interpreter's lock guards it.
class Watch {
 public:
  // `entries`: triples of a dictionary, a key and the value that stands under it. `empty`: dictionaries that are empty.
  Watch(const pybind11::list& entries, const pybind11::list& empty);
  // True if every value still stands under its key, those that are tensors have the contents that they had, and what
  // was empty is so.
  bool same() const;

 private:
  struct Entry {
    pybind11::dict dictionary;
    pybind11::object key, value;
    at::Tensor tensor;  // undefined where the value is none
    std::int64_t version = 0;
    const void* data = nullptr;
  };
  std::vector<Entry> entries_;
  std::vector<pybind11::dict> empty_;
};

}  // namespace ipex_studio
