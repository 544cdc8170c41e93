// Products of matrices: one work item sums ROWS rows of 16 columns. The structure is that of kernels/xpu/product_job.h.

#define ROWS 6
#define MAX_BATCH_LOOPS 4

typedef struct {
  int rows, columns, depth, padded;  // padded: columns of b that may be read
  int a_row, a_depth, b_depth, b_column;
  int batch_loops, unused[3];
  int batch_size[MAX_BATCH_LOOPS], a_batch[MAX_BATCH_LOOPS], b_batch[MAX_BATCH_LOOPS];
} Product;

// 16 columns of a row of b; those behind the last are the last.
float16 columnsOf(__global const float* b, const Product* job, int column) {
  float lane[16];
  for (int i = 0; i < 16; ++i) lane[i] = b[min(i, job->columns - 1 - column) * job->b_column];
  return vload16(0, lane);
}

__attribute__((reqd_work_group_size(4, 4, 1)))
__kernel void product(__global const float* a, __global const float* b, const Product job, CHAIN_ARGUMENTS) {
  const int column = 16 * (int)get_global_id(0), first = ROWS * (int)get_global_id(1);
  if (column >= job.columns || first >= job.rows) return;
  int batch = (int)get_global_id(2);
  const int batch_position = batch * job.rows;
  for (int loop = job.batch_loops - 1; loop >= 0; --loop) {
    const int outer = batch / job.batch_size[loop], at = batch - outer * job.batch_size[loop];
    a += at * job.a_batch[loop];
    b += at * job.b_batch[loop];
    batch = outer;
  }
  __global const float* row[ROWS];
  float16 sum[ROWS];
#pragma unroll
  for (int r = 0; r < ROWS; ++r) {
    row[r] = a + min(first + r, job.rows - 1) * job.a_row;
    sum[r] = 0.0f;
  }
  b += column * job.b_column;
  const bool whole = job.b_column == 1 && column + 16 <= job.padded;
  for (int k = 0; k < job.depth; ++k) {
    const float16 w = whole ? vload16(0, b) : columnsOf(b, &job, column);
#pragma unroll
    for (int r = 0; r < ROWS; ++r) sum[r] += row[r][k * job.a_depth] * w;
    b += job.b_depth;
  }
  __global const float* tensors[MAX_TENSORS] = CHAIN_TENSORS;
  const int lanes = min(16, job.columns - column);
#pragma unroll
  for (int r = 0; r < ROWS; ++r) {
    if (first + r >= job.rows) break;
    finishLanes(&chain, dst, tensors, (batch_position + first + r) * job.columns + column, lanes, sum[r]);
  }
}
