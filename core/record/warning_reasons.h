// Reasons of remarks that are warnings, beside those of core/graph/reasons.h: programs without libtorch show them.
#pragma once

namespace ipex_studio {

// A pass failed or broke the graph, which was put back and rewritten without it; or it, or one of its rewrites, made
// results wrong, and the job started over without.
inline constexpr char kLeftOutReason[] = "pass-left-out";

}  // namespace ipex_studio
