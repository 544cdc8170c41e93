#include "kernels/onednn_version.h"

#include <fmt/format.h>

#include <oneapi/dnnl/dnnl.hpp>

namespace ipex_studio {

std::string onednnVersion() {
  const dnnl_version_t* version = dnnl_version();
  return fmt::format("{}.{}.{}", version->major, version->minor, version->patch);
}

}  // namespace ipex_studio
