// Floating-point operations per second that one core reaches with multiplications in registers alone.
#pragma once

namespace ipex_studio::kernel_test {

double fmaPeak();

}  // namespace ipex_studio::kernel_test
