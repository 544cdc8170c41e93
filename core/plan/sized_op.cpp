// The error for inputs that a spec cannot take.
#include "core/plan/sized_op.h"

#include <fmt/format.h>

#include "core/base/error.h"

namespace ipex_studio {

void refuseInputs(const StepLabel& label, const std::string& why) {
  throw Error(ExitCode::kFailure,
              fmt::format("The optimized model cannot take these inputs: '{}': {}; use the sizes it was "
                          "optimized for, or optimize it again with these.",
                          label.name, why));
}

}  // namespace ipex_studio
