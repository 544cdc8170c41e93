// The name of all operations in double precision, as decisions about precisions have it.
#pragma once

namespace ipex_studio {

// As DecisionRecord::what: decided to be "fp32", the model computes in FP32 what it computes in FP64.
inline constexpr char kDoubleOperations[] = "kind:double";

}  // namespace ipex_studio
