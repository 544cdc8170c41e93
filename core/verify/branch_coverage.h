// BranchCoverage: which blocks of a model's branches and loops a run enters.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/model/model.h"

namespace ipex_studio {

// Runs a frozen copy of a model whose blocks count how often they are entered. Blocks that only raise an error are not
// counted. Not thread-safe.
class BranchCoverage {
 public:
  // Leaves `original` as it is. Throws c10::Error if the model cannot be frozen.
  explicit BranchCoverage(const torch::jit::Module& original);

  // Entries of one run, per block: 0, 1, or 2 for more. A branch of a condition is entered once; the block of a loop as
  // many times as it has rounds, so that no round, one and several are told apart.
  using Entries = std::vector<std::uint8_t>;
  // Runs forward on copies of `inputs` from the state that the model was loaded with. Returns nullopt if the model does
  // not take them, or if it goes through far more blocks than the first run did: inputs that nobody chose may keep a
  // loop running for ever.
  std::optional<Entries> run(const Inputs& inputs);

  std::int32_t blocks() const { return blocks_; }
  // Integer constants that the graph compares with, divides by or steps by, ascending: sizes and numbers beside them
  // take other ways.
  const std::vector<std::int64_t>& comparedIntegers() const { return compared_integers_; }

 private:
  void countEntries(torch::jit::Block* block);
  void collectIntegers(const torch::jit::Block* block);

  torch::jit::Module module_;
  std::int32_t blocks_ = 0;
  std::int64_t most_entries_ = 0;  // of all blocks in one run; 0: before the first run
  std::vector<std::int64_t> compared_integers_;
};

}  // namespace ipex_studio
