// The first wrong value inside of loops and branches, whose nodes run any number of times.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "core/compare/lockstep.h"

namespace ipex_studio {

struct WrongInside {
  ValuePair pair;
  ValueDifference difference;    // of the names nothing is set
  std::int64_t run = 0;          // the original's node ran so often before
  bool clear = false;            // by the whole share, not only by a smaller one
  std::vector<ValuePair> reads;  // values of such pairs that the node reads
};

// Called with each value of a graph, whenever it is computed, also inside of blocks.
using ValueWatch = std::function<void(const torch::jit::Value* value, const torch::jit::IValue& now)>;
// Runs forward on copies of module and inputs. Throws what running throws.
void watchValues(const torch::jit::Module& module, const Inputs& inputs, const ValueWatch& watch);

// The value that the original gives when its node has run `run` times before; negative counts from the last. nullopt:
// it does not run so often.
std::optional<torch::jit::IValue> originalValueAt(const Lockstep& graphs, const torch::jit::Value* value,
                                                  std::int64_t run);

// Runs both graphs one after the other and compares the values of pairs, of which one side at least stands inside of a
// block: each time that one is computed with that of the same time on the other side. Values of the other graph that
// are paired with one of the original, as those of a loop that was unrolled, count together. Of a value a thousand
// elements are kept, of a run so many values that they take 64 MB. In FP32 a smaller and smaller share of the largest
// element counts as wrong, until one is. nullopt: nothing is.
std::optional<WrongInside> firstWrongInside(const Lockstep& graphs, const std::vector<ValuePair>& pairs);

}  // namespace ipex_studio
