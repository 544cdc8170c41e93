// Counts calls of operator new in this process.
#pragma once

namespace ipex_studio::kernel_test {

long allocationCount();

}  // namespace ipex_studio::kernel_test
