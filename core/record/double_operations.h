// The name of all operations in double precision, as decisions about precisions have it.
#pragma once

namespace ipex_studio {

// The DecisionRecord::what that, decided to be "fp32", makes a model compute in FP32 what it computes in FP64.
inline constexpr char kDoubleOperations[] = "kind:double";

}  // namespace ipex_studio
