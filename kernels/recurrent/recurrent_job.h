// Parameters of one recurrent layer, the same on every instruction set. Private to recurrent_simd.cpp but for the cell.
#pragma once

#include <cstdint>

namespace ipex_studio {

enum class RecurrentCell : std::uint8_t { kLstm, kGru };

struct RecurrentJob {
  RecurrentCell cell = RecurrentCell::kLstm;
  std::int64_t steps = 0, rows = 0, units = 0;
  std::int64_t states = 0;  // of the hidden state: units, or fewer that they are projected to
  bool reverse = false;
  std::int64_t gates_step = 0, gates_row = 0;  // floats from one step, one row to the next
  std::int64_t y_step = 0, y_row = 0;          // of the units' results
  std::int64_t lanes = 0;                      // units of one block of packed weights
};

struct RecurrentOperands {
  const float* gates = nullptr;        // products of the inputs
  const float* weights = nullptr;      // [block][k][gate][lane]
  const float* projection = nullptr;   // [block][unit][lane]: states
  const float* h = nullptr;            // [rows, states]
  const float* hidden_bias = nullptr;  // [units]: GRU's new gate; may be null
  float* y = nullptr;
  float* c = nullptr;  // [rows, units], the state as it runs: LSTM
};

}  // namespace ipex_studio
