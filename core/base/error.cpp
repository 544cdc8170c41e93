// The message of a failed IPEX_CHECK.
#include "core/base/error.h"

#include <cstdio>
#include <cstdlib>

namespace ipex_studio {

void checkFailed(const char* file, int line, const char* condition, const std::string& message) {
  std::fprintf(stderr, "%s:%d: CHECK(%s) failed: %s\n", file, line, condition, message.c_str());
  std::abort();
}

}  // namespace ipex_studio
