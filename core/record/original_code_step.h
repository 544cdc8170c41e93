// The mark of steps that are no plan's.
#pragma once

namespace ipex_studio {

// StepRecord::kernel of a region that ran the code that it had replaced, as a whole.
inline constexpr char kOriginalCodeKernel[] = "interpreter";

}  // namespace ipex_studio
