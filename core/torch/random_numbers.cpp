// libtorch's default generator of the CPU.
#include "core/torch/random_numbers.h"

#include <ATen/CPUGeneratorImpl.h>

#include <mutex>

namespace ipex_studio {

SeededGenerator::SeededGenerator() : generator_(at::detail::getDefaultCPUGenerator()), before_(state()) {}

SeededGenerator::~SeededGenerator() { setState(before_); }

void SeededGenerator::seed(std::uint64_t seed) {
  const std::lock_guard lock(generator_.mutex());
  generator_.set_current_seed(seed);
}

void SeededGenerator::setState(const at::Tensor& state) {
  const std::lock_guard lock(generator_.mutex());
  generator_.set_state(state);
}

at::Tensor SeededGenerator::state() const {
  at::Generator generator = generator_;  // reading the state is no const member of libtorch's class
  const std::lock_guard lock(generator.mutex());
  return generator.get_state();
}

}  // namespace ipex_studio
