// The user's decisions against the optimizer: kernels pinned, precisions set. A plain value with a history of its own.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/record/records.h"

namespace ipex_studio {

// A step that takes this kernel instead of the one that measuring chose. Equal steps (same spec and sizes) follow.
struct KernelPin {
  std::string spec;       // StepRecord::spec
  std::string dst_shape;  // StepRecord::dst_shape
  std::string kernel;     // DispatchRecord::kernel
  std::string layout;     // DispatchRecord::layout
  std::string step;       // its name, for people

  bool operator==(const KernelPin& other) const {
    return spec == other.spec && dst_shape == other.dst_shape && kernel == other.kernel && layout == other.layout;
  }
};

// Operations that keep a precision. `what`: "layer1.0.conv3" (a module and all in it), "kind:convolution", "*", or exactly one
// as "layer1.0.conv3:aten::_convolution#0".
struct PrecisionOverride {
  std::string what;
  std::string precision;  // "fp32", "bf16", "int8"

  bool operator==(const PrecisionOverride& other) const { return what == other.what && precision == other.precision; }
};

struct Overrides {
  std::vector<KernelPin> pins;                // one per spec and shape
  std::vector<PrecisionOverride> precisions;  // one per `what`; the last that fits wins

  bool empty() const { return pins.empty() && precisions.empty(); }
  bool operator==(const Overrides& other) const { return pins == other.pins && precisions == other.precisions; }

  // The same overrides with one more, without those that contradict it. A pin or override that is already there is
  // removed.
  Overrides with(const KernelPin& pin) const;
  Overrides with(const PrecisionOverride& override) const;
  // With all of `more`, none of it taken back.
  Overrides adding(const Overrides& more) const;
};

// Undo and redo of overrides. Not thread-safe.
class OverrideHistory {
 public:
  const Overrides& now() const { return states_[at_]; }
  void set(Overrides next);
  bool canUndo() const { return at_ > 0; }
  bool canRedo() const { return at_ + 1 < states_.size(); }
  void undo() { at_ -= canUndo() ? 1 : 0; }
  void redo() { at_ += canRedo() ? 1 : 0; }

 private:
  std::vector<Overrides> states_{1};
  std::size_t at_ = 0;
};

// The overrides in force, and whether they can be changed here.
struct OverrideState {
  Overrides now;
  bool possible = false;  // the model is at hand and nothing runs
  bool can_undo = false;
  bool can_redo = false;
};

// The result of a set of overrides against the one before, by interleaved timing.
struct WhatIf {
  Overrides tried;
  double before_ns = 0;  // medians
  double after_ns = 0;
  double delta_ns = 0;  // after - before, with its 95 % interval
  double delta_low_ns = 0;
  double delta_high_ns = 0;
  double before_db = 0;  // SQNR of the results against the reference; 999: equal
  double after_db = 0;
  bool accurate = true;

  // The interval spans zero.
  bool noDifference() const { return delta_low_ns <= 0 && delta_high_ns >= 0; }
};

// Overrides as they are recorded: with the precision of the whole model first, so that they mean the same whatever is
// chosen later.
// `base`: that precision where nothing is decided for all.
std::vector<DecisionRecord> decisionRecords(const Overrides& overrides, const std::string& base);
// The same back, without what `base` says already. Trusts nothing: unknown precisions are left out.
Overrides overridesFrom(const std::vector<DecisionRecord>& records, const std::string& base);

// "2 operations in bf16", "layer1.0.conv3 in int8, convolution_simd for layer2.0.conv1": for people, at most `most` of them.
std::string decisionsText(const Overrides& overrides, std::size_t most);

// True if this is the key of a step's measurements, given its spec and the sizes of its result.
bool isTuningOf(const std::string& text, const std::string& spec, const std::string& dst_shape);

// A tuning record whose measurements are taken as they are: the plan that they give is not timed against the default once more.
std::string trustedTuning(const std::string& record);

// A tuning record (MemoryTuningStore's text) in which measuring can only choose pinned kernels; plans are chosen anew.
std::string pinnedTuning(const std::string& record, const std::vector<KernelPin>& pins);

}  // namespace ipex_studio
