// Products of matrices: one work item sums ROWS rows of 16 columns, or a work group a tile. The structure is that of
// kernels/xpu/product_job.h.

#define MAX_BATCH_LOOPS 4

typedef struct {
  int rows, columns, depth, padded;  // padded: columns of b that may be read
  int a_row, a_depth, b_depth, b_column;
  int batch_loops, unused[3];
  int batch_size[MAX_BATCH_LOOPS], a_batch[MAX_BATCH_LOOPS], b_batch[MAX_BATCH_LOOPS];
} Product;

#ifdef GPU

// Four of the depth of a row of a; those outside are zeros.
float4 fourOfRow(__global const float* a, int k, const Product* job) {
  if (job->a_depth == 1 && k + 4 <= job->depth) return vload4(0, a + k);
  float four[4];
  for (int i = 0; i < 4; ++i) four[i] = k + i < job->depth ? a[(k + i) * job->a_depth] : 0.0f;
  return vload4(0, four);
}

float4 fourColumns(__global const float* b, int column, const Product* job) {
  if (job->b_column == 1 && column + 4 <= job->padded) return vload4(0, b + column);
  float four[4];
  for (int i = 0; i < 4; ++i) four[i] = column + i < job->columns ? b[(column + i) * job->b_column] : 0.0f;
  return vload4(0, four);
}

#define PRODUCT_TILES(NAME, ITEMS, ROWS, SLICES)                                                                \
  __attribute__((reqd_work_group_size(ITEMS, ITEMS, SLICES)))                                                   \
  __kernel void NAME(__global const float* a_all, __global const float* b_all, const Product job, CHAIN_ARGUMENTS) { \
    __local float4 memory[TILE_MEMORY(ITEMS, ROWS, SLICES)] __attribute__((aligned(64)));                       \
    TILE_PLACES(ITEMS, ROWS)                                                                                    \
    const int depth = job.depth;                                                                                \
    int batch = (int)get_group_id(2);                                                                          \
    const int batch_position = batch * job.rows;                                                                \
    for (int loop = job.batch_loops - 1; loop >= 0; --loop) {                                                   \
      const int outer = batch / job.batch_size[loop], at = batch - outer * job.batch_size[loop];                \
      a_all += at * job.a_batch[loop];                                                                          \
      b_all += at * job.b_batch[loop];                                                                          \
      batch = outer;                                                                                            \
    }                                                                                                           \
    __global const float* tensors[MAX_TENSORS] = CHAIN_TENSORS;                                                 \
    TILE_BODY(ITEMS, ROWS, SLICES)                                                                              \
  }
#define READ_STEP(k)
#define READ_A(i, row, k)                                                                                   \
  first_row + (row) < job.rows ? fourOfRow(a_all + (first_row + (row)) * job.a_row, k, &job) : (float4)(0.0f)
#define READ_B(k, column) \
  (k) < depth ? fourColumns(b_all + (k) * job.b_depth, first_column + (column), &job) : (float4)(0.0f)
#define FINISH(row, column, value)                                                                       \
  const int r = first_row + (row), c = first_column + (column);                                          \
  if (r < job.rows && c < job.columns)                                                                   \
    finishLanes(&chain, dst, tensors, (batch_position + r) * job.columns + c, min(16, job.columns - c), value);

PRODUCT_TILES(product_128, 16, 8, 1)
PRODUCT_TILES(product_64, 16, 4, 1)
PRODUCT_TILES(product_32, 8, 4, 4)

#else

#define ROWS 6

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

#endif
