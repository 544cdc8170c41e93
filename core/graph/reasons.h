// Reason codes of remarks: kebab-case nouns, one list, so that texts are uniform, filterable and greppable.
// A comment says when to take a reason that is not plain from its name.
#pragma once

namespace ipex_studio::reasons {

inline constexpr const char kApplied[] = "applied";
inline constexpr const char kWeightsNotConstant[] = "weights-not-constant";
// A number, list or tensor that the rewrite has to know is computed while the model runs.
inline constexpr const char kNotConstant[] = "operand-not-constant";
// A value that the rewrite would take away is read elsewhere.
inline constexpr const char kOtherUses[] = "producer-has-other-uses";
// A value that the rewrite would take away, or make a constant, is a result of the model.
inline constexpr const char kGraphOutput[] = "value-is-graph-output";
inline constexpr const char kTrainingMode[] = "training-mode";
// Operands have several dtypes, so the new operator could round otherwise; one dtype it does not know is
// unsupported-dtype.
inline constexpr const char kMixedDtype[] = "mixed-dtype";
inline constexpr const char kUnsupportedDtype[] = "unsupported-dtype";
inline constexpr const char kUnknownShape[] = "unknown-shape";
// Sizes are known and do not fit the rewrite; unknown-shape where they are not known.
inline constexpr const char kShapeMismatch[] = "shape-mismatch";
// An operand is smaller, or larger, than what it would be fused onto.
inline constexpr const char kBroadcast[] = "operand-broadcasts-result";
inline constexpr const char kAliased[] = "value-may-be-aliased-or-written";
inline constexpr const char kSideEffects[] = "side-effects-between";
// A constant or setting is known, and the new operator cannot express it.
inline constexpr const char kUnsupportedAttribute[] = "unsupported-attribute";
// An operator in between is none that the pass knows how to rewrite.
inline constexpr const char kUnsupportedOperator[] = "unsupported-operator";
// The nodes stand in different blocks.
inline constexpr const char kControlFlow[] = "control-flow";
inline constexpr const char kDependencyCycle[] = "would-create-a-cycle";
inline constexpr const char kNotProfitable[] = "not-profitable";
// Measured on the example: the interpreter computes the nodes in less time than a plan.
inline constexpr const char kSlowerThanInterpreter[] = "slower-than-interpreter";
inline constexpr const char kNotCalibrated[] = "not-calibrated";
// A person kept the operation as it is: in the window or by a flag.
inline constexpr const char kDecided[] = "decided-by-hand";
inline constexpr const char kKeptByRecipe[] = "kept-by-recipe";
// Weights have 7 bits, because the CPU adds pairs of INT8 products in 16 bits.
inline constexpr const char kReducedRange[] = "reduced-range";
// --limit was reached.
inline constexpr const char kRewriteLimit[] = "rewrite-limit";

}  // namespace ipex_studio::reasons
