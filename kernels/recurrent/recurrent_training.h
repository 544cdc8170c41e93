// The recurrent half of LSTM and GRU in training, with its gradient through time. Products of the inputs, and the
// gradients of weights, are matrix products over all steps at once and the caller's.
//
// Rows of all steps stand one after the other, as in packed sequences: step 0 has rows[0] of them, and no step has more
// than the one before; the first rows[t] sequences take part in step t. Gates are those of PyTorch: in, forget, fresh,
// out; or reset, keep, fresh. All numbers are FP32.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kernels/recurrent/recurrent_job.h"

namespace ipex_studio {

struct RecurrentSequence {
  RecurrentCell cell = RecurrentCell::kLstm;
  bool reverse = false;
  bool projected = false;              // the hidden state is a projection of the units: LSTM
  std::int64_t units = 0, states = 0;  // of the cell, of the hidden state
  std::vector<std::int64_t> rows;      // of each step, none 0
  std::int32_t threads = 1;
  std::string isa;  // a machine_facts tier that instructions stay within; empty: what this machine has

  std::int64_t gates() const { return cell == RecurrentCell::kLstm ? 4 : 3; }
  std::int64_t total() const;
};

// `total` is the number of rows of all steps, `batch` that of step 0.
struct RecurrentForward {
  const float* w_hh = nullptr;         // [gates · units, states]
  const float* w_hr = nullptr;         // [states, units]: projected
  const float* hidden_bias = nullptr;  // [units]: what GRU's reset gate scales besides the product; may be null
  float* gates = nullptr;              // [total, gates · units]: products of the inputs before, gates after
  float* h = nullptr;                  // [batch, states]: the state before the first step, then the last
  float* c = nullptr;                  // [batch, units], likewise: LSTM
  float* y = nullptr;                  // [total, states]
  // The gradient needs these besides.
  float* before = nullptr;   // [total, states]: the hidden state before each step
  float* kept = nullptr;     // [total, units]: the cell's state before each step, or what the reset gate scales
  float* outputs = nullptr;  // [total, units]: what is projected
};

struct RecurrentBackward {
  const float* w_hh = nullptr;
  const float* w_hr = nullptr;
  const float* gates = nullptr;
  const float* before = nullptr;
  const float* kept = nullptr;
  const float* dy = nullptr;  // [total, states]
  float* dh = nullptr;        // [batch, states]: of the last state, then of the first
  float* dc = nullptr;        // [batch, units], likewise: LSTM
  float* dgates = nullptr;    // [total, gates · units]: of the sums that gates are functions of
  float* dhidden = nullptr;   // likewise, of the products of the hidden state alone: GRU
  float* dstates = nullptr;   // [total, states]: of all that the hidden state after each step went to: projected
};

// Bits do not depend on the number of threads.
void recurrentForward(const RecurrentSequence& sequence, const RecurrentForward& operands);
void recurrentBackward(const RecurrentSequence& sequence, const RecurrentBackward& operands);

}  // namespace ipex_studio
