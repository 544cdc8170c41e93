// One step of greedy decoding by an RNN transducer for a batch: which samples take their symbol, and who goes on to the
// next frame.
#pragma once

#include <cstdint>

namespace ipex_studio {

// Rows of bytes: row i of block b lies at data + b · block_stride + i · row_stride.
struct RowBlocks {
  char* data = nullptr;
  std::int64_t blocks = 0, block_stride = 0, row_stride = 0;
};

// The state of `samples` decodings. All arrays have one number for each sample; those that are not const are written.
struct RnntStep {
  std::int64_t samples = 0, blank = 0, most_symbols = 0;  // most_symbols: in one frame
  const std::int64_t* symbols = nullptr;                  // the likeliest class of each
  const std::int32_t* frames_of = nullptr;                // lengths
  std::int32_t *labels_said = nullptr, *symbols_in_frame = nullptr, *frame = nullptr;
  std::int32_t* goes_on = nullptr;  // 1 where the next frame is read
  std::int32_t* ended = nullptr;    // 1 where no frame is left
  std::int32_t* takes = nullptr;    // 1 where the symbol becomes a label
};

// Moves the state on by one step; true if all samples had ended before it, and then only frame, goes_on and ended are
// written. A blank, and the last symbol that a frame may have, lead to the next frame.
bool advanceRnnt(const RnntStep& step);

// Copies `bytes` of row i, in all blocks, for the samples i that take their symbol. Runs on one thread.
void copyTakenRows(const RnntStep& step, const RowBlocks& from, const RowBlocks& to, std::int64_t bytes);

}  // namespace ipex_studio
