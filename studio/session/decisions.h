// The user's decisions against the optimizer: the current ones, with undo, and those that the last job ran with.
#pragma once

#include <string>
#include <utility>

#include "studio/snapshot/overrides.h"

namespace ipex_studio {

// Used by the working thread alone.
class Decisions {
 public:
  const Overrides& now() const { return history_.now(); }
  void set(Overrides next) { history_.set(std::move(next)); }
  // A precision chosen for the whole model takes the place of one that was decided.
  void chooseWhole(const std::string& precision) {
    if (!now().whole().empty() && now().whole() != precision) set(now().withoutWhole());
  }
  void undo() { history_.undo(); }
  void redo() { history_.redo(); }
  // Forgets all decisions: another model is open, or a search supersedes them.
  void clear() { *this = Decisions(); }

  // To be called once a job has run with the current decisions.
  void setMeasured() { measured_ = history_.now(); }
  // True if the last job ran with the current decisions.
  bool areMeasured() const { return history_.now() == measured_; }

  // The state for snapshots. `possible`: see OverrideState.
  OverrideState state(bool possible) const {
    return {history_.now(), possible, history_.canUndo(), history_.canRedo()};
  }

 private:
  OverrideHistory history_;
  Overrides measured_;
};

}  // namespace ipex_studio
