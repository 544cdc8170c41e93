// The user's decisions against the optimizer: pinned kernels and chosen precisions. Overrides is a plain value;
// OverrideHistory undoes and redoes it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/record/noise.h"
#include "core/record/records.h"

namespace ipex_studio {

// A step with its kernel fixed instead of chosen by measuring. Equal steps (same spec and sizes) get the same kernel.
struct KernelPin {
  std::string spec;       // StepRecord::spec
  std::string dst_shape;  // StepRecord::dst_shape
  std::string kernel;     // DispatchRecord::kernel
  std::string layout;     // DispatchRecord::layout
  std::string step;       // the step's name, for display

  bool operator==(const KernelPin& other) const {
    return spec == other.spec && dst_shape == other.dst_shape && kernel == other.kernel && layout == other.layout;
  }
};

// A precision fixed for some operations. `what`: "layer1.0.conv3" (a module and all in it), "kind:convolution", "*"
// (all), or one operation as in "layer1.0.conv3:aten::_convolution#0".
struct PrecisionOverride {
  std::string what;
  std::string precision;  // "fp32", "bf16", "int8"

  bool operator==(const PrecisionOverride& other) const { return what == other.what && precision == other.precision; }
};

struct Overrides {
  std::vector<KernelPin> pins;                // one per spec and shape
  std::vector<PrecisionOverride> precisions;  // one per `what`; the last that fits an operation decides

  bool empty() const { return pins.empty() && precisions.empty(); }
  bool operator==(const Overrides& other) const { return pins == other.pins && precisions == other.precisions; }

  // The precision decided for the whole model; empty: none.
  std::string whole() const;
  // The same overrides without one for the whole model.
  Overrides withoutWhole() const;
  // The same overrides with one more, without those that contradict it. A pin or override that is already there is
  // removed.
  Overrides with(const KernelPin& pin) const;
  Overrides with(const PrecisionOverride& override) const;
  // The same overrides with all of `more`; none is removed.
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
  double before_ns = 0;  // median latencies
  double after_ns = 0;
  double delta_ns = 0;  // after_ns - before_ns, with its 95 % interval
  double delta_low_ns = 0;
  double delta_high_ns = 0;
  double before_db = 0;  // SQNR of the results against the reference; 999: equal
  double after_db = 0;
  bool accurate = true;
  NoiseVerdict noise;  // whether the machine was quiet meanwhile

  // True if the interval of the difference contains zero.
  bool noDifference() const { return delta_low_ns <= 0 && delta_high_ns >= 0; }
};

// Overrides as records: the precision of the whole model comes first, so that they mean the same whatever is chosen
// later. `base`: that precision where nothing is decided for all.
std::vector<DecisionRecord> decisionRecords(const Overrides& overrides, const std::string& base);
// Overrides from their records, without a precision of the whole model that equals `base`. Unknown precisions are
// left out.
Overrides overridesFrom(const std::vector<DecisionRecord>& records, const std::string& base);

// Overrides for display, at most `most` of them: "2 operations in bf16", "layer1.0.conv3 in int8, convolution_simd
// for layer2.0.conv1".
std::string decisionsText(const Overrides& overrides, std::size_t most);

// True if `text` is the key of a step's measurements. `spec`, `dst_shape`: the step's spec and the sizes of its
// result.
bool isTuningOf(const std::string& text, const std::string& spec, const std::string& dst_shape);

// The tuning record with its measurements of steps pinned, so that they are taken as they are and the plan made of
// them is not timed against the default again.
std::string trustedTuning(const std::string& record);

// The tuning record (MemoryTuningStore's text) restricted to pinned kernels where there are pins; plans are chosen
// anew.
std::string pinnedTuning(const std::string& record, const std::vector<KernelPin>& pins);

}  // namespace ipex_studio
