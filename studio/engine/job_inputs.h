// Arguments of forward for a job: given, remembered, read from a file, or guessed.
#pragma once

#include <vector>

#include "core/graph/model.h"
#include "studio/protocol.h"

namespace ipex_studio {

class JobInputs {
 public:
  // Throws Error(kUsage).
  JobInputs(Model& model, const EngineJob& job);

  // What is timed: the low end of all ranges.
  const Inputs& example() const { return example_; }
  const std::vector<InputRecord>& records() const { return records_; }
  // What results are compared on: with ranges their ends and middle; with `sequence` several calls from one state.
  std::vector<std::vector<Inputs>> verificationSequences(bool sequence) const;

 private:
  std::vector<InputSpec> specs_;  // empty: read from a file
  std::uint64_t seed_;
  Inputs example_;
  std::vector<InputRecord> records_;
};

}  // namespace ipex_studio
