// Recurrent layers behind the product of their inputs: a work item takes UNITS units of some rows through one step, or
// all units through all steps. The structure is that of kernels/xpu/recurrent_xpu.cpp.

// Units of a block of packed weights, which lie as [block][k][gate][unit of the block].
#define BLOCK 16
#ifdef GPU
#define UNITS 1
#define UNIT_GROUP 32
#define WEIGHTS_AT(data) *(data)
Value unitsOf(__global const float* data, int count) { return *data; }
void keepUnits(Value value, __global float* data, int count) { *data = value; }
#else
#define UNITS BLOCK
#define UNIT_GROUP 1
#define WEIGHTS_AT(data) vload16(0, data)
Value unitsOf(__global const float* data, int count) { return count == BLOCK ? vload16(0, data) : partOf(data, count); }
void keepUnits(Value value, __global float* data, int count) {
  if (count == BLOCK) {
    vstore16(value, 0, data);
    return;
  }
  float unit[BLOCK];
  vstore16(value, 0, unit);
  for (int i = 0; i < count; ++i) data[i] = unit[i];
}
#endif

typedef struct {
  int steps, rows, units, states;              // states: of the hidden state, units or what they are projected to
  int gates_step, gates_row, y_step, y_row;    // y: of the hidden state in the result
  int out_step, out_row, reverse, projection;  // out: of the units' results; projection: where its weights begin, or 0
} Recurrent;

// What a step reads and writes, from its first row on.
typedef struct {
  __global const float *gates, *before, *bias, *c_before;
  __global float *out, *c;
  int before_row, has_bias;
} Step;

#define FOR_ALL(i, COUNT) _Pragma("unroll") for (int i = 0; i < (COUNT); ++i)

// sum[r][g] = the products of row r of `rows` with GATES columns of units; PARTS sums of each, since one row alone
// leaves the multipliers idle.
#define SUM_PRODUCTS(rows, row_step, depth, weights, COUNT, GATES, PARTS)                                          \
  Value sum[COUNT][GATES], part[PARTS][COUNT][GATES];                                                              \
  FOR_ALL(p, PARTS) FOR_ALL(r, COUNT) FOR_ALL(g, GATES) part[p][r][g] = 0.0f;                                      \
  int k = 0;                                                                                                       \
  for (; k + (PARTS) <= (depth); k += (PARTS)) {                                                                   \
    FOR_ALL(p, PARTS) FOR_ALL(g, GATES) {                                                                          \
      const Value w = WEIGHTS_AT((weights) + ((k + p) * (GATES) + g) * BLOCK);                                     \
      FOR_ALL(r, COUNT) part[p][r][g] += (rows)[r * (row_step) + k + p] * w;                                       \
    }                                                                                                              \
  }                                                                                                                \
  for (; k < (depth); ++k) {                                                                                       \
    FOR_ALL(g, GATES) {                                                                                            \
      const Value w = WEIGHTS_AT((weights) + (k * (GATES) + g) * BLOCK);                                           \
      FOR_ALL(r, COUNT) part[0][r][g] += (rows)[r * (row_step) + k] * w;                                           \
    }                                                                                                              \
  }                                                                                                                \
  FOR_ALL(r, COUNT) FOR_ALL(g, GATES) {                                                                            \
    sum[r][g] = part[0][r][g];                                                                                     \
    FOR_ALL(p, (PARTS)-1) sum[r][g] += part[p + 1][r][g];                                                          \
  }

// The function NAME takes COUNT rows through one step.
#define LSTM_ROWS(NAME, COUNT, PARTS)                                                                              \
  void NAME(const Recurrent* job, const Step at, __global const float* weights, int row, int unit) {               \
    const int count = min(UNITS, job->units - unit);                                                               \
    weights += unit / BLOCK * (job->states * 4 * BLOCK) + unit % BLOCK;                                            \
    SUM_PRODUCTS(at.before + row * at.before_row, at.before_row, job->states, weights, COUNT, 4, PARTS)            \
    for (int r = 0; r < (COUNT); ++r) {                                                                            \
      __global const float* gates = at.gates + (row + r) * job->gates_row + unit;                                  \
      const Value in = sigmoidOf(unitsOf(gates, count) + sum[r][0]);                                               \
      const Value forget = sigmoidOf(unitsOf(gates + job->units, count) + sum[r][1]);                              \
      const Value fresh = tanh(unitsOf(gates + 2 * job->units, count) + sum[r][2]);                                \
      const Value out = sigmoidOf(unitsOf(gates + 3 * job->units, count) + sum[r][3]);                             \
      const int cell = (row + r) * job->units + unit;                                                              \
      const Value state = forget * unitsOf(at.c_before + cell, count) + in * fresh;                                \
      keepUnits(state, at.c + cell, count);                                                                        \
      keepUnits(out * tanh(state), at.out + (row + r) * job->out_row + unit, count);                               \
    }                                                                                                              \
  }
