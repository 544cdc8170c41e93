// Instruction sets that own SIMD code is compiled for, and the choice of one when a kernel is prepared. A file that
// sets HWY_TARGET_INCLUDE includes this first: it is compiled once per instruction set from here.
#pragma once

// SSSE3 machines without SSE4 are not worth a fourth copy of every kernel.
#define HWY_DISABLED_TARGETS (HWY_SSSE3)

#include <hwy/foreach_target.h>
// foreach_target.h comes first.
#include <hwy/highway.h>
#include <hwy/targets.h>

#include <cstddef>
#include <cstdint>
#include <string>

namespace ipex_studio {

// Index into HWY_DISPATCH_TABLE(fn) of the best target that this machine has and `isa` (a machine_facts tier) allows.
inline std::size_t highwayIndex(const std::string& isa) {
#if (HWY_TARGETS & (HWY_TARGETS - 1)) == 0
  return 0;
#else
  std::int64_t allowed = ~std::int64_t{0};
  // Better targets have lower bits.
  if (isa.rfind("avx2", 0) == 0) allowed = ~(HWY_AVX2 - 1);
  if (isa.rfind("sse", 0) == 0) allowed = ~(HWY_SSE4 - 1);
  static const std::int64_t supported =
      hwy::SupportedTargets();  // asks the CPU each time, which is slow in virtual machines
  hwy::ChosenTarget chosen;
  chosen.Update(supported & allowed);
  return chosen.GetIndex();
#endif
}

}  // namespace ipex_studio

// The function `fn` (declared with HWY_EXPORT in this file) for the target that `isa` allows.
#define IPEX_SELECT_TARGET(fn, isa) (HWY_DISPATCH_TABLE(fn)[::ipex_studio::highwayIndex(isa)])
