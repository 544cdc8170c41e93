// Counters of greedy decoding by RNN transducers.
#include "kernels/index/rnnt_step.h"

#include <cstring>

namespace ipex_studio {

bool advanceRnnt(const RnntStep& step) {
  bool all_ended = true;
  for (std::int64_t i = 0; i < step.samples; ++i) {
    step.goes_on[i] = step.symbols[i] == step.blank;
    step.frame[i] += step.goes_on[i];
    step.ended[i] = step.frame[i] >= step.frames_of[i];
    all_ended = all_ended && step.ended[i] == 1;
  }
  if (all_ended) return true;
  for (std::int64_t i = 0; i < step.samples; ++i) {
    step.takes[i] = step.goes_on[i] == 0 && step.ended[i] == 0;
    step.labels_said[i] += step.takes[i];
    std::int32_t& symbols = step.symbols_in_frame[i];
    symbols = (step.goes_on[i] == 1 ? 0 : symbols) + step.takes[i];
    if (symbols < step.most_symbols) continue;
    symbols = 0;
    step.goes_on[i] = 1;
    ++step.frame[i];
  }
  return false;
}

void copyTakenRows(const RnntStep& step, const RowBlocks& from, const RowBlocks& to, std::int64_t bytes) {
  for (std::int64_t block = 0; block < from.blocks; ++block) {
    for (std::int64_t i = 0; i < step.samples; ++i) {
      if (step.takes[i] == 0) continue;
      std::memcpy(to.data + block * to.block_stride + i * to.row_stride,
                  from.data + block * from.block_stride + i * from.row_stride, static_cast<std::size_t>(bytes));
    }
  }
}

}  // namespace ipex_studio