LSTM_ROWS(lstmRow, 1, 2)
LSTM_ROWS(lstmRows, 4, 1)

#define GRU_ROWS(NAME, COUNT, PARTS)                                                                               \
  void NAME(const Recurrent* job, const Step at, __global const float* weights, int row, int unit) {               \
    const int count = min(UNITS, job->units - unit);                                                               \
    weights += unit / BLOCK * (job->states * 3 * BLOCK) + unit % BLOCK;                                            \
    SUM_PRODUCTS(at.before + row * at.before_row, at.before_row, job->states, weights, COUNT, 3, PARTS)            \
    for (int r = 0; r < (COUNT); ++r) {                                                                            \
      __global const float* gates = at.gates + (row + r) * job->gates_row + unit;                                  \
      const Value bias = at.has_bias ? unitsOf(at.bias + unit, count) : (Value)(0.0f);                             \
      const Value reset = sigmoidOf(unitsOf(gates, count) + sum[r][0]);                                            \
      const Value keep = sigmoidOf(unitsOf(gates + job->units, count) + sum[r][1]);                                \
      const Value fresh = tanh(reset * (sum[r][2] + bias) + unitsOf(gates + 2 * job->units, count));               \
      const Value last = unitsOf(at.before + (row + r) * at.before_row + unit, count);                             \
      keepUnits(keep * last + (fresh - keep * fresh), at.out + (row + r) * job->out_row + unit, count);            \
    }                                                                                                              \
  }
GRU_ROWS(gruRow, 1, 2)
GRU_ROWS(gruRows, 4, 1)

// Projects the units of a row, `from`, to states.
void projectRow(const Recurrent* job, __global const float* weights, __global const float* from, __global float* to,
                int state) {
  const int count = min(UNITS, job->states - state);
  weights += state / BLOCK * (job->units * BLOCK) + state % BLOCK;
  SUM_PRODUCTS(from, 0, job->units, weights, 1, 1, 4)
  keepUnits(sum[0][0], to + state, count);
}

#define WITH_UNITS 1
#define WITH_PROJECTION 2

// Takes `item_units` units of `item_rows` rows through steps [first, first + count): of units, of their projection, or of
// both.
__attribute__((reqd_work_group_size(UNIT_GROUP, 1, 1)))
__kernel void recurrent(__global const float* gates, __global const float* weights, __global const float* h,
                        __global const float* c0, __global const float* bias, __global float* y, __global float* out,
                        __global float* c, const Recurrent job, int first, int count, int parts, int item_units,
                        int item_rows, int is_lstm, int has_bias) {
  const int begin = item_units * (int)get_global_id(0), first_row = item_rows * (int)get_global_id(1);
  const int last_row = min(first_row + item_rows, job.rows);
  if (first_row >= job.rows) return;
  for (int s = first; s < first + count; ++s) {
    const int step = job.reverse ? job.steps - 1 - s : s, last = job.reverse ? step + 1 : step - 1;
    Step at;
    at.gates = gates + step * job.gates_step;
    at.before = s == 0 ? h : y + last * job.y_step;
    at.before_row = s == 0 ? job.states : job.y_row;
    at.c_before = s == 0 ? c0 : c;
    at.c = c;
    at.out = out + step * job.out_step;
    at.bias = bias;
    at.has_bias = has_bias;
    if (parts & WITH_UNITS) {
      for (int unit = begin; unit < min(begin + item_units, job.units); unit += UNITS) {
        int row = first_row;
        if (is_lstm) {
          for (; row + 4 <= last_row; row += 4) lstmRows(&job, at, weights, row, unit);
          for (; row < last_row; ++row) lstmRow(&job, at, weights, row, unit);
        } else {
          for (; row + 4 <= last_row; row += 4) gruRows(&job, at, weights, row, unit);
          for (; row < last_row; ++row) gruRow(&job, at, weights, row, unit);
        }
      }
    }
    if (parts & WITH_PROJECTION) {
      for (int state = begin; state < min(begin + item_units, job.states); state += UNITS)
        for (int row = first_row; row < last_row; ++row)
          projectRow(&job, weights + job.projection, at.out + row * job.out_row, y + step * job.y_step + row * job.y_row,
                     state);
    }
  }
}
