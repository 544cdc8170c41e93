#define HWY_TARGET_INCLUDE "kernels/training/bf16_values_simd.cpp"
#include "kernels/common/simd-inl.h"

#include "kernels/common/bf16-inl.h"
#include "kernels/training/bf16_values.h"

HWY_BEFORE_NAMESPACE();
namespace ipex_studio::HWY_NAMESPACE {

void runUpconvert(const std::uint16_t* from, float* to, std::size_t count) { upconvertBf16(from, to, count); }

void runDownconvert(const float* from, std::uint16_t* to, std::size_t count) { downconvertToBf16(from, to, count); }

}  // namespace ipex_studio::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

#include "kernels/common/parallel.h"

namespace ipex_studio {
namespace {

HWY_EXPORT(runUpconvert);
HWY_EXPORT(runDownconvert);

const std::uint16_t* bitsOf(const Bf16* values) { return reinterpret_cast<const std::uint16_t*>(values); }

}  // namespace

void upconvert(const Bf16* from, std::int64_t count, std::int32_t threads, float* to) {
  const auto run = IPEX_SELECT_TARGET(runUpconvert, {});
  parallelFor(count, grainFor(1), threads, [&](std::int64_t begin, std::int64_t end, int) {
    run(bitsOf(from) + begin, to + begin, static_cast<std::size_t>(end - begin));
  });
}

void downconvert(const float* from, std::int64_t count, std::int32_t threads, Bf16* to) {
  const auto run = IPEX_SELECT_TARGET(runDownconvert, {});
  parallelFor(count, grainFor(1), threads, [&](std::int64_t begin, std::int64_t end, int) {
    run(from + begin, reinterpret_cast<std::uint16_t*>(to) + begin, static_cast<std::size_t>(end - begin));
  });
}

}  // namespace ipex_studio

#endif  // HWY_ONCE
