// The generator that models draw random numbers from. Not thread-safe beside models that draw.
#pragma once

#include <cstdint>

#include "core/torch/torch_compat.h"

namespace ipex_studio {

// Gives the generator seeds, and puts it back at the end of a scope, so that comparing models changes no numbers that
// the program draws later.
class SeededGenerator {
 public:
  SeededGenerator();
  ~SeededGenerator();
  SeededGenerator(const SeededGenerator&) = delete;
  SeededGenerator& operator=(const SeededGenerator&) = delete;

  void seed(std::uint64_t seed);
  // What it draws next depends on this alone; compare two with at::equal.
  at::Tensor state() const;
  void setState(const at::Tensor& state);

 private:
  at::Generator generator_;
  at::Tensor before_;
};

}  // namespace ipex_studio
