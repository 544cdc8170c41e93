// Reason codes of remarks: kebab-case nouns, one list, so that texts are uniform, filterable and greppable.
#pragma once

namespace ipex_studio::reasons {

inline constexpr const char kApplied[] = "applied";
inline constexpr const char kWeightsNotConstant[] = "weights-not-constant";
inline constexpr const char kNotConstant[] = "operand-not-constant";
inline constexpr const char kOtherUses[] = "producer-has-other-uses";
inline constexpr const char kGraphOutput[] = "value-is-graph-output";
inline constexpr const char kTrainingMode[] = "training-mode";
inline constexpr const char kMixedDtype[] = "mixed-dtype";
inline constexpr const char kUnsupportedDtype[] = "unsupported-dtype";
inline constexpr const char kUnknownShape[] = "unknown-shape";
inline constexpr const char kShapeMismatch[] = "shape-mismatch";
inline constexpr const char kBroadcast[] = "operand-broadcasts-result";
inline constexpr const char kAliased[] = "value-may-be-aliased-or-written";
inline constexpr const char kSideEffects[] = "side-effects-between";
inline constexpr const char kUnsupportedAttribute[] = "unsupported-attribute";
inline constexpr const char kUnsupportedOperator[] = "unsupported-operator";
inline constexpr const char kControlFlow[] = "control-flow";
inline constexpr const char kDependencyCycle[] = "would-create-a-cycle";
inline constexpr const char kNotProfitable[] = "not-profitable";
inline constexpr const char kNotCalibrated[] = "not-calibrated";
inline constexpr const char kDecided[] = "decided-by-hand";
inline constexpr const char kKeptByRecipe[] = "kept-by-recipe";
inline constexpr const char kReducedRange[] = "reduced-range";
inline constexpr const char kRewriteLimit[] = "rewrite-limit";

}  // namespace ipex_studio::reasons
