#include "kernels/common/bf16_products.h"

#include "core/runtime/machine_facts.h"

namespace ipex_studio {

bool mayUseBf16Products(const std::string& isa) {
#if defined(__x86_64__)
  return hasBf16(isa) && __builtin_cpu_supports("avx512bf16");
#else
  static_cast<void>(isa);
  return false;
#endif
}

}  // namespace ipex_studio
