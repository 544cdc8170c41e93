// The beginning of all SIMD files. Highway compiles such a file once per instruction set by including it again:
//
//   #define HWY_TARGET_INCLUDE "kernels/<room>/<file>.cpp"
//   #include "kernels/common/simd-inl.h"
//
// Between HWY_BEFORE_NAMESPACE() and HWY_AFTER_NAMESPACE(), in ipex_studio::HWY_NAMESPACE, stands the code of one
// instruction set; #if HWY_ONCE holds what is compiled once. There HWY_EXPORT(fn) makes the table of fn's versions and
// IPEX_SELECT_TARGET(fn, isa) reads it, when a kernel is prepared. core/rooms.cmake finds such files by the first of
// these lines, to compile each alone.
//
// <cstddef>, <cstdint> and <string> are there for every instruction set; a file includes other standard headers itself,
// after this one. One of the instruction sets is HWY_SCALAR, with one lane and without shuffles: code that needs more
// stands in #if HWY_TARGET != HWY_SCALAR. Names in HWY_NAMESPACE differ in all of kernels.
#ifndef IPEX_KERNELS_SIMD_TARGETS
#define IPEX_KERNELS_SIMD_TARGETS

#include <cstddef>
#include <cstdint>
#include <string>

// Machines with SSSE3 but without SSE4 are too few for a fourth copy of every kernel.
#if defined(IPEX_STUDIO_WITHOUT_AVX512)
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_AVX3 | HWY_AVX3_DL)
#else
#define HWY_DISABLED_TARGETS (HWY_SSSE3)
#endif

#include <hwy/foreach_target.h>
// Highway requires foreach_target.h before this header.
#include <hwy/highway.h>
#include <hwy/targets.h>

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

#endif  // IPEX_KERNELS_SIMD_TARGETS

#if defined(IPEX_KERNELS_SIMD_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef IPEX_KERNELS_SIMD_INL_H
#undef IPEX_KERNELS_SIMD_INL_H
#else
#define IPEX_KERNELS_SIMD_INL_H
#endif

// Adapts itself to the instruction set at each inclusion.
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace ipex_studio::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
using F32 = hn::ScalableTag<float>;
using VF = hn::Vec<F32>;

}  // namespace ipex_studio::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
