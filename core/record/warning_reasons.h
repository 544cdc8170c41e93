// Reasons of remarks that are warnings, beside those of core/graph/reasons.h: programs without libtorch show them.
#pragma once

namespace ipex_studio {

// A pass failed or broke the graph; the graph was put back and rewritten without it.
inline constexpr char kLeftOutReason[] = "pass-left-out";

}  // namespace ipex_studio
