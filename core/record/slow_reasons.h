// Reasons of remarks about what makes a model slow as it was saved, beside those of core/graph/reasons.h. They are made
// while it is loaded and run, and advice tells them.
#pragma once

namespace ipex_studio {

// `pass` of these remarks.
inline constexpr char kLoadedModel[] = "load";

// The file is not run as it is: it was saved in training mode, for a GPU, in FP16.
inline constexpr char kLoadedFormReason[] = "loaded-form";
// The file computes weights anew in each run.
inline constexpr char kWeightWorkReason[] = "weights-computed-in-each-run";
// Values are denormal numbers, which are slow.
inline constexpr char kDenormalsReason[] = "denormal-numbers";

}  // namespace ipex_studio
