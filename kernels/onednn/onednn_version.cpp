// See onednn_version.h.
#include "kernels/onednn/onednn_version.h"

#include <fmt/format.h>

#include <cstdlib>
#include <oneapi/dnnl/dnnl.hpp>

namespace ipex_studio {

std::string onednnVersion() {
  const dnnl_version_t* version = dnnl_version();
  return fmt::format("{}.{}.{}", version->major, version->minor, version->patch);
}

std::string onednnInstructions() {
  return fmt::format("oneDNN instructions {:#x}", static_cast<unsigned>(dnnl_get_effective_cpu_isa()));
}

void limitPrimitiveCache(int primitives) {
  for (const char* name : {"ONEDNN_PRIMITIVE_CACHE_CAPACITY", "DNNL_PRIMITIVE_CACHE_CAPACITY"}) {
    if (std::getenv(name) != nullptr) return;
  }
  int capacity = 0;
  if (dnnl_get_primitive_cache_capacity(&capacity) != dnnl_success || capacity <= primitives) return;
  dnnl_set_primitive_cache_capacity(primitives);
}

}  // namespace ipex_studio
